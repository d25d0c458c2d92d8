"""`cogency-rs parse`: events as lines of JSON, while the text arrives."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("typer", reason="the command line is in the extra cli")

from hypothesis import given, strategies as st

from cogency_rs import Parser
from cogency_rs.cli.parse import Utf8
from support import commands
from support.commands import POSIX, PROGRAM
from support.outlines import parse, timeless

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = (
    "<think>Two at once.</think>Both, naïvely: 東京\n"
    '<execute>[{"name": "read", "args": {"file": "</execute>"}}, {"name": "list", "args": {}}]</execute> discarded'
)


def expected(text: str, stream: str) -> list[dict[str, Any]]:
    return timeless(parse([text], stream=stream))


@pytest.mark.parametrize("stream", ["event", "token"])
def test_the_events_of_a_file_are_printed(command, tmp_path, stream):
    path = tmp_path / "text"
    path.write_text(TEXT, encoding="utf-8")
    ended = command("parse", path, "--stream", stream)
    assert (timeless(ended.objects), ended.code, ended.err) == (expected(TEXT, stream), 0, "")
    assert all(isinstance(event["timestamp"], float) for event in ended.objects)


@pytest.mark.parametrize("args", [["parse"], ["parse", "-"]], ids=" ".join)
def test_the_events_of_standard_input_are_printed(args):
    ended = commands.run(*args, stdin=TEXT.encode())
    assert (timeless(ended.objects), ended.code, ended.err) == (expected(TEXT, "event"), 0, "")


def test_malformed_output_of_a_model_is_an_event_and_not_an_error(command):
    ended = command("parse", stdin=b"<execute>[{]</execute>")
    assert [event["type"] for event in ended.objects] == ["respond"]
    assert ended.objects[0]["content"].startswith("Error: Malformed tool call syntax.")
    assert ended.code == 0


def test_malformed_output_can_be_an_error_event(command):
    ended = command("parse", "--errors", "event", stdin=b"a<execute>[{]</execute>")
    assert [event["type"] for event in ended.objects] == ["respond", "error"]
    assert ended.objects[1]["kind"] == "malformed"
    assert ended.code == 0


@pytest.mark.parametrize(
    ("reason", "types"),
    [(None, ["call", "execute"]), ("stop", ["call", "execute"]), ("length", ["error"])],
)
def test_the_finish_reason_decides_which_calls_run(command, reason, types):
    options = [] if reason is None else ["--finish-reason", reason]
    text = b'<execute>[{"name": "t", "args": {}}]'
    ended = command("parse", "--errors", "event", *options, stdin=text)
    assert [event["type"] for event in ended.objects] == types


def test_calls_are_read_as_small_models_write_them(command):
    text = b'hm</think><execute>```json\n{"name": "t", "arguments": {}}\n```</execute>'
    ended = command("parse", "--lenient", "--begins-in-think", stdin=text)
    assert [event["type"] for event in ended.objects] == ["think", "call", "execute"]


# Other dialects.

CALLS = (
    "<think>Both.</think>Reading.\n"
    '<tool_call>\n{"name": "read", "arguments": {"file": "a.txt"}}\n</tool_call>\n'
    "And the other.\n<tool_call>\n<function=read>\n<parameter=lines>\n5\n</parameter>\n</function>\n</tool_call>"
)
TOOLS = [{"name": "read", "parameters": {"properties": {"lines": {"type": "integer"}}}}]


@pytest.mark.parametrize("dialect", ["hermes", "qwen3-coder,hermes", " hermes , qwen3-coder"])
@pytest.mark.parametrize("stream", ["event", "token"])
def test_text_is_read_in_the_dialects_that_are_named(command, dialect, stream):
    ended = command("parse", "--dialect", dialect, "--stream", stream, stdin=CALLS.encode())
    names = tuple(name.strip() for name in dialect.split(","))
    parser = Parser(dialect=names, stream=stream)
    assert timeless(ended.objects) == timeless([*parser.feed(CALLS), *parser.finish()])
    calls = [event["type"] for event in ended.objects].count("call")
    assert (calls, ended.code, ended.err) == (len(names), 0, "")


def test_the_schema_of_a_tool_gives_a_value_its_type(command, tmp_path):
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS), encoding="utf-8")
    read = []
    for options in ([], ["--tools", file]):
        ended = command("parse", "--dialect", "qwen3-coder", *options, stdin=CALLS.encode())
        [call] = [event for event in ended.objects if event["type"] == "call"]
        read.append(json.loads(call["content"])["args"])
    assert read == [{"lines": "5"}, {"lines": 5}]


def test_calls_are_shown_while_they_are_written():
    with Following("--dialect", "hermes", "--calls", "stream") as parse:
        parse.write(b'<tool_call>\n{"name": "read", "arguments": {"fi')
        assert parse.event() == {"type": "tool_call_start", "index": 0, "name": "read"}
        piece = {"type": "tool_call_delta", "index": 0, "path": ["file"]}
        parse.write(b'le": "a.')
        assert parse.event() == {**piece, "content": "a."}
        parse.write(b'txt"}}</tool_call>')
        assert parse.event() == {**piece, "content": "txt"}
        assert parse.event()["type"] == "call"
        code, out, err = parse.close()
    assert (code, json.loads(out)["type"], err) == (0, "execute", "")


@pytest.mark.parametrize("text", ["", "<think></think>", "<think>  </think>"])
def test_a_text_without_events_prints_nothing(command, text):
    ended = command("parse", stdin=text.encode())
    assert (ended.code, ended.out, ended.err) == (0, "", "")


class Following:
    """A running `cogency-rs parse` that is fed piece by piece."""

    def __init__(self, *args: str) -> None:
        self._program = subprocess.Popen(
            [*PROGRAM, "parse", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=commands.environment(),
        )

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_: object) -> None:
        if self._program.poll() is None:
            self._program.kill()
        self._program.communicate()

    def write(self, piece: bytes) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(piece)
        self._program.stdin.flush()

    def read(self) -> tuple[str, str | None]:
        """The type and content of the next event; waits until it is printed."""
        event = self.event()
        return event["type"], event.get("content")

    def event(self) -> dict[str, Any]:
        """The next event, without its time."""
        assert self._program.stdout is not None
        return timeless([json.loads(self._program.stdout.readline())])[0]

    def close(self) -> tuple[int, str, str]:
        out, err = self._program.communicate(timeout=60)
        return self._program.returncode, out.decode(), err.decode()

    def wait(self) -> int:
        return self._program.wait(timeout=60)


def test_each_event_is_printed_when_it_is_known_and_not_when_the_input_ends():
    with Following() as parse:
        parse.write(b"<think>hm</thi")
        parse.write(b"nk>")
        assert parse.read() == ("think", "hm")
        parse.write(b"So.<end")
        parse.write(b">")
        assert parse.read() == ("respond", "So.")
        assert parse.read() == ("end", None)
        parse.write(b"more")
        code, out, err = parse.close()
        assert (code, json.loads(out)["content"], err) == (0, "more", "")


def test_in_token_mode_text_is_printed_as_it_arrives_even_if_a_character_is_cut():
    with Following("--stream", "token") as parse:
        parse.write("He said: 東".encode()[:-1])
        assert parse.read() == ("respond", "He said: ")
        parse.write("東".encode()[-1:])
        assert parse.read() == ("respond", "東")
        assert parse.close() == (0, "", "")


@POSIX
def test_after_a_complete_block_nothing_more_is_read():
    with Following() as parse:
        parse.write(b'<execute>[{"name": "t", "args": {}}]</execute>')
        assert parse.read()[0] == "call"
        assert parse.read() == ("execute", None)
        assert parse.wait() == 0  # although its input is still open
        with pytest.raises(BrokenPipeError):
            parse.write(b"x")


# Bytes that are not UTF-8.


@pytest.mark.parametrize(
    ("data", "content", "message"),
    [
        (b"a\xffb", "a\ufffdb", "1; replaced by U+FFFD"),
        (
            b"caf\xe9 \x80\x81",
            "caf\ufffd \ufffd\ufffd",
            "3 and 2 more; replaced by U+FFFD",
        ),
        ("cut off: 東".encode()[:-1], "cut off: \ufffd", "9; replaced by U+FFFD"),
        (b"\xed\xa0\x80", "\ufffd" * 3, "0 and 2 more; replaced by U+FFFD"),
    ],
)
@pytest.mark.parametrize("where", ["file", "standard input"])
def test_bytes_that_are_not_utf_8_are_replaced_and_reported(
    command, monkeypatch, tmp_path, data, content, message, where
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(data)
    ended = command("parse", "file") if where == "file" else command("parse", stdin=data)
    assert [event["content"] for event in ended.objects] == [content]
    assert (ended.code, ended.err) == (
        0,
        f"cogency-rs: {where} is not UTF-8 at byte {message}\n",
    )


def decoded(data: bytes, cuts: Sequence[int] = ()) -> tuple[str, Utf8]:
    text = Utf8()
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]
    return "".join([*map(text.feed, chunks), text.finish()]), text


PIECES = [*map(str.encode, ("a", "é", "東", "🙂")), b"\xff", b"\xf0", b"\x9f", b"\xe6"]
BYTES = st.one_of(
    st.binary(), st.text().map(str.encode), st.lists(st.sampled_from(PIECES)).map(b"".join)
)


@given(data=BYTES, cuts=st.lists(st.integers(0, 20), max_size=5))
def test_bytes_are_decoded_as_python_does_however_they_are_cut(data, cuts):
    text, _ = decoded(data, [min(cut, len(data)) for cut in cuts])
    assert text == data.decode("utf-8", "replace").removeprefix("\ufeff")


@given(data=BYTES)
def test_the_first_byte_that_is_not_utf_8_is_where_python_finds_it(data):
    try:
        data.decode()
        first = None
    except UnicodeDecodeError as error:
        first = error.start
    text = decoded(data)[1]
    assert text.first_replaced == first
    assert text.replaced == data.decode("utf-8", "replace").count("\ufffd") - data.count(
        "\ufffd".encode()
    )


def test_a_byte_order_mark_at_the_start_is_not_text():
    assert decoded(b"\xef\xbb\xbfa\xef\xbb\xbf", [1, 2])[0] == "a\ufeff"
