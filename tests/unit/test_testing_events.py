"""The helpers that read events give the same in both streaming modes, and add nothing of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import Parser, ToolCall, parse_tokens
from cogency_rs.testing import calls_of, joined, outline, results_of, text_of
from support.texts import texts
from support.tools import block, call, raises, returns, with_tools
from support.turns import Log, accumulator, carry_out, event

TURN = f"<think>Two at once.</think>Both: {block(call('t', x=1), 'no')}"


async def run(text: str, **options: Any) -> list[dict[str, Any]]:
    tools = with_tools(returns(42), raises(ValueError("oh"), "no"), storage=Log())
    return await carry_out(accumulator(tools, **options), parse_tokens(text))


@pytest.mark.parametrize("stream", ["event", "token"])
async def test_a_turn_is_read_the_same_in_both_modes(stream: str):
    events = await run(TURN, stream=stream)
    assert text_of(events) == "Both:"
    assert text_of(events, "think") == "Two at once."
    assert calls_of(events) == [ToolCall("t", {"x": 1}), ToolCall("no", {})]
    assert results_of(events) == [
        {"tool": "t", "status": "success", "content": 42},
        {"tool": "no", "status": "failure", "content": "Tool execution failed: ValueError: oh"},
    ]
    assert [type for type, _ in outline(events)] == [
        "think", "respond", "call", "call", "execute", "result",
    ]  # fmt: skip


async def test_the_note_of_an_open_breaker_is_not_the_result_of_a_call():
    events = await run(block("no"), max_failures=1)
    assert [event["type"] for event in events].count("result") == 2
    assert [result["tool"] for result in results_of(events)] == ["no"]


async def test_results_that_the_model_made_up_are_not_results():
    events = [event async for event in parse_tokens('<results>[{"tool": "t"}]</results>')]
    assert [event["type"] for event in events] == ["result"]
    assert results_of(events) == []


def test_calls_keep_their_ids_and_servers():
    content = json.dumps({"name": "t", "args": {}, "id": "7", "server": "files"})
    [made] = calls_of([event("call", content)])
    assert (made.id, made.server) == ("7", "files")


def delta(index: int, content: str, *path: str | int) -> dict[str, Any]:
    return event("tool_call_delta", content, index=index, path=list(path))


@pytest.mark.parametrize(
    ("events", "pieces"),
    [
        ([], []),
        ([event("respond", "a"), event("respond", "b")], ["ab"]),
        ([event("respond", "a"), event("think", "b"), event("respond", "c")], ["a", "b", "c"]),
        ([event("respond", "a"), event("execute"), event("respond", "c")], ["a", None, "c"]),
        ([event("call", "a"), event("call", "b")], ["a", "b"]),
        ([delta(0, "a", "x"), delta(0, "b", "x"), delta(1, "c", "x")], ["ab", "c"]),
        ([delta(0, "a", "x", 0), delta(0, "b", "x", 1)], ["a", "b"]),
    ],
)
def test_pieces_are_joined_while_nothing_stands_between_them(
    events: list[dict[str, Any]], pieces: list[str | None]
):
    before = json.dumps(events)
    assert [content for _, content in outline(events)] == pieces
    assert json.dumps(events) == before


def test_a_joined_text_has_the_time_of_its_first_piece():
    pieces = [{**event("respond", "a"), "timestamp": 1.0}, {**event("respond", "b"), "timestamp": 2.0}]  # fmt: skip
    assert joined(pieces) == [{"type": "respond", "content": "ab", "timestamp": 1.0}]


@given(texts, st.integers(1, 8))
def test_any_chunks_have_the_same_outline(text: str, size: int):
    def read(*chunks: str) -> list[Any]:
        parser = Parser(stream="token")
        return [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()

    cut = read(*(text[start : start + size] for start in range(0, len(text), size)))
    assert outline(cut) == outline(read(text))
