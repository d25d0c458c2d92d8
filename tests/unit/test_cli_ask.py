"""`cogency-rs ask`: standard output, standard error, and exit codes."""

from __future__ import annotations

import io
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.commands import POSIX, PROGRAM, Ended, environment

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import tool
from cogency_rs.errors import LLMError
from cogency_rs.models import Finish
from cogency_rs.testing import ScriptedModel

Ask = Callable[..., Ended]


@pytest.fixture
def ask(command, monkeypatch) -> Ask:
    """Runs the command with a model that gives these answers."""

    def ask(*args: object, answers: list[Any], stdin: bytes = b"") -> Ended:
        module = ModuleType("scripted")
        module.model = ScriptedModel(answers)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "scripted", module)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return command("ask", *args, "--model-from", "scripted:model")

    return ask


def asked() -> str:
    """What the model was asked last."""
    return sys.modules["scripted"].model.requests[-1].messages[-1]["content"]


@pytest.fixture
def place(tmp_path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.txt").write_text("one\n")
    return place


LOOK = '<think>Hm.</think>I look.<execute>[{"name": "list_files", "args": {}}]</execute>'
WRITE = '<execute>[{"name": "write_file", "args": {"path": "b", "content": "x"}}]</execute>'


def test_the_answer_alone_is_on_standard_output_and_the_rest_on_standard_error(ask, place):
    ended = ask("What is here?", "--files", place, answers=[LOOK, "A file.\n"])
    assert (ended.code, ended.out) == (0, "A file.\n")
    assert "✓ list_files()" in ended.err
    assert "thought for" in ended.err
    assert "\x1b" not in ended.err


def test_no_answer_controls_the_terminal_of_a_program_that_it_is_sent_to(ask):
    ended = ask("Hi", answers=["a\x1b]0;title\x07b\u202e\n\tc\r\nd\x9b2J"])
    assert ended.out == "a␛]0;title␇b\\u202e\n\tc\nd\ufffd2J\n"


def test_quiet_does_not_show_calls(ask, place):
    ended = ask("What is here?", "--files", place, "--quiet", answers=[LOOK, "A file."])
    assert (ended.code, ended.out, ended.err) == (0, "A file.\n", "")


@pytest.mark.parametrize(
    ("words", "stdin", "question"),
    [
        (["What", "is", "it?"], b"", "What is it?"),
        (["Sum up:", "-"], b"a text\n", "Sum up: \n\na text"),
        (["-"], "naïve?\n".encode(), "naïve?"),
        (["-", "Sum it up."], b"a text\n", "a text\n\nSum it up."),
        (["-"], b"caf\xe9", "caf\ufffd"),
    ],
)
def test_a_dash_in_the_question_stands_for_standard_input(ask, words, stdin, question):
    assert ask(*words, answers=["Yes."], stdin=stdin).out == "Yes.\n"
    assert asked() == question


@pytest.mark.parametrize("words", [["-"], [""], [" "]])
def test_an_empty_question_is_refused(ask, words):
    ended = ask(*words, answers=[])
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("cogency-rs: there is no question; give one")


def test_json_is_a_line_for_each_event_and_then_the_result(ask, place):
    ended = ask("What is here?", "--files", place, "--json", answers=[LOOK, "A file."])
    *events, result = ended.objects
    assert [event["type"] for event in events] == [
        *("user", "think", "respond", "call", "execute", "result", "metric"),
        *("respond", "metric"),
    ]
    assert result.pop("conversation_id")
    usage = result.pop("usage")
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert result == {
        "type": "run",
        "status": "completed",
        "output": "A file.",
        "stop": None,
        "steps": 2,
        "waiting": [],
    }
    assert (ended.code, ended.err) == (0, "")


# Exit codes.


def test_a_model_that_fails_ends_with_1(ask):
    ended = ask("Hi", answers=[LLMError("no server answers; is it running?")])
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "cogency-rs: no server answers; is it running?\n"


def test_any_exception_of_a_model_is_shown_in_one_line(ask):
    ended = ask("Hi", answers=[RuntimeError("a\nb")])
    assert (ended.code, ended.out, ended.err) == (1, "", "cogency-rs: RuntimeError: a b\n")


LOOK_AT_IT = '<execute>[{"name": "look", "args": {}}]</execute>'


@tool
def look() -> str:
    """Look, where there is no light."""
    logging.getLogger("cogency_rs.servers.connection").warning("server 'a' ended: gone")
    raise ValueError("no light")


@pytest.mark.parametrize(
    ("option", "times"), [((), 1), (("--quiet",), 0), (("--json",), 0)], ids=["", "quiet", "json"]
)
def test_a_failed_tool_is_shown_only_with_the_calls_and_other_warnings_always(ask, option, times):
    answers = [LOOK_AT_IT, "Dark."]
    ended = ask("?", *option, "--tools", f"{__name__}:look", answers=answers)
    assert ended.code == 0
    assert ended.err.count("no light") == times
    assert ended.err.count("server 'a' ended: gone") == 1
    assert "'look' failed" not in ended.err


CUT, END = Finish("length"), Finish("stop")
PARTS = [["The first half, ", CUT], ["and the second.", END]]


@pytest.mark.parametrize(
    ("answers", "code", "out", "problem"),
    [
        (["Whole."], 0, "Whole.", ""),
        ([["\n Wh", "ole", ".\n", "\n"]], 0, "Whole.", ""),
        ([["One.\n", "\n  Two."]], 0, "One.\n\n  Two.", ""),
        (PARTS, 0, "The first half, and the second.", ""),
        ([["Half ", CUT]] * 20, 3, "Half Half", "stopped: "),
        ([["I will not", Finish("content_filter")]], 3, "I will not", "stopped: "),
        ([[END], [END]], 3, "", "stopped: "),
        (["<think>Hm.", "<think>Hm."], 3, "", "stopped: "),
        ([["A half, ", LLMError("it broke off")]], 1, "A half,", "it broke off"),
    ],
    ids=[
        *("whole", "white space", "paragraphs", "cut once", "cut again and again", "refused"),
        *("empty", "only thoughts", "broken off"),
    ],
)
@pytest.mark.parametrize("with_tools", [False, True], ids=["no tools", "tools"])
def test_only_a_whole_answer_ends_with_0_and_what_there_is_of_one_is_printed(
    ask, place, answers, code, out, problem, with_tools
):
    options = ("--files", place) if with_tools else ()
    ended = ask("Hi", "-q", *options, answers=answers)
    assert (ended.code, ended.out[: len(out)]) == (code, out)
    assert ended.out.endswith("\n") or not out
    if code == 0:
        assert ended.out == out + "\n"
    assert ended.err.startswith(f"cogency-rs: {problem}" if problem else "")
    assert ended.err.count("\n") == bool(problem)


def test_json_ends_with_the_same_codes_and_the_text_that_there_is(ask):
    ended = ask("Hi", "--json", answers=[["I will not", Finish("content_filter")]])
    assert ended.code == 3
    assert (ended.objects[-1]["status"], ended.objects[-1]["output"]) == ("stopped", "I will not")
    assert ended.objects[-1]["stop"]["reason"] == "refused"


@tool(ends_run=True)
def settle() -> str:
    """Settle it."""
    return "settled"


def test_the_result_of_a_tool_that_ends_the_run_is_the_answer(ask):
    made = 'I do.<execute>[{"name": "settle", "args": {}}]</execute>'
    ended = ask("Hi", "-q", "--tools", f"{__name__}:settle", answers=[made])
    assert (ended.code, ended.out, ended.err) == (0, "settled\n", "")


def test_a_limit_ends_with_3_and_the_text_so_far(ask, place):
    ended = ask("Hi", "--files", place, "--steps", "1", "-q", answers=[LOOK])
    assert (ended.code, ended.out) == (3, "I look.\n")
    assert ended.err == "cogency-rs: stopped: Step limit reached: 1/1\n"


def test_a_call_that_waits_ends_with_3_and_is_not_run(ask, place):
    ended = ask("Hi", "--files", place, "-q", answers=[WRITE])
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        'cogency-rs: not run without approval: write_file(path="b", content="x"); --yes runs such '
        "calls, and with --db FILE, `cogency-rs chat --resume` can ask later\n"
    )
    assert not (place / "b").exists()


def test_a_call_that_waits_in_a_log_can_be_approved_later(ask, place, tmp_path):
    db = tmp_path / "log.db"
    ended = ask("Hi", "--files", place, "--db", db, "--json", answers=[WRITE])
    result = ended.objects[-1]
    assert (ended.code, result["status"]) == (3, "waiting")
    assert [call["name"] for call in result["waiting"]] == ["write_file"]
    assert f"`cogency-rs chat --db {db} --resume {result['conversation_id']}` asks" in ended.err


def test_yes_runs_a_call_that_needs_approval(ask, place):
    ended = ask("Hi", "--files", place, "--yes", answers=[WRITE, "Done."])
    assert (ended.code, ended.out) == (0, "Done.\n")
    assert (place / "b").read_text() == "x"


def test_a_conversation_in_a_log_is_continued(ask, tmp_path):
    options = ("--db", tmp_path / "log.db", "--conversation", "daily")
    ask("I am Ada.", *options, answers=["Hello."])
    ask("Who am I?", *options, answers=["Ada."])
    messages = sys.modules["scripted"].model.requests[-1].messages
    assert [message["content"] for message in messages[1:]] == ["I am Ada.", "Hello.", "Who am I?"]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--conversation", "x"], "--conversation names one of a log; name that with --db FILE"),
        (["--files", "none"], "none cannot be worked in (No such file or directory)"),
        (["--tools", "nowhere"], "there is no module nowhere"),
        (["--mcp", "none.json"], ""),
    ],
)
def test_an_argument_that_cannot_be_used_ends_with_2(ask, args, problem):
    ended = ask("Hi", *args, answers=[])
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert problem in ended.err


MODEL = """\
import asyncio

async def model(messages):
    yield '<execute>[{"name": "wait", "args": {}}]</execute>'

from cogency_rs import tool

@tool
async def wait() -> str:
    "Wait for ever."
    print("waiting", flush=True)
    await asyncio.Event().wait()
    return ""
"""


@POSIX
def test_an_interrupt_ends_with_130_and_settles_the_calls_in_the_log(tmp_path):
    (tmp_path / "endless.py").write_text(MODEL)
    options = ["--model-from", "endless:model", "--tools", "endless", "--db", "log.db"]
    program = subprocess.Popen(
        [*PROGRAM, "ask", "Hi", *options, "--conversation", "c", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"waiting\n"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (130, b"", b"cogency-rs: interrupted\n")
    shown = subprocess.run(
        [*PROGRAM, "show", "log.db", "c", "--json"],
        capture_output=True,
        cwd=tmp_path,
        env=environment(),
        check=True,
        timeout=60,
    )
    [call] = [
        call for line in shown.stdout.splitlines() for call in json.loads(line).get("calls", [])
    ]
    assert call["status"] == "cancelled"
