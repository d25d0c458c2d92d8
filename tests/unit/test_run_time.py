"""The end of a run's time, `RunLimits(seconds=)`: it ends whatever the run waits for, and leaves a whole log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, Memory, RunLimits, tool
from cogency_rs.agent.run_hooks import LAST_SECONDS
from cogency_rs.errors import StopReason
from cogency_rs.execution import Reconcile
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.agents import calls
from support.clock import in_exact_time


def seconds() -> float:
    """The time of the loop, which is exact."""
    return asyncio.get_running_loop().time()


@pytest.fixture(autouse=True)
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogency_rs.runs.context.monotonic", seconds)


TEN = RunLimits(seconds=10, steps=2)


class Stuck(Hooks):
    """Everything that a run waits for; it waits for ever at one place."""

    def __init__(self, place: str) -> None:
        self.place: str | None = place
        self.reached = 0

    async def at(self, place: str) -> None:
        if place == self.place:
            self.reached += 1
            await asyncio.Event().wait()

    async def before_run(self, ctx: Any) -> None:
        await self.at("before_run")

    async def before_step(self, ctx: Any) -> None:
        await self.at("before_step")

    async def before_model_request(self, ctx: Any, request: Any) -> Any:
        await self.at("before_model_request")
        return request

    async def after_model_response(self, ctx: Any, response: Any) -> Any:
        await self.at("after_model_response")
        return response

    async def around_call(self, invocation: Any, next: Any) -> Any:
        await self.at("around_call")
        return await next(invocation)

    async def after_step(self, ctx: Any, step: Any) -> Any:
        await self.at("after_step")
        return step

    async def on_stop(self, ctx: Any, stop: Any) -> None:
        await self.at("on_stop")

    async def after_run(self, ctx: Any, result: Any) -> Any:
        await self.at("after_run")
        return result

    async def instructions(self, ctx: Any) -> str:
        await self.at("instructions")
        return "Count."

    async def model(self, request: Any) -> AsyncGenerator[str, None]:
        yield "I count. "
        await self.at("model")
        yield calls("count")

    async def approve(self, call: Any, context: Any) -> bool:
        await self.at("approve")
        return True

    async def count(self) -> str:
        """Count."""
        await self.at("tool")
        return "one"


class SlowLog(Memory):
    """A log whose conversation is taken, or that is slow to read."""

    def __init__(self, stuck: Stuck) -> None:
        super().__init__()
        self.stuck = stuck

    @asynccontextmanager
    async def begin(self, conversation_id: str, **options: Any) -> AsyncGenerator[Any, None]:
        await self.stuck.at("claim")
        async with super().begin(conversation_id, **options) as begun:
            yield begun

    async def read(self, *args: Any, **options: Any) -> Any:
        await self.stuck.at("read")
        return await super().read(*args, **options)


def an_agent(stuck: Stuck) -> Agent[Any, str]:
    return Agent(
        stuck.model,
        tools=[tool(requires_approval=True)(stuck.count)],
        hooks=[stuck],
        instructions=stuck.instructions,
        approve=stuck.approve,
        storage=SlowLog(stuck),
        limits=TEN,
    )


BEFORE_A_STEP = ("claim", "before_run", "before_step", "instructions")
IN_A_STEP = (
    *(
        "read",
        "before_model_request",
        "after_model_response",
        "model",
        "approve",
        "around_call",
        "tool",
    ),
)
AT_AN_END = ("after_step", "on_stop", "after_run")
WATCHED = pytest.mark.parametrize("watched", [False, True], ids=["awaited", "watched"])


async def carried_out(run: Any, watched: bool) -> Any:
    if watched:
        async for _ in run:
            pass
        return run.result
    return await run


@WATCHED
@pytest.mark.parametrize("place", [*BEFORE_A_STEP, *IN_A_STEP])
@in_exact_time
async def test_it_ends_whatever_a_run_waits_for(place, watched):
    stuck = Stuck(place)
    mine = an_agent(stuck)
    result = await carried_out(mine.run("?", conversation_id="c"), watched)
    assert stuck.reached == 1
    assert seconds() == 10
    assert (result.status, result.stop.reason) == ("stopped", StopReason.TIME_LIMIT)
    assert len(result.steps) == (place in IN_A_STEP)
    assert asyncio.current_task().cancelling() == 0
    assert len(asyncio.all_tasks()) == 1
    stuck.place = None
    types = [row["type"] for row in (await mine.storage.read("c")).rows]
    assert types.count("call") == types.count("result")
    assert not [record for record in await mine.storage.calls("c") if record.status == "open"]
    # The conversation is free, and goes on.
    again = await mine.run("?", conversation_id="c")
    assert again.stop.reason is StopReason.STEPS_LIMIT


@WATCHED
@pytest.mark.parametrize("place", AT_AN_END)
@in_exact_time
async def test_a_hook_at_an_end_is_stopped_and_what_is_over_is_kept(place, watched, caplog):
    stuck = Stuck(place)
    result = await carried_out(an_agent(stuck).run("?", conversation_id="c"), watched)
    assert stuck.reached == 1
    assert seconds() == 10
    assert [each.status for step in result.steps for each in step.executions] == [
        "success" for _ in result.steps
    ]
    assert len(result.steps) == (1 if place == "after_step" else 2)
    assert f"Hook Stuck.{place} was stopped: the run's time is over" in caplog.text


@pytest.mark.parametrize("place", AT_AN_END)
@in_exact_time
async def test_a_hook_that_is_told_when_the_time_is_over_has_a_second(place):
    class Told(Stuck):
        async def model(self, request: Any) -> AsyncGenerator[str, None]:
            await asyncio.Event().wait()
            yield ""

        async def at(self, place: str) -> None:
            if place == self.place:
                self.reached += 1
                await asyncio.Event().wait()

    stuck = Told(place)
    result = await an_agent(stuck).run("?")
    assert (result.stop.reason, stuck.reached) == (StopReason.TIME_LIMIT, 1)
    assert seconds() == 10 + LAST_SECONDS


@in_exact_time
async def test_no_hook_overrules_it():
    class Keeps(Stuck):
        async def on_stop(self, ctx: Any, stop: Any) -> None:
            ctx.go_on()

    for place in (*BEFORE_A_STEP, *IN_A_STEP):
        stuck = Keeps(place)
        began = seconds()
        result = await an_agent(stuck).run("?", conversation_id="c")
        assert (result.status, result.stop.reason) == ("stopped", StopReason.TIME_LIMIT)
        assert (stuck.reached, seconds()) == (1, began + 10)


@pytest.mark.parametrize("place", [*BEFORE_A_STEP, *IN_A_STEP])
@in_exact_time
async def test_a_cancellation_of_the_caller_at_the_same_time_is_not_swallowed(place):
    stuck = Stuck(place)
    task = asyncio.ensure_future(an_agent(stuck).run("?", conversation_id="c"))
    asyncio.get_running_loop().call_later(10, task.cancel)
    await asyncio.wait([task])
    assert stuck.reached == 1
    assert task.cancelled()


@pytest.mark.parametrize("place", ["before_step", "tool"])
@in_exact_time
async def test_a_time_limit_of_the_caller_is_the_caller_s(place):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await an_agent(Stuck(place)).run("?", conversation_id="c")
    assert asyncio.current_task().cancelling() == 0


@in_exact_time
async def test_who_watches_slowly_is_not_cancelled():
    run = an_agent(Stuck("nowhere")).run("?", conversation_id="c")
    seen: list[str] = []
    async for event in run:
        seen.append(event["type"])
        if event["type"] == "respond":
            await asyncio.sleep(20)
    assert asyncio.current_task().cancelling() == 0
    assert (run.result.status, run.result.stop.reason) == ("stopped", StopReason.TIME_LIMIT)
    assert seen[-1] == "metric"


@in_exact_time
async def test_the_end_of_a_run_that_is_left_is_not_disturbed():
    async def slow(messages: Any) -> AsyncGenerator[str, None]:
        try:
            yield "I count. "
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(20)

    async with Agent(slow, limits=TEN).run("?") as run:
        async for event in run:
            if event["type"] == "respond":
                break
    assert seconds() == 20
    assert asyncio.current_task().cancelling() == 0
    assert run.result.stop.reason is StopReason.USER_REQUESTED


@in_exact_time
async def test_a_resumed_run_is_ended_while_it_asks_what_happened():
    asked = 0

    async def look(call: Any) -> Any:
        nonlocal asked
        asked += 1
        await asyncio.Event().wait()

    async def pay() -> str:
        """Pay."""
        raise AssertionError("it may have been paid")

    log = Memory()
    record = CallRecord("id", "batch", 0, "pay", None, "open", 1, 1.0, None, "gone:1")
    rows = [("user", "Pay", 1.0), ("call", '{"name": "pay", "args": {}}', 2.0)]
    await log.append("c", user_id="", rows=rows, calls=[record])
    mine = Agent(
        ScriptedModel(["Done."]),
        tools=[tool(reconcile=Reconcile(look, timeout=100))(pay)],
        storage=log,
    )
    result = await mine.resume("c", limits=TEN)
    assert asked == 1
    assert seconds() == 10
    assert (result.status, result.stop.reason) == ("stopped", StopReason.TIME_LIMIT)
