"""Runs tool calls in parallel, with results in call order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..calls.record import ToolExecution
from ..guards.arguments import check_execution, check_function
from ..hooks import AnyHook, Approve
from ..hooks.approval import Approval
from ..hooks.hooks import HookList
from ..tools.registry import check_calls
from ..tools.toolbox import Toolbox
from ..types import Execution, ToolCall, ToolResult
from .batch import ToolBatch
from .host import BatchSettings
from .scheduling import CallOptions
from .tool_events import OnEvent, ToolEvents


async def execute_tool(call: ToolCall, *, execution: Execution, **options: Any) -> ToolResult:
    """Run one call; see `execute_tools`, whose options it takes."""
    [result] = await execute_tools([call], execution=execution, **options)
    return result


async def execute_tools(
    batch: Sequence[ToolCall],
    *,
    execution: Execution,
    user_id: str = "",
    conversation_id: str = "",
    calls: CallOptions | None = None,
    hooks: Iterable[AnyHook] = (),
    approve: Approve | Approval | None = None,
    on_event: OnEvent | None = None,
    state: dict[str, Any] | None = None,
) -> list[ToolResult]:
    """Run a batch of calls at the same time.

    A tool made by `@tool` gets the model's arguments, and a `ToolContext` if a parameter is annotated with it. An
    object with `execute(**kwargs)` gets the model's arguments and, unless its schema declares arguments of these names,
    `storage`, `sandbox_dir`, `access`, `conversation_id`, `user_id` (if not empty) and, if the tool is named `shell`,
    `timeout`. Before a tool starts, the arguments are checked against its schema.

    Every call has its own asyncio task, named after its tool. An `async def execute` is awaited in that task. A
    plain `def execute`, and any tool with `blocking = True`, runs in a worker thread; an `async def` so marked gets an
    event loop of its own there. Context variables of the caller reach every tool.

    Args:
        batch: the calls to run.
        execution: the tools, and what they run with.
        user_id: the id of the user whose turn it is.
        conversation_id: the conversation's id.
        calls: how they are carried out, such as `CallOptions(timeout=10)`.
        hooks: what runs before, after and around every call: `Hooks`, functions (see `AroundCall`) and executors.
        approve: decides about calls of tools that require approval; a function, or an `Approval`. Without it, those are
            denied.
        on_event: called on the event loop with every event of `ToolContext.emit`. What it raises is logged and has no
            other effect.
        state: a dict that hooks read and write, and tools read.

    Returns:
        One result for each call, in call order, whatever the order in which they end. Whatever a tool does becomes
        its own result: an exception, its own `CancelledError` or `SystemExit`, a value that is not a `ToolResult`.

    Raises:
        asyncio.CancelledError: the caller was cancelled; by then every call has been cancelled and awaited. A tool
            that blocks cannot be interrupted: it is left to finish.
        ToolError: a call failed, with `CallOptions(on_failure="raise")`.
        ConfigError: an option has a wrong value, one of the tools is not a tool, or two tools have the same name.
        TypeError: one of the calls is not a call.
    """
    running = _begun(
        batch,
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        calls=calls,
        hooks=hooks,
        approve=approve,
        on_event=on_event,
        state=state,
    )
    await running.join()
    if calls is not None:
        _raise_failure(running, calls)
    return running.results()


async def execute_calls(
    batch: Sequence[ToolCall],
    *,
    execution: Execution,
    calls: CallOptions | None = None,
    **options: Any,
) -> list[ToolExecution]:
    """Run a batch of calls at the same time, and return what is known of each.

    Takes the arguments of `execute_tools`, and does the same.

    Returns:
        One `ToolExecution` for each call, in call order: the call as hooks left it, its result, and the record of how
        that went.
    """
    running = _begun(batch, execution=execution, calls=calls, **options)
    await running.join()
    if calls is not None:
        _raise_failure(running, calls)
    return running.executions(running.results())


def _begun(
    batch: Sequence[ToolCall],
    *,
    execution: Execution,
    user_id: str = "",
    conversation_id: str = "",
    calls: CallOptions | None = None,
    hooks: Iterable[AnyHook] = (),
    approve: Approve | Approval | None = None,
    on_event: OnEvent | None = None,
    state: dict[str, Any] | None = None,
) -> ToolBatch:
    """A batch whose calls have been started."""
    check_function("on_event", on_event)
    check_execution(execution)
    tools = Toolbox.of(execution.tools)
    settings = BatchSettings(
        tools=tools,
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        options=CallOptions.of(calls),
        hooks=HookList.of(hooks),
        approval=Approval.of(approve),
        state={} if state is None else state,
        run=ToolEvents(on_event) if on_event else None,
    )
    return ToolBatch(settings, tools.resolve_all(check_calls(batch)))


def _raise_failure(ended: ToolBatch, options: CallOptions) -> None:
    """Raise the error of a batch that is over, if its options ask for that.

    Raises:
        ToolError: a call failed.
    """
    if options.on_failure == "raise" and (
        error := options.error_of(ended.executions(ended.results()))
    ):
        raise error
