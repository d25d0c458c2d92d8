"""Runs tool calls in parallel, with results in call order: the async shell over `_core.Batch`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ._core import Batch
from .errors import ConfigError
from .types import Execution, ToolCall, ToolResult

__all__ = ["execute_tool", "execute_tools"]


async def execute_tool(
    call: ToolCall,
    *,
    execution: Execution,
    user_id: str,
    conversation_id: str,
    tool_timeout: float | None = None,
) -> ToolResult:
    """Run one call; see `execute_tools`."""
    results = await execute_tools(
        [call],
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        tool_timeout=tool_timeout,
    )
    return results[0]


async def execute_tools(
    calls: Sequence[ToolCall],
    *,
    execution: Execution,
    user_id: str,
    conversation_id: str,
    tool_timeout: float | None = None,
    max_concurrency: int | None = None,
) -> list[ToolResult]:
    """Run a batch of calls at the same time.

    Every tool gets its call's arguments and `storage`, `sandbox_dir`, `access`, `conversation_id`, `user_id` (when
    not empty) and, if it is named `shell`, `timeout`.

    Args:
        calls: what to run.
        execution: the tools and what they run with.
        user_id: whose turn it is.
        conversation_id: which conversation.
        tool_timeout: seconds one call may take; `None` for no limit.
        max_concurrency: how many calls may run at once; `None` for all.

    Returns:
        One result for each call, in call order, whatever the order in which they end. Whatever a tool does becomes
        its own result: an exception, a `CancelledError` of its own, a value that is no `ToolResult`.

    Raises:
        asyncio.CancelledError: the caller was cancelled; by then every call has been cancelled and awaited.
        ConfigError: `tool_timeout` or `max_concurrency` is not above 0.
    """
    running = RunningTools(
        calls,
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        tool_timeout=tool_timeout,
        max_concurrency=max_concurrency,
    )
    await running.join()
    return running.results()


class RunningTools:
    """A batch that has been started."""

    def __init__(
        self,
        calls: Sequence[ToolCall],
        *,
        execution: Execution,
        user_id: str,
        conversation_id: str,
        tool_timeout: float | None,
        max_concurrency: int | None,
    ) -> None:
        check_limits(tool_timeout, max_concurrency)
        self._calls = calls
        self._timeout = tool_timeout
        self._cancelled = False
        tools = by_name(execution.tools)
        start = partial(_start, tools, execution, user_id, conversation_id)
        self._batch = Batch(
            [partial(start, call) for call in calls],
            call_timeout=tool_timeout,
            concurrency=max_concurrency,
        )

    async def join(self) -> None:
        """Wait until every call is over. Cancelled, it cancels them and still waits."""
        try:
            if not self._batch.done:
                await self._batch.wait()
        except asyncio.CancelledError:
            self._cancelled = True
            self._batch.cancel()
            while not self._batch.done:
                try:
                    await self._batch.wait()
                except asyncio.CancelledError:
                    continue  # they have been asked to stop already
            raise

    def results(self) -> list[ToolResult]:
        """One result for each call, in call order; for once."""
        outcomes = zip(self._calls, self._batch.outcomes(), strict=True)
        return [self._result(call, *outcome) for call, outcome in outcomes]

    def _result(
        self, call: ToolCall, value: Any, error: BaseException | None, state: str
    ) -> ToolResult:
        if state == "timeout":
            return failure(f"Tool '{call.name}' timed out after {self._timeout:g} s")
        if state == "not started" or (
            self._cancelled and isinstance(error, asyncio.CancelledError)
        ):
            return failure("Cancelled")
        if error is not None:
            return failure(f"Tool execution failed: {_reason(error)}")
        return _as_result(value)


class UnreadableCall(ToolCall):
    """A call whose arguments Python cannot hold; it fails without being started."""


def tool_call(text: str) -> ToolCall:
    """Read a call that the parser wrote."""
    try:
        call = json.loads(text)
    except ValueError:
        # Valid JSON, but an integer with more digits than `sys.get_int_max_str_digits()` allows.
        call = json.loads(text, parse_int=str)
        return UnreadableCall(call["name"], {})
    return ToolCall(call["name"], call["args"])


def failure(message: str) -> ToolResult:
    """Make the result of a call that failed."""
    return ToolResult(outcome=message, error=True)


def by_name(tools: Iterable[Any]) -> dict[str, Any]:
    """Tools by the name the model calls them by; of equal names the first counts."""
    names: dict[str, Any] = {}
    for tool in tools:
        names.setdefault(tool.name, tool)
    return names


def check_limits(tool_timeout: float | None, max_concurrency: int | None) -> None:
    """Refuse limits that no batch could keep.

    Raises:
        ConfigError: naming the limit.
    """
    if tool_timeout is not None and not 0 < tool_timeout < float("inf"):
        raise ConfigError(f"tool_timeout must be above 0 seconds, got {tool_timeout!r}")
    if max_concurrency is not None and max_concurrency < 1:
        raise ConfigError(f"max_concurrency must be at least 1, got {max_concurrency!r}")


def _start(
    tools: Mapping[str, Any],
    execution: Execution,
    user_id: str,
    conversation_id: str,
    call: ToolCall,
) -> Any:
    """Begin one call: an awaitable, or the result itself."""
    if isinstance(call, UnreadableCall):
        return failure(
            "Tool execution failed: an integer in the arguments has more digits than Python reads "
            f"({sys.get_int_max_str_digits()})"
        )
    tool = tools.get(call.name)
    if tool is None:
        return failure(f"Tool '{call.name}' not registered")
    args = dict(call.args)
    args["storage"] = execution.storage
    args["sandbox_dir"] = execution.sandbox_dir
    args["access"] = execution.access
    args["conversation_id"] = conversation_id
    if call.name == "shell":
        args["timeout"] = execution.shell_timeout
    if user_id:
        args["user_id"] = user_id
    value = _contained(tool.execute, args)
    return _awaited(value) if hasattr(value, "__await__") else value


async def _awaited(awaitable: Any) -> Any:
    try:
        return await awaitable
    except SystemExit as error:
        raise _ToolExitError(error.code) from error


def _contained(execute: Callable[..., Any], args: dict[str, Any]) -> Any:
    try:
        return execute(**args)
    except SystemExit as error:
        raise _ToolExitError(error.code) from error


class _ToolExitError(Exception):
    """A tool called `sys.exit`, which ends the call and not the program."""

    def __init__(self, code: Any) -> None:
        super().__init__(f"the tool asked the program to exit with {code!r}")


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return str(error) or "the tool cancelled itself"
    return str(error) or type(error).__name__


def _as_result(value: Any) -> ToolResult:
    if not (hasattr(value, "outcome") and hasattr(value, "error")):
        value = ToolResult(outcome="Success", content=value)
    for field in ("outcome", "content"):
        item = getattr(value, field, None)
        if item is None or isinstance(item, str):
            continue
        try:
            json.dumps(item)
        except (TypeError, ValueError, RecursionError) as error:
            kind = type(item).__name__
            return failure(f"Tool execution failed: its {field} ({kind}) is no JSON value: {error}")
    return value
