"""What tools tell the run while their calls run: events between `execute` and `result`, and that the run should end."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from typing import Any

import pytest

from cogency_rs import (
    Execution,
    Hooks,
    SQLite,
    ToolCall,
    ToolContext,
    ToolResult,
    execute_tools,
    parse_tokens,
    tool,
)
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_calls
from cogency_rs.types import TurnOutcome
from support.tools import OK, block, call
from support.turns import (
    CONVERSATION,
    LOGS,
    MODES,
    USER,
    Chunks,
    Log,
    accumulator,
    carry_out,
    event,
    results_in,
    types,
)
from support.waiting import until


@tool
async def count(to: int, context: ToolContext) -> int:
    """Count, and say so."""
    for n in range(to):
        context.emit({"type": "progress", "n": n})
        await asyncio.sleep(0)
    return to


@tool
def count_in_a_thread(to: int, context: ToolContext) -> int:
    """Count in a worker thread, and say so."""
    for n in range(to):
        context.emit({"type": "progress", "n": n})
    return to


@tool
async def stop(why: str, context: ToolContext) -> str:
    """End the run."""
    context.stop(why)
    return "stopping"


def turns_with(*tools: Any, log: Any = None, **options: Any) -> Any:
    return accumulator(Execution(storage=log or Log(), tools=list(tools)), **options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["count", "count_in_a_thread"])
async def test_events_come_while_the_call_runs_and_in_their_order(mode, name):
    turns = turns_with(count, count_in_a_thread, stream=mode)
    events = await carry_out(turns, parse_tokens(block(call(name, to=3))))
    assert types(events) == ["call", "execute", "progress", "progress", "progress", "result"]
    assert [item["n"] for item in events[2:-1]] == [0, 1, 2]
    assert len({item["execution_id"] for item in events[2:-1]}) == 1
    assert all(item["timestamp"] > 0 for item in events)


async def test_an_event_is_read_before_its_call_is_over():
    read = asyncio.Event()

    @tool
    async def wait(context: ToolContext) -> str:
        """Wait until the event has been read."""
        context.emit({"type": "waiting"})
        await asyncio.wait_for(read.wait(), 10)
        return "read"

    async for item in turns_with(wait).process(parse_tokens(block("wait"))):
        if item["type"] == "waiting":
            read.set()
    assert item["payload"]["success_count"] == 1


async def test_events_are_neither_saved_nor_shown_to_the_model():
    async with SQLite(":memory:") as log:
        turns = turns_with(count, log=log)
        await carry_out(turns, parse_tokens(block(call("count", to=3))))
        rows = await log.load_messages(CONVERSATION, USER)
        assert [row["type"] for row in rows] == ["call", "result"]


async def test_calls_of_a_batch_emit_events_at_the_same_time():
    turns = turns_with(count, OK)
    text = block(call("count", to=2), "ok", call("count", to=2))
    events = [item for item in await carry_out(turns, parse_tokens(text)) if "n" in item]
    assert [item["n"] for item in events] == [0, 0, 1, 1]
    assert len({item["execution_id"] for item in events}) == 2


async def test_an_event_keeps_the_tool_s_own_keys():
    given = {"type": "found", "timestamp": 1.0, "execution_id": "mine", "content": {"a": [1]}}

    @tool
    async def find(context: ToolContext) -> None:
        """Find."""
        context.emit(given)

    events = await carry_out(turns_with(find), parse_tokens(block("find")))
    assert events[2] == given


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"type": "result"}, "'result' are the turn's own"),
        ({"type": "end"}, "'end' are the turn's own"),
        ({"content": "x"}, 'a dict with a "type"'),
        ({"type": 1}, 'a dict with a "type"'),
        ("progress", 'a dict with a "type"'),
        (None, 'a dict with a "type"'),
    ],
)
async def test_an_event_that_a_tool_may_not_emit_is_the_call_s_failure(given, error):
    @tool
    async def say(context: ToolContext) -> None:
        """Say."""
        context.emit(given)

    events = await carry_out(turns_with(say), parse_tokens(block("say")))
    assert types(events) == ["call", "execute", "result"]
    assert error in json.loads(events[-1]["content"])[0]["content"]


async def test_hooks_can_emit_events_too():
    class Watching(Hooks):
        async def around_call(self, invocation: Any, next: Any) -> Any:
            invocation.context.emit({"type": "starting", "name": invocation.call.name})
            return await next(invocation)

    events = await carry_out(turns_with(OK, hooks=[Watching()]), parse_tokens(block("ok")))
    assert types(events) == ["call", "execute", "starting", "result"]


async def test_without_a_turn_on_event_gets_the_events():
    execution = Execution(storage=Log(), tools=[count, count_in_a_thread])
    calls = [ToolCall("count", {"to": 2}), ToolCall("count_in_a_thread", {"to": 1})]
    seen: list[Any] = []
    await execute_tools(calls, execution=execution, on_event=seen.append)
    assert sorted(item["n"] for item in seen) == [0, 0, 1]
    done = await execute_calls(calls, execution=execution, on_event=seen.append)
    assert {item["execution_id"] for item in seen[3:]} == {each.id for each in done}
    assert await execute_tools(calls, execution=execution)  # without a reader
    with pytest.raises(ConfigError, match="on_event must be a function, or None"):
        await execute_tools(calls, execution=execution, on_event=5)  # type: ignore[arg-type]


async def test_an_on_event_that_fails_has_no_effect(caplog):
    def listen(event: Any) -> None:
        raise LookupError("not today")

    caplog.set_level(logging.CRITICAL, "cogency_rs")
    execution = Execution(storage=Log(), tools=[count])
    [result] = await execute_tools(
        [ToolCall("count", {"to": 2})], execution=execution, on_event=listen
    )
    assert result == ToolResult("Success", 2)


@pytest.mark.parametrize("kind_of_log", LOGS)
@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_a_turn_that_is_stopped_at_an_event_leaves_one_result_for_each_call(kind_of_log, how):
    stopped = asyncio.Event()

    @tool
    async def hang(context: ToolContext) -> None:
        """Hang."""
        await asyncio.sleep(0)
        context.emit({"type": "hanging"})
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    log = kind_of_log()
    turns = turns_with(hang, OK, log=log)

    async def read() -> None:
        async with aclosing(turns.process(parse_tokens(block("ok", "hang")))) as events:
            async for item in events:
                if item["type"] == "hanging":
                    if how == "closed":
                        return
                    await asyncio.Event().wait()

    reading = asyncio.ensure_future(read())
    if how == "cancelled":
        await until(lambda: log.rows, "nothing is saved")
        for _ in range(10):
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    await asyncio.wait([reading])
    assert stopped.is_set()
    [[ok, hung]] = results_in(log.rows)
    assert (ok["status"], hung["status"], hung["content"]) == ("success", "failure", "Cancelled")


# The end of a run


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_can_end_the_run_once_its_batch_is_settled(mode):
    log = Log()
    turns = turns_with(OK, stop, log=log, stream=mode)
    text = block(call("stop", why="no money left"), "ok", call("stop", why="later"))
    events = await carry_out(turns, parse_tokens(text))
    assert types(events)[-1] == "result"
    assert [item["status"] for item in results_in(log.rows)[0]] == ["success"] * 3
    assert (turns.last.outcome, turns.last.stop.message) == (TurnOutcome.ENDED, "no money left")
    await carry_out(turns, parse_tokens(block("ok")))
    assert (turns.last.outcome, turns.last.stop) == (TurnOutcome.ACTED, None)


async def test_nothing_more_of_another_parser_is_read_after_a_stop():
    stored = json.dumps({"name": "stop", "args": {"why": "enough"}})
    source = Chunks(event("call", stored), event("execute"), event("respond", "on"))
    turns = turns_with(stop)
    assert types(await carry_out(turns, source)) == ["call", "execute", "result"]
    assert (source.asked, source.closed) == (2, 1)
    assert turns.last.stop.message == "enough"


@pytest.mark.parametrize("why", [None, 5, b"x"])
async def test_a_reason_that_is_not_text_is_the_call_s_failure(why):
    @tool
    async def end(context: ToolContext) -> None:
        """End."""
        context.stop(why)

    turns = turns_with(end)
    events = await carry_out(turns, parse_tokens(block("end")))
    assert (
        "the reason why a run ends, must be a str"
        in json.loads(events[-1]["content"])[0]["content"]
    )
    assert turns.last.outcome is TurnOutcome.ACTED
