"""What errors carry: through a pickle, and what a failed call says of a group of them."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from typing import Any

import pytest

from cogency_rs import Execution, Hooks, ToolCall, errors, execute_tools, tool
from support.agents import add, adding, agent

MADE: dict[str, Any] = {
    "BusyError": lambda: errors.BusyError("busy", conversation_id="c"),
    "HookError": lambda: errors.HookError(
        "failed", hook="Guard", trigger="before_run", cause=KeyError("k")
    ),
    "ProtocolError": lambda: errors.ProtocolError("wrong", original_input="<execute>"),
    "SkipTool": lambda: errors.SkipTool({"a": 1}),
    "StopRun": lambda: errors.StopRun("enough", reason="user_requested", context={"a": 1}),
    "StorageError": lambda: errors.StorageError("locked", retryable=True),
    "ToolError": lambda: errors.ToolError("late", timeout=True),
}

CLASSES = [
    name
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, Exception) and name in errors.__all__
]


@pytest.mark.parametrize("through", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
@pytest.mark.parametrize("name", CLASSES)
def test_an_error_is_the_same_after_a_pickle(name, through):
    error = MADE.get(name, lambda: getattr(errors, name)("what was wrong"))()
    error.add_note("a note")
    again = through(error)
    assert type(again) is type(error)
    assert (str(again), again.args) == (str(error), error.args)
    assert {**vars(again), "cause": None} == {**vars(error), "cause": None}
    assert repr(getattr(again, "cause", None)) == repr(getattr(error, "cause", None))


GROUPS = {
    "the parts of a group": (
        ExceptionGroup("two things", [ValueError("a"), KeyError("b")]),
        "ExceptionGroup: two things (2 sub-exceptions): ValueError: a; KeyError: 'b'",
    ),
    "the parts of a group in it": (
        ExceptionGroup("all", [ExceptionGroup("some", [ValueError("a")]), OSError("b")]),
        "ExceptionGroup: all (2 sub-exceptions): ValueError: a; OSError: b",
    ),
    "the first of many parts": (
        ExceptionGroup("all", [ValueError(str(number)) for number in range(7)]),
        "ExceptionGroup: all (7 sub-exceptions): ValueError: 0; ValueError: 1; ValueError: 2; ValueError: 3; "
        "ValueError: 4; and 2 more",
    ),
}


@pytest.mark.parametrize(("error", "says"), GROUPS.values(), ids=GROUPS)
async def test_a_call_that_fails_with_a_group_names_its_parts(error, says):
    @tool
    async def fail() -> None:
        raise error

    [result] = await execute_tools([ToolCall("fail", {})], execution=Execution(tools=[fail]))
    assert result.outcome == f"Tool execution failed: {says}"


async def test_tasks_that_fail_together_are_both_named():
    @tool
    async def fetch() -> None:
        async def part(name: str) -> None:
            raise ConnectionError(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(part("first"))
            group.create_task(part("second"))

    [result] = await execute_tools([ToolCall("fetch", {})], execution=Execution(tools=[fetch]))
    assert "ConnectionError: first; ConnectionError: second" in result.outcome


class Watching(Hooks):
    """Looks at what is over, and returns nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def after_step(self, ctx: Any, step: Any) -> None:
        self.seen.append(step.kind)

    async def after_run(self, ctx: Any, result: Any) -> None:
        self.seen.append(result.status)


async def test_a_hook_that_only_looks_at_what_is_over_may_return_nothing():
    hooks = Watching()
    result = await agent(adding(1, 2), "3", hooks=[hooks], tools=[add]).run("?")
    assert (result.status, result.output, len(result.steps)) == ("completed", "3", 2)
    assert hooks.seen == ["tool_execution", "final_response", "completed"]
