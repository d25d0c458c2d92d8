"""The limits of a run: steps, calls, tokens, time; and how a caller stops a run."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import threading
from dataclasses import replace
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Hooks, RunLimits, ToolCall, ToolContext, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import BlockTool, SkipTool, StopReason, StopRun
from cogency_rs.models import Usage
from support.agents import (
    Journal,
    add,
    adding,
    agent,
    calls,
    model_of,
    prompts,
    results,
    rows,
    types,
)
from support.tools import rounds
from support.ways import in_both_ways

pytestmark = [in_both_ways, pytest.mark.timeout(30)]

ADDING = adding(1, 2)


def always(_: Any) -> str:
    return ADDING


async def test_c50_a_run_stops_at_its_limit_of_steps():
    mine = agent(always, limits=RunLimits(steps=2))
    result = await mine.run("?", conversation_id="c")
    assert len(result.steps) == 2
    assert result.status == "stopped"
    assert result.stop == StopRun(
        "Step limit reached: 2/2", reason=StopReason.STEPS_LIMIT, source="limits"
    )
    assert types(mine) == ["user", *["call", "result"] * 2]


async def test_c50_limits_are_per_run_and_a_run_may_have_its_own():
    mine = agent(always, limits=RunLimits(steps=2))
    for _ in range(2):
        assert len((await mine.run("?", conversation_id="c")).steps) == 2
    assert len((await mine.run("?", limits=RunLimits(steps=1))).steps) == 1


@pytest.mark.parametrize(
    ("limits", "steps"),
    [
        (replace(RunLimits(on_busy="error"), same_errors=2), 2),
        (replace(RunLimits(steps=20), same_errors=2), 3),
        (replace(replace(RunLimits(), steps=1), same_errors=2), 1),
        (copy.copy(RunLimits(steps=20)), 3),
        (pickle.loads(pickle.dumps(RunLimits())), 2),
    ],
)
async def test_limits_that_are_replaced_or_copied_override_what_they_did_before(limits, steps):
    mine = agent(ADDING, ADDING, "3", limits=RunLimits(steps=2))
    assert len((await mine.run("?", limits=limits)).steps) == steps


async def test_an_answer_in_the_last_step_is_an_answer():
    result = await agent(ADDING, "3", limits=RunLimits(steps=2)).run("?")
    assert (result.status, result.stop, result.output) == ("completed", None, "3")


async def test_c50_tokens_are_input_output_cache_and_reasoning():
    usage = Usage(
        input_tokens=1,
        output_tokens=2,
        cache_read_tokens=4,
        cache_write_tokens=8,
        reasoning_tokens=16,
    )
    limits = RunLimits(total_tokens=62)
    mine = agent(lambda _: [usage, ADDING], limits=limits)
    result = await mine.run("?")
    assert usage.total_tokens == 31
    assert len(result.steps) == 2
    assert result.stop == StopRun(
        "Token limit reached: 62/62", reason=StopReason.TOKEN_LIMIT, source="limits"
    )


async def test_a_call_beyond_the_limit_is_refused_the_model_is_told_and_may_answer():
    batch = calls(*(ToolCall("add", {"a": n, "b": 0}) for n in range(3)))
    mine = agent(
        batch,
        "two of three",
        limits=RunLimits(tool_calls=2),
        calls=CallOptions(on_failure="raise"),
    )
    result = await mine.run("?", conversation_id="c")
    assert [each.status for each in result.steps[0].executions] == ["success", "success", "blocked"]
    assert (
        "Not run: Tool call limit reached: 2/2. Answer with what you have."
        in (prompts(mine)[1][-1]["content"])
    )
    assert (result.output, result.status) == ("two of three", "completed")


async def test_calls_that_hooks_block_or_answer_do_not_count_and_one_that_runs_again_counts_once():
    async def decide(invocation: Any, next: Any) -> Any:
        match invocation.call.args["a"]:
            case 0:
                raise BlockTool("not that one")
            case 1:
                raise SkipTool("known")
            case _:
                await next(invocation)
                return await next(replace(invocation, attempt=2))

    batch = calls(*(ToolCall("add", {"a": n, "b": 0}) for n in range(5)))
    result = await agent(batch, "done", limits=RunLimits(tool_calls=2), hooks=[decide]).run("?")
    assert [(each.status, each.record.attempt) for each in result.steps[0].executions] == [
        *(("blocked", 0), ("success", 0), ("success", 2), ("success", 2), ("blocked", 0))
    ]


async def test_calls_with_the_same_id_count_each():
    twice = [ToolCall("add", {"a": n, "b": 0}, id="x") for n in range(2)]
    driver = ScriptedDriver([twice, "done"])
    mine = Agent(lambda _: "", tools=[add], driver=driver, limits=RunLimits(tool_calls=1))
    result = await mine.run("?")
    assert [each.status for each in result.steps[0].executions] == ["success", "blocked"]


async def test_a_step_whose_calls_were_all_refused_for_the_limit_stops_the_run():
    mine = agent(always, limits=RunLimits(tool_calls=2))
    result = await mine.run("?", conversation_id="c")
    assert len(result.steps) == 3
    assert result.status == "stopped"
    assert result.stop == StopRun(
        "Tool call limit reached: 2/2", reason=StopReason.TOOL_CALLS_LIMIT, source="limits"
    )
    assert [batch[0]["status"] for batch in results(mine)] == ["success", "success", "failure"]


class Clock:
    """The clock of a run. It stands still until it is set, so that no test depends on how loaded the machine is."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("cogency_rs.runs.context.monotonic", clock)
    return clock


MINUTE = RunLimits(seconds=60)


@pytest.mark.parametrize("now", [59.99, 61.0], ids=["while nothing happens", "between two events"])
async def test_a_time_limit_in_a_step_cancels_its_calls_which_have_their_results(
    clock, now, both_ways
):
    stopped = 0

    @tool
    async def stick(context: ToolContext[Any]) -> str:
        """Let the other call end, let the time run out, and wait for ever."""
        nonlocal stopped
        try:
            await both_ways.until_complete()
            await rounds(5)
            clock.now = now
            context.emit({"type": "sticks"})
            await asyncio.Event().wait()
        finally:
            stopped += 1
        return ""

    batch = calls("stick", ToolCall("add", {"a": 1, "b": 2}))
    mine = agent(batch, tools=[stick, add], limits=MINUTE, calls=CallOptions(on_failure="raise"))
    result = await mine.run("?", conversation_id="c")
    assert stopped == 1
    assert result.status == "stopped"
    assert result.stop is not None
    assert result.stop.reason is StopReason.TIME_LIMIT
    assert result.stop.message == f"Time limit reached: {now:.1f}/60 s"
    assert [each.status for each in result.steps[0].executions] == ["cancelled", "success"]
    assert [each["status"] for each in results(mine)[0]] == ["failure", "success"]


async def test_a_time_limit_stops_a_run_whose_model_is_silent(clock):
    async def silent(request: Any) -> Any:
        clock.now = 59.99
        yield "Well, "
        await asyncio.Event().wait()

    mine = agent(silent, limits=MINUTE)
    async with mine.run("?", conversation_id="c") as stream:
        assert [event async for event in stream][-1]["type"] == "metric"
    result = stream.result
    assert (result.status, result.steps[0].kind) == ("stopped", "error")
    assert result.stop is not None
    assert result.stop.reason is StopReason.TIME_LIMIT


@pytest.mark.parametrize("stream", [None, "event", "token"], ids=["run", "event", "token"])
async def test_a_time_limit_during_an_answer_leaves_the_text_so_far(clock, stream):
    async def silent(request: Any) -> Any:
        yield "<think>Deep.</think>The sea "
        yield "is "
        await asyncio.Event().wait()

    class Late(Hooks):
        def before_step(self, ctx: Any) -> None:
            clock.now = 59.99

    mine = agent(silent, limits=MINUTE, hooks=[Late()])
    if stream is None:
        result = await mine.run("?", conversation_id="c")
    else:
        async with mine.run("?", conversation_id="c") as run:
            async for _ in run.events(stream):
                pass
        result = run.result
    assert (result.text, result.status) == ("The sea is", "stopped")
    assert (result.steps[0].text, result.steps[0].thoughts) == ("The sea is", "Deep.")
    assert [(type, text.strip()) for type, text in rows(mine)[1:]] == [
        ("think", "Deep."),
        ("respond", "The sea is"),
        ("cancelled", ""),
    ]


async def test_a_model_that_never_waits_is_still_stopped(clock):
    async def endless(messages: Any) -> Any:
        while True:
            clock.now += 1
            yield "on and on. "

    mine = Agent(endless, limits=MINUTE)
    async with mine.run("?") as events:
        async for event in events:
            assert event["type"] in ("user", "respond", "metric")
    assert events.result.stop is not None
    assert events.result.stop.reason is StopReason.TIME_LIMIT


async def test_a_timeout_error_of_the_model_is_not_taken_for_the_run_s_limit():
    mine = agent(TimeoutError("the server is slow"), limits=RunLimits(seconds=20))
    with pytest.raises(TimeoutError, match="the server is slow"):
        await mine.run("?")


async def test_c51_a_stop_waits_for_the_end_of_the_step():
    @tool
    async def ask_to_stop() -> str:
        """Ask for a stop, and go on."""
        stream.stop("that will do")
        await rounds(3)
        return "finished"

    mine = agent(calls("ask_to_stop"), "never", tools=[ask_to_stop])
    stream = mine.run("?", conversation_id="c")
    events = [event async for event in stream]
    assert [event["type"] for event in events][-5:] == [
        *("execute", "result", "metric", "interrupt", "cancelled")
    ]
    assert events[-1]["content"] == "that will do"
    assert rows(mine)[-1] == ("cancelled", "that will do")
    assert results(mine)[0][0]["content"] == "finished"
    assert stream.result.status == "stopped"
    assert stream.result.stop == StopRun(
        "that will do", reason=StopReason.USER_REQUESTED, source="user"
    )


async def test_c51_a_stop_before_the_first_step_asks_no_model():
    mine = agent("never")
    run = mine.run("?", conversation_id="c")
    run.stop("too late")
    assert [step async for step in run.steps()] == []
    assert run.result.status == "stopped"
    assert types(mine) == ["user", "cancelled"]
    assert model_of(mine).requests == []


async def test_c51_a_stop_while_the_model_answers_keeps_the_answer():
    mine = agent("It is all said.")
    stream = mine.run("?", conversation_id="c")
    async for event in stream:
        if event["type"] == "respond":
            stream.stop("thanks")
    assert (stream.result.output, stream.result.status) == ("It is all said.", "stopped")
    assert types(mine) == ["user", "respond", "cancelled"]


async def test_another_thread_may_stop_a_run():
    def work() -> None:
        run.stop("from a thread")
        done.set()

    done = threading.Event()

    @tool
    def wait_for_it() -> str:
        """Wait until another thread has asked for the stop."""
        threading.Thread(target=work).start()
        done.wait(20)
        return "ok"

    mine = agent(calls("wait_for_it"), "never", tools=[wait_for_it])
    run = mine.run("?", conversation_id="c")
    assert len([step async for step in run.steps()]) == 1
    assert run.result.stop is not None
    assert run.result.stop.message == "from a thread"


async def test_a_hook_cannot_take_back_a_stop_that_a_person_asked_for():
    class Keeps(Hooks):
        def on_stop(self, ctx: Any, signal: Any) -> None:
            ctx.go_on()

    mine = agent(always, hooks=[Keeps()])
    run = mine.run("?")
    async for step in run.steps():
        if step.index == 1:
            run.stop()
    assert run.result.status == "stopped"
    assert len(run.result.steps) <= 3


async def test_a_hook_may_go_on_over_a_limit():
    class Keeps(Hooks):
        def on_stop(self, ctx: Any, signal: Any) -> None:
            if ctx.step < 4:
                ctx.go_on()

    result = await agent(always, limits=RunLimits(steps=2), hooks=[Keeps()]).run("?")
    assert len(result.steps) == 4
    assert result.stop is not None
    assert result.stop.message == "Step limit reached: 4/2"


async def test_hooks_are_told_of_a_limit_that_is_reached():
    journal: list[str] = []
    await agent(always, limits=RunLimits(steps=1), hooks=[Journal(journal)]).run("?")
    assert journal[-2:] == ["on_stop steps_limit", "after_run stopped"]


async def test_c52_the_statuses_of_a_run():
    from typing import get_args

    from cogency_rs.runs import RunStatus

    assert get_args(RunStatus) == (
        *("pending", "in_progress", "waiting", "completed", "stopped", "failed"),
    )


def test_limits_show_their_arguments():
    assert [*inspect.signature(RunLimits).parameters][:2] == ["steps", "tool_calls"]
