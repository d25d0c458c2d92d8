"""Runs tool calls in parallel, with results in call order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .batch import ToolBatch
from .batch_options import BatchOptions
from .middleware import Approve, Hooks, Middleware
from .observers import OnToolEnd, OnToolStart
from .records import ToolExecution
from .registry import check_calls
from .tool_events import OnEvent, ToolEvents
from .toolbox import Toolbox
from .types import Execution, ToolCall, ToolResult

__all__ = ["execute_calls", "execute_tool", "execute_tools"]


async def execute_tool(
    call: ToolCall,
    *,
    execution: Execution,
    user_id: str = "",
    conversation_id: str = "",
    tool_timeout: float | None = None,
    **options: Any,
) -> ToolResult:
    """Run one call; see `execute_tools`, whose options it takes."""
    [result] = await execute_tools(
        [call],
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        tool_timeout=tool_timeout,
        **options,
    )
    return result


async def execute_tools(
    calls: Sequence[ToolCall],
    *,
    execution: Execution,
    user_id: str = "",
    conversation_id: str = "",
    tool_timeout: float | None = None,
    batch_timeout: float | None = None,
    max_concurrency: int | None = None,
    middleware: Iterable[Middleware] = (),
    hooks: Iterable[Hooks] = (),
    approve: Approve | None = None,
    approval_timeout: float = 300.0,
    on_tool_start: OnToolStart | None = None,
    on_tool_end: OnToolEnd | None = None,
    on_event: OnEvent | None = None,
    state: dict[str, Any] | None = None,
) -> list[ToolResult]:
    """Run a batch of calls at the same time.

    A tool made by `@tool` gets what the model wrote, and a `ToolContext` where it has a parameter annotated so. An
    object with `execute(**kwargs)` gets its call's arguments and, unless its schema declares arguments of these names,
    `storage`, `sandbox_dir`, `access`, `conversation_id`, `user_id` (when not empty) and, if it is named `shell`,
    `timeout`. Before a tool starts, the arguments are checked against its schema.

    Every call has an asyncio task of its own, named after its tool. An `async def execute` is awaited there. A plain
    `def execute`, and any tool with `blocking = True`, runs in a worker thread; a marked `async def` gets an event loop
    of its own there. Context variables of the caller reach every tool.

    Args:
        calls: what to run.
        execution: the tools and what they run with.
        user_id: whose turn it is.
        conversation_id: which conversation.
        tool_timeout: seconds one attempt of a call may take from its start, and what stands around it besides; `None`
            for no limit. A tool's own `timeout` counts more.
        batch_timeout: seconds all of them may take; `None` for no limit.
        max_concurrency: how many tools may run at once; `None` for all.
        middleware: what stands around every call, the outermost first; see `Middleware`.
        hooks: what is asked before every call, and told after it; outside of `middleware`.
        approve: asked of calls of tools that require approval. Without it, those are denied.
        approval_timeout: seconds to wait for its answer; none in time is a denial.
        on_tool_start: called with the call when it starts, in its context; sync or async.
        on_tool_end: called with the call, its result and the seconds it took when it is over; sync or async. Calls
            that were refused are told of too.
        on_event: called with what a tool hands on with `ToolContext.emit`, on the event loop. What it raises is
            logged and harms nothing.
        state: what hooks read and write, and tools read.

    Returns:
        One result for each call, in call order, whatever the order in which they end. Whatever a tool does becomes
        its own result: an exception, a `CancelledError` or `SystemExit` of its own, a value that is not a `ToolResult`.

    Raises:
        asyncio.CancelledError: the caller was cancelled; by then every call has been cancelled and awaited. A tool
            that blocks cannot be interrupted: it is left to end on its own.
        ConfigError: an option that cannot be kept, something among the tools that is not a tool, two tools of one name.
        TypeError: something among the calls that is not a call.
    """
    options = BatchOptions(
        tool_timeout,
        batch_timeout,
        max_concurrency,
        tuple(middleware),
        tuple(hooks),
        approve,
        approval_timeout,
        on_tool_start,
        on_tool_end,
        on_event,
    )
    batch = _start(calls, execution, user_id, conversation_id, state, options)
    await batch.join()
    return batch.results()


async def execute_calls(
    calls: Sequence[ToolCall],
    *,
    execution: Execution,
    user_id: str = "",
    conversation_id: str = "",
    state: dict[str, Any] | None = None,
    **options: Any,
) -> list[ToolExecution]:
    """Run a batch of calls at the same time, and say of each what became of it.

    Takes what `execute_tools` takes, and does the same.

    Returns:
        One record for each call, in call order: ids, times, status, attempts, and the call as hooks and middleware
        left it.
    """
    given = BatchOptions(**options)
    batch = _start(calls, execution, user_id, conversation_id, state, given)
    await batch.join()
    return batch.executions()


def _start(
    calls: Sequence[ToolCall],
    execution: Execution,
    user_id: str,
    conversation_id: str,
    state: dict[str, Any] | None,
    options: BatchOptions,
) -> ToolBatch:
    return ToolBatch(
        check_calls(calls),
        Toolbox.of(execution.tools),
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        options=options,
        state=state,
        run=ToolEvents(options.on_event) if options.on_event else None,
    )
