"""The chat shows all of what a person agrees to, and nothing in it can hide."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.commands import POSIX, Ended

pytest.importorskip("typer", reason="the command line is in the extra cli")

from rich.cells import cell_len
from rich.console import Console

from cogency_rs import ToolCall, tool
from cogency_rs.cli.chat.view import View

Chat = Callable[..., Ended]


def calls(name: str, **args: Any) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


@pytest.fixture
def place(tmp_path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    return place


def lines_of(out: str) -> list[str]:
    """The lines of the preview, with those that were wrapped put together again."""
    lines: list[str] = []
    for line in out.partition("  ? ")[2].partition("  Run it?")[0].split("\n")[1:]:
        if line.startswith("  … "):
            lines[-1] += line[4:]
        elif line.startswith("    "):
            lines.append(line[4:])
    return lines


# All of it.


@pytest.mark.parametrize("columns", [20, 60, 88])
@pytest.mark.parametrize("preview", ["\n".join(map(str, range(500))), "x" * 5000, "漢" * 300 + "x"])
def test_a_preview_is_neither_cut_at_the_width_nor_after_some_lines(preview, columns):
    out = io.StringIO()
    view = View(Console(file=out, force_terminal=True, width=columns, height=10, _environ={}))
    left = list(view.call(ToolCall("act", {}), preview))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert "\n".join(lines_of(plain + "  Run it?")) == preview
    assert max(map(cell_len, plain.split("\n"))) <= columns
    assert left == sorted(left, reverse=True)
    assert not left or 0 < left[-1] <= 8


def test_without_a_preview_all_arguments_are_shown(chat):
    def run(command: str) -> str:
        return "done"

    command = "echo harmless; " * 100 + "rm -rf /"
    tools = [tool(run, requires_approval=True)]
    ended = chat("Go.\nn\n", calls("run", command=command), "Well.", tools=tools)
    shown = ended.out.partition("  ? ")[2].partition("  Run it?")[0]
    assert "".join(line[4:] for line in ("  ? " + shown).split("\n")) == f'run(command="{command}")'


def test_what_is_edited_is_shown_again_before_it_is_agreed_to(chat, place):
    edited = json.dumps({"path": "b.txt", "content": "mine\n"})
    made = calls("write_file", path="a.txt", content="its\n")
    ended = chat(f"Go.\ne\n{edited}\nn\n", made, "Well.", options=("--files", place))
    first, second = ended.out.split("Run it?")[:2]
    assert "    +its\n" in first
    assert "    +++ b/b.txt\n" in second
    assert "    +mine\n" in second
    assert sorted(path.name for path in place.iterdir()) == ["a.txt"]


@pytest.mark.parametrize(("decision", "text"), [("y", "2 by another"), ("n", "two by another")])
def test_a_file_that_changes_while_the_person_reads_is_asked_about_again(
    chat, place, monkeypatch, decision, text
):
    from cogency_rs.cli.chat import keyboard

    known = keyboard._Lines.answer
    asked: list[str] = []

    def answer(self: Any, question: str, text: str = "") -> str | None:
        asked.append(question)
        if len(asked) == 1:
            (place / "a.txt").write_text("two by another")
        return known(self, question, text)

    monkeypatch.setattr(keyboard._Lines, "answer", answer)
    edit = calls("edit_file", path="a.txt", old="two", new="2")
    ended = chat(f"Go.\ny\n{decision}\n", edit, "Done.", options=("--files", place))
    assert ended.out.count("Run it?") == 2
    assert "or what it would do, has changed since it was shown" in " ".join(ended.out.split())
    assert (place / "a.txt").read_text() == text


# Nothing hides.


@pytest.mark.parametrize(
    ("new", "shown"),
    [
        ("a\u202eb", "a<U+202E>b"),
        ("a\u200bb", "a<U+200B>b"),
        ("a\u2060\ufeffb", "a<U+2060><U+FEFF>b"),
        ("a\U000e0041b", "a<U+E0041>b"),
        ("a\ufe01b", "a<U+FE01>b"),
        ("a\u3164b", "a<U+3164>b"),
        ("a\u00a0b", "a<U+00A0>b"),
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("a\x00\x07\x7fb", "a␀␇␡b"),
        ("a\x9bb", "a<U+009B>b"),
        ("a\rb", "a␍b"),
        ("a\u2028b", "a<U+2028>b"),
        ("a\tb", "a␉   b"),
        ("a  ", "a␠␠"),
        ("café 漢字 🙂", "café 漢字 🙂"),
    ],
    ids=ascii,
)
def test_characters_that_are_not_seen_have_marks(chat, place, new, shown):
    edit = calls("edit_file", path="a.txt", old="two", new=new)
    ended = chat("Go.\nn\n", edit, "Well.", options=("--files", place))
    assert lines_of(ended.out)[-1] == f"+{shown}"


def test_arguments_are_marked_too(chat):
    def run(command: str) -> str:
        return "done"

    tools = [tool(run, requires_approval=True)]
    ended = chat("Go.\nn\n", calls("run", command="a\u202e\u200bb"), "Well.", tools=tools)
    assert '  ? run(command="a<U+202E><U+200B>b")\n' in ended.out


# One screen at a time.

MODEL = """\
import json

CALL = [{"name": "write_file", "args": {"path": "b.txt", "content": "".join(f"line {n}\\n" for n in range(70))}}]

async def model(messages):
    last = messages[-1]["content"]
    yield f"<execute>{json.dumps(CALL)}</execute>" if last == "Go." else "Well."
"""


@POSIX
@pytest.mark.parametrize(
    ("typed", "is_made"),
    [
        (["\n", "\n", "y\n"], True),
        (["y\n", "y\n", "y\n"], True),
        (["y\n", "\n", "n\n"], False),
        (["n\n"], False),
        (["\n", "not that\n"], False),
    ],
)
def test_a_long_preview_is_agreed_to_only_after_its_last_screen(tmp_path, typed, is_made):
    from support.terminals import Terminal

    (tmp_path / "paging.py").write_text(MODEL)
    (tmp_path / "place").mkdir()
    arguments = ("chat", "--model-from", "paging:model", "--files", "place")
    with Terminal(*arguments, cwd=tmp_path) as terminal:
        terminal.until("> ")
        terminal.type("Go.\n")
        questions = ["46 more lines. Enter shows them; n, or why not:", "18 more lines.", "Run it?"]
        shown = ""
        for answer, question in zip(typed, questions, strict=False):
            shown += terminal.until(question)
            terminal.type(answer)
        terminal.until("Well.")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert (tmp_path / "place" / "b.txt").exists() is is_made
    if is_made:
        assert [f"+line {number}\n" in shown for number in range(70)] == [True] * 70
