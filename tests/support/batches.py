"""One batch of calls, as a turn hands it to the executor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cogency_rs import ToolCall, ToolResult, execute_tools
from cogency_rs.execution import ToolExecution, execute_calls
from support.tools import with_tools

if TYPE_CHECKING:
    from collections.abc import Sequence


async def execute(batch: Sequence[ToolCall], *tools: Any, **options: Any) -> list[ToolResult]:
    options = {"user_id": "u", "conversation_id": "c", **options}
    return await execute_tools(batch, execution=with_tools(*tools), **options)


async def executions(batch: Sequence[ToolCall], *tools: Any, **options: Any) -> list[ToolExecution]:
    """What is noted of each call of a batch."""
    return await execute_calls(batch, execution=with_tools(*tools), **options)
