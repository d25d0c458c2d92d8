"""A run as a value: awaited, watched, stopped, closed, dropped; and all that asyncio promises of a coroutine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import uvloop

from cogency_rs import Agent, RunLimits, ToolCall, tool
from cogency_rs.agent import RunHandle
from cogency_rs.errors import BusyError, ConfigError, LLMError
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
    with pytest.raises(RuntimeError, match=NEVER_BEGAN):
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


async def iterated(run: RunHandle[str]) -> Any:
    async for _ in run:
        await asyncio.sleep(0)


async def seen_by_its_steps(run: RunHandle[str]) -> Any:
    async for _ in run.steps():
        pass


AWAITS = [awaited, in_a_task, in_anyio, gathered, waited_for]
WATCHES = [iterated, seen_by_its_steps]


async def closed() -> RunHandle[str]:
    run = an_agent().run("?")
    await run.aclose()
    return run


async def closed_before_its_first_event() -> RunHandle[str]:
    run = an_agent().run("?")
    run.events()
    await run.aclose()
    return run


async def refused() -> RunHandle[str]:
    agent = Agent(ScriptedModel([]), limits=RunLimits(on_busy="error"))
    run = agent.run("?", conversation_id="c")
    async with agent.storage.claim("c"):
        with pytest.raises(BusyError):
            await run
    return run


async def over() -> RunHandle[str]:
    run = an_agent().run("?")
    await run
    return run


async def watched_and_over() -> RunHandle[str]:
    run = an_agent().run("?")
    await watched(run)
    await run
    return run


async def failed() -> RunHandle[str]:
    run = an_agent(LLMError("gone")).run("?")
    with pytest.raises(LLMError):
        await run
    return run


async def begun() -> RunHandle[str]:
    run = an_agent().run("?")
    run.task = asyncio.create_task(run)  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    return run


NEVER_BEGAN = "the run was closed, or failed, before it began: `agent.run` begins another run"
OVER = "the run is over: `result` has its result, and `agent.run` begins another run"
NOT_TWICE = (
    "the run is already being awaited: take its result from there, or from `result` once it is over"
)
NOT_BOTH = "the run is already being awaited: to watch a run, iterate over it instead"


@pytest.mark.parametrize(
    ("state", "way", "error"),
    [
        *((state, way, NEVER_BEGAN) for state in (closed, refused) for way in [*AWAITS, *WATCHES]),
        *((closed_before_its_first_event, way, NEVER_BEGAN) for way in AWAITS),
        *((state, way, OVER) for state in (over, failed) for way in [*AWAITS, *WATCHES]),
        *((watched_and_over, way, OVER) for way in [*AWAITS, seen_by_its_steps]),
        *((begun, way, NOT_TWICE) for way in AWAITS),
        *((begun, way, NOT_BOTH) for way in WATCHES),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_who_comes_too_late_reads_what_happened_and_what_to_do(state, way, error):
    run = await state()
    with pytest.raises((RuntimeError, ExceptionGroup)) as raised:
        await way(run)
    found: Any = raised.value
    while isinstance(found, ExceptionGroup):  # of anyio
        [found] = found.exceptions
    assert str(found) == error
    if state is begun:
        assert (await run.task).output == "3."  # type: ignore[attr-defined]


@pytest.mark.parametrize("state", [closed, closed_before_its_first_event, refused])
async def test_a_run_that_never_began_has_no_result(state):
    run = await state()
    with pytest.raises(RuntimeError, match=f"^{NEVER_BEGAN}$"):
        _ = run.result


ELSEWHERE = "the run is already being watched or awaited elsewhere: "


class Waiting:
    """A run whose model waits in the middle of its answer until it may go on."""

    def __init__(self) -> None:
        self.waits, self.go_on = asyncio.Event(), asyncio.Event()
        self.run = Agent(self.model).run("?")

    async def model(self, _messages: Any) -> Any:
        yield "So, "
        self.waits.set()
        await self.go_on.wait()
        yield "3."


@pytest.mark.parametrize("way", [*AWAITS, iterated, RunHandle.aclose], ids=lambda way: way.__name__)
async def test_what_meets_a_loop_over_the_run_is_refused_and_the_loop_goes_on(way):
    waiting = Waiting()
    run = waiting.run
    loop = asyncio.create_task(seen(run))
    await waiting.waits.wait()
    with pytest.raises((RuntimeError, ExceptionGroup)) as raised:
        await way(run)
    found: Any = raised.value
    while isinstance(found, ExceptionGroup):
        [found] = found.exceptions
    assert str(found).startswith(ELSEWHERE)
    waiting.go_on.set()
    assert await loop == "So, 3."
    assert run.result.status == "completed"


async def seen(run: RunHandle[str]) -> str:
    return "".join([e["content"] async for e in run if e["type"] == "respond"])


async def test_a_loop_over_a_run_of_which_a_task_was_made_is_refused_in_one_sentence():
    """Between two events nobody waits for the run, so the task goes on with it; the loop then reads why it cannot."""
    waiting = Waiting()
    run = waiting.run
    task = asyncio.create_task(run)
    with pytest.raises(RuntimeError, match=f"^{ELSEWHERE}iterate over it in one place"):
        async for _ in run:
            await asyncio.sleep(0)
    waiting.go_on.set()
    assert (await task).output == "So, 3."


async def test_two_tasks_cannot_be_made_of_one_run():
    waiting = Waiting()
    run = waiting.run
    first, second = asyncio.create_task(run), asyncio.create_task(run)
    with pytest.raises(RuntimeError, match=f"^{NOT_TWICE}$"):
        await second
    waiting.go_on.set()
    assert (await first).output == "So, 3."


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
    with pytest.raises(AttributeError, match=r"'RunHandle' object has no attribute 'outcome'$"):
        _ = run.outcome


async def test_a_run_that_is_taken_for_its_result_says_what_to_write():
    async with an_agent().run("?") as run:
        for name in ("output", "text", "status", "usage", "waiting", "has_output"):
            with pytest.raises(AttributeError) as raised:
                getattr(run, name)
            assert str(raised.value) == (
                f"'RunHandle' object has no attribute '{name}', which its result has: write "
                f"(await agent.run(…)).{name}, or agent.run_sync(…).{name} outside of async functions"
            )


def entered(run: Any) -> None:
    with run:
        pass


async def test_a_run_that_is_watched_without_async_says_what_to_write_and_has_not_begun():
    agent = an_agent()
    run = agent.run("?")
    for use, instead in (
        (iter, "async for event in agent.run(…)"),
        (list, "async for event in agent.run(…)"),
        (entered, "async with agent.run(…) as run"),
    ):
        with pytest.raises(TypeError) as raised:
            use(run)
        assert str(raised.value) == (
            f"a run is watched in an async function: write `{instead}`; anywhere else, agent.run_sync(…) waits for its "
            "result"
        )
    assert (await run).output == "3."
