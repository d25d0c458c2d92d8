"""`RunHandle.cancel`: it ends the run at once, and nothing but the run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, Memory, tool
from cogency_rs.agent import RunHandle
from support.agents import agent, calls, rows

pytestmark = pytest.mark.concurrency


class Talking:
    """A model that says something and then waits for ever."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()
        self.was_closed = False

    async def stream(self, request: Any) -> AsyncGenerator[str, None]:
        try:
            yield "Once upon"
            self.waits.set()
            await asyncio.Event().wait()
        finally:
            self.was_closed = True


def rows_of(made: Agent[Any, Any]) -> list[tuple[str, str]]:
    return rows(made)


@pytest.mark.parametrize("way", ["awaited", "events", "steps"])
async def test_it_ends_a_run_in_the_middle_of_an_answer(way):
    model = Talking()
    made = Agent(model, storage=Memory())
    run = made.run("?", conversation_id="c")

    async def follow() -> list[Any]:
        if way == "awaited":
            return [await run]
        return [each async for each in (run if way == "events" else run.steps())]

    following = asyncio.create_task(follow())
    await model.waits.wait()
    run.cancel("enough")
    seen = await following
    assert following.cancelling() == 0
    assert model.was_closed
    result = run.result
    assert (result.status, result.has_output, result.stop.reason) == (
        "stopped",
        False,
        "user_requested",
    )
    assert result.stop.message == "enough"
    assert rows_of(made)[-1] == ("cancelled", "enough")
    if way == "events":
        assert [event["type"] for event in seen[-2:]] == ["interrupt", "cancelled"]


async def test_calls_that_run_are_cancelled_and_have_their_results():
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    made = agent(calls("wait"), "Done.", tools=[wait])
    run = made.run("?", conversation_id="c")
    following = asyncio.ensure_future(run)
    await begun.wait()
    run.cancel()
    assert (await following).status == "stopped"
    assert [type for type, _ in rows_of(made)] == ["user", "call", "result", "cancelled"]
    assert (await made.resume("c")).output == "Done."


async def test_one_that_is_cancelled_between_two_events_ends_at_the_next():
    made = Agent(lambda _: words(9), storage=Memory())
    run = made.run("?", conversation_id="c")
    seen = []
    async for event in run:
        seen.append(event["type"])
        if event["type"] == "respond":
            run.cancel()
            await asyncio.sleep(0)  # nothing is in the run, so nothing is cancelled here
    assert seen == ["user", "respond", "interrupt", "cancelled"]
    assert run.result.status == "stopped"


async def words(count: int) -> AsyncGenerator[str, None]:
    for number in range(count):
        yield f"word {number} "


async def test_a_thread_may_cancel_it():
    model = Talking()
    run = Agent(model).run("?")
    following = asyncio.ensure_future(run)
    await model.waits.wait()
    thread = threading.Thread(target=run.cancel)
    thread.start()
    assert (await following).status == "stopped"
    thread.join()


async def test_before_it_begins_no_model_is_asked():
    model = Talking()
    run = Agent(model).run("?")
    run.cancel("never mind")
    assert (await run).stop.message == "never mind"
    assert not model.waits.is_set()


async def test_one_that_waits_for_its_conversation_is_cancelled_too():
    model = Talking()
    made = Agent(model, storage=Memory())
    first, second = (made.run(f"{number}?", conversation_id="c") for number in (1, 2))
    following = [asyncio.ensure_future(first)]
    await model.waits.wait()
    following.append(asyncio.ensure_future(second))
    await asyncio.sleep(0)
    second.cancel()
    assert (await following[1]).status == "stopped"
    first.cancel()
    assert (await following[0]).status == "stopped"
    assert [content for type, content in rows_of(made) if type == "user"] == ["1?"]


async def test_when_it_is_over_nothing_happens():
    run = agent("3").run("?")
    result = await run
    run.cancel()
    await asyncio.sleep(0)
    assert run.result is result
    assert result.output == "3"


async def test_a_task_that_is_cancelled_too_stays_cancelled():
    model = Talking()
    run = Agent(model).run("?")
    following = asyncio.ensure_future(run)
    await model.waits.wait()
    run.cancel()
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert following.cancelled()


async def test_the_task_that_watches_now_is_the_one_that_leaves():
    model = Talking()
    run = Agent(model).run("?")
    events = run.events()
    first = await asyncio.create_task(anext(events))  # this task is over
    assert first["type"] == "user"
    following = asyncio.create_task(rest(events))
    await model.waits.wait()
    run.cancel()
    assert (await following)[-1]["type"] == "cancelled"


async def rest(events: Any) -> list[Any]:
    return [event async for event in events]


async def test_hooks_are_given_the_result():
    given: list[Any] = []

    class Look(Hooks):
        async def after_run(self, ctx, result):
            given.append(result.status)
            return result

    model = Talking()
    run: RunHandle[str] = Agent(model, hooks=[Look()]).run("?")
    following = asyncio.ensure_future(run)
    await model.waits.wait()
    run.cancel()
    await following
    assert given == ["stopped"]
