"""The chat at a terminal: its live lines, and a person who types, pastes and presses Ctrl-C."""

from __future__ import annotations

import io
import re
import signal

import pytest

from support.commands import POSIX
from support.waiting import wait_until

pytest.importorskip("typer", reason="the command line is in the extra cli")

from rich.console import Console

from cogency_rs import Agent, ToolCall, ToolResult
from cogency_rs.cli.chat import view as view_module
from cogency_rs.cli.chat.events import CallBegan, CallEnded, Warned
from cogency_rs.models import Finish, ModelRequest
from cogency_rs.testing import ScriptedModel

# The live lines.


@pytest.fixture
def shown(monkeypatch) -> tuple[view_module.View, io.StringIO]:
    """A view at a terminal, drawn again after every event; and what it has written."""
    monkeypatch.setattr(view_module, "_REDRAW", 0)
    monkeypatch.setattr(view_module, "_SHARE", 0)
    monkeypatch.setattr(view_module, "_SECONDS", 0)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=60, height=20, _environ={})
    return view_module.View(console), out


def drawn(out: io.StringIO) -> str:
    """What was drawn since the last look."""
    text = out.getvalue()
    out.truncate(0)
    out.seek(0)
    return text


def test_a_live_line_shows_what_the_chat_waits_for(shown):
    view, out = shown
    view.begin()
    assert "waiting for the model  0 s" in drawn(out)
    view.happened({"type": "think", "content": "Let me see "})
    view.happened({"type": "think", "content": "what there is"})
    assert "thinking, 6 words" in drawn(out)
    view.happened({"type": "respond", "content": "I look."})
    assert "thought for" in drawn(out)
    view.happened({"type": "tool_call_start", "index": 0, "name": "look"})
    assert "writing a call of look" in drawn(out)
    call = ToolCall("look", {"at": "it"})
    view.happened(CallBegan("1", call))
    view.happened(None)
    assert 'look(at="it")' in drawn(out)
    view.happened(CallEnded("1", call, ToolResult("seen"), 1.5))
    view.__exit__(None, None, None)
    ended = drawn(out)
    assert "1.50 s" in ended
    assert ended.rindex("\x1b[?25h") > ended.rfind("\x1b[?25l"), "the cursor is shown again"


def test_a_warning_stands_on_a_line_of_its_own_and_calls_go_on(shown):
    view, out = shown
    call = ToolCall("look", {})
    view.happened(CallBegan("1", call))
    drawn(out)
    view.happened(Warned("server 'a' ended"))
    assert "server 'a' ended" in (text := drawn(out))
    assert "look()" in text[text.index("ended") :], "the running call is drawn again"


class CutAtLimit(ScriptedModel):
    """A model of which the user set the length of an answer."""

    def output_limit(self, request: ModelRequest) -> str | None:
        return "max_tokens=5"


CUT = "The model's answer reached the length that is allowed and was cut"


@pytest.mark.parametrize(
    ("model", "answers", "says"),
    [
        (CutAtLimit, [["Hello", Finish("length")]], [CUT, "The answer was cut at max_tokens=5"]),
        (ScriptedModel, [["Hello", Finish("length")], " there."], [CUT]),
        (ScriptedModel, ["<execute>oops</execute>", "Sorry."], ["the model sees this"]),
    ],
)
async def test_only_of_an_answer_that_is_asked_for_again_is_it_said_that_the_model_sees_it(
    shown, model, answers, says
):
    view, out = shown
    run = Agent(model(answers)).run("?")
    async for event in run.events("token"):
        view.happened(event)
    assert run.result is not None
    view.end(run.result, run.result.usage, 1, 1.0)
    text = " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn(out)).split())
    assert all(each in text for each in says)
    assert ("the model sees this" in text) == ("the model sees this" in says)


def test_the_markdown_of_an_answer_is_rendered_only_at_a_terminal(shown):
    view, out = shown
    view.happened({"type": "respond", "content": "**so**"})
    view.__exit__(None, None, None)
    assert "\x1b[1mso\x1b[0m" in drawn(out)
    plain = io.StringIO()
    view = view_module.View(Console(file=plain, width=60, _environ={}))
    view.happened({"type": "respond", "content": "**so**"})
    view.__exit__(None, None, None)
    assert "**so**" in plain.getvalue()


def test_words_are_counted_however_they_are_cut(shown):
    view, out = shown
    for piece in "one two  three\nfour":
        view.happened({"type": "think", "content": piece})
    view.happened({"type": "respond", "content": "x"})
    assert "4 words" in out.getvalue()


def test_a_terminal_with_only_ascii_is_enough(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    view = view_module.View(Console(file=out, width=60, _environ={}))
    view.happened(CallEnded("1", ToolCall("look", {}), ToolResult("seen"), 1.5))
    out.flush()
    assert b"+ look()  1.50 s" in out.buffer.getvalue()


@pytest.mark.parametrize(
    ("emitted", "line"),
    [
        ({"type": "progress", "progress": 2, "total": 3, "message": "compiling"}, "2/3 compiling"),
        ({"type": "progress", "progress": 0.5}, "0.5"),
        ({"type": "progress", "message": "\x1b[2Jlinking"}, "␛[2Jlinking"),
        ({"type": "progress", "files": 12, "left": None}, "files 12"),
        ({"type": "download", "bytes": 512}, "download bytes 512"),
        ({"type": "halfway"}, "halfway"),
    ],
    ids=["of a total", "a number", "a message", "other keys", "another type", "only a type"],
)
def test_a_running_call_shows_what_it_emitted_last(shown, emitted, line):
    view, out = shown
    event = {**emitted, "execution_id": "1", "timestamp": 1.0}
    view.happened(CallBegan("1", ToolCall("look", {})))
    view.happened({"type": "progress", "execution_id": "1", "message": "begun"})
    assert "begun" in drawn(out)
    view.happened(event)
    text = drawn(out)
    assert "look()" in text
    assert f"0.0 s  {line}" in re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "begun" not in text
    view.happened(CallEnded("1", ToolCall("look", {}), ToolResult("seen"), 1.5))
    drawn(out)
    view.happened(event)
    assert line not in drawn(out), "the call is over"


# A person at a terminal.

MODEL = """\
import asyncio

async def model(messages):
    if not messages[-1]["content"].endswith("Begin."):
        yield f"You wrote: {messages[-1]['content']!r}."
        return
    for number in range(100):
        yield f"word{number} "
    await asyncio.Event().wait()
"""


@POSIX
def test_ctrl_c_stops_the_answer_and_twice_at_the_prompt_leaves_the_chat(tmp_path):
    from support.terminals import CTRL_C, Terminal

    (tmp_path / "endless.py").write_text(MODEL)
    with Terminal("chat", "--model-from", "endless:model", cwd=tmp_path) as terminal:
        terminal.until("> ")
        terminal.type("Begin.\n")
        terminal.until("word7 ")
        terminal.type(CTRL_C)
        terminal.until("  stopped\n")
        terminal.until("> ")
        terminal.type("Again.\n")
        terminal.until("Again.'.")
        terminal.until("> ")
        terminal.type(CTRL_C)
        terminal.until("Ctrl-C again, or /quit, leaves", pressing=CTRL_C)
        terminal.until("> ")
        terminal.type(CTRL_C)
        assert terminal.ended(pressing=CTRL_C) == 0


BUSY = """\
import asyncio
from cogency_rs import ToolContext, tool

async def model(messages):
    yield '<execute>[{"name": "build", "args": {}}]</execute>'

@tool
async def build(context: ToolContext) -> str:
    "Build for ever."
    context.emit({"type": "progress", "progress": 2, "total": 3, "message": "compiling"})
    await asyncio.Event().wait()
    return ""
"""


@POSIX
def test_the_progress_of_a_tool_is_shown_while_it_runs(tmp_path):
    from support.terminals import CTRL_C, Terminal

    (tmp_path / "busy.py").write_text(BUSY)
    options = ("--model-from", "busy:model", "--tools", "busy")
    with Terminal("chat", *options, cwd=tmp_path) as terminal:
        terminal.until("> ")
        terminal.type("Build it.\n")
        terminal.until("2/3 compiling")
        terminal.type(CTRL_C)
        terminal.until("■ build()")
        terminal.until("  stopped\n")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.ended() == 0


@POSIX
def test_pasted_lines_are_one_question(tmp_path):
    from support.terminals import Terminal

    (tmp_path / "endless.py").write_text(MODEL)
    with Terminal("chat", "--model-from", "endless:model", cwd=tmp_path) as terminal:
        terminal.until("> ")
        terminal.type("\x1b[200~one\ntwo\x1b[201~\n")
        terminal.until("You wrote: 'one\\ntwo'.")
        terminal.until("> ")
        terminal.type("three \\\nfour\n")
        terminal.until("You wrote: 'three \\nfour'.")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.ended() == 0


@POSIX
def test_a_question_may_have_several_lines_and_be_recalled(tmp_path):
    from support.terminals import Terminal

    (tmp_path / "endless.py").write_text(MODEL)
    with Terminal("chat", "--model-from", "endless:model", cwd=tmp_path) as terminal:
        terminal.until("> ")
        terminal.type("one\x1b\rtwo\r")
        terminal.until("You wrote: 'one\\ntwo'.")
        terminal.until("> ")
        terminal.type("\x1b[A\x05 and three\r")
        terminal.until("You wrote: 'one\\ntwo and three'.")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.ended() == 0


@POSIX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_chat_that_is_asked_to_end_leaves_the_terminal_as_it_was(tmp_path, number, code):
    import termios

    from support.terminals import Terminal

    (tmp_path / "endless.py").write_text(MODEL)
    with Terminal("chat", "--model-from", "endless:model", cwd=tmp_path) as terminal:
        before = terminal.attributes
        terminal.until("> ")
        wait_until(lambda: not terminal.attributes[3] & termios.ICANON, "no keys are read")
        terminal.program.send_signal(number)
        assert terminal.ended() == code
        assert terminal.attributes == before
        assert terminal.shown.endswith(f"cogency-rs: ended by {number.name}\n")


@POSIX
def test_without_prompt_toolkit_it_says_what_to_install(tmp_path):
    from support.terminals import Terminal

    lacking = 'import sys\nsys.modules["prompt_toolkit"] = None\n'
    (tmp_path / "lacking.py").write_text(lacking + MODEL)
    with Terminal("chat", "--model-from", "lacking:model", cwd=tmp_path) as terminal:
        assert terminal.ended() == 2
        assert terminal.shown == (
            "cogency-rs: the command line needs typer, rich and prompt_toolkit, and prompt_toolkit is not "
            "installed; run: pip install 'cogency-rs[cli]'\n"
        )
