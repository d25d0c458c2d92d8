"""Carries out one call of a batch, in the call's own task, and makes a result of whatever happens.

The `Timetable` knows when a call may run and whose time is up.

Invariant: what a tool raises is in its result. A task ends without a result only if its call has to stop.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, Protocol

from ..calls.record import KnownEnd
from ..calls.tool_result import as_result, cancelled, failure_of, is_own_failure, is_plain
from ..errors import StopRun
from ..hooks import Invocation, Next
from ..hooks.approval import refused_as_changed
from ..hooks.chain import shown_to
from ..outside import current
from ..tools.registry import bound, is_coroutine_function, refusal
from ..tools.workers import run_in_thread
from ..types import ToolResult
from .host import BatchCall, BatchHost
from .scheduling import Late, Timetable, timed_out
from .shielded_wait import is_asked_to_stop, is_at_work

# What programs filter by; this file and `batch` were one.
logger: logging.Logger = logging.getLogger("cogency_rs.execution.batch")


class Beginnings(Protocol):
    """Who has to know that a tool is about to be started."""

    def is_due(self, index: int, attempts: int) -> bool:
        """Whether it has to be told of this call, whose tool was started so often before."""
        ...

    async def begin(self, index: int, attempts: int, first: float) -> None:
        """Take note. If this raises, the tool is not started.

        Args:
            index: the place of the call.
            attempts: how often its tool was started before.
            first: when it was started first.
        """
        ...


class CallRunner:
    """Carries out the calls of a batch.

    Args:
        host: what hooks and tools see of the batch.
        timetable: says when a call may run; `None` if all may, without a limit.
        tasks: the calls' tasks, by their places. The batch adds to it.

    Attributes:
        is_complete: set once all calls are known; `None` if they were from the start. A call that a hook has made one
            of another tool waits for it.
        beginnings: asked before a tool is started.
        cancelled_from: the calls from this place on were cancelled by the batch.
    """

    def __init__(
        self,
        host: BatchHost,
        timetable: Timetable | None,
        tasks: Sequence[asyncio.Task[ToolResult]],
    ) -> None:
        self.is_complete: asyncio.Event | None = None
        self.beginnings: Beginnings | None = None
        self.cancelled_from = math.inf
        settings = host.settings
        self._host = host
        self._in_run = settings.in_run
        self._missing = settings.tools.missing
        self._is_blocking = settings.is_blocking
        self._is_result = settings.is_result
        self._timetable = timetable
        self._late: dict[int, Late] = {} if timetable is None else timetable.late
        self._tasks = tasks
        self._time = current().time

    def recall(self, one: BatchCall) -> Coroutine[Any, Any, ToolResult]:
        """What gives the result of a call that an earlier program carried out."""
        one.began = one.record.started_at or 0.0
        one.ended = one.record.completed_at or self._time()
        return self._show(one, KnownEnd.of(one.record))

    async def _show(self, one: BatchCall, end: KnownEnd) -> ToolResult:
        """The result of a call that an earlier program carried out. Hooks around calls see it if it is new."""
        host = self._host
        hooks = host.settings.hooks.given
        if not end.is_new or not hooks:
            return end.result
        if self._in_run is not None:
            self._in_run()
        return await shown_to(hooks, host, host.invocation(one.index), end.result)

    async def carry_out(self, around: Next, one: BatchCall) -> ToolResult:
        """Carry out a call, with all that is around it.

        Args:
            around: the chain around the attempts; see `attempt_of`.
            one: the call.
        """
        if self._in_run is not None:
            self._in_run()
        try:
            if self._timetable is not None:
                await self._timetable.turn(one.index)
                self._timetable.start_clock(one.index, one.resolved.tool)
            one.began = self._time()
            result = await around(self._host.invocation(one.index))
        except asyncio.CancelledError as error:
            if one.index not in self._late:
                one.stopped = error
            result = self.without_result(one, error)
        except BaseException as error:
            result = self._raised(one, error)
        one.ended = self._time()
        return result

    async def attempt_of(self, invocation: Invocation) -> ToolResult:
        """The end of the chain: one attempt."""
        invocation = self._host.known(invocation)
        one = self._host.calls[invocation.index]
        result = await self.attempt(one, invocation)
        if self._timetable is not None:  # for the hooks around it
            self._timetable.start_clock(one.index, one.resolved.tool)
        return result

    async def attempt(self, one: BatchCall, invocation: Invocation | None = None) -> ToolResult:
        """Run a call's tool, once it may run: here, or by the invocation's executor."""
        timetable, beginnings = self._timetable, self.beginnings
        if self._in_run is not None:
            self._in_run()
        call, tool = one.resolved
        if refused := refusal(call, tool, self._missing):
            one.ended = self._time()
            return refused
        if self.is_complete is not None and one.is_turned:
            with self._host.held(one.index):
                await self.is_complete.wait()
        if timetable is not None:
            await timetable.admission(one.index)
        try:
            if invocation is not None and (changed := await self._changed(one, invocation)):
                return changed
            if beginnings is not None and beginnings.is_due(one.index, one.attempts):
                with self._host.held(one.index):
                    await beginnings.begin(one.index, one.attempts, one.began)
            if timetable is not None:
                timetable.start_clock(one.index, tool)
            if one.attempts == 0:
                one.began = self._time()
            one.attempts += 1
            value = await self._started(one, invocation)
            if one.index in self._late:
                return self._timed_out(one)
            return value if is_plain(value) else as_result(value, self._is_result)
        except BaseException as error:
            return self._raised(one, error)
        finally:
            one.ended = self._time()
            if timetable is not None:
                timetable.leave(one.index)

    async def _changed(self, one: BatchCall, invocation: Invocation) -> ToolResult | None:
        """A refusal of a call that is no longer what was approved; `None` if it may run."""
        if invocation.agreed is None or one.attempts:
            return None
        with self._host.held(one.index):
            return await refused_as_changed(invocation)

    def _started(self, one: BatchCall, invocation: Invocation | None) -> Awaitable[Any]:
        """Start the tool of a call, here or in its executor."""
        call, tool = one.resolved
        executor = None if invocation is None else invocation.executor
        if invocation is not None and executor is not None and executor.takes(tool):
            return executor.run(invocation, self._host.execution)
        execute, args = bound(tool, call, one.index, self._host)
        if self._timetable is not None and getattr(tool, "keeps_time", False) is True:
            return self._on_its_own_time(one, execute(**args))
        if self._is_blocking(tool, execute):
            return run_in_thread(execute, args, is_coroutine_function(execute))
        started: Awaitable[Any] = execute(**args)
        return started

    async def _on_its_own_time(self, one: BatchCall, work: Awaitable[Any]) -> Any:
        """Await the tool of a call that has time limits of its own."""
        with self._host.held(one.index):
            return await work

    def _raised(self, one: BatchCall, error: BaseException) -> ToolResult:
        """The result of a call whose tool, or something around it, raised `error`.

        Raises:
            asyncio.CancelledError: the call must stop; the cancellation is not the tool's own.
        """
        name = one.resolved.call.name
        match error:
            case GeneratorExit() if not is_at_work(self._tasks[one.index : one.index + 1]):
                raise error  # the coroutine is being closed, with its loop or by the garbage collector
            case _ if self._late.get(one.index) == "call":
                return self._timed_out(one)
            case asyncio.CancelledError() if is_asked_to_stop():
                raise error
            case KeyboardInterrupt():
                asyncio.get_running_loop().call_soon(_raise, error)
            case asyncio.CancelledError():
                pass  # not logged: the result says it
            case StopRun():
                return self._host.end_run(one.index, error, name)
            case _ if is_own_failure(error):
                pass  # not logged: the tool said it in its own words
            case _:
                logger.error("Tool %r failed", name, exc_info=error)
        return failure_of(error)

    def without_result(self, one: BatchCall, error: asyncio.CancelledError) -> ToolResult:
        """The result of a call that was stopped before it had one, or before hooks had seen what was known of it."""
        if one.is_known:
            return KnownEnd.of(one.record).result
        if one.index in self._late:
            return self._timed_out(one)
        if one.index >= self.cancelled_from:
            return cancelled(error)
        return failure_of(error)

    def _timed_out(self, one: BatchCall) -> ToolResult:
        """The result of a call whose time is up. In the call's task, it also takes back the pending cancellation."""
        late, (call, tool), task = self._late[one.index], one.resolved, self._tasks[one.index]
        if late == "call" and not task.done():
            del self._late[one.index]
            task.uncancel()
        options = self._host.settings.options
        return timed_out(late, call.name, tool, options, has_begun=one.attempts > 0)


def _raise(error: BaseException) -> None:
    raise error
