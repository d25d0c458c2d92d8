"""Tools of every kind: methods, plain functions, coroutines, futures, mocks."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from cogency_rs import ToolResult
from support.batches import execute
from support.tools import OK, FunctionTool, call, rounds

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = pytest.mark.timeout(20)


class CustomAwaitable:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from asyncio.sleep(0).__await__()
        return self._value


async def test_a_method_of_a_class():
    class Tool:
        name = "t"
        description = "does something"
        schema: dict[str, Any] = {}  # noqa: RUF012

        async def execute(self, a: int, **_: Any) -> int:
            return a + 1

    [result] = await execute([call("t", a=1)], Tool())
    assert result.content == 2


@pytest.mark.parametrize("value", [ToolResult("ok", "text"), "text", None, 0], ids=repr)
async def test_a_plain_function(value):
    [result] = await execute([call("t")], FunctionTool("t", lambda **_: value))
    expected = value.content if isinstance(value, ToolResult) else value
    assert (result.error, result.content) == (False, expected)


@pytest.mark.parametrize(
    "error", [ValueError("no"), asyncio.CancelledError("no"), SystemExit("no"), StopIteration("no")]
)
async def test_a_plain_function_that_raises(error):
    def execute_(**_: Any) -> None:
        raise error

    result, sibling = await execute([call("t"), call("ok")], FunctionTool("t", execute_), OK)
    assert (result.error, sibling.error) == (True, False)
    assert "no" in result.outcome


async def test_a_plain_function_that_returns_a_coroutine():
    """A decorated tool, for example."""
    [result] = await execute([call("t", a=1)], FunctionTool("t", lambda **_: OK.execute(a=1)))
    assert result.content == {"a": 1}


async def test_a_coroutine_is_awaited_on_the_caller_s_loop_whatever_made_it():
    async def look(**_: Any) -> bool:
        return asyncio.get_running_loop() is loop

    class Callable_:  # noqa: N801
        async def __call__(self, **arguments: Any) -> bool:
            return await look(**arguments)

    loop = asyncio.get_running_loop()
    tools = [
        FunctionTool("function", look),
        FunctionTool("lambda", lambda **arguments: look(**arguments)),
        FunctionTool("partial", functools.partial(look, a=1)),
        FunctionTool("callable", Callable_()),
        FunctionTool("mock", AsyncMock(side_effect=look)),
        MagicMock(execute=AsyncMock(side_effect=look)),
    ]
    tools[-1].name = "mock tool"
    results = await execute([call(tool.name) for tool in tools], *tools)
    assert [result.content for result in results] == [True] * len(tools)


async def test_a_plain_function_that_returns_a_future():
    future = asyncio.get_running_loop().create_future()
    batch = asyncio.create_task(execute([call("t")], FunctionTool("t", lambda **_: future)))
    await rounds(2)
    future.set_result("text")
    assert [result.content for result in await batch] == ["text"]


async def test_a_plain_function_that_returns_a_task():
    task = asyncio.create_task(OK.execute(a=1))
    [result] = await execute([call("t")], FunctionTool("t", lambda **_: task))
    assert result.content == {"a": 1}


async def test_a_plain_function_that_returns_another_awaitable():
    awaitable = CustomAwaitable("text")
    [result] = await execute([call("t")], FunctionTool("t", lambda **_: awaitable))
    assert result.content == "text"


async def test_a_mock():
    tool = MagicMock()
    tool.name, tool.schema = "t", {}
    tool.execute = AsyncMock(return_value=ToolResult("ok", "text"))
    [result] = await execute([call("t", a=1)], tool)
    assert result.content == "text"
    assert tool.execute.await_args.kwargs["a"] == 1


async def test_a_future_of_another_loop_fails_only_its_call():
    other = asyncio.new_event_loop()
    future = other.create_future()
    result, sibling = await execute(
        [call("t"), call("ok")], FunctionTool("t", lambda **_: future), OK
    )
    other.close()
    assert (result.error, sibling.error) == (True, False)
