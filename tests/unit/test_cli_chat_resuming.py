"""How `cogency-rs chat` goes on with what was interrupted, and whose conversation it is."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from support.commands import POSIX, Ended, run

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import SQLite, tool
from cogency_rs.cli.log import conversations, rows
from cogency_rs.errors import LLMError
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel

if TYPE_CHECKING:
    from support.terminals import Terminal

Chat = Callable[..., Ended]

MODEL = """\
import asyncio
from cogency_rs import tool

async def model(messages):
    "Answer the first time without an end, and then with what was asked last."
    if not hasattr(model, "was_asked"):
        model.was_asked = True
        yield "The first half "
        await asyncio.Event().wait()
    yield f"Asked: {messages[-1]['content']!r}."

async def answer(messages):
    yield f"Asked: {messages[-1]['content']!r}."
"""

ELSEWHERE = """\
import asyncio, sys
from cogency_rs import SQLite

async def main():
    async with SQLite(sys.argv[1]) as log:
        await log.save_message("elsewhere", "", "user", "Hi.", 1.0)

asyncio.run(main())
"""

EOF_KEY = "\x04"
LEFT = "  the last answer was stopped\n"
OFFER = "Go on with it? y, n, or another question:"
NOT_RESUMED = "  not resumed; /resume continues it, and a new question goes on without it\n"


@pytest.fixture
def place(tmp_path) -> Path:
    """A folder with models of one's own."""
    (tmp_path / "own.py").write_text(MODEL)
    return tmp_path


def stop_an_answer(terminal: Terminal) -> None:
    """Ask, and stop the answer with Ctrl-C."""
    terminal.until("> ")
    terminal.type("Hi.\n")
    terminal.until("The first half")
    terminal.type("\x03")
    terminal.until("  stopped\n")
    terminal.until("> ")


@POSIX
def test_resume_goes_on_with_an_answer_that_ctrl_c_stopped(place):
    from support.terminals import Terminal

    with Terminal("chat", "--model-from", "own:model", cwd=place) as terminal:
        stop_an_answer(terminal)
        terminal.type("/resume\n")
        terminal.until("Asked: ")
        terminal.until("> ")
        terminal.type("/resume\n")
        terminal.until("there is nothing to go on with: the last question is answered")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.ended() == 0


@pytest.fixture
def left(place) -> Path:
    """A log with an answer that was stopped."""
    from support.terminals import Terminal

    with Terminal("chat", "--model-from", "own:model", "--db", "log.db", cwd=place) as terminal:
        stop_an_answer(terminal)
        terminal.type(EOF_KEY)
        assert terminal.ended() == 0
    return place / "log.db"


@POSIX
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("y\n", "Asked: "),
        ("\nyes\n", "Asked: "),
        ("n\n", NOT_RESUMED),
        (EOF_KEY, NOT_RESUMED),
        ("Who are you?\n", "Asked: 'Who are you?'"),
    ],
    ids=["y", "enter, yes", "n", "end of input", "another question"],
)
def test_at_a_terminal_resume_shows_what_is_unfinished_and_asks_first(left, typed, shown):
    from support.terminals import Terminal

    options = ("--model-from", "own:answer", "--db", "log.db", "--resume")
    with Terminal("chat", *options, cwd=left.parent) as terminal:
        before = terminal.until(LEFT) + terminal.until(OFFER)
        assert "Hi." in before
        assert "Asked: " not in before
        for key in typed.splitlines(keepends=True):
            terminal.type(key)
        terminal.until(shown)
        terminal.until("> ")
        terminal.type(EOF_KEY)
        assert terminal.ended() == 0


@POSIX
@pytest.mark.parametrize(
    ("lines", "asked"),
    [("", []), ("y\n", ["'y'"]), ("/resume\n", ["'Hi.'"]), ("Who are you?\n", ["'Who are you?'"])],
    ids=["nothing", "y", "/resume", "a question"],
)
def test_without_a_terminal_nothing_is_resumed_unasked_and_each_line_means_what_it_always_does(
    left, lines, asked
):
    options = ("--model-from", "own:answer", "--db", "log.db", "--resume")
    ended = run("chat", *options, stdin=lines.encode(), cwd=left.parent)
    assert (ended.code, ended.err) == (0, "")
    assert LEFT in ended.out
    assert NOT_RESUMED in ended.out
    assert OFFER not in ended.out
    assert ended.out.count("Asked: ") == len(asked)


def test_nothing_is_offered_if_the_last_question_is_answered(chat, tmp_path):
    db = tmp_path / "log.db"
    chat("Hi.\n", "Hello.", options=("--db", db))
    out = chat("", options=("--db", db, "--resume")).out
    assert "Hello." in out
    assert "not resumed" not in out


def test_what_is_unfinished_is_said(chat, tmp_path):
    db = tmp_path / "log.db"
    chat("Hi.\n", LLMError("gone"), options=("--db", db))
    assert "  the last answer failed\n" in chat("", options=("--db", db, "--resume")).out


@pytest.fixture
def killed(tmp_path) -> Path:
    """A log that a program left that was killed while it paid."""
    path = tmp_path / "log.db"
    record = CallRecord(uuid7(), uuid7(), 0, "pay", None, "open", 1, 1_000.5, None, "far:1")
    rows = [("user", "Pay.", 1.0), ("call", '{"name": "pay", "args": {"euros": 9}}', 2.0)]

    async def leave() -> None:
        async with SQLite(path) as log:
            await log.append("c", user_id="", rows=rows, calls=[record])

    asyncio.run(leave())
    return path


@tool
async def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"


def test_what_is_unknown_is_shown_and_a_person_says_what_happened(chat, killed):
    typed = "/settle\n/settle 1 receipt 7\n/settle\n/resume\n"
    ended = chat(typed, "Done.", options=("--db", killed, "--resume"), tools=[pay])
    assert (ended.code, ended.err) == (0, "")
    assert "began, and may have run (use /settle to say what happened): pay(euros=9)" in ended.out
    assert "1   pay(euros=9), started 1970-01-01 00:16:40 UTC" in ended.out
    assert "no call has an unknown outcome" in ended.out
    [*_, asked] = sys.modules["scripted"].model.requests
    assert "receipt 7" in str(asked.messages[-1])


def test_a_call_that_did_not_happen_is_run_by_the_next_resume(chat, killed):
    typed = "/settle 1 not\n/resume\n"
    chat(typed, "Done.", options=("--db", killed, "--resume"), tools=[pay])
    [*_, asked] = sys.modules["scripted"].model.requests
    assert "paid 9" in str(asked.messages[-1])


def test_a_call_that_the_model_was_told_is_unknown_is_offered_and_settled(chat, killed):
    typed = "/resume\n/settle\n/settle 1 receipt 7\n/resume\n"
    ended = chat(
        typed, "I cannot tell.", "I see.", options=("--db", killed, "--resume"), tools=[pay]
    )
    assert (ended.code, ended.err) == (0, "")
    assert "  1 call may have happened: /settle\n" in ended.out
    assert "1   pay(euros=9), started" in ended.out
    assert "noted; /resume goes on with it" in ended.out
    assert "I see." in ended.out
    [*_, asked] = sys.modules["scripted"].model.requests
    assert 'it happened: "receipt 7"' in str(asked.messages[-1])


@pytest.mark.parametrize("typed", ["/settle 2 x", "/settle 1", "/settle x y", "/settle 0 x"])
def test_what_cannot_be_settled_is_an_error_in_one_line(chat, killed, typed):
    ended = chat(f"{typed}\n", options=("--db", killed, "--resume"), tools=[pay])
    assert (
        "say which call, and what became of it: /settle N RESULT, or /settle N not"
        in ended.out + ended.err
    )


# The log while the chat has it open.


@POSIX
@pytest.mark.parametrize("read", ["/history", "/timeline", "/timeline turn.svg"])
def test_what_was_said_after_a_command_that_reads_the_log_outlives_the_program(place, read):
    from support.terminals import Terminal

    db = place / "log.db"
    with Terminal("chat", "--model-from", "own:answer", "--db", "log.db", cwd=place) as terminal:
        terminal.until("> ")
        for line in ["First?\n", f"{read}\n"]:
            terminal.type(line)
            terminal.until("> ")
        subprocess.run([sys.executable, "-c", ELSEWHERE, db], check=True, timeout=60)
        terminal.type("Second?\n")
        terminal.until("Asked: 'Second?'")
        terminal.until("> ")
        terminal.program.kill()
        terminal.program.wait()
    first, last = sorted(conversations(db), key=lambda entry: entry.rows)
    assert (first.conversation_id, first.rows) == ("elsewhere", 1)
    assert last.rows == 4


# Users.


def test_a_conversation_belongs_to_the_user_who_began_it(chat, tmp_path):
    db = tmp_path / "log.db"
    first = chat("I am Ada.\n", "Hello.", options=("--db", db, "--user", "ada"))
    id = first.out.split()[-1]
    assert f"goes on with: --db {db} --user ada --resume {id}\n" in first.out
    chat("I am nobody.\n", "Hello.", options=("--db", db))
    chat("I am Bob.\n", "Hello.", options=("--db", db, "--user", "bob"))
    for options in [("--resume",), ("--resume", id)]:
        ended = chat(
            "/history\nWho am I?\n", "Ada.", options=("--db", db, "--user", "ada", *options)
        )
        assert (ended.code, ended.err) == (0, "")
        asked = sys.modules["scripted"].model.requests[-1].messages
        assert asked[1]["content"] == "I am Ada."


OTHERS = [
    ([], "the conversation c belongs to a user; say with --user NAME who began it"),
    (["--user", "bob"], "the conversation c does not belong to the user bob; say with --user NAME"),
]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        *((["--resume", "c", *options], problem) for options, problem in OTHERS),
        (["--resume", "d", "--user", "ada"], "has no conversation d; `cogency-rs show"),
        (["--resume"], "has no conversation without a user; `cogency-rs show"),
        (["--resume", "--user", "bob"], "has no conversation of the user bob; `cogency-rs show"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_chat_refuses_a_conversation_of_somebody_else_in_one_sentence(
    command, adas, options, problem
):
    ended = command("chat", "--model-from", "scripted:model", "--db", adas, *options)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert problem in ended.err


@pytest.mark.parametrize(("options", "problem"), OTHERS, ids=["nobody", "bob"])
def test_ask_refuses_a_conversation_of_somebody_else_in_one_sentence(
    command, adas, options, problem
):
    options = ["--db", adas, "--conversation", "c", "-q", *options]
    ended = command("ask", "Who am I?", "--model-from", "scripted:model", *options)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert problem in ended.err
    assert [row.type for row in rows(adas, "c")] == ["user", "respond"]


@pytest.fixture
def adas(command, monkeypatch, tmp_path) -> Path:
    """A log with one conversation, c, which the user ada began."""
    module = ModuleType("scripted")
    module.model = ScriptedModel(["Hello."])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scripted", module)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    db = tmp_path / "log.db"
    options = ["--db", db, "--conversation", "c", "--user", "ada"]
    assert command("ask", "I am Ada.", "--model-from", "scripted:model", *options).code == 0
    return db
