"""Runs tool calls in parallel, with results in call order: the async shell over `_core.Batch`."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from ._core import Batch, ThreadJob
from .arguments import faults, run_checked
from .errors import ConfigError
from .types import Execution, ToolCall, ToolResult

__all__ = ["execute_tool", "execute_tools"]

logger: logging.Logger = logging.getLogger(__name__)

OnToolStart = Callable[[ToolCall], None]
OnToolEnd = Callable[[ToolCall, ToolResult, float], None]


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
    batch_timeout: float | None = None,
    max_concurrency: int | None = None,
    on_tool_start: OnToolStart | None = None,
    on_tool_end: OnToolEnd | None = None,
) -> list[ToolResult]:
    """Run a batch of calls at the same time.

    Every tool gets its call's arguments and `storage`, `sandbox_dir`, `access`, `conversation_id`, `user_id` (when
    not empty) and, if it is named `shell`, `timeout`. Before it starts, the arguments are checked against its schema.

    An `async def execute` is awaited on the caller's loop. A plain `def execute`, and any tool with `blocking = True`,
    runs in a worker thread; a marked `async def` gets an event loop of its own there. Context variables of the caller
    reach every tool.

    Args:
        calls: what to run.
        execution: the tools and what they run with.
        user_id: whose turn it is.
        conversation_id: which conversation.
        tool_timeout: seconds one call may take from its start; `None` for no limit.
        batch_timeout: seconds all of them may take; `None` for no limit.
        max_concurrency: how many calls may run at once; `None` for all.
        on_tool_start: called with the call when it starts, on this loop. Calls that are refused do not start.
        on_tool_end: called with the call, its result and the seconds it took when it is over, on this loop.

    Returns:
        One result for each call, in call order, whatever the order in which they end. Whatever a tool does becomes
        its own result: an exception, a `CancelledError` or `SystemExit` of its own, a value that is no `ToolResult`.

    Raises:
        asyncio.CancelledError: the caller was cancelled; by then every call has been cancelled and awaited. A tool
            that blocks cannot be interrupted: it is left to end on its own.
        ConfigError: a limit is not above 0.
    """
    limits = BatchLimits(tool_timeout, batch_timeout, max_concurrency)
    if not calls:
        return []
    running = RunningTools(
        list(calls),
        execution=execution,
        user_id=user_id,
        conversation_id=conversation_id,
        limits=limits,
        on_tool_start=on_tool_start,
        on_tool_end=on_tool_end,
    )
    await running.join()
    return running.results()


@dataclass(frozen=True)
class BatchLimits:
    """What bounds a batch.

    Raises:
        ConfigError: naming the limit that no batch could keep.
    """

    tool_timeout: float | None = None
    batch_timeout: float | None = None
    max_concurrency: int | None = None

    def __post_init__(self) -> None:
        for name in ("tool_timeout", "batch_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds <= MAX_SECONDS:
                raise ConfigError(
                    f"{name} must be above 0 seconds and at most a year, got {seconds!r}"
                )
        most = self.max_concurrency
        if most is not None and not (isinstance(most, int) and most > 0):
            raise ConfigError(f"max_concurrency must be a whole number above 0, got {most!r}")


MAX_SECONDS = 366 * 24 * 3600.0


def is_blocking(tool: Any) -> bool:
    """Whether a tool is to run in a worker thread: it says so, or it is no coroutine function."""
    if getattr(tool, "blocking", False) is True:  # a mock has every attribute
        return True
    return not _is_coroutine_function(tool.execute)


def _is_coroutine_function(function: Any) -> bool:
    """Say what `inspect.iscoroutinefunction` says, sooner for those that are written as `async def`."""
    try:
        if function.__code__.co_flags & inspect.CO_COROUTINE:
            return True
    except (AttributeError, TypeError):
        pass
    return inspect.iscoroutinefunction(function)


class RunningTools:
    """A batch that has been started.

    Args:
        calls: what to run.
        execution: the tools and what they run with.
        user_id: whose turn it is.
        conversation_id: which conversation.
        limits: what bounds the batch.
        on_tool_start: see `execute_tools`.
        on_tool_end: see `execute_tools`.
        is_blocking: which tools run in a worker thread.
    """

    def __init__(
        self,
        calls: Sequence[ToolCall],
        *,
        execution: Execution,
        user_id: str,
        conversation_id: str,
        limits: BatchLimits,
        on_tool_start: OnToolStart | None = None,
        on_tool_end: OnToolEnd | None = None,
        is_blocking: Callable[[Any], bool] = is_blocking,
    ) -> None:
        self._calls = calls
        self._limits = limits
        self._on_tool_start = on_tool_start
        self._on_tool_end = on_tool_end
        self._is_blocking = is_blocking
        self._names = [call.name for call in calls]
        self._tools = by_name(execution.tools, self._names)
        self._injected = {
            "storage": execution.storage,
            "sandbox_dir": execution.sandbox_dir,
            "access": execution.access,
            "conversation_id": conversation_id,
        }
        self._injected_in_shell = {**self._injected, "timeout": execution.shell_timeout}
        if user_id:
            self._injected["user_id"] = self._injected_in_shell["user_id"] = user_id
        self._context = copy_context() if on_tool_start or on_tool_end else None
        self._started: dict[int, float] = {}
        lost = failure("Tool execution failed: its result was lost")
        self._results: list[ToolResult] = [lost] * len(calls)
        self._cancelled = False
        self._batch = Batch(
            len(calls),
            self._start,
            self._over,
            call_timeout=limits.tool_timeout,
            batch_timeout=limits.batch_timeout,
            concurrency=limits.max_concurrency and min(limits.max_concurrency, len(calls) or 1),
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
        except BaseException:
            self._batch.cancel()  # nobody is left to wait for it
            raise

    def results(self) -> list[ToolResult]:
        """One result for each call, in call order."""
        return self._results

    def _start(self, index: int) -> Any:
        """Begin a call, on the loop's thread: a coroutine, a job for a thread, or the result itself."""
        call = self._calls[index]
        tool: Any = self._tools.get(call.name) if isinstance(call.name, str) else None
        refusal = self._refusal(call, tool)
        if refusal is not None:
            return failure(refusal)
        if self._context is not None:
            self._observe_start(index, call)
        injected = self._injected_in_shell if call.name == "shell" else self._injected
        args = {**call.args, **injected}
        execute = run_checked(tool)
        if not self._is_blocking(tool):
            return execute(**args)
        is_async = _is_coroutine_function(execute)
        return OwnLoop(execute, args) if is_async else PlainCall(execute, args)

    def _refusal(self, call: ToolCall, tool: Any) -> str | None:
        """Why a call cannot start, or `None`."""
        if isinstance(call, UnreadableCall):
            return f"Tool execution failed: its arguments cannot be read: {call.reason}"
        if tool is None:
            known = f". Known tools: {', '.join(map(str, self._tools))}" if self._tools else ""
            return f"Tool '{call.name}' not registered{known}"
        if not isinstance(call.args, dict):
            kind = type(call.args).__name__
            return (
                f"Invalid arguments for tool '{call.name}': they must be an object, and were {kind}"
            )
        problems = faults(tool, call.args)
        return (
            f"Invalid arguments for tool '{call.name}': {'; '.join(problems)}" if problems else None
        )

    def _over(self, index: int, value: Any, error: BaseException | None, state: str) -> None:
        """Take what a call left, on the loop's thread."""
        if error is not None or state != "over":
            result = self._failure(index, error, state)
        elif type(value) is ToolResult and _is_plain(value):
            result = value  # as most are
        else:
            result = _as_result(value)
        self._results[index] = result
        if self._context is not None:
            self._observe_end(index, result)

    def _failure(self, index: int, error: BaseException | None, state: str) -> ToolResult:
        name, limits = self._names[index], self._limits
        if state == "timeout":
            return failure(f"Tool '{name}' timed out after {limits.tool_timeout:g} s")
        if state == "batch timeout":
            most = limits.batch_timeout
            return failure(f"Tool '{name}' timed out: its batch took longer than {most:g} s")
        if error is None or (self._cancelled and isinstance(error, asyncio.CancelledError)):
            return failure("Cancelled")  # before it started, or meanwhile
        if isinstance(error, ContainedError):
            error = error.error
        if isinstance(error, KeyboardInterrupt):
            asyncio.get_running_loop().call_soon(_raise, error)
        return failure(f"Tool execution failed: {_reason(error)}")

    def _observe_start(self, index: int, call: ToolCall) -> None:
        self._started[index] = time.perf_counter()
        if self._on_tool_start is not None:
            self._observe(self._on_tool_start, call)

    def _observe_end(self, index: int, result: ToolResult) -> None:
        if self._on_tool_end is not None and index in self._started:
            seconds = time.perf_counter() - self._started[index]
            self._observe(self._on_tool_end, self._calls[index], result, seconds)

    def _observe(self, callback: Callable[..., None], *what: Any) -> None:
        """Call an observer, with the caller's context variables. What it raises is its own trouble."""
        assert self._context is not None
        try:
            self._context.copy().run(callback, *what)
        except Exception:
            logger.exception("An observer of tool calls failed; the call goes on")


class PlainCall(ThreadJob):
    """A plain function in a worker thread. Once it runs, it cannot be interrupted."""

    def __init__(self, execute: Callable[..., Any], args: dict[str, Any]) -> None:
        self._execute = execute
        self._args = args
        self._is_cancelled = False

    def __call__(self) -> Any:
        """Run it. An awaitable that it returns is for the loop."""
        if self._is_cancelled:
            raise asyncio.CancelledError
        return self._execute(**self._args)

    def cancel(self) -> bool:
        """Keep it from starting, if it still waits for a thread; one that runs is left to end."""
        self._is_cancelled = True
        return False


class OwnLoop(ThreadJob):
    """A coroutine function in a worker thread, on an event loop of its own."""

    def __init__(self, execute: Callable[..., Awaitable[Any]], args: dict[str, Any]) -> None:
        self._execute = execute
        self._args = args
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def __call__(self) -> Any:
        """Run it to its end."""
        return asyncio.run(self._main())

    async def _main(self) -> Any:
        with self._lock:
            if self._is_cancelled:
                raise asyncio.CancelledError
            self._task = asyncio.current_task()
        try:
            return await self._execute(**self._args)
        finally:
            with self._lock:
                self._task = None

    def cancel(self) -> bool:
        """Cancel the coroutine at its next await."""
        with self._lock:
            self._is_cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
        return True


def _raise(error: BaseException) -> None:
    raise error


@dataclass
class UnreadableCall(ToolCall):
    """A call whose arguments Python cannot hold; it fails without being started."""

    reason: str = ""


def tool_call(text: str) -> ToolCall:
    """Read a call that the parser wrote."""
    try:
        call = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Valid JSON, but an integer with more digits, or brackets deeper, than Python reads.
        name, _ = json.JSONDecoder().raw_decode(text, len('{"name": '))
        return UnreadableCall(name, {}, str(error))
    return ToolCall(call["name"], call["args"])


def failure(message: str) -> ToolResult:
    """Make the result of a call that failed."""
    return ToolResult(outcome=message, error=True)


def by_name(tools: Iterable[Any], wanted: Sequence[str]) -> dict[str, Any]:
    """Tools by the name the model calls them by; of equal names the first counts.

    Like cogency 3.3.0, it looks no further than it must: all tools are there only if a wanted one is not.
    """
    missing = {name if isinstance(name, str) else None for name in wanted}
    names: dict[str, Any] = {}
    for tool in tools:
        if not missing:
            break
        name = tool.name
        if name not in names:
            names[name] = tool
            missing.discard(name)
    return names


class ContainedError(Exception):
    """Carries what a tool raised through its task, where the bare error would end the program.

    Attributes:
        error: a `SystemExit`, which ends the call and not the program, or a `KeyboardInterrupt`: the user has
            interrupted the program while a tool ran, so the batch ends as it is, and the program too.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__("the program was asked to end")
        self.error = error


def _reason(error: BaseException) -> str:
    """The text of an error, or else its name."""
    try:
        text = str(error)
    except Exception:
        text = ""
    if isinstance(error, SystemExit):
        return f"the tool asked the program to exit with {error.code!r}"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if not text and isinstance(error, asyncio.CancelledError):
        return "the tool cancelled itself"
    return text or type(error).__name__


def _is_plain(result: ToolResult) -> bool:
    """Whether a result is as most are, so that there is nothing to check."""
    content: object = result.content
    is_text = type(result.outcome) is str and (content is None or type(content) is str)
    return is_text and type(result.error) is bool


def _as_result(value: Any) -> ToolResult:
    """What a tool returned, as a result that can be read and written as JSON."""
    try:
        if not (hasattr(value, "outcome") and hasattr(value, "error")):
            value = ToolResult(outcome="Success", content=value)
        elif not hasattr(value, "content"):
            value = ToolResult(outcome=value.outcome, error=value.error)
        problem = _not_json("outcome", value.outcome)
        if problem is None and not value.error:  # of a failure only the outcome is shown
            problem = _not_json("content", value.content)
    except Exception as error:
        problem = f"its result cannot be read: {_reason(error)}"
    return value if problem is None else failure(f"Tool execution failed: {problem}")


def _not_json(field: str, item: Any) -> str | None:
    """Why a field of a result cannot be written as JSON, or `None`."""
    if item is None or isinstance(item, str):
        return None
    try:
        json.dumps(item)
    except Exception as error:
        return f"its {field} ({type(item).__name__}) is no JSON value: {_reason(error)}"
    return None
