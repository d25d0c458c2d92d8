"""The calls of a run: how each call and the others of its batch end, whatever one of them does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cogency_rs import CallOptions, Hooks, ToolCall, ToolContext, tool
from cogency_rs.errors import BlockTool, StopReason, StopRun, ToolError
from cogency_rs.execution import ToolExecution
from support.agents import add, adding, agent, calls, results, rows, types
from support.ways import in_both_ways

pytestmark = [in_both_ways, pytest.mark.timeout(30)]


async def test_c28_an_unknown_tool_is_that_calls_failure_and_names_the_known_ones():
    mine = agent(calls("subtract", ToolCall("add", {"a": 1, "b": 2})), "well")
    result = await mine.run("?", conversation_id="c")
    unknown, known = result.steps[0].executions
    assert (unknown.status, known.value) == ("failure", 3)
    assert "subtract" in str(unknown.error)
    assert "add" in str(unknown.error)
    assert result.status == "completed"


@pytest.mark.parametrize(
    ("args", "named"),
    [({}, ["a", "b"]), ({"a": 1}, ["b"]), ({"a": "one", "b": 2}, ["a"])],
    ids=["C29 both missing", "C29 one missing", "C29 a wrong type"],
)
async def test_c29_wrong_arguments_are_that_calls_failure_and_the_tool_does_not_run(args, named):
    ran: list[int] = []

    @tool
    async def add(a: int, b: int) -> int:
        """Add."""
        ran.append(a)
        return a + b

    mine = agent(calls(ToolCall("add", args)), "well", tools=[add])
    [execution] = (await mine.run("?")).steps[0].executions
    assert (execution.status, ran) == ("failure", [])
    assert all(f"'{name}'" in str(execution.error) for name in named)


async def test_c30_a_tool_that_raises_is_a_failure_and_the_others_are_collected():
    mine = agent(calls("fail", ToolCall("add", {"a": 1, "b": 2})), "well")
    result = await mine.run("?")
    failed, added = result.steps[0].executions
    assert (failed.status, failed.error) == (
        "failure",
        "Tool execution failed: ValueError: no",
    )
    assert added.value == 3
    assert result.status == "completed"


async def test_c31_on_failure_raise_raises_after_every_call_has_its_result_in_the_log():
    mine = agent(
        calls("fail", ToolCall("add", {"a": 1, "b": 2})), calls=CallOptions(on_failure="raise")
    )
    with pytest.raises(ToolError, match=r"'fail' failed: .*no") as raised:
        await mine.run("?", conversation_id="c")
    assert [each.status for each in raised.value.executions] == ["failure", "success"]
    assert isinstance(raised.value.__cause__, ValueError)
    assert [[each["status"] for each in batch] for batch in results(mine)] == [
        ["failure", "success"]
    ]
    assert rows(mine)[-1][0] == "error"


async def test_c33_stop_run_in_a_tool_settles_the_batch_then_stops_and_the_reason_is_kept():
    @tool
    async def enough() -> str:
        """Stop."""
        raise StopRun("I have seen enough", context={"seen": 3})

    mine = agent(calls(ToolCall("add", {"a": 1, "b": 2}), "enough"), tools=[enough, add])
    result = await mine.run("?", conversation_id="c")
    assert result.status == "stopped"
    assert result.stop == StopRun(
        "I have seen enough", reason=StopReason.STOP_REQUESTED, context={"seen": 3}, source="enough"
    )
    assert result.stop.__traceback__ is None, "it keeps no frame alive"
    assert [each.status for each in result.steps[0].executions] == ["success", "success"]
    assert types(mine) == ["user", "call", "call", "result"]


async def test_c33_a_tool_may_stop_the_run_through_its_context():
    @tool
    async def enough(context: ToolContext[Any]) -> str:
        """Stop."""
        context.stop("enough of this")
        return "as you wish"

    result = await agent(calls("enough"), tools=[enough]).run("?")
    assert result.stop is not None
    assert (result.stop.message, result.stop.source) == ("enough of this", "enough")
    assert result.steps[0].executions[0].value == "as you wish"


TRIGGERS = [
    "before_run",
    "before_step",
    "after_step",
    "before_model_request",
    "after_model_response",
    "around_call",
]


@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_c33_stop_run_in_a_hook_settles_the_batch_then_stops_and_the_reason_is_kept(trigger):
    def stops(self: Any, ctx: Any, *given: Any) -> Any:
        raise StopRun("not today", reason=StopReason.FINISH_REASON)

    hook = type("Guard", (Hooks,), {trigger: stops})()
    mine = agent(adding(1, 2), "3", hooks=[hook])
    result = await mine.run("?", conversation_id="c")
    assert result.status == "stopped"
    assert result.stop == StopRun("not today", reason=StopReason.FINISH_REASON, source="Guard")
    assert types(mine).count("call") == len([each for batch in results(mine) for each in batch])


async def test_c37_a_stop_in_mid_batch_leaves_one_result_a_call():
    class Guard(Hooks):
        async def around_call(self, invocation: Any, next: Any) -> Any:
            if invocation.call.name == "fail":
                raise StopRun("no failing")
            return await next(invocation)

    batch = calls(ToolCall("add", {"a": 1, "b": 2}), "fail", ToolCall("add", {"a": 3, "b": 4}))
    mine = agent(batch, hooks=[Guard()])
    result = await mine.run("?", conversation_id="c")
    assert result.stop is not None
    assert result.stop.message == "no failing"
    [stored] = results(mine)
    assert [each["tool"] for each in stored] == ["add", "fail", "add"]
    assert [stored[0]["content"], stored[2]["content"]] == [3, 7]


async def test_c38_a_batch_may_have_500_calls():
    batch = calls(*(ToolCall("add", {"a": n, "b": 1}) for n in range(500)))
    result = await agent(batch, "done").run("?")
    assert [each.value for each in result.steps[0].executions] == list(range(1, 501))


class Blocks(Hooks):
    async def around_call(self, invocation: Any, next: Any) -> Any:
        if invocation.call.args.get("a") == 0:
            raise BlockTool("nothing to add")
        return await next(invocation)


async def test_c39_a_record_to_dict_and_back_is_equal_with_types_and_errors():
    batch = calls(ToolCall("add", {"a": 2, "b": 3}), "fail", ToolCall("add", {"a": 0, "b": 3}))
    result = await agent(batch, "done", hooks=[Blocks()]).run("?")
    executions = result.steps[0].executions
    assert [each.status for each in executions] == ["success", "failure", "blocked"]
    for execution in executions:
        again = ToolExecution.from_dict(json.loads(json.dumps(execution.to_dict())))
        assert again == execution
        assert type(again.value) is type(execution.value)
        assert str(again.result.exception) == str(execution.result.exception)


async def test_c40_concurrent_calls_of_one_tool_each_see_their_own_context():
    @tool
    async def who(n: int, context: ToolContext[str]) -> list[Any]:
        """Say who calls."""
        await asyncio.sleep(0)
        return [context.execution_id, context.call.args["n"], context.deps]

    mine = agent(calls(*(ToolCall("who", {"n": n}) for n in range(5))), "done", tools=[who])
    result = await mine.run("?", deps="database")
    for n, execution in enumerate(result.steps[0].executions):
        assert execution.value == [execution.id, n, "database"]
