"""Tools made of functions, and one call of a tool as a turn makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from cogency_rs import ToolCall, ToolResult, tool
from cogency_rs.execution import execute_tool
from cogency_rs.tools import FunctionTool
from support.tools import with_tools

if TYPE_CHECKING:
    from collections.abc import Callable


async def run(made: Any, /, *, user_id: str = "u", **arguments: Any) -> ToolResult:
    """Run one call of a tool, as a turn does."""
    return await execute_tool(
        ToolCall(made.name, arguments),
        execution=with_tools(made, storage="the log"),
        user_id=user_id,
        conversation_id="c",
    )


async def refusal(made: Any, /, **arguments: Any) -> str:
    """What is wrong with the arguments, in the tool's own message."""
    result = await made.execute(**arguments)
    assert result.error
    return result.outcome.removeprefix(f"Invalid arguments for tool '{made.name}': ")


def takes(hint: Any, **default: Any) -> FunctionTool[..., Any]:
    """A tool with one parameter, `x`, of this hint; it keeps its argument in `takes.got`, and returns it."""

    async def function(x: Any) -> Any:
        takes.got = x
        return x

    function.__annotations__ = {"x": hint}
    function.__defaults__ = tuple(default.values())
    return tool(function, name="f")


# A function that becomes a tool


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    They may be negative.

    Args:
        a: one of them
        b: the other

    Returns:
        Their sum.
    """
    return a + b


# Return values


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: list[Color] = field(default_factory=list)


def both_kinds(function: Callable[[], Any]) -> list[FunctionTool[..., Any]]:
    """The same as an `async def` and as a plain `def`."""

    async def as_coroutine() -> Any:
        return function()

    def as_plain() -> Any:
        return function()

    return [tool(as_coroutine), tool(as_plain)]
