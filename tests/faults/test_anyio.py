"""Batches and turns in cancel scopes of anyio, which FastAPI and Starlette use.

A cancelled scope cancels its tasks again in every round of the event loop. A wait that only swallowed these
cancellations would keep a processor busy until the cleanup is over. So the tests run in exact time, in which a loop
that spins is an error.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from cogency_rs import CallOptions, execute_tools, parse_tokens
from support.clock import in_exact_time
from support.tools import FunctionTool, Waiting, block, call, rounds, with_tools
from support.turns import Log, accumulator, carry_out, check_answered, results_in
from support.ways import in_both_ways

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(60)]

CLEANUP = 60
"""Seconds that cancelled tools and saves take to stop."""


class Stubborn:
    """A tool that takes `CLEANUP` to stop."""

    description = "stops slowly"

    def __init__(self) -> None:
        self.name, self.schema = "stubborn", {}
        self.started = asyncio.Event()
        self.stopped = 0

    async def execute(self, **_: Any) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(CLEANUP)
            self.stopped += 1


class SlowLog(Log):
    """A storage that takes `CLEANUP` to save results."""

    async def _save(self, rows: Any) -> None:
        rows = list(rows)
        if rows[0][2] == "result":
            await asyncio.sleep(CLEANUP)
        await super()._save(rows)


@in_exact_time
async def test_a_batch_in_a_scope_whose_time_is_up():
    tool = Stubborn()
    with anyio.move_on_after(2) as scope:
        await execute_tools([call("stubborn")] * 3, execution=with_tools(tool))
    assert scope.cancelled_caught
    assert tool.stopped == 3
    assert asyncio.get_running_loop().time() == 2 + CLEANUP


@pytest.mark.parametrize("log", [Log, SlowLog], ids=["a slow tool", "a slow save"])
@in_exact_time
async def test_a_turn_in_a_scope_whose_time_is_up(log):
    tool = Stubborn() if log is Log else Waiting("stubborn")
    storage = log()
    turns = accumulator(with_tools(tool, storage=storage))
    with anyio.move_on_after(2) as scope:
        await carry_out(turns, parse_tokens(block("stubborn", "stubborn")))
    assert scope.cancelled_caught
    assert asyncio.get_running_loop().time() == 2 + CLEANUP
    check_answered(storage.rows)
    [array] = results_in(storage.rows)
    assert [item["content"] for item in array] == ["Cancelled"] * 2


@in_exact_time
async def test_a_scope_inside_a_tool_ends_only_the_wait_of_the_tool():
    async def limited(**_: Any) -> str:
        with anyio.move_on_after(1) as scope:
            await anyio.sleep(20)
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 0)
        return f"cancelled: {scope.cancelled_caught}"

    [result] = await execute_tools(
        [call("limited")],
        execution=with_tools(FunctionTool("limited", limited)),
        calls=CallOptions(timeout=20),
    )
    assert result.content == "cancelled: True"


@in_exact_time
async def test_a_tool_that_times_out_in_a_shielded_scope_of_its_own_is_waited_for():
    journal: list[str] = []

    async def shielded(**_: Any) -> None:
        try:
            await anyio.sleep(20)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(5)
                journal.append("cleaned up")

    tool = FunctionTool("shielded", shielded)
    [result] = await execute_tools(
        [call("shielded")], execution=with_tools(tool), calls=CallOptions(timeout=2)
    )
    assert ("timed out" in result.outcome, journal) == (True, ["cleaned up"])


@in_exact_time
async def test_a_task_group_in_which_another_task_fails(both_ways):
    tool, storage = Stubborn(), Log()
    turns = accumulator(with_tools(tool, storage=storage))

    async def fail() -> None:
        await both_ways.until_complete(tool.started)
        raise OSError("no")

    with pytest.raises(ExceptionGroup) as caught:
        async with anyio.create_task_group() as group:
            group.start_soon(carry_out, turns, parse_tokens(block("stubborn")))
            group.start_soon(fail)
    assert [str(error) for error in caught.value.exceptions] == ["no"]
    check_answered(storage.rows)


@in_exact_time
async def test_a_task_in_a_scope_that_the_program_cancels(both_ways):
    tool, storage = Stubborn(), Log()
    turns = accumulator(with_tools(tool, storage=storage))

    async def turn() -> None:
        with anyio.CancelScope():
            await carry_out(turns, parse_tokens(block("stubborn")))

    task = asyncio.create_task(turn())
    await both_ways.until_complete(tool.started)
    for _ in range(3):
        task.cancel("stop")
        await rounds(2)
    with pytest.raises(asyncio.CancelledError, match="stop"):
        await task
    check_answered(storage.rows)
    assert (tool.stopped, asyncio.current_task().cancelling()) == (1, 0)


@in_exact_time
async def test_a_client_that_disconnects_while_a_tool_resists(both_ways):
    """Starlette cancels the scope in which it streams a response when its client goes away."""
    responses = pytest.importorskip("starlette.responses")
    tool, storage = Stubborn(), Log()
    turns = accumulator(with_tools(tool, storage=storage))
    sent: list[bytes] = []

    async def lines() -> Any:
        async for event in turns.process(parse_tokens(f"Wait.{block('stubborn')}")):
            yield event["type"] + "\n"

    async def receive() -> dict[str, Any]:
        await both_ways.until_complete(tool.started)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.0"}}
    await responses.StreamingResponse(lines())(scope, receive, send)
    assert b"".join(sent) == b"respond\ncall\nexecute\n"
    # The response does not close its generator; the event loop closes it in a task of its own.
    await asyncio.sleep(CLEANUP)
    await rounds(20)
    assert (tool.stopped, len(results_in(storage.rows))) == (1, 1)
    check_answered(storage.rows)
