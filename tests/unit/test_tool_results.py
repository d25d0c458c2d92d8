"""The result of a function's value or exception, and where the function runs."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from cogency_rs import CallOptions, ToolResult, execute_tools, tool
from cogency_rs.errors import ToolError
from cogency_rs.execution import execute_tool
from support.function_tools import Color, Point, both_kinds, run
from support.tools import call, with_tools

pytestmark = pytest.mark.timeout(30)


@dataclass
class TheirResult:
    """A result with the fields of cogency's own."""

    outcome: str
    content: str | None = None
    error: bool = False


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, None),
        (0, 0),
        ("text", "text"),
        ([1, (2, {"a": None})], [1, [2, {"a": None}]]),
        (Point(1, [Color.RED]), {"x": 1, "y": ["red"]}),
        ({"points": [Point(1)], Color.RED: Color.RED}, {"points": [{"x": 1, "y": []}], "red": "red"}),
        ({1: Color.RED}, {1: "red"}),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_value_is_the_content_of_a_success(value, content):
    for made in both_kinds(lambda: value):
        assert await run(made) == ToolResult("Success", content)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("done"),
        ToolResult("done", "text"),
        ToolResult("failed", error=True),
        TheirResult("done", "text"),
    ],
    ids=repr,
)
async def test_a_result_is_handed_on(result, monkeypatch):
    cogency = SimpleNamespace(ToolResult=TheirResult)
    monkeypatch.setitem(sys.modules, "cogency.core.protocols", cogency)
    for made in both_kinds(lambda: result):
        assert await run(made) is result


@dataclass
class Match:
    """A value of a program whose fields have the names of a result's."""

    outcome: str
    error: float
    home: int = 3


async def test_a_value_with_the_fields_of_a_result_is_a_value():
    for made in both_kinds(lambda: Match("home win", 0.02)):
        expected = {"outcome": "home win", "error": 0.02, "home": 3}
        assert await run(made) == ToolResult("Success", expected)


async def test_the_content_of_a_result_is_written_as_json_too():
    for made in both_kinds(lambda: ToolResult("moved", [Point(1)])):
        assert await run(made) == ToolResult("moved", [{"x": 1, "y": []}])


async def test_a_value_that_json_cannot_hold_is_a_failure_that_names_its_type():
    for made in both_kinds(lambda: [object()]):
        result = await run(made)
        assert result.error
        assert "Object of type object is not JSON serializable" in result.outcome


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ToolError("no such file"), "no such file"),
        (ValueError("no such file"), "ValueError: no such file"),
    ],
    ids=repr,
)
async def test_an_exception_of_a_function_is_its_failure(error, words):
    def fail() -> None:
        raise error

    for made in both_kinds(fail):
        result = await run(made)
        assert result == ToolResult(f"Tool execution failed: {words}", error=True)
        assert result.exception is error


# Where a function runs


async def test_a_coroutine_runs_on_the_loop_and_a_blocking_function_in_a_thread():
    @tool
    async def on_the_loop() -> int:
        return threading.get_ident()

    @tool
    def plain() -> int:
        return threading.get_ident()

    here = threading.get_ident()
    assert [(await run(t)).content == here for t in (on_the_loop, plain)] == [True, False]


async def test_plain_functions_of_a_batch_run_at_the_same_time():
    barrier = threading.Barrier(4, timeout=20)

    @tool
    def meet(n: int) -> int:
        barrier.wait()
        return n

    calls = [call("meet", n=n) for n in range(4)]
    results = await execute_tools(
        calls, execution=with_tools(meet), user_id="", conversation_id="c"
    )
    assert [result.content for result in results] == [0, 1, 2, 3]


async def test_a_plain_function_may_return_an_awaitable():
    @tool
    def later(x: int) -> Any:
        return asyncio.sleep(0, Point(x))

    assert (await run(later, x=1)).content == {"x": 1, "y": []}


async def test_context_variables_reach_a_function():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    for made in both_kinds(variable.get):
        assert (await run(made)).content == "set"


async def test_a_timeout_cancels_a_function():
    stopped = asyncio.Event()

    @tool
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    result = await execute_tool(
        call("wait"),
        execution=with_tools(wait),
        user_id="",
        conversation_id="c",
        calls=CallOptions(timeout=0.05),
    )
    assert result == ToolResult("Tool 'wait' timed out after 0.05 s", error=True)
    assert stopped.is_set()
