"""The loop: what follows a step, what a step is, and how a run ends."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, Memory, RunLimits, ToolCall, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import ConfigError, HookError, StopReason, StopRun
from cogency_rs.models import Finish, ModelRequest, ReasoningDelta, Usage
from cogency_rs.runs.result import first_signal
from cogency_rs.types import TurnOutcome
from support.agents import Journal, add, adding, agent, calls, model_of, prompts, results, types
from support.ways import in_both_ways

pytestmark = [in_both_ways, pytest.mark.timeout(30)]


async def test_c1_an_answer_is_one_step_and_the_output():
    result = await agent("hi").run("Hello?", conversation_id="c")
    [step] = result.steps
    assert (step.kind, step.outcome, step.text) == ("final_response", TurnOutcome.ANSWERED, "hi")
    assert (result.output, result.status, result.stop, result.waiting) == (
        "hi",
        "completed",
        None,
        (),
    )
    assert result.conversation_id == "c"


@pytest.mark.parametrize("driver", ["text", "native", "react"])
async def test_a_model_function_may_yield_thoughts_and_a_finish(driver):
    answer = (
        '{"thought": "", "type": "final_answer", "answer": "Hi."}' if driver == "react" else "Hi."
    )

    async def model(_: Any) -> Any:
        yield ReasoningDelta("A greeting.")
        yield answer
        yield Finish("stop")

    result = await Agent(model, driver=driver).run("Hello?")
    assert (result.output, result.steps[0].finish_reason) == ("Hi.", "stop")
    assert driver == "react" or result.steps[0].thoughts == "A greeting."


async def test_c2_the_driver_is_given_the_runtime_once_a_run_before_the_first_step():
    driver = ScriptedDriver([ToolCall("add", {"a": 1, "b": 2}), "3"])
    mine = Agent(lambda _: "", tools=[add], driver=driver)
    assert driver.runtimes == []
    assert len((await mine.run("1 + 2?")).steps) == 2
    [runtime] = driver.runtimes
    assert [each.name for each in runtime.execution.tools] == ["add"]
    await mine.run("Again?")
    assert len(driver.runtimes) == 2


async def test_c3_a_driver_of_the_users_own_runs():
    class Upper:
        async def step(self, run: Any, runtime: Any) -> Any:
            request = ModelRequest(await runtime.messages(declares_tools=False))
            async for piece in runtime.ask(request):
                yield {"type": "respond", "content": piece.upper()}

    result = await agent("hi", driver=Upper()).run("Hello?")
    assert result.output == "HI"


async def test_c4_a_batch_has_one_execution_per_call_in_call_order():
    second = asyncio.Event()

    @tool
    async def slow() -> str:
        """Ends after the other."""
        await second.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Ends first."""
        second.set()
        return "quick"

    mine = agent(calls("slow", "quick"), "done", tools=[slow, quick])
    result = await mine.run("Both?", conversation_id="c")
    assert [each.value for each in result.steps[0].executions] == ["slow", "quick"]
    [batch] = results(mine)
    assert [each["content"] for each in batch] == ["slow", "quick"]


@pytest.mark.parametrize("storage", [lambda: None, Memory], ids=["none given", "given"])
async def test_a_run_writes_question_calls_results_and_answer(storage):
    mine = agent("Let me add.\n" + adding(19, 23), "It is 42.", storage=storage())
    result = await mine.run("19 + 23?", conversation_id="c")
    assert types(mine) == ["user", "respond", "call", "result", "respond"]
    assert [step.kind for step in result.steps] == ["tool_execution", "final_response"]
    assert result.steps[0].text == "Let me add."
    assert result.output == "It is 42."


class Asks(Hooks):
    """Asks for a stop, or asks to go on, after the steps with these indices."""

    def __init__(self, *, stop: set[int] = frozenset(), go_on: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        super().__init__()
        self._stop, self._go_on = stop, go_on

    def after_step(self, ctx: Any, step: Any) -> Any:
        if step.index in self._stop:
            ctx.stop(f"stopped after {step.index}")
        if step.index in self._go_on:
            ctx.go_on()
        return step


@pytest.mark.parametrize(
    ("answers", "asks", "steps", "status"),
    [
        ([adding(1, 2), "3"], {}, 2, "completed"),
        ([adding(1, 2), "3"], {"stop": {0}}, 1, "stopped"),
        ([adding(1, 2), "3"], {"stop": {0}, "go_on": {0}}, 2, "completed"),
        (["3", "4"], {}, 1, "completed"),
        (["3", "4"], {"go_on": {0}}, 2, "completed"),
        (["3", "4"], {"stop": {0}, "go_on": {0}}, 2, "completed"),
        (["3", "4"], {"stop": {0}}, 1, "stopped"),
    ],
    ids=[
        "C46 a run goes on after calls",
        "C46 a stop outweighs calls",
        "C46 going on outweighs a stop",
        "C46 an answer ends the run",
        "C46 going on outweighs an answer",
        "C46 both, after an answer",
        "C46 a stop, after an answer",
    ],
)
async def test_c46_what_decides_whether_a_run_goes_on(answers, asks, steps, status):
    mine = agent(*answers, hooks=[Asks(**asks)])
    result = await mine.run("?")
    assert (len(result.steps), result.status) == (steps, status)


async def test_c46_on_stop_may_ask_to_go_on():
    class Keeps(Hooks):
        def on_stop(self, ctx: Any, signal: Any) -> None:
            if signal.message == "stopped after 0":
                ctx.go_on()

    mine = agent(adding(1, 2), adding(3, 4), "7", hooks=[Asks(stop={0, 1}), Keeps()])
    result = await mine.run("?")
    assert (len(result.steps), result.status) == (2, "stopped")
    assert result.stop is not None
    assert result.stop.message == "stopped after 1"


async def test_c47_there_is_a_step_for_each_answer_and_none_for_a_step_that_a_hook_refused():
    class Guard(Hooks):
        def before_step(self, ctx: Any) -> None:
            if ctx.step == 2:
                raise StopRun("two are enough")

    mine = agent(adding(1, 2), adding(3, 4), adding(5, 6), hooks=[Guard()])
    async with mine.run("?") as run:
        seen = [step async for step in run.steps()]
        assert [step.index for step in seen] == [0, 1]
        assert run.result.steps == tuple(seen)
        assert run.result.stop is not None
        assert run.result.stop.message == "two are enough"
    assert len(model_of(mine).requests) == 2


def test_c48_the_first_signal_with_the_most_important_reason_counts():
    order = [
        *("error", "stop_requested", "user_requested", "steps_limit", "tool_calls_limit"),
        *("token_limit", "time_limit", "retry_limit", "finish_reason", "refused", "truncated"),
        *("empty_answer", "completed", "unknown"),
    ]
    assert [str(reason) for reason in StopReason] == order
    for place, reason in enumerate(order):
        later = [StopRun(reason=StopReason(each)) for each in order[place:]]
        assert (
            first_signal([*reversed(later), StopRun("second", reason=StopReason(reason))])
            is later[0]
        )
    assert first_signal([]) is None


@pytest.mark.parametrize(
    ("given", "reason", "context"),
    [
        (StopReason.TOKEN_LIMIT, StopReason.TOKEN_LIMIT, {}),
        ("time_limit", StopReason.TIME_LIMIT, {}),
        ("budget", StopReason.UNKNOWN, {"reason": "budget"}),
    ],
    ids=["C49 a reason", "C49 a reason's value", "C49 a word of the user's own"],
)
async def test_c49_the_reason_of_a_stop_run_is_kept(given, reason, context):
    @tool
    async def enough() -> str:
        """Stop."""
        raise StopRun("over", reason=given)

    result = await agent(calls("enough"), tools=[enough]).run("?")
    assert result.stop == StopRun("over", reason=reason, context=context, source="enough")


async def test_c52_a_failed_tool_does_not_fail_the_run():
    run = (mine := agent(calls("fail"), "sorry")).run("?")
    assert run._run.status == "pending"
    assert (await anext(run.steps())).executions[0].status == "failure"
    assert run._run.status == "in_progress"
    assert [step.text async for step in run.steps()] == ["sorry"]
    assert run.result.status == "completed"
    model_of(mine).assert_complete()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("<execute>[{]</execute>", "error"),
        (adding(1, 2), "tool_execution"),
        (calls("fail"), "tool_execution"),
        ("hi", "final_response"),
        ("<end>", "final_response"),
    ],
    ids=["C53 malformed", "C53 calls", "C53 calls that fail", "C53 an answer", "C53 the end"],
)
async def test_c53_the_kind_of_a_step(answer, kind):
    result = await agent(answer, "done").run("?")
    assert result.steps[0].kind == kind


async def test_c55_a_conversation_that_goes_on_has_a_new_run_id_and_its_usage_begins_at_0():
    answers = [["one", Usage(input_tokens=10, output_tokens=1)]] * 2
    mine = agent(*answers)
    first = await mine.run("1?", conversation_id="c")
    second = await mine.run("2?", conversation_id="c")
    assert first.run_id != second.run_id
    assert first.usage == second.usage == Usage(input_tokens=10, output_tokens=1)
    assert [each.index for each in second.steps] == [0]
    assert [message["content"] for message in prompts(mine)[1]] == ["1?", "one", "2?"]


@pytest.mark.parametrize("repeat_last", [True, False])
async def test_c56_the_last_step_of_a_script_repeats_or_the_script_is_exhausted(repeat_last):
    steps = [ToolCall("add", {"a": 1, "b": 2}), "first"]
    mine = Agent(lambda _: "", tools=[add], driver=ScriptedDriver(steps, repeat_last=repeat_last))
    assert (await mine.run("?")).output == "first"
    if repeat_last:
        assert (await mine.run("?")).output == "first"
    else:
        with pytest.raises(ConfigError, match="exhausted: it has 2 steps"):
            await mine.run("?")


async def test_c57_an_exception_of_the_model_is_told_to_hooks_fails_the_run_and_is_raised():
    journal: list[str] = []
    broken = ConnectionError("the line is dead")
    mine = agent(["Hel", broken], hooks=[Journal(journal)])
    stream = mine.run("?", conversation_id="c")
    with pytest.raises(ConnectionError, match="the line is dead") as raised:
        [event async for event in stream]
    assert raised.value is broken
    assert journal[-2:] == ["on_error ConnectionError", "after_run failed"]
    assert stream.result.status == "failed"
    assert stream.result.stop is not None
    assert stream.result.stop.reason is StopReason.ERROR


async def test_results_of_tools_that_end_the_run_are_the_output():
    @tool(ends_run=True)
    async def task_completion(message: str) -> str:
        """Say that the task is done."""
        return message

    done = calls(ToolCall("task_completion", {"message": "all done"}))
    mine = agent("Well.\n" + done, tools=[task_completion])
    result = await mine.run("?", conversation_id="c")
    assert (result.output, result.status) == ("all done", "completed")
    assert result.stop == StopRun(
        "Tool 'task_completion' ended the run",
        reason=StopReason.COMPLETED,
        source="task_completion",
    )


async def test_a_tool_in_stop_at_tools_ends_the_run_but_only_if_it_succeeds():
    mine = agent(calls("fail"), adding(1, 2), limits=RunLimits(stop_at_tools=["fail", "add"]))
    result = await mine.run("?")
    assert (result.output, result.status, len(result.steps)) == (3, "completed", 2)


async def test_a_driver_may_end_a_run_after_its_calls():
    call = {"type": "call", "content": json.dumps({"name": "add", "args": {"a": 1, "b": 2}})}
    driver = ScriptedDriver([[call, {"type": "execute"}, {"type": "end"}], "never"])
    mine = Agent(lambda _: "", tools=[add], driver=driver)
    result = await mine.run("?", conversation_id="c")
    assert (len(result.steps), result.status, result.stop) == (1, "completed", None)
    assert result.steps[0].executions[0].value == 3
    assert (await mine.resume("c")).status == "completed"


async def test_a_run_stops_at_the_finish_reasons_that_are_named():
    mine = agent(
        ["I can't", Finish("content_filter")], limits=RunLimits(finish_reasons=["content_filter"])
    )
    result = await mine.run("?")
    assert result.status == "stopped"
    assert result.stop is not None
    assert result.stop.reason is StopReason.FINISH_REASON
    assert result.text == "I can't"


async def test_the_events_of_a_run_in_their_order():
    mine = agent("So.\n" + adding(1, 2), "3")
    async with mine.run("1 + 2?") as run:
        seen = [event async for event in run.events("event")]
    assert [event["type"] for event in seen] == [
        *("user", "respond", "call", "execute", "result", "metric", "respond", "metric"),
    ]
    assert seen[0]["content"] == "1 + 2?"
    assert seen[-1]["total"]["input"] > seen[-1]["step"]["input"] > 0


async def test_which_events_of_a_run_are_in_the_log():
    """Those in the protocol's table. An `error` that the model caused is a row too, so that the model is told."""
    mine = agent("So.\n" + adding(1, 2), "<execute>[{]</execute>", "<think>hm</think>3", "4")
    run = mine.run("1 + 2?", conversation_id="c")
    seen: list[str] = []
    async for event in run.events("event"):
        seen.append(event["type"])
        if event["type"] == "think":
            run.stop("that will do")
    saved = ["user", "respond", "call", "result", "error", "think", "respond", "cancelled"]
    passing = {"execute", "metric", "interrupt"}
    assert set(seen) == {*saved, *passing}
    assert [type for type in seen if type not in passing] == saved
    assert types(mine) == saved


async def test_each_text_between_calls_is_a_paragraph():
    bodies = ({"tool_name": "add", "arguments": {"a": 1, "b": n}} for n in (1, 2))
    one, two = (f"<tool>{json.dumps(body)}</tool>" for body in bodies)
    for mode in ("event", "token"):
        mine = agent(f"First.\n{one}\nSecond.\n{two}", "done", dialect="forge-json")
        async with mine.run("?") as run:
            [_ async for _ in run.events(mode)]
        assert run.result.steps[0].text == "First.\n\nSecond."


async def test_the_order_in_which_hooks_are_called():
    journal: list[str] = []
    await agent(adding(1, 2), "3", hooks=[Journal(journal)]).run("?")
    assert journal == [
        "before_run",
        *("before_step 0", "before_model_request", "after_model_response"),
        *("before add", "after add success"),
        "after_step 0 tool_execution",
        *("before_step 1", "before_model_request", "after_model_response"),
        "after_step 1 final_response",
        "after_run completed",
    ]


async def test_an_after_run_hook_that_fails_is_called_once():
    journal: list[str] = []

    class Fails(Journal):
        async def after_run(self, ctx: Any, result: Any) -> Any:
            self.note("after_run")
            raise OSError("no")

    with pytest.raises(HookError, match=r"Fails\.after_run failed: OSError: no"):
        await agent("hi", hooks=[Fails(journal)]).run("?")
    assert journal.count("after_run") == 1


async def test_runs_of_one_agent_at_the_same_time_share_nothing():
    def answer(request: Any) -> str:
        return request.messages[-1]["content"]

    mine = agent(answer)
    outputs = await asyncio.gather(*(mine.run(f"question {n}") for n in range(20)))
    assert [each.output for each in outputs] == [f"question {n}" for n in range(20)]
    assert len({each.run_id for each in outputs}) == 20


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limits": RunLimits(steps=9, tool_calls=9, total_tokens=9999, seconds=60)},
        {"approve": lambda call: True},
    ],
    ids=["plain", "limits", "approve"],
)
async def test_a_run_that_is_over_is_freed_without_a_garbage_collection(options):
    seen: list[weakref.ref[Any]] = []

    class Seeing(Hooks):
        def after_run(self, ctx: Any, result: Any) -> Any:
            seen.append(weakref.ref(ctx))
            return result

    mine = agent(adding(19, 23), "42", tools=[add], hooks=[Seeing()], **options)
    gc.disable()
    try:
        assert (await mine.run("?")).output == "42"
        assert [each() for each in seen] == [None]
    finally:
        gc.enable()


async def test_runs_of_one_conversation_wait_for_each_other():
    gate = asyncio.Event()

    async def answer(request: Any) -> str:
        await gate.wait()
        return str(len(request.messages))

    mine = agent(answer)
    runs = [asyncio.ensure_future(mine.run(f"{n}?", conversation_id="c")) for n in range(3)]
    await asyncio.sleep(0)
    gate.set()
    assert [(await run).output for run in runs] == ["2", "4", "6"]


def test_run_sync_can_be_called_again_and_again():
    mine = agent(lambda request: "hi")
    assert [mine.run_sync("?", conversation_id="c").output for _ in range(2)] == ["hi", "hi"]


async def test_run_sync_says_what_to_do_inside_of_an_event_loop():
    with pytest.raises(RuntimeError, match=r"await agent\.run"):
        agent("hi").run_sync("?")
