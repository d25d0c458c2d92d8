"""An agent as the tool of another, here its child: each call is a run that counts for its caller, and ends with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, RunLimits, ToolCall, tool
from cogency_rs.errors import HookError, StopReason
from cogency_rs.models import Usage
from cogency_rs.testing import ScriptedModel
from support.agents import add, adding, agent, calls, model_of
from support.clock import let_pass
from support.ways import in_both_ways

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(30)]

ASK = calls(ToolCall("research", {"question": "How many?"}))


def with_child(child: Agent[Any, Any], *answers: Any, **options: Any) -> Agent[Any, str]:
    """An agent that has `child` as its tool `research`."""
    return agent(*answers, tools=[child.as_tool("research", "Looks things up."), add], **options)


async def test_a_call_is_a_run_and_the_run_s_output_is_the_result():
    child = agent("42")
    mine = with_child(child, ASK, "It is 42.")
    result = await mine.run("?", conversation_id="c", user_id="ada", deps="database")
    [execution] = result.steps[0].executions
    assert (execution.status, execution.value) == ("success", "42")
    assert result.output == "It is 42."
    [request] = model_of(child).requests
    assert [each["content"] for each in request.messages[1:]] == ["How many?"]


async def test_the_caller_s_model_is_told_what_to_write_into_the_question():
    mine = with_child(agent("42"), "done")
    await mine.run("?")
    prompt = str(model_of(mine).requests[0].messages)
    assert "The question, with all that is needed to answer it" in prompt


async def test_the_child_has_its_own_conversation_and_its_caller_s_user_and_deps():
    seen: list[Any] = []

    class Look(Hooks):
        def before_run(self, ctx: Any) -> None:
            parent = ctx.parent
            seen.append((ctx.user_id, ctx.deps, parent.conversation_id, ctx.depth))
            assert ctx.conversation_id != parent.conversation_id
            assert ctx.run_id != parent.run_id

    mine = with_child(agent("42", hooks=[Look()]), ASK, "done")
    await mine.run("?", conversation_id="c", user_id="ada", deps="database")
    assert seen == [("ada", "database", "c", 1)]


async def test_two_calls_are_two_runs_at_once():
    meeting = asyncio.Barrier(2)

    async def answer(request: Any) -> str:
        await meeting.wait()  # for ever, if the runs take turns
        return request.messages[-1]["content"].upper()

    two = calls(*(ToolCall("research", {"question": each}) for each in ("a", "b")))
    result = await with_child(agent(answer), two, "done").run("?")
    assert [each.value for each in result.steps[0].executions] == ["A", "B"]


async def test_the_child_s_usage_counts_for_its_caller():
    child = agent(["42", Usage(input_tokens=100, output_tokens=10)])
    own = Usage(input_tokens=5, output_tokens=1)
    mine = with_child(child, [own, ASK], [own, "done"])
    result = await mine.run("?")
    assert result.usage == Usage(input_tokens=110, output_tokens=12)
    assert [step.usage for step in result.steps] == [own, own]


ALWAYS = [Usage(input_tokens=10), adding(1, 2)]


@pytest.mark.parametrize(
    ("limits", "reason", "says", "asked"),
    [
        (RunLimits(steps=4), StopReason.STEPS_LIMIT, "Step limit reached: 4/4", 3),
        (RunLimits(total_tokens=30), StopReason.TOKEN_LIMIT, "Token limit reached: 30/30", 3),
        (
            RunLimits(tool_calls=3),
            StopReason.TOOL_CALLS_LIMIT,
            "Tool call limit reached: 3/3",
            3,
        ),
    ],
    ids=["steps", "tokens", "calls"],
)
async def test_the_child_stops_when_a_limit_of_its_caller_is_reached(limits, reason, says, asked):
    child = agent(lambda _: ALWAYS)
    mine = with_child(child, lambda _: [Usage(), ASK], limits=limits)
    result = await mine.run("?")
    [execution] = result.steps[0].executions
    assert execution.status == "failure"
    assert says in str(execution.error)
    assert len(model_of(child).requests) == asked
    assert result.status == "stopped"
    assert result.stop is not None
    assert (result.stop.reason, result.stop.message) == (reason, says)


async def test_the_child_s_own_limits_stop_only_the_child():
    child = agent(lambda _: ALWAYS, limits=RunLimits(steps=2))
    result = await with_child(child, ASK, "done").run("?")
    assert result.steps[0].executions[0].error == (
        "Tool execution failed: agent 'agent' stopped before it had an answer: Step limit reached: 2/2."
    )
    assert result.output == "done"


async def test_each_run_of_the_child_counts_from_0():
    child = agent(lambda _: "42", limits=RunLimits(steps=1))
    mine = with_child(child, ASK, ASK, "done", limits=RunLimits(steps=5))
    assert (await mine.run("?")).output == "done"
    assert (await child.run("?")).output == "42"


class Silent:
    """A model that never ends its answer, and counts how often it was opened and closed."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.opened = self.closed = 0

    async def stream(self, request: Any) -> Any:
        self.asked.set()
        self.opened += 1
        try:
            yield "Well"
            await asyncio.Event().wait()
        finally:
            self.closed += 1


async def test_the_child_is_cancelled_with_its_caller():
    model = Silent()
    child = Agent(model)
    mine = with_child(child, ASK)
    run = asyncio.ensure_future(mine.run("?", conversation_id="c"))
    await model.asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert model.closed == 1
    [conversation] = await child.storage.conversations()
    page = await child.storage.read(conversation.conversation_id)
    assert [row["type"] for row in page.rows] == ["user", "respond", "cancelled"]


async def test_the_caller_s_time_limit_holds_for_the_child_too():
    model = Silent()
    mine = with_child(Agent(model), ASK, limits=RunLimits(seconds=3600))
    run = asyncio.create_task(mine.run("?"))
    await model.asked.wait()
    let_pass(3600)
    result = await run
    assert model.closed == model.opened == 1
    assert [each.status for step in result.steps for each in step.executions] in ([], ["cancelled"])
    assert result.stop is not None
    assert result.stop.reason is StopReason.TIME_LIMIT


async def test_a_stop_of_the_caller_stops_the_child_before_its_next_step():
    class Stops(Hooks):
        def before_step(self, ctx: Any) -> None:
            if ctx.step == 1:
                run.stop("enough")

    child = agent(lambda _: ALWAYS, hooks=[Stops()])
    run = with_child(child, ASK).run("?")
    steps = [step async for step in run.steps()]
    assert len(model_of(child).requests) == 1
    assert "enough" in str(steps[0].executions[0].error)
    assert run.result.stop is not None
    assert run.result.stop.message == "enough"


async def test_the_child_s_error_is_the_call_s_failure():
    child = agent(ConnectionError("dead"))
    result = await with_child(child, ASK, "sorry").run("?")
    assert result.steps[0].executions[0].error == "Tool execution failed: ConnectionError: dead"
    assert result.output == "sorry"


@tool(requires_approval=True)
async def send(to: str) -> str:
    """Send mail."""
    return f"sent to {to}"


SEND = calls(ToolCall("send", {"to": "ada"}))


@pytest.mark.parametrize(
    ("own", "callers", "answer"),
    [
        (None, None, "denied"),
        (None, lambda ctx, call: True, "success"),
        (lambda ctx, call: True, lambda ctx, call: False, "success"),
    ],
    ids=["neither has an approve", "the caller has one", "both have one"],
)
async def test_calls_of_the_child_are_approved_by_its_own_approve_or_else_by_its_caller_s(
    own, callers, answer
):
    """The child never waits: its caller could not resume it."""
    seen: list[str] = []

    class Look(Hooks):
        async def around_call(self, invocation: Any, next: Any) -> Any:
            result = await next(invocation)
            seen.append(invocation.execution(result).status)
            return result

    child = agent(SEND, "done", tools=[send], approve=own, hooks=[Look()])
    result = await with_child(child, ASK, "done", approve=callers).run("?")
    assert (seen, result.status) == ([answer], "completed")


async def test_a_failing_hook_of_the_child_is_the_error_of_the_caller_s_run():
    class Fails(Hooks):
        def before_step(self, ctx: Any) -> None:
            raise OSError("no")

    with pytest.raises(HookError, match=r"Fails\.before_step failed: OSError: no"):
        await with_child(agent("42", hooks=[Fails()]), ASK, "done").run("?")


async def test_agents_may_be_nested_to_any_depth():
    depths: list[int] = []

    class Look(Hooks):
        def before_run(self, ctx: Any) -> None:
            depths.append(ctx.depth)

    mine = agent("42", hooks=[Look()])
    for _ in range(5):
        mine = agent(ASK, "42", tools=[mine.as_tool("research", "Asks.")], hooks=[Look()])
    assert (await mine.run("?")).output == "42"
    assert depths == [0, 1, 2, 3, 4, 5]


async def test_agents_that_only_ever_ask_the_next_one_stop_at_the_outer_run_s_limit():
    # Ends after 50 requests, so that runs without that limit end too.
    model = ScriptedModel(lambda _: ASK if len(model.requests) < 50 else "42.")
    mine = Agent(model)
    for _ in range(20):
        mine = Agent(model, tools=[mine.as_tool("research", "Asks the next one.")])
    result = await mine.run("?", limits=RunLimits(steps=7))
    assert len(model.requests) == 7
    assert result.status == "stopped"


async def test_an_agent_that_a_plain_tool_runs_does_not_count_for_the_caller():
    child = agent("42")

    @tool
    async def research(question: str) -> str:
        """Ask another agent."""
        return (await child.run(question)).output

    mine = agent(ASK, "done", tools=[research], limits=RunLimits(steps=2))
    assert (await mine.run("?")).output == "done"
