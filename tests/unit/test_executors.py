"""Executors: which tools they run, and that hooks, approval, retries and limits still apply to the calls."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    CallOptions,
    Execution,
    Hooks,
    SQLite,
    ToolCall,
    ToolResult,
    execute_tools,
    parse_tokens,
    tool,
)
from cogency_rs.errors import ConfigError, UnknownOutcome
from cogency_rs.execution import execute_calls
from cogency_rs.executors import Executor
from cogency_rs.hooks import Invocation, Next
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Retries, ToolOptions

pytestmark = pytest.mark.timeout(20)


class Elsewhere(Executor):
    """An executor that gives an answer instead of running the tool."""

    def __init__(self, *answers: Any, name: str = "elsewhere", marked: bool = False) -> None:
        self.answers = [*answers]
        self.name = name
        self.marked = marked
        self.ran: list[Invocation] = []

    def takes(self, tool: Any) -> bool:
        remote = getattr(getattr(tool, "options", None), "remote", None)
        return remote is not False and (not self.marked or remote is not None)

    async def run(self, invocation: Invocation, execution: Any) -> Any:
        self.ran.append(invocation)
        answer = self.answers.pop(0) if self.answers else self.name
        if isinstance(answer, BaseException):
            raise answer
        return await answer() if callable(answer) else answer


@tool
async def free(x: int = 0) -> str:
    """Run where the executor decides."""
    return "here"


@tool(remote=True)
def marked(x: int = 0) -> str:
    """Want to run elsewhere."""
    return "here"


@tool(remote=False)
async def bound(x: int = 0) -> str:
    """Want to run here."""
    return "here"


async def contents(tools: list[Any], *hooks: Any, **options: Any) -> list[Any]:
    results = await execute_tools(
        [ToolCall(each.name, {}) for each in tools],
        execution=Execution(tools=tools),
        hooks=hooks,
        **options,
    )
    return [result.content or result.outcome for result in results]


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        ([Elsewhere()], ["elsewhere", "elsewhere", "here"]),
        ([Elsewhere(marked=True)], ["here", "elsewhere", "here"]),
        ([Elsewhere(), Elsewhere(name="inner", marked=True)], ["elsewhere", "inner", "here"]),
    ],
)
async def test_the_innermost_executor_that_takes_a_tool_runs_it(hooks, expected):
    assert await contents([free, marked, bound], *hooks) == expected


async def test_a_tool_that_must_run_elsewhere_is_refused_if_no_executor_takes_it():
    async def plain(invocation: Invocation, next: Any) -> ToolResult:
        return await next(invocation)

    words = "tool 'marked' must run in another process, but nothing in hooks= takes it"
    with pytest.raises(ConfigError, match=words):
        await contents([free, marked], plain)
    async with SQLite(":memory:") as storage:
        execution = Execution(storage=storage, tools=[marked])
        with pytest.raises(ConfigError, match=words):
            Accumulator("u", "c", execution=execution)
        Accumulator("u", "c", execution=execution, hooks=iter([Elsewhere()]))


async def test_options_that_the_executor_refuses_are_refused_before_a_call_runs():
    class Strict(Elsewhere):
        def check(self, tool: Any) -> None:
            raise ConfigError(f"not {tool.name}")

    with pytest.raises(ConfigError, match="not marked"):
        await contents([marked], Strict())


@pytest.mark.parametrize("remote", ["gpu", 1, [], {"num_cpus"}])
def test_remote_is_a_bool_or_a_mapping(remote):
    with pytest.raises(ConfigError, match="remote must be True, False or what a call needs"):
        ToolOptions(remote=remote)


async def test_a_call_that_is_refused_is_not_sent():
    elsewhere = Elsewhere()
    [result] = await execute_tools(
        [ToolCall("free", {"y": 1})], execution=Execution(tools=[free]), hooks=[elsewhere]
    )
    assert "argument 'y' is not known" in result.outcome
    assert elsewhere.ran == []


async def test_a_hook_may_send_a_call_to_a_tool_that_runs_here():
    class Redirect(Hooks):
        async def around_call(self, invocation: Any, next: Any) -> Any:
            return await next(replace(invocation, call=replace(invocation.call, name="bound")))

    results = await execute_tools(
        [ToolCall("free", {})],
        execution=Execution(tools=[free, bound]),
        hooks=[Elsewhere(), Redirect()],
    )
    assert [result.content for result in results] == ["here"]


async def test_a_hook_may_send_a_call_to_a_tool_that_runs_elsewhere():
    async def redirect(invocation: Invocation, next: Next) -> ToolResult:
        return await next(replace(invocation, call=replace(invocation.call, name="free")))

    elsewhere = Elsewhere()
    await execute_tools(
        [ToolCall("bound", {})],
        execution=Execution(tools=[free, bound]),
        hooks=[elsewhere, redirect],
    )
    assert [ran.call.name for ran in elsewhere.ran] == ["free"]


async def test_hooks_approval_and_retries_apply_to_a_call_that_runs_elsewhere():
    @tool(remote=True, requires_approval=True, idempotent=Retries(1))
    async def careful() -> str:
        """Ask first."""
        return "here"

    journal: list[str] = []

    def approve(ctx: Any, call: ToolCall) -> bool:
        journal.append("asked")
        return True

    async def watch(invocation: Invocation, next: Next) -> ToolResult:
        journal.append("start")
        result = await next(invocation)
        journal.append("end")
        return result

    elsewhere = Elsewhere(OSError("lost"), "there")
    [made] = await execute_calls(
        [ToolCall("careful", {})],
        execution=Execution(tools=[careful]),
        hooks=[elsewhere, watch],
        approve=approve,
    )
    assert (made.status, made.value, made.record.attempt) == ("success", "there", 2)
    assert journal == ["start", "asked", "end"]
    assert len({invocation.id for invocation in elsewhere.ran}) == 1


async def test_the_outcome_of_a_lost_call_is_unknown_and_it_is_not_retried():
    @tool(remote=True, idempotent=Retries(3))
    async def idle() -> str:
        """Idle."""
        return "here"

    elsewhere = Elsewhere(UnknownOutcome("the worker was lost"))
    [made] = await execute_calls(
        [ToolCall("idle", {})], execution=Execution(tools=[idle]), hooks=[elsewhere]
    )
    assert (made.status, made.record.attempt) == ("unknown", 1)
    assert made.error == "Tool execution failed: the worker was lost"


async def test_the_log_records_that_the_outcome_of_a_call_is_unknown():
    text = '<execute>[{"name": "free", "args": {}}]</execute>'
    async with SQLite(":memory:") as storage:
        turn = Accumulator(
            "u",
            "c",
            execution=Execution(storage=storage, tools=[free]),
            hooks=[Elsewhere(UnknownOutcome("the worker was lost"))],
        )
        async for _ in turn.process(parse_tokens(text)):
            pass
        [made] = await storage.calls("c")
    assert made.status == "unknown"


async def test_a_call_that_times_out_is_stopped_in_its_executor():
    stopped: list[str] = []

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("there")

    [made] = await execute_calls(
        [ToolCall("free", {})],
        execution=Execution(tools=[free]),
        hooks=[Elsewhere(for_ever)],
        calls=CallOptions(timeout=0.05),
    )
    assert (made.status, stopped) == ("timeout", ["there"])


async def test_an_agent_needs_an_executor_for_a_tool_that_must_run_elsewhere():
    answers = ['<execute>[{"name": "marked", "args": {}}]</execute>', "done"]
    with pytest.raises(ConfigError, match="'marked' must run in another process"):
        Agent(ScriptedModel(answers), tools=[marked])
    elsewhere = Elsewhere()
    result = await Agent(ScriptedModel(answers), tools=[marked], hooks=[elsewhere]).run("go")
    assert (result.output, len(elsewhere.ran)) == ("done", 1)
