"""The parser as an object: its events' keys and times, when it is done, and what it refuses."""

from __future__ import annotations

import itertools
import time

import pytest

from cogency_rs import Parser
from cogency_rs.errors import ConfigError
from support.outlines import parse
from support.parsing import END, T, block, outline, respond


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("<think>a</think>", ["type", "content", "timestamp"]),
        ("a", ["type", "content", "timestamp"]),
        (block("oops"), ["type", "content", "timestamp"]),
        (block(T), ["type", "content", "timestamp"]),
        (block("[]"), ["type", "timestamp"]),
        ("<end>", ["type", "timestamp"]),
        ("<results>[]</results>", ["type", "content", "timestamp", "payload"]),
    ],
    ids=["think", "respond", "malformed", "call", "execute", "end", "result"],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_an_event_has_its_keys_in_order(text, keys, stream):
    assert list(parse([text], stream=stream)[0]) == keys


def test_a_result_event_has_no_payload():
    [event] = parse(["<results>[]</results>"])
    assert event["payload"] is None


def test_a_timestamp_is_the_time_of_day():
    now = time.time()
    stamps = [
        event["timestamp"] for event in parse([f"<think>a</think>b<results>[]</results>{block(T)}"])
    ]
    assert [(type(stamp), abs(stamp - now) < 60) for stamp in stamps] == [(float, True)] * 5


def test_timestamps_never_go_back():
    stamps = [event["timestamp"] for event in parse("<think>a</think>b<end>" * 20)]
    assert all(earlier <= later for earlier, later in itertools.pairwise(stamps))


def test_a_new_parser_is_not_done():
    assert Parser().done is False


@pytest.mark.parametrize("text", ["a", "<end>", "<think>", "<execute>[]", block("oops")])
def test_a_parser_that_can_go_on_is_not_done(text):
    parser = Parser()
    parser.feed(text)
    assert parser.done is False


@pytest.mark.parametrize("body", ["[]", T])
def test_a_parser_is_done_after_a_valid_block(body):
    parser = Parser()
    parser.feed(block(body))
    assert parser.done is True


def test_a_parser_is_done_after_finish():
    parser = Parser()
    parser.finish()
    assert parser.done is True


@pytest.mark.parametrize("stream", ["event", "token"])
def test_after_a_valid_block_there_are_no_more_events(stream):
    parser = Parser(stream=stream)
    parser.feed(block(T))
    assert (parser.feed("a<end>"), parser.feed(block(T)), parser.finish()) == ([], [], [])


def test_after_finish_there_are_no_more_events():
    parser = Parser()
    parser.feed("a")
    parser.finish()
    assert (parser.feed("b<end>"), parser.finish()) == ([], [])


def test_parsers_do_not_share_state():
    one, other = Parser(), Parser()
    one.feed("<think>a")
    assert outline(other.feed("b<end>")) == [respond("b"), END]


@pytest.mark.parametrize("chunk", [None, b"a", 1, ["a"]], ids=repr)
def test_a_chunk_that_is_not_a_str_is_a_type_error(chunk):
    with pytest.raises(TypeError):
        Parser().feed(chunk)


def test_a_subclass_of_str_is_text():
    class Token(str):
        __slots__ = ()

    assert outline(parse([Token("a<end>")])) == [respond("a"), END]


def test_an_unknown_stream_mode_is_refused():
    with pytest.raises(ConfigError, match="bogus"):
        Parser(stream="bogus")
