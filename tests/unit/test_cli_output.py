"""No text from elsewhere controls the terminal: each place where the command line writes, and what it writes there."""

from __future__ import annotations

import ast
import io
import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line is in the extra cli")

from rich.segment import Segment, Segments
from rich.text import Text

import cogency_rs.cli
from cogency_rs.cli.chat import view as view_module
from cogency_rs.cli.chat.events import CallBegan, CallEnded, Warned
from cogency_rs.cli.exits import complain
from cogency_rs.cli.output import say
from cogency_rs.cli.page import Page
from cogency_rs.cli.screen import Screen
from cogency_rs.types import ToolCall, ToolResult

CLI = Path(cogency_rs.cli.__file__).parent

HOSTILE = "a\x1b]0;title\x07b\x1b[2J\x9b2J\x08\x7f\u202ec"
STEERING = "\x07\x08\x7f\x9b\u202e"

WRITES = {
    # Text, made visible.
    "output.py": {"stream.write": 1},
    "page.py": {"self.console.print": 1},
    # JSON, in which control characters are escapes.
    "parse.py": {"print": 1},
    "dialects.py": {"print": 2},
    "doctor.py": {"print": 1},
    "show.py": {"print": 1},
    "chat/ask.py": {"print": 2},
    "demo/player.py": {"print": 1},
    # The file that was asked for: SVG, whose text is escaped, or JSON.
    "timeline.py": {"sys.stdout.writelines": 1, "file.write": 1},
    # Nothing from elsewhere: the version, and empty lines.
    "__init__.py": {"print": 1},
    "chat/typist.py": {"print": 1},
    "exits.py": {"print": 1},
}
"""What writes in each file, but for calls of `say` and of a page."""

CONSOLES = {"page.py": 1, "chat/ask.py": 1, "progress.py": 1}
"""Which files make a console of rich's, all of them a `Screen`."""

OWN = {
    *("page.write", "self.page.write", "self._page.write"),
    "_Chart(page, turn).write",  # by a page
    "storage._database.write",  # to a log
}
"""What is called like something that writes to an output, and does not, but by a page."""


def calls(file: Path) -> list[str]:
    """What a file calls, as it is written there."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_every_place_that_writes_is_known():
    found = {}
    for file in sorted(CLI.rglob("*.py")):
        writes = Counter(
            name
            for name in calls(file)
            if name.rpartition(".")[2] in {"print", "write", "writelines", "echo", "secho"}
            and name not in OWN
        )
        if writes:
            found[file.relative_to(CLI).as_posix()] = dict(writes)
    assert found == WRITES


def test_every_console_is_a_screen():
    made = Counter()
    for file in sorted(CLI.rglob("*.py")):
        names = [name.rpartition(".")[2] for name in calls(file)]
        assert "Console" not in names, file
        made[file.relative_to(CLI).as_posix()] = names.count("Screen")
    assert dict(+made) == CONSOLES


def is_harmless(text: str) -> bool:
    """Whether it has no control character but line feeds, tabs and what rich adds: colours, and where the cursor is."""
    return not any(each in text for each in STEERING) and "\x1b]" not in text


def test_what_is_said_is_visible():
    out = io.StringIO()
    say(HOSTILE, to=out)
    assert out.getvalue() == "a␛]0;title␇b␛[2J\ufffd2J␈\ufffd\\u202ec\n"


def test_what_is_complained_of_is_visible(capsys):
    complain(HOSTILE + "\nsecond")
    assert capsys.readouterr().err == (
        "cogency-rs: a␛]0;title␇b␛[2J\ufffd2J␈\ufffd\\u202ec second\n"
    )


class Terminal(io.StringIO):
    """A terminal, as far as rich can see."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    screen.file, screen.is_interactive = Terminal(), True
    return screen


def shown(screen: Screen) -> str:
    """What is on the terminal; fails if anything but rich has controlled it."""
    assert isinstance(screen.file, Terminal)
    text = screen.file.getvalue()
    assert is_harmless(text)
    return text


@pytest.mark.parametrize(
    "drawn",
    [HOSTILE, Text(HOSTILE, "red"), Segments([Segment(HOSTILE)])],
    ids=["text", "styled", "segments"],
)
def test_what_a_screen_draws_is_visible(screen, drawn):
    screen.print(drawn, markup=False)
    assert "a␛]0;title" in shown(screen)


def test_what_a_page_writes_is_visible(screen):
    page = Page(screen)
    page.heading(HOSTILE)
    page.line(HOSTILE)
    page.line([(HOSTILE, "red")])
    page.hanging(HOSTILE, HOSTILE)
    page.begin(Text(HOSTILE))
    page.write(HOSTILE)
    assert shown(screen).count("a␛]0;title") == 7
    assert isinstance(Page().console, Screen)


def test_what_a_run_shows_is_visible(screen, monkeypatch):
    monkeypatch.setattr(view_module, "_REDRAW", 0)
    monkeypatch.setattr(view_module, "_SHARE", 0)
    with view_module.View(screen, unfolds=True) as view:
        view.begin()
        for event in (
            {"type": "think", "content": HOSTILE},
            {"type": "respond", "content": HOSTILE},
            {"type": "tool_call_start", "index": 0, "name": HOSTILE},
            {"type": "error", "content": HOSTILE},
        ):
            view.happened(event)
        call = ToolCall(HOSTILE, {HOSTILE: HOSTILE})
        view.happened(CallBegan("1", call))
        view.happened({"type": HOSTILE, "execution_id": "1", HOSTILE: HOSTILE})
        view.happened(Warned(HOSTILE))
        view.happened(CallEnded("1", call, ToolResult(HOSTILE, HOSTILE), 1.0, HOSTILE))
        view.note(HOSTILE)
        view.error(HOSTILE)
        list(view.call(call, HOSTILE))
    assert "writing a call of a␛]0;title" in shown(screen)


def test_json_has_no_control_character():
    """What prints JSON leaves `ensure_ascii` as it is."""
    assert json.loads(json.dumps(HOSTILE)) == HOSTILE
    assert is_harmless(json.dumps(HOSTILE).replace("\x7f", ""))  # a terminal ignores it
    for file, writes in WRITES.items():
        if "print" in writes:
            assert "ensure_ascii=False" not in (CLI / file).read_text(encoding="utf-8"), file
