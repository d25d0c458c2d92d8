"""Limits of a block: one at the bound is read, one beyond it is malformed."""

from __future__ import annotations

import pytest

from cogency_rs import Parser
from cogency_rs.errors import ConfigError
from cogency_rs.protocol import Limits
from support.outlines import parse
from support.parsing import (
    END,
    EXECUTE,
    MALFORMED,
    T,
    block,
    body_with,
    calls,
    joined,
    nested,
    outline,
    respond,
    think,
)


def padded(size: int) -> str:
    """A body of `size` bytes, some of them in two-byte characters."""
    return body_with('"' + "é" * 7 + "x" * (size - 14 - len(body_with('""'))) + '"')


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        pytest.param(calls(3), {"max_calls": 3}, id="calls"),
        pytest.param(calls(1024), {}, id="calls, by default"),
        pytest.param(nested(7), {"max_depth": 7}, id="depth"),
        pytest.param(nested(200), {}, id="depth, by default"),
        pytest.param("[]", {"max_depth": 1}, id="depth of an empty array"),
        pytest.param(padded(100), {"max_block_bytes": 100}, id="bytes"),
        pytest.param(f" {T}\n", {"max_block_bytes": len(T) + 2}, id="bytes, blanks among them"),
        pytest.param(padded(10 * 2**20), {}, id="bytes, by default"),
    ],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_a_block_at_a_limit_is_valid(body, limits, stream):
    events = parse([block(body)], stream=stream, limits=Limits(**limits))
    assert (outline(events)[-1:], MALFORMED in outline(events)) == ([EXECUTE], False)


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        pytest.param(calls(4), {"max_calls": 3}, id="calls"),
        pytest.param(calls(1025), {}, id="calls, by default"),
        pytest.param(nested(8), {"max_depth": 7}, id="depth"),
        pytest.param(nested(201), {}, id="depth, by default"),
        pytest.param("[[]]", {"max_depth": 1}, id="depth of a nested array"),
        pytest.param(padded(101), {"max_block_bytes": 100}, id="bytes"),
        pytest.param(f" {T}\n", {"max_block_bytes": len(T) + 1}, id="bytes, blanks among them"),
        pytest.param(padded(10 * 2**20 + 1), {}, id="bytes, by default"),
    ],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_a_block_beyond_a_limit_is_malformed_and_ends_at_its_closing_tag(body, limits, stream):
    events = parse([f"{block(body)}ok"], stream=stream, limits=Limits(**limits))
    assert joined(outline(events)) == [MALFORMED, respond("ok")]


@pytest.mark.parametrize(
    "limits", [{"max_calls": 1}, {"max_depth": 2}], ids=["too many calls", "too deep"]
)
def test_a_block_with_too_many_calls_or_levels_still_ends_at_a_tag_outside_its_strings(limits):
    body = '[{"name": "</execute>", "args": {}}, {"name": "</execute>", "args": {}}]'
    assert outline(parse([f"{block(body)}ok"], limits=Limits(**limits))) == [
        MALFORMED,
        respond("ok"),
    ]


@pytest.mark.parametrize("stream", ["event", "token"])
@pytest.mark.parametrize("size", [1, 1000])
def test_the_calls_of_a_batch_are_counted_in_all_its_blocks(size, stream):
    text = '<tool_call>{"name": "a", "arguments": {}}</tool_call>\n' * 5
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    options = {"dialect": "hermes", "stream": stream, "errors": "event"}
    kinds = [event["type"] for event in parse(pieces, limits=Limits(max_calls=3), **options)]
    assert [kind for kind in kinds if kind != "respond"] == [
        *["call"] * 3,
        *["error"] * 2,
        "execute",
    ]
    kinds = [event["type"] for event in parse(pieces, limits=Limits(max_calls=5), **options)]
    assert [kind for kind in kinds if kind != "respond"] == [*["call"] * 5, "execute"]


def test_a_block_with_too_many_bytes_ends_at_its_first_closing_tag():
    body = f'["</execute>", "{"x" * 100}"]'
    events = outline(parse([block(body)], limits=Limits(max_block_bytes=50)))
    assert events[:1] == [MALFORMED]
    assert "".join(content for _, content in events[1:]) == block(body).partition("</execute>")[2]


def test_a_cut_off_block_with_one_byte_too_many_ends_at_its_first_closing_tag():
    body = '["</execute>"'
    events = outline(parse([f"<execute>{body}"], limits=Limits(max_block_bytes=len(body) - 1)))
    assert events == [MALFORMED, respond('"')]


def test_a_block_with_too_many_bytes_that_is_never_closed_is_one_error():
    text = f'hi<execute>["{"x" * 1000}<end>'
    assert outline(parse([text], limits=Limits(max_block_bytes=50))) == [respond("hi"), MALFORMED]


RUNS = pytest.mark.parametrize(
    ("opening", "begin"),
    [("", "a"), ("<think>", "a"), ("<results>", '["a')],
    ids=["text", "think", "results"],
)


@RUNS
@pytest.mark.parametrize("size", [7, 8, 9, 16, 17, 1000])
def test_text_longer_than_a_block_may_be_comes_in_pieces(opening, begin, size):
    text = begin + ("aé😀 " * size)[:size]
    pieces = [
        event["content"] for event in parse([opening + text], limits=Limits(max_block_bytes=8))
    ]
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= 8


@RUNS
def test_text_longer_than_a_block_may_be_is_not_kept_until_the_end(opening, begin):
    parser = Parser(limits=Limits(max_block_bytes=8))
    fed = [event["content"] for event in parser.feed(opening + begin + "x" * 1000)]
    assert len("".join(fed)) >= 1000 - 8


def test_a_character_larger_than_a_block_may_be_is_not_lost():
    pieces = [event["content"] for event in parse(["aé😀"], limits=Limits(max_block_bytes=1))]
    assert "".join(pieces) == "aé😀"


def test_tags_are_found_under_the_smallest_limit():
    events = outline(parse(["a<think>b</think>c<end>"], limits=Limits(max_block_bytes=1)))
    assert events == [respond("a"), think("b"), respond("c"), END]


@pytest.mark.parametrize("field", ["max_block_bytes", "max_depth", "max_calls"])
@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, "10", None], ids=repr)
def test_a_limit_that_is_not_a_positive_int_is_refused(field, value):
    with pytest.raises(ConfigError, match=field):
        Limits(**{field: value})


def test_limits_have_defaults():
    limits = Limits()
    assert (limits.max_block_bytes, limits.max_depth, limits.max_calls) == (10 * 2**20, 200, 1024)
