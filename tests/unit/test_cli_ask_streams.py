"""`cogency-rs ask` while its answer arrives: what is written at once, and what is kept when it is stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from support.commands import POSIX, PROGRAM, environment, run
from support.waiting import wait_until

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs.cli.chat.background import Background
from cogency_rs.cli.exits import TerminatedError, terminable

MODEL = """\
import asyncio, sys
from cogency_rs import tool
from cogency_rs.errors import LLMError

async def steady(messages):
    "Write the second piece when a line was typed."
    yield "The first half, "
    await asyncio.to_thread(sys.stdin.readline)
    yield "and the second half.\\n"

async def endless(messages):
    yield "The first half, "
    await asyncio.Event().wait()

async def broken(messages):
    yield "The first half, "
    raise LLMError("the server broke off")

async def calling(messages):
    if len(messages) > 2:
        yield "Seen."
    else:
        yield 'I look.<execute>[{"name": "look", "args": {}}]</execute>'

async def stuck(messages):
    yield 'I wait.<execute>[{"name": "wait", "args": {}}]</execute>'

@tool
def look() -> str:
    "Look."
    return "light"

@tool
async def wait() -> str:
    "Wait for ever."
    open("waiting", "w").close()
    await asyncio.Event().wait()
    return ""
"""


@pytest.fixture
def place(tmp_path) -> Path:
    """A folder with models of one's own."""
    (tmp_path / "own.py").write_text(MODEL)
    return tmp_path


Begin = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def begin(place) -> Iterator[Begin]:
    """Begins the command with a model, as a program of its own."""
    begun: list[subprocess.Popen[bytes]] = []

    def begin(model: str, *args: object, stdout: int | IO[bytes] = -1) -> subprocess.Popen[bytes]:
        program = subprocess.Popen(
            [*PROGRAM, "ask", "Hi", "--model-from", f"own:{model}", "-q", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=place,
            env=environment(),
        )
        begun.append(program)
        return program

    yield begin
    for program in begun:
        program.kill()
        program.communicate()


def read(program: subprocess.Popen[bytes], text: bytes) -> None:
    """Read exactly this text from the standard output of a program that goes on."""
    assert program.stdout is not None
    assert program.stdout.read(len(text)) == text


@POSIX
def test_a_piece_is_written_before_the_model_writes_the_next(begin):
    program = begin("steady")
    read(program, b"The first half,")
    out, err = program.communicate(b"\n", timeout=60)
    assert (program.returncode, out, err) == (0, b" and the second half.\n", b"")


@POSIX
def test_at_a_terminal_text_is_written_at_once_and_calls_have_lines_of_their_own(place):
    from support.terminals import Terminal

    with Terminal("ask", "Hi", "--model-from", "own:steady", cwd=place) as terminal:
        terminal.until("The first half,")
        terminal.type("\n")
        terminal.until("and the second half.\n")
        assert terminal.ended() == 0
    options = ("--model-from", "own:calling", "--tools", "own:look")
    with Terminal("ask", "Hi", *options, cwd=place) as terminal:
        terminal.until("I look.\n")
        terminal.until("✓ look()")
        terminal.until("light\n")
        assert terminal.until("Seen.\n").splitlines()[-1] == "Seen."
        assert terminal.ended() == 0


STOPPED = [
    (signal.SIGINT, 130, b"cogency-rs: interrupted\n"),
    (signal.SIGTERM, 143, b"cogency-rs: ended by SIGTERM\n"),
    (signal.SIGHUP, 129, b"cogency-rs: ended by SIGHUP\n"),
]


@POSIX
@pytest.mark.parametrize(
    ("number", "code", "message"), STOPPED, ids=["ctrl-c", "terminate", "hang up"]
)
def test_an_answer_that_is_stopped_is_kept_in_the_output_and_in_the_log(
    begin, place, number, code, message
):
    program = begin("endless", "--db", "log.db", "--conversation", "c")
    read(program, b"The first half,")
    program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (code, b"\n", message)
    assert [entry["type"] for entry in logged(place)] == ["user", "respond", "cancelled"]


@POSIX
def test_an_answer_that_is_stopped_is_kept_in_a_file(begin, place):
    with (place / "answer.txt").open("wb") as file:
        program = begin("endless", stdout=file)
        wait_until((place / "answer.txt").read_bytes, "nothing was written")
        program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=60) == 143
    assert (place / "answer.txt").read_bytes() == b"The first half,\n"


@POSIX
def test_text_before_a_call_is_written_if_the_call_is_stopped(begin, place):
    program = begin("stuck", "--tools", "own:wait", "--db", "log.db", "--conversation", "c")
    wait_until((place / "waiting").exists, "the tool did not begin")
    program.send_signal(signal.SIGTERM)
    out, _ = program.communicate(timeout=60)
    assert (program.returncode, out) == (143, b"I wait.\n")
    [call] = [call for entry in logged(place) for call in entry.get("calls", [])]
    assert call["status"] == "cancelled"


def logged(place: Path) -> list[dict[str, Any]]:
    """The entries of the conversation in the log."""
    shown = run("show", "log.db", "c", "--json", cwd=place)
    return [json.loads(line) for line in shown.out.splitlines()]


def test_what_came_is_kept_if_the_model_fails(place):
    ended = run("ask", "Hi", "--model-from", "own:broken", "-q", cwd=place)
    assert ended.code == 1
    assert ended.out == "The first half,\n"
    assert ended.err == "cogency-rs: the server broke off\n"


@POSIX
def test_if_nobody_reads_the_answer_it_ends_quietly_and_the_log_has_what_came(begin, place):
    program = begin("steady", "--db", "log.db", "--conversation", "c")
    read(program, b"The first half,")
    program.stdout.close()
    program.stdin.write(b"\n")
    program.stdin.close()
    program.stdin = None
    assert program.stderr.read() == b""
    assert program.wait(timeout=60) == 141
    assert logged(place)[0]["type"] == "user"


@POSIX
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has /dev/full")  # noqa: PTH110
def test_a_disk_that_is_full_is_said_in_one_line(begin):
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
        program = begin("broken", stdout=full)
        _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (1, b"cogency-rs: [Errno 28] No space left on device\n")


@POSIX
@pytest.mark.parametrize(
    ("args", "kept"),
    [
        ([b"a\xff"], "a\ufffd"),
        ([b"\xed\xa0\x80"], "\ufffd\ufffd\ufffd"),
        ([b"caf\xc3\xa9"], "café"),
        ([b"a", b"--instructions", b"\xff"], "a"),
    ],
    ids=["a byte", "half a pair", "text", "instructions"],
)
def test_bytes_that_are_not_text_are_replaced_and_the_log_takes_the_question(place, args, kept):
    options = ["--model-from", "own:calling", "--db", "log.db", "--conversation", b"c\xff", "-q"]
    program = subprocess.run(
        [*PROGRAM, "ask", *args, *options],
        capture_output=True,
        cwd=place,
        env=environment(),
        check=False,
        timeout=60,
    )
    assert (program.returncode, program.stderr) == (0, b"")
    shown = run("show", "log.db", "c\ufffd", "--json", cwd=place)
    assert json.loads(shown.out.splitlines()[0])["content"] == kept


@POSIX
@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["ask", "-"], "give the text in place of -"),
        (["chat"], "`cogency-rs ask` takes a question as an argument"),
    ],
    ids=["ask", "chat"],
)
def test_a_closed_standard_input_is_an_error_in_one_line(place, args, problem):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *PROGRAM, *args, "--model-from", "own:calling"],
        capture_output=True,
        cwd=place,
        env=environment(),
        check=False,
        timeout=60,
    )
    message = f"cogency-rs: standard input is closed; {problem}\n"
    assert (done.returncode, done.stderr.decode()) == (2, message)


@POSIX
def test_what_takes_long_to_start_is_given_up_when_the_program_is_to_end():
    """As a server that says nothing: the signal comes while it is waited for."""
    left: list[str] = []

    @asynccontextmanager
    async def silent() -> AsyncGenerator[None, None]:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
            yield
        finally:
            left.append("silent")

    with terminable(), pytest.raises(TerminatedError), Background() as background:
        background.enter(silent())
    assert left == ["silent"]
