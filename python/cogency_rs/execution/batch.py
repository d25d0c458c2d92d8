"""A batch of calls, each in its own asyncio task.

The `Timetable` knows which call may run and whose time is up, and a `CallNote` keeps what is known of one call.

Invariants: one result for each call, in call order; when `join` returns or raises, every task has ended; a call's task
is the only one that its tool, and the hooks around it, run in.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from ..calls.record import CallRecord, KnownEnd, ToolExecution
from ..calls.tool_result import (
    as_result,
    cancelled,
    failure_of,
    is_own_failure,
    is_plain,
    is_result,
    stopped,
)
from ..errors import StopRun
from ..hooks import Invocation, Next
from ..hooks.approval import (
    Approval,
    AskFirst,
    Decision,
    Need,
    call_digest,
    refused_as_changed,
    write_decision,
)
from ..hooks.chain import chain, check_remote, shown_to
from ..hooks.hooks import NO_HOOKS, HookList
from ..outside import time
from ..telemetry import current
from ..tools.cogency import injected_by
from ..tools.context import RunSignals, ToolContext
from ..tools.options import ToolOptions
from ..tools.registry import bound, is_blocking, is_coroutine_function, refusal
from ..tools.toolbox import ResolvedCall, Toolbox
from ..tools.workers import run_in_thread
from ..types import ToolCall, ToolResult
from .scheduling import CallOptions, Late, Timetable, timed_out
from .shielded_wait import all_done, is_asked_to_stop, is_at_work, outlast
from .tool_events import CallNote, HeldRun

if TYPE_CHECKING:
    from ..telemetry.spans import Tracing


logger: logging.Logger = logging.getLogger(__name__)

CarryOut = Callable[[int], Coroutine[Any, Any, ToolResult]]


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


class ToolBatch:
    """A batch on the running loop.

    With `calls`, they start at once. Without, the batch is open: calls `begin_early` while others are still unknown,
    and `complete` starts the rest.

    Args:
        calls: the calls to run, with their tools.
        tools: resolves a call that hooks put in place of another.
        execution: the log, and what tools are given.
        user_id: the id of the user whose turn it is.
        conversation_id: the conversation's id.
        options: how the calls are carried out.
        hooks: what is around them.
        approval: decides about those that require approval.
        state: the dict that hooks read and write.
        is_blocking: whether a tool, with its `execute`, runs in a worker thread.
        is_result: whether what a tool returned is a result, and not the content of one.
        run: takes what tools tell the run that the batch is part of.
        in_run: called in the context of each call: notes there that it is part of the run.

    Attributes:
        decisions: the decisions about calls that needed approval, by the call's place.
        resolved: the calls as hooks left them, with their tools.
        state: the dict that hooks read and write.
    """

    # More attributes than Python keeps without a dict for each batch.
    __slots__ = (
        "_approval",
        "_beginnings",
        "_cancelled_from",
        "_carry_out",
        "_conversation_id",
        "_hooks",
        "_in_run",
        "_is_blocking",
        "_is_complete",
        "_is_result",
        "_late",
        "_loop",
        "_needs",
        "_notes",
        "_options",
        "_run",
        "_tasks",
        "_timetable",
        "_tools",
        "_user_id",
        "decisions",
        "execution",
        "injected",
        "resolved",
        "state",
    )

    def __init__(
        self,
        calls: Sequence[tuple[ToolCall, Any]],
        tools: Toolbox,
        *,
        execution: Any,
        user_id: str,
        conversation_id: str,
        options: CallOptions,
        hooks: HookList = NO_HOOKS,
        approval: Approval | None = None,
        state: dict[str, Any] | None = None,
        is_blocking: Callable[[Any, Any], bool] = is_blocking,
        is_result: Callable[[object], bool] = is_result,
        run: RunSignals | None = None,
        in_run: Callable[[], object] | None = None,
    ) -> None:
        self._in_run = in_run
        self.resolved: list[tuple[ToolCall, Any]] = []  # `ResolvedCall`s, or as cheap
        self._tools = tools
        self.execution = execution
        self._user_id, self._conversation_id = user_id, conversation_id
        self._options = options
        self._hooks, self._approval = hooks, approval
        self.state = {} if state is None else state
        self._is_blocking, self._is_result = is_blocking, is_result
        self._beginnings: Beginnings | None = None
        self._run = run
        self.injected = injected_by(execution, user_id, conversation_id)
        self._loop = asyncio.get_running_loop()
        self._notes: list[CallNote] = []
        self._cancelled_from = math.inf  # the calls from this index on were cancelled by the batch
        # Made when a call begins before the others are known. Calls that became those of another tool wait for it.
        self._is_complete: asyncio.Event | None = None
        self.decisions: Mapping[int, Decision] = {}
        self._needs: dict[int, tuple[str, Need]] = {}
        wants = tools.options
        if [want for want in wants if want.remote]:
            check_remote(tools.names, hooks)
        self._tasks: list[asyncio.Task[ToolResult]] = []
        self._timetable = Timetable.of(options, wants, self._cancel)
        self._late: dict[int, Late] = self._timetable.late if self._timetable else {}
        tracing = current()
        self._carry_out: CarryOut | None = self._attempt  # until all calls are known
        if wants or hooks.is_around_calls or tracing:
            outermost = self._chain(wants, tracing)
            if outermost is not None:
                self._carry_out = partial(self._carry, outermost)
        if calls:
            self.complete(calls)

    @property
    def may_speak(self) -> bool:
        """Whether a hook or a tool gets the call's context, through which it can reach the run."""
        return self._hooks.is_around_calls or any(
            getattr(tool, "takes_context", False) is True for _, tool in self.resolved
        )

    def when_over(self, tell: Callable[[int], None]) -> None:
        """Call `tell` with the place of each call when it is over; soon, if it is over already."""
        for index, task in enumerate(self._tasks):
            task.add_done_callback(partial(_tell, tell, index))

    def outcomes(self, indices: Iterable[int]) -> list[ToolExecution]:
        """Those of these calls, which are over, that were started here."""
        started = (index for index in indices if self._notes[index].attempt)
        return [self.execution_of(index, self._result(index)) for index in started]

    @property
    def is_stopping(self) -> bool:
        """Whether the batch has cancelled its calls."""
        return self._cancelled_from < math.inf

    @property
    def is_over(self) -> bool:
        """Whether every call is over, so that there are results."""
        return all(task.done() for task in self._tasks)

    def __len__(self) -> int:
        """How many calls it has."""
        return len(self._tasks)

    def begin_early(self, call: tuple[ToolCall, Any], record: CallRecord | None = None) -> None:
        """Start a call while others are still unknown; its place is after those that are there.

        What it tells its run is held back until the batch is complete.
        """
        self._is_complete = self._is_complete or asyncio.Event()
        note = CallNote()
        note.before = record
        if self._run is not None:
            note.held = HeldRun(self._run)
        self._start([call], [note])

    def complete(
        self,
        calls: Sequence[tuple[ToolCall, Any]],
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
        self._beginnings = beginnings
        if needs:
            of = [call_digest(each) for each in (*self.resolved, *calls)]
            self._needs |= enumerate(zip(of, needs, strict=True))
        if self._is_complete is not None:
            self._is_complete.set()
            for note in self._notes:
                if note.held is not None:
                    note.held.release()
        if self._timetable is not None:
            self._timetable.set_deadline()
        notes = [CallNote() for _ in calls]
        for note, record in zip(notes, records, strict=False):
            note.before = record
        self._start(calls, notes)
        self._carry_out = None  # it refers to this

    def stop(self, first: int) -> list[asyncio.Task[ToolResult]]:
        """Ask the calls from `first` on to stop; `forget` must follow when these tasks are done."""
        self._cancelled_from = first
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
        del self.resolved[first:], self._notes[first:], self._tasks[first:]
        self._cancelled_from = math.inf
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
        self._cancelled_from = 0
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
        return [self._result(index) for index in range(first, len(self._tasks))]

    def _result(self, index: int) -> ToolResult:
        note = self._notes[index]
        if note.stopped is None:
            try:
                return self._tasks[index].result()
            except asyncio.CancelledError as error:
                note.stopped = error  # a task gives its message only once
        return self._stop(index, note.stopped)

    def executions(self, results: Sequence[ToolResult], first: int = 0) -> list[ToolExecution]:
        """The calls from `first` on, in call order, once they are over and these are their results."""
        return [self.execution_of(index, result) for index, result in enumerate(results, first)]

    # Tasks

    def _chain(self, wants: Sequence[ToolOptions], tracing: Tracing | None) -> Next | None:
        """What is around the calls; `None` if nothing is."""
        ask_first: AskFirst | None = None
        if [want for want in wants if want.asks_when]:
            ask_first = AskFirst(self._approval, self._needs)
            self.decisions = ask_first.decisions
        return chain(
            self._next,
            self,
            tracing=None if tracing is None else tracing.call,
            hooks=self._hooks,
            on_block=self._options.on_block,
            approval=ask_first,
            has_retries=[want for want in wants if want.retries] != [],
        )

    def _start(self, calls: Sequence[tuple[ToolCall, Any]], notes: Sequence[CallNote]) -> None:
        """Make a task for each of these calls. It runs one attempt, or the chain around the attempts."""
        first = len(self.resolved)
        self.resolved += calls
        self._notes += notes
        if self._timetable is not None:
            self._timetable.add(calls)
        create_task, tasks, carry_out = self._loop.create_task, self._tasks, self._carry_out
        assert carry_out is not None, "the batch is complete"
        for index, ((call, _), note) in enumerate(zip(calls, notes, strict=True), start=first):
            name: object = call.name
            if (record := note.before) is not None and record.status == "ended":
                end = KnownEnd.of(record)
                note.known = end.result
                note.began, note.ended = record.started_at or 0.0, record.completed_at or time()
                work = self._give(index, end)
            else:
                work = carry_out(index)
            task = create_task(work, name=name if type(name) is str else str(name))
            tasks.append(task)
            if self._timetable is not None:
                task.add_done_callback(partial(self._pass_on, index))
        if self._timetable is not None:
            self._timetable.arm()

    def _pass_on(self, index: int, task: asyncio.Task[ToolResult]) -> None:
        """Note that a call is over, so that no other waits for it."""
        if index >= len(self._tasks) or self._tasks[index] is not task:
            return  # it was forgotten
        if self._timetable is not None:
            self._timetable.over(index)

    def _stop(self, index: int, error: asyncio.CancelledError) -> ToolResult:
        """The result of a call that was stopped before it had one, or before hooks had seen what was known of it."""
        if (known := self._notes[index].known) is not None:
            return known
        if index in self._late:
            return self._timed_out(index)
        if index >= self._cancelled_from:
            return cancelled(error)
        return failure_of(error)

    # One call, in its task

    async def _give(self, index: int, end: KnownEnd) -> ToolResult:
        """The result of a call that an earlier program carried out."""
        if not end.is_new or not self._hooks.given:
            return end.result
        if self._in_run is not None:
            self._in_run()
        invocation = Invocation.of(self, index, *self.resolved[index])
        return await shown_to(self._hooks.given, self, invocation, end.result)

    async def _carry(self, carry_out: Next, index: int) -> ToolResult:
        """Carry out a call, with all that is around it."""
        if self._in_run is not None:
            self._in_run()
        note = self._notes[index]
        try:
            if self._timetable is not None:
                await self._timetable.turn(index)
                self._timetable.start_clock(index, self.resolved[index][1])
            note.began = time()
            result = await carry_out(Invocation.of(self, index, *self.resolved[index]))
        except asyncio.CancelledError as error:
            if index not in self._late:
                note.stopped = error
            result = self._stop(index, error)
        except BaseException as error:
            result = self._raised(index, error)
        note.ended = time()
        return result

    async def _next(self, invocation: Invocation) -> ToolResult:
        """The end of the chain: one attempt."""
        invocation = self.known(invocation)
        index = invocation.index
        result = await self._attempt(index, invocation)
        if self._timetable is not None:  # for the hooks around it
            self._timetable.start_clock(index, self.resolved[index][1])
        return result

    async def _attempt(self, index: int, invocation: Invocation | None = None) -> ToolResult:
        """Run a call's tool, once it may run: here, or by the invocation's executor."""
        if self._in_run is not None:
            self._in_run()
        note, (call, tool) = self._notes[index], self.resolved[index]
        if refused := refusal(call, tool, self._tools.missing):
            note.ended = time()
            return refused
        if self._is_complete is not None and note.is_turned:
            with self.held(index):
                await self._is_complete.wait()
        timetable = self._timetable
        if timetable is not None:
            await timetable.admission(index)
        try:
            if invocation and invocation.agreed is not None and not note.attempt:
                with self.held(index):
                    if (changed := await refused_as_changed(invocation)) is not None:
                        return changed
            beginnings = self._beginnings
            if beginnings is not None and beginnings.is_due(index, note.attempt):
                with self.held(index):
                    await beginnings.begin(index, note.attempt, note.began)
            if timetable is not None:
                timetable.start_clock(index, tool)
            if (attempt := note.attempt) == 0:
                note.began = time()
            note.attempt = attempt + 1
            executor = None if invocation is None else invocation.executor
            if invocation is not None and executor is not None and executor.takes(tool):
                value = await executor.run(invocation, self.execution)
            else:
                execute, args = bound(tool, call, index, self)
                if getattr(tool, "keeps_time", False) is True:
                    with self.held(index):
                        value = await execute(**args)
                elif self._is_blocking(tool, execute):
                    value = await run_in_thread(execute, args, is_coroutine_function(execute))
                else:
                    value = await execute(**args)
            if self._late and index in self._late:
                return self._timed_out(index)
            return value if is_plain(value) else as_result(value, self._is_result)
        except BaseException as error:
            return self._raised(index, error)
        finally:
            note.ended = time()
            if timetable is not None:
                timetable.leave(index)

    def _raised(self, index: int, error: BaseException) -> ToolResult:
        """The result of a call whose tool, or something around it, raised `error`.

        Raises:
            asyncio.CancelledError: the call must stop; the cancellation is not the tool's own.
        """
        match error:
            case GeneratorExit() if not is_at_work(self._tasks[index : index + 1]):
                raise error  # the coroutine is being closed, with its loop or by the garbage collector
            case _ if self._late.get(index) == "call":
                return self._timed_out(index)
            case asyncio.CancelledError() if is_asked_to_stop():
                raise error
            case KeyboardInterrupt():
                self._loop.call_soon(_raise, error)
            case asyncio.CancelledError():
                pass  # not logged: the result says it
            case StopRun():
                return self.end_run(index, error, self.resolved[index][0].name)
            case _ if is_own_failure(error):
                pass  # not logged: the tool said it in its own words
            case _:
                logger.error("Tool %r failed", self.resolved[index][0].name, exc_info=error)
        return failure_of(error)

    # Time

    def held(self, index: int) -> AbstractContextManager[None]:
        """A context whose time does not count for a call."""
        return nullcontext() if self._timetable is None else self._timetable.held(index)

    def _cancel(self, index: int) -> None:
        self._tasks[index].cancel()

    def _timed_out(self, index: int) -> ToolResult:
        """The result of a call whose time is up. In the call's task, it also takes back the pending cancellation."""
        late, (call, tool) = self._late[index], self.resolved[index]
        if late == "call" and not self._tasks[index].done():
            del self._late[index]
            self._tasks[index].uncancel()
        has_begun = self._notes[index].attempt > 0
        return timed_out(late, call.name, tool, self._options, has_begun=has_begun)

    # What is known of a call

    def known(self, invocation: object) -> Invocation:
        """An invocation as the next hook gets it: with its call under the tool's one name, its tool and its context.

        Raises:
            TypeError: the object is not an invocation.
        """
        if not isinstance(invocation, Invocation):
            raise TypeError(f"next takes an Invocation, got {type(invocation).__name__}")
        index = invocation.index
        call, tool = self.resolved[index]
        if invocation.call is call and invocation.tool is tool:
            return invocation
        before = ResolvedCall(call, tool)
        if invocation.call is call:
            return invocation.of_call(before)
        self._notes[index].record_of(call, index)  # it has the name that the model asked for
        resolved = self._tools.resolve_instead(invocation.call, before)
        self.resolved[index] = resolved
        if resolved.tool is not before.tool:
            self._notes[index].is_turned = True
        if resolved.options.sequential and self._timetable is not None:
            self._timetable.set_sequential(index)
        return invocation.of_call(resolved)

    def id(self, index: int) -> str:
        """The id of a call: the log's, or one that is made at the first use."""
        return self._notes[index].record_of(self.resolved[index][0], index).id

    def context(self, index: int, call: ToolCall) -> ToolContext[Any]:
        """The `ToolContext` of a call."""
        execution = self.execution
        return ToolContext(
            call,
            self._notes[index].record_of(call, index).execution_id,
            self._conversation_id,
            self._user_id,
            getattr(execution, "deps", None),
            execution.storage,
            execution.sandbox_dir,
            execution.access,
            MappingProxyType(self.state),
            self._run_of(index),
        )

    def emit(self, index: int, event: dict[str, Any]) -> None:
        """Pass an event about a call to the reader of the turn."""
        if (run := self._run_of(index)) is not None:
            run.emit(event)

    def end_run(self, index: int, why: StopRun, source: str) -> ToolResult:
        """Ask that the run ends, for a tool or a hook of this name; returns the result of the call that asked."""
        why.source = why.source or source
        if (run := self._run_of(index)) is not None:
            run.stop(why)
        return stopped(why)

    def _run_of(self, index: int) -> RunSignals | None:
        """The run as a call can reach it."""
        return self._notes[index].held or self._run

    def execution_of(self, index: int, result: ToolResult) -> ToolExecution:
        """A call with this result."""
        decided = self.decisions.get(index) if self.decisions else None
        decision = None if decided is None else write_decision(decided)
        return self._notes[index].execution(self.resolved[index][0], index, result, decision)


def _tell(tell: Callable[[int], None], index: int, _: object) -> None:
    tell(index)


def _raise(error: BaseException) -> None:
    raise error
