"""Runs one call of a tool on a worker, in a Ray task or in an actor.

The worker imports this module by its name, so it needs this package. Whatever the tool does is in the reply; only the
cancellation of the call is raised.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import traceback
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from types import MappingProxyType
from typing import Any

from ...calls.tool_result import as_result, exception_of, reason
from ...calls.trace_context import enter_trace
from ...errors import StopRun, UnknownOutcome
from ...execution.shielded_wait import all_done, outlast
from ...tools.cogency import injected_by
from ...tools.context import ToolContext
from ...tools.registry import bound, is_blocking, is_coroutine_function
from ...tools.workers import in_thread, on_own_loop
from ...types import Execution, ToolCall
from .shipping import (
    RemoteCall,
    RemoteReply,
    pack,
    pack_error,
    pack_reply,
    unpack,
    unpack_call,
    variable_at,
)

MOST_KEPT = 256
"""Tools that a worker keeps, ready to run."""

_tools: dict[bytes, Any] = {}


def run_tool(packed_call: bytes, packed_tool: bytes = b"") -> bytes:
    """Carry out one call in the main thread of a worker, where Ray can interrupt it.

    Args:
        packed_call: the tool, which is read only once, and a `RemoteCall`; see `pack_call`.
        packed_tool: the tool, if it comes from Ray's store.

    Returns:
        A `RemoteReply`.

    Raises:
        KeyboardInterrupt: the call was cancelled.
    """
    try:
        tool, errand = _opened(packed_call, packed_tool, None)
    except Exception as error:
        return pack_reply(RemoteReply(unusable=reason(error)))
    try:
        execute, args = bound(tool, errand.call, 0, errand)
        value = errand.context_variables.run(_value, execute, args)
    except KeyboardInterrupt:
        raise  # Ray cancels a task in this way
    except BaseException as error:
        return errand.raised(error)
    return errand.returned(value)


def _value(execute: Callable[..., Any], args: dict[str, Any]) -> Any:
    if is_coroutine_function(execute):
        return asyncio.run(execute(**args))
    value = execute(**args)
    return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


class StatefulWorker:
    """An actor that keeps the state of tools between their calls.

    Coroutines run on the actor's event loop, blocking tools in a thread next to it.

    Args:
        packed_state: the object that the tools belong to.
    """

    def __init__(self, packed_state: bytes) -> None:
        self._problem: str | None = None
        self._state: Any = None
        try:
            self._state = unpack(packed_state)
        except Exception as error:
            self._problem = reason(error)

    async def ready(self) -> str | None:
        """Say why no tool can run here; `None` if tools can run."""
        return self._problem

    async def run_tool(self, packed_call: bytes, packed_tool: bytes = b"") -> bytes:
        """Carry out one call; as `run_tool` does.

        Raises:
            asyncio.CancelledError: the call was cancelled; the tool has ended before that.
        """
        try:
            tool, errand = _opened(packed_call, packed_tool, self._state)
        except Exception as error:
            return pack_reply(RemoteReply(unusable=reason(error)))
        try:
            execute, args = bound(tool, errand.call, 0, errand)
            coming = _value_here(is_blocking(tool, execute), execute, args)
            task = asyncio.create_task(coming, context=errand.context_variables)
            value = await _ended(task, cancel=True)
        except asyncio.CancelledError as error:
            if _is_asked_to_stop():
                raise
            return errand.raised(error)
        except BaseException as error:
            return errand.raised(error)
        return errand.returned(value)


async def _value_here(blocks: bool, execute: Callable[..., Any], args: dict[str, Any]) -> Any:
    if not blocks:
        return await execute(**args)
    work = functools.partial(execute, **args)
    if is_coroutine_function(execute):
        return await on_own_loop(work)
    # A thread cannot be interrupted, and the next call must not use the state before the thread has ended.
    value = await _ended(asyncio.ensure_future(in_thread(work)), cancel=False)
    return await value if inspect.isawaitable(value) else value


async def _ended(task: asyncio.Future[Any], *, cancel: bool) -> Any:
    """What a task returns. The task has always ended after this, even if the caller is cancelled."""
    try:
        await all_done([task])
    except asyncio.CancelledError:
        if cancel:
            task.cancel()
        await outlast([task])
        raise
    return task.result()


def _is_asked_to_stop() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _opened(packed_call: bytes, packed_tool: bytes, state: object) -> tuple[Any, Errand]:
    digest, tool, call = unpack_call(packed_call)
    if digest not in _tools:
        if len(_tools) >= MOST_KEPT:
            _tools.clear()
        _tools[digest] = unpack(tool or packed_tool, state)
    return _tools[digest], Errand(call)


class Errand:
    """One call on a worker: what its tool is given, and what it reports. For the tool it stands for its turn and run.

    Attributes:
        call: the call to carry out.
        execution: the `Execution` that the call runs with.
        injected: keyword arguments for tools that are objects with `execute(**kwargs)`.
        context_variables: the context that the tool runs in.
    """

    def __init__(self, sent: RemoteCall) -> None:
        self._sent = sent
        self._reply = RemoteReply()
        self.call: ToolCall = sent.call
        self.execution: Execution = sent.execution
        self.injected = injected_by(sent.execution, sent.user_id, sent.conversation_id)
        self.context_variables: Context = copy_context()
        self.context_variables.run(_enter, sent)

    def context(self, index: int, call: ToolCall) -> ToolContext[Any]:
        """The `ToolContext` of the call."""
        sent, execution = self._sent, self.execution
        return ToolContext(
            call,
            sent.execution_id,
            sent.conversation_id,
            sent.user_id,
            execution.deps,
            execution.storage,
            execution.sandbox_dir,
            execution.access,
            MappingProxyType(sent.state),
            self,
        )

    def emit(self, event: dict[str, Any]) -> None:
        """Keep an event for the program.

        Raises whatever the pickling of the event raises.
        """
        pack(event)
        self._reply.events.append(event)

    def stop(self, why: StopRun) -> None:
        """Keep the first reason to end the run."""
        if self._reply.stop is None:
            self._reply.stop = why.message

    def returned(self, value: Any) -> bytes:
        """The reply of a tool that returned this."""
        result = as_result(value)
        exception = exception_of(result)
        if exception is not None:
            self._reply.error = pack_error(exception, _trace(exception))
            result = copy.copy(result)
            result.exception = None
        self._reply.value = result
        return self._packed()

    def raised(self, error: BaseException) -> bytes:
        """The reply of a tool that raised this."""
        self._reply.error = pack_error(error, _trace(error))
        return self._packed()

    def _packed(self) -> bytes:
        try:
            return pack_reply(self._reply)
        except Exception as error:  # its class looks like JSON but cannot be pickled
            self._reply.value = None
            return self.raised(
                UnknownOutcome(f"it ran, and its result cannot be sent back: {reason(error)}")
            )


def _trace(error: BaseException) -> str:
    """The traceback of an error, without the frames of this file."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _enter(sent: RemoteCall) -> None:
    """Set the context variables of a call, in the context that its tool will run in."""
    for place, value in sent.variables:
        variable_at(place).set(value)
    enter_trace(sent.trace)
