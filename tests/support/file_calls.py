"""Calls of the tools for files, and what they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cogency_rs import Execution, ToolCall, ToolResult, execute_tools
from cogency_rs.tools import file_tools
from cogency_rs.tools.options import options_of

Call = Callable[..., Any]


def caller(place: Path) -> Call:
    """Runs one call in a folder, which is approved."""
    tools = file_tools(place)

    async def call(name: str, **args: object) -> ToolResult:
        [result] = await execute_tools(
            [ToolCall(name, args)],
            execution=Execution(storage=None, tools=tools),
            approve=lambda _context, _call: True,
        )
        return result

    return call


def problem(result: ToolResult) -> str:
    """What a failed call says."""
    assert result.error
    return result.outcome.removeprefix("Tool execution failed: ")


def preview(place: Path, name: str, **args: object) -> str:
    """What a person would be shown before a call."""
    [tool] = [tool for tool in file_tools(place) if tool.name == name]
    show = options_of(tool).preview
    assert show is not None
    return str(show(ToolCall(name, args)))
