"""A batch of calls, each in its own asyncio task.

`CallRunner` carries out a call in its task; `BatchHost` has what is known of the calls.

Invariants: one result for each call, in call order; when `join` returns or raises, every task has ended; a call's task
is the only one that its tool, and the hooks around it, run in.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from ..calls.record import CallRecord, ToolExecution
from ..hooks import Next
from ..hooks.approval import AskFirst, Need, call_digest
from ..hooks.chain import chain, check_remote
from ..telemetry import current
from ..tools.options import ToolOptions
from ..tools.toolbox import ResolvedCall
from ..types import ToolResult
from .host import BatchCall, BatchHost, BatchSettings
from .runner import Beginnings, CallRunner
from .scheduling import Timetable
from .shielded_wait import all_done, outlast
from .tool_events import HeldRun

if TYPE_CHECKING:
    from ..telemetry.spans import Tracing

CarryOut = Callable[[BatchCall], Coroutine[Any, Any, ToolResult]]


class ToolBatch:
    """A batch on the running loop.

    With `calls`, they start at once. Without, the batch is open: calls `begin_early` while others are still unknown,
    and `complete` starts the rest.

    Args:
        settings: what the batch is made with.
        calls: the calls to run, with their tools.

    Raises:
        ConfigError: a tool must run in another process, and no executor among the hooks takes it there.
    """

    def __init__(self, settings: BatchSettings, calls: Sequence[ResolvedCall] = ()) -> None:
        wants = settings.tools.options
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[ToolResult]] = []
        self._timetable = Timetable.of(settings.options, wants, self._cancel)
        self._host = BatchHost(settings, self._timetable)
        self._runner = CallRunner(self._host, self._timetable, self._tasks)
        self._needs: dict[int, tuple[str, Need]] = {}
        tracing = current()
        around: Next | None = None
        if wants or tracing or settings.hooks.is_around_calls:
            around = self._chain(wants, tracing)
        # How a call is carried out; `None` once all calls are known.
        self._carry_out: CarryOut | None = self._runner.attempt
        if around is not None:
            self._carry_out = partial(self._runner.carry_out, around)
        if calls:
            self.complete(calls)

    def __len__(self) -> int:
        """How many calls it has."""
        return len(self._tasks)

    @property
    def resolved(self) -> list[ResolvedCall]:
        """The calls as hooks left them, with their tools, in call order."""
        return [one.resolved for one in self._host.calls]

    @property
    def may_speak(self) -> bool:
        """Whether a hook or a tool gets the call's context, through which it can reach the run."""
        return self._settings.hooks.is_around_calls or any(
            getattr(one.resolved.tool, "takes_context", False) is True for one in self._host.calls
        )

    @property
    def is_stopping(self) -> bool:
        """Whether the batch has cancelled its calls."""
        return self._runner.cancelled_from < math.inf

    @property
    def is_over(self) -> bool:
        """Whether every call is over, so that there are results."""
        return all(task.done() for task in self._tasks)

    def when_over(self, tell: Callable[[int], None]) -> None:
        """Call `tell` with the place of each call when it is over; soon, if it is over already."""
        for index, task in enumerate(self._tasks):
            task.add_done_callback(partial(_tell, tell, index))

    def begin_early(self, call: ResolvedCall, record: CallRecord | None = None) -> None:
        """Start a call while others are still unknown; its place is after those that are there.

        What it tells its run is held back until the batch is complete.
        """
        if self._runner.is_complete is None:
            self._runner.is_complete = asyncio.Event()
        run = self._settings.run
        held = None if run is None else HeldRun(run)
        self._start([BatchCall(len(self), call, record, held)])

    def complete(
        self,
        calls: Sequence[ResolvedCall],
        records: Sequence[CallRecord] = (),
        beginnings: Beginnings | None = None,
        needs: Sequence[Need] = (),
    ) -> None:
        """Start the other calls, which are the last. The batch's time limit begins.

        Args:
            calls: the other calls, with their tools.
            records: their records from before, if they are part of a turn. A call that is `ended` does not run, since
                an earlier program carried it out. If its result is new, the hooks around calls see it; nothing else is
                asked.
            beginnings: asked before a tool is started.
            needs: what approval each call of the batch needs, if that is known already.
        """
        self._runner.beginnings = beginnings
        if needs:
            of = [call_digest(each) for each in (*self.resolved, *calls)]
            self._needs |= enumerate(zip(of, needs, strict=True))
        if self._runner.is_complete is not None:
            self._runner.is_complete.set()
            for one in self._host.calls:
                if one.held is not None:
                    one.held.release()
        if self._timetable is not None:
            self._timetable.set_deadline()
        before: Sequence[CallRecord | None] = records or [None] * len(calls)
        self._start([*map(BatchCall, count(len(self)), calls, before)])
        self._carry_out = None

    def stop(self, first: int) -> list[asyncio.Task[ToolResult]]:
        """Ask the calls from `first` on to stop; `forget` must follow when these tasks are done."""
        self._runner.cancelled_from = first
        stopping = self._tasks[first:]
        if not self._loop.is_closed():
            for task in stopping:
                task.cancel()
        return stopping

    def forget(self, first: int) -> list[ToolExecution]:
        """Leave out the calls from `first` on, which are over; returns their executions."""
        executions = self.executions(self.results(first), first)
        if self._timetable is not None:
            self._timetable.truncate(first)
        del self._host.calls[first:], self._tasks[first:]
        self._runner.cancelled_from = math.inf
        return executions

    async def join(self) -> None:
        """Wait until every call is over.

        Raises:
            asyncio.CancelledError: the caller was cancelled; by then the calls have been cancelled and awaited.
        """
        try:
            await all_done(self._tasks)
        except asyncio.CancelledError:
            with suppress(asyncio.CancelledError):  # the first cancellation is raised
                await self.stop_all()
            raise
        except BaseException:
            self.cancel()  # nobody is left to wait for the calls
            raise
        finally:
            if self._timetable is not None:
                self._timetable.disarm()

    async def stop_all(self) -> None:
        """Stop every call that is not over, and wait until it is.

        Raises:
            asyncio.CancelledError: the caller was cancelled meanwhile; by then the calls are over.
        """
        self._runner.cancelled_from = 0
        self.cancel()
        try:
            await outlast(self._tasks)
        finally:
            if self._timetable is not None:
                self._timetable.disarm()

    def cancel(self) -> None:
        """Ask every call that is not over to stop, and start no further one."""
        if self._timetable is not None:
            self._timetable.close()
        if self._loop.is_closed():
            return  # the loop will run nothing more
        for task in self._tasks:
            task.cancel()

    def results(self, first: int = 0) -> list[ToolResult]:
        """One result for each call from `first` on, in call order; once these are over."""
        return [self._result(one) for one in self._host.calls[first:]]

    def executions(self, results: Sequence[ToolResult], first: int = 0) -> list[ToolExecution]:
        """The calls from `first` on, in call order, once they are over and these are their results."""
        return [self._host.execution_of(index, each) for index, each in enumerate(results, first)]

    def outcomes(self, indices: Iterable[int]) -> list[ToolExecution]:
        """Those of these calls, which are over, that were started here."""
        calls = [self._host.calls[index] for index in indices]
        return [
            self._host.execution_of(one.index, self._result(one)) for one in calls if one.attempts
        ]

    def _chain(self, wants: Sequence[ToolOptions], tracing: Tracing | None) -> Next | None:
        """What is around the calls; `None` if nothing is.

        Raises:
            ConfigError: a tool must run in another process, and no executor takes it there.
        """
        settings = self._settings
        if any(want.remote for want in wants):
            check_remote(settings.tools.names, settings.hooks)
        ask_first: AskFirst | None = None
        if [want for want in wants if want.asks_when]:
            ask_first = AskFirst(settings.approval, self._needs)
            self._host.decisions = ask_first.decisions
        return chain(
            self._runner.attempt_of,
            self._host,
            tracing=None if tracing is None else tracing.call,
            hooks=settings.hooks,
            on_block=settings.options.on_block,
            approval=ask_first,
            has_retries=[want for want in wants if want.retries] != [],
        )

    def _start(self, calls: Sequence[BatchCall]) -> None:
        """Make a task for each of these calls. It runs one attempt, or the chain around the attempts."""
        self._host.calls += calls
        if self._timetable is not None:
            self._timetable.add([one.resolved for one in calls])
        create_task, carry_out = self._loop.create_task, self._carry_out
        assert carry_out is not None, "the batch is complete"
        for one in calls:
            is_known = one.before is not None and one.is_known
            work = self._runner.recall(one) if is_known else carry_out(one)
            name: object = one.resolved.call.name
            task = create_task(work, name=name if type(name) is str else str(name))
            self._tasks.append(task)
            if self._timetable is not None:
                task.add_done_callback(partial(self._pass_on, one))
        if self._timetable is not None:
            self._timetable.arm()

    def _result(self, one: BatchCall) -> ToolResult:
        if one.stopped is None:
            try:
                return self._tasks[one.index].result()
            except asyncio.CancelledError as error:
                one.stopped = error  # a task gives its message only once
        return self._runner.without_result(one, one.stopped)

    def _pass_on(self, one: BatchCall, _: object) -> None:
        """Note that a call is over, so that no other waits for it."""
        is_there = one.index < len(self) and self._host.calls[one.index] is one
        if is_there and self._timetable is not None:  # it was not forgotten
            self._timetable.over(one.index)

    def _cancel(self, index: int) -> None:
        self._tasks[index].cancel()


def _tell(tell: Callable[[int], None], index: int, _: object) -> None:
    tell(index)
