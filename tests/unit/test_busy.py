"""A conversation has one turn at a time: a second one waits, or is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cogency_rs import SQLite, parse_tokens
from cogency_rs.errors import BusyError, ConfigError
from support.tools import FunctionTool, Waiting, block, rounds, with_tools
from support.turns import CONVERSATION, Log, accumulator, carry_out, types

pytestmark = pytest.mark.concurrency


@pytest.fixture
async def log():
    async with SQLite(":memory:") as log:
        yield log


async def test_a_second_turn_waits_for_the_first(log):
    slow = Waiting()
    turns = [accumulator(with_tools(slow, storage=log), on_busy="wait") for _ in range(2)]
    first = asyncio.ensure_future(carry_out(turns[0], parse_tokens(block("wait"))))
    await slow.started.wait()
    second = asyncio.ensure_future(carry_out(turns[1], parse_tokens("Hello.")))
    await rounds(100)
    assert not second.done()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert types(await second) == ["respond"]
    rows = await log.load_messages(CONVERSATION, "")
    assert [row["type"] for row in rows] == ["call", "result", "respond"]


async def test_a_second_turn_is_refused(log):
    slow = Waiting()
    turns = accumulator(with_tools(slow, storage=log), on_busy="error")
    first = asyncio.ensure_future(carry_out(turns, parse_tokens(block("wait"))))
    await slow.started.wait()
    with pytest.raises(BusyError, match=CONVERSATION):
        await carry_out(turns, parse_tokens("Hello."))
    first.cancel()
    await asyncio.wait([first])
    assert types(await carry_out(turns, parse_tokens("Hello."))) == ["respond"]


async def test_a_claim_of_another_conversation_does_not_count(log):
    async with log.claim("another"):
        turns = accumulator(with_tools(storage=log), on_busy="error")
        assert types(await carry_out(turns, parse_tokens("Hello."))) == ["respond"]


async def test_a_tool_that_runs_its_own_conversation_is_refused_instead_of_waiting_for_itself(
    log,
):
    async def again(**_: Any) -> str:
        inner = accumulator(with_tools(storage=log), on_busy="wait")
        await carry_out(inner, parse_tokens("Hello."))
        return "done"

    turns = accumulator(with_tools(FunctionTool("again", again), storage=log), on_busy="wait")
    *_, result = await carry_out(turns, parse_tokens(block("again")))
    assert result["payload"]["failure_count"] == 1
    assert "BusyError" in result["content"]


async def test_a_turn_that_is_dropped_leaves_the_conversation_to_others(log):
    turns = accumulator(with_tools(storage=log), on_busy="error")
    stream = turns.process(parse_tokens("a<think>b</think>c"))
    await anext(stream)
    await stream.aclose()
    assert types(await carry_out(turns, parse_tokens("Hello."))) == ["respond"]


@pytest.mark.parametrize("on_busy", ["waits", "", True, 0])
def test_an_unknown_on_busy_is_refused(on_busy):
    with pytest.raises(ConfigError, match='on_busy must be "wait", "error" or None, got '):
        accumulator(with_tools(storage=SQLite(":memory:")), on_busy=on_busy)


def test_a_storage_without_claims_is_refused():
    with pytest.raises(ConfigError, match="has no claim"):
        accumulator(with_tools(storage=Log()), on_busy="wait")
