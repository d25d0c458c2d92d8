"""A run as a value: awaited, watched, stopped, closed, dropped; and all that asyncio promises of a coroutine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import uvloop

from cogency_rs import Agent, ToolCall, tool
from cogency_rs.agent import RunHandle
from cogency_rs.errors import ConfigError
from cogency_rs.testing import ScriptedModel
from support.agents import add, types

CALL = '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]</execute>'


def an_agent(*answers: Any) -> Agent[Any, str]:
    return Agent(ScriptedModel(answers or (CALL, "3.")), tools=[add])


async def in_a_task(run: RunHandle[str]) -> Any:
    return await asyncio.create_task(run)


async def in_a_group(run: RunHandle[str]) -> Any:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run)
    return task.result()


async def in_anyio(run: RunHandle[str]) -> Any:
    taken: list[Any] = []

    async def take() -> None:
        taken.append(await run)

    async with anyio.create_task_group() as group:
        group.start_soon(take)
    return taken[0]


async def gathered(run: RunHandle[str]) -> Any:
    return (await asyncio.gather(run, asyncio.sleep(0)))[0]


async def waited_for(run: RunHandle[str]) -> Any:
    return await asyncio.wait_for(run, 60)


async def within_a_time(run: RunHandle[str]) -> Any:
    async with asyncio.timeout(60):
        return await run


async def made_a_future(run: RunHandle[str]) -> Any:
    return await asyncio.ensure_future(run)


async def awaited(run: RunHandle[str]) -> Any:
    return await run


async def watched(run: RunHandle[str]) -> Any:
    events = [event["type"] async for event in run]
    assert events[:2] == ["user", "call"]
    return run.result


async def watched_as_whole_texts(run: RunHandle[str]) -> Any:
    texts = [event["content"] async for event in run.events("event") if event["type"] == "respond"]
    assert texts == ["3."]
    return run.result


async def watched_by_its_steps(run: RunHandle[str]) -> Any:
    assert [step.kind async for step in run.steps()] == ["tool_execution", "final_response"]
    return run.result


async def awaited_after_its_first_event(run: RunHandle[str]) -> Any:
    assert (await anext(run))["type"] == "user"
    return await run


async def awaited_after_its_last_event(run: RunHandle[str]) -> Any:
    async with run:
        async for _ in run:
            pass
    return await run


WAYS: list[Callable[[RunHandle[str]], Awaitable[Any]]] = [
    *(awaited, in_a_task, in_a_group, in_anyio, gathered, waited_for, within_a_time, made_a_future),
    *(watched, watched_as_whole_texts, watched_by_its_steps),
    *(awaited_after_its_first_event, awaited_after_its_last_event),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_every_way_carries_out_the_run_once(way):
    agent = an_agent()
    run = agent.run("1 + 2?", conversation_id="c")
    result = await way(run)
    assert result is run.result
    assert (result.output, len(result.steps), result.status) == ("3.", 2, "completed")
    assert types(agent) == ["user", "call", "result", "respond"]


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_runner_of_coroutines_takes_a_run(runner):
    assert runner(an_agent().run("1 + 2?")).output == "3."


def test_anyio_takes_the_method_itself():
    assert anyio.run(an_agent().run, "1 + 2?").output == "3."


async def test_a_run_that_was_resumed_is_a_handle_too():
    @tool(requires_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(
        ScriptedModel(['<execute>[{"name": "pay", "args": {}}]</execute>', "Done."]), tools=[pay]
    )
    waiting = (await agent.run("Pay.", conversation_id="c")).waiting
    assert waiting == (ToolCall("pay", {}, id=waiting[0].id),)
    run = agent.resume("c", {waiting[0].id: True})
    assert [event["type"] async for event in run][:3] == [*("call", "execute", "result")]
    assert (await run).output == "Done."


async def test_nothing_happens_before_it_is_awaited_or_watched():
    agent = an_agent()
    run = agent.run("?", conversation_id="c")
    events = run.events()
    await asyncio.sleep(0)
    assert types(agent) == []
    with pytest.raises(RuntimeError, match="the run is not over"):
        _ = run.result
    await run.aclose()
    assert [event async for event in events] == []
    with pytest.raises(RuntimeError, match="the run was closed before it began"):
        await run


async def test_what_is_asked_for_twice_goes_on_where_it_was():
    run = an_agent().run("?")
    first = [event["type"] async for event in _two(run)]
    rest = [event["type"] async for event in run]
    assert (first, rest[0]) == (["user", "call"], "execute")


async def _two(run: RunHandle[str]) -> Any:
    yield await anext(run)
    yield await anext(run)


async def test_a_run_is_watched_in_one_way():
    run = an_agent().run("?")
    async for _ in run:
        with pytest.raises(RuntimeError, match="is already yielding its tokens"):
            run.steps()
        with pytest.raises(RuntimeError, match="cannot yield its events too"):
            run.events("event")
    with pytest.raises(ConfigError, match='mode must be "token" or "event"'):
        run.events("word")  # type: ignore[arg-type]


async def test_a_run_that_is_awaited_cannot_be_watched_or_awaited_again():
    run = an_agent().run("?")
    task = asyncio.create_task(run)
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="being awaited: to watch it, iterate over it instead"):
        run.events()
    with pytest.raises(RuntimeError, match="the run is already being awaited"):
        await run
    assert (await task).output == "3."
    with pytest.raises(RuntimeError, match="the run is already being awaited"):
        await run
    assert run.result is task.result()


async def test_a_run_that_nobody_awaits_is_warned_of():
    with pytest.warns(RuntimeWarning, match=r"coroutine 'Agent\.run' was never awaited"):
        an_agent().run("?")  # its only reference is gone with the statement
    async with an_agent().run("?"):  # left on purpose, so there is nothing to warn of
        pass
    an_agent().run("?").close()


async def test_a_run_whose_handle_is_dropped_while_it_is_watched_is_cancelled():
    agent = an_agent()
    run = agent.run("?", conversation_id="c")
    assert (await anext(run))["type"] == "user"
    del run
    while types(agent) == ["user"]:  # asyncio closes what was dropped
        await asyncio.sleep(0)
    assert types(agent) == ["user", "cancelled"]


async def test_a_task_of_a_run_that_is_cancelled_cancels_the_run():
    began = asyncio.Event()

    async def silent(_messages: Any) -> Any:
        began.set()
        yield "So, "
        await asyncio.Event().wait()

    agent = Agent(silent)
    run = agent.run("?", conversation_id="c")
    task = asyncio.create_task(run)
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.result.status == "stopped"
    assert types(agent) == ["user", "respond", "cancelled"]


async def test_a_debugger_sees_the_coroutine():
    run = an_agent().run("?")
    assert inspect.isawaitable(run)
    assert asyncio.iscoroutine(run)
    assert run.__qualname__ == "Agent.run"
    task = asyncio.create_task(run)
    await asyncio.sleep(0)
    assert "coro=<Agent.run() running at" in repr(task)
    assert [frame.f_code.co_name for frame in task.get_stack()] == ["_to_its_end"]
    await task
    with pytest.raises(AttributeError, match="'RunHandle' object has no attribute 'outcome'"):
        _ = run.outcome
