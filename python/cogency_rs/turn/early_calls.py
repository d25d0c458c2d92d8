"""Calls that begin while the model still writes their batch, and results that are saved before it has ended.

Only calls without an effect outside begin early, and only at the start of a batch: a call after one that may have an
effect must see it. The others follow when the batch is complete; then all of them are one batch like any other.

Invariants: a call that has begun has its record in the log; a call that does not count in the end has been cancelled
and awaited, its result is dropped, and its record says why.

The row of results is saved when all calls are over, in call order. Until then a result would be lost with the program,
and it would not be known whether its call happened. So calls that end are saved in their records: those that end while
the last such save runs, together in the next one.

Invariants: at most one such save runs at a time; none begins when the batch is over and its row of results follows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..execution.batch import ToolBatch
from ..execution.shielded_wait import outlast
from ..execution.tool_events import ToolEvents
from .settings import OnDropped
from .turn_log import TurnLog

if TYPE_CHECKING:
    from ..tools.options import ToolOptions
    from ..tools.toolbox import ResolvedCall, Toolbox


logger: logging.Logger = logging.getLogger(__name__)

NOT_VALID = "its batch was not valid"
TO_WAIT = "its batch waits for approval"
STOPPED = "the turn was stopped before its batch was complete"


def may_begin_early(options: ToolOptions) -> bool:
    """Whether calls of a tool may begin before their batch is complete: no effect, no approval, no order to keep."""
    reads = options.read_only
    return reads and not options.sequential and options.asks_when is False


def may_have_early_calls(tools: Sequence[ToolOptions]) -> bool:
    """Whether any call of these tools may begin early."""
    return any(map(may_begin_early, tools))


class EarlyCalls:
    """The batch that a model writes, and those of its calls that have begun.

    Args:
        log: notes the calls, and finds their tools.
        start: makes a batch without calls.
        on_dropped: called with calls that do not count, or `None`.

    Attributes:
        stopped: if the turn was stopped when some calls of a saved batch had begun: that batch, whose calls are over;
            else `None`.
    """

    __slots__ = ("_batch", "_events", "_log", "_on_dropped", "_start", "stopped")

    def __init__(
        self,
        log: TurnLog,
        start: Callable[[Toolbox, ToolEvents], ToolBatch],
        on_dropped: OnDropped | None = None,
    ) -> None:
        self._log = log
        self._start = start
        self._on_dropped = on_dropped
        self._batch: ToolBatch | None = None
        self._events: ToolEvents | None = None
        self.stopped: ToolBatch | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a call has begun whose batch is not complete."""
        return self._batch is not None or self._log.has_early_calls

    async def begin(self, place: int, text: str) -> None:
        """Start a call that the model has written to its end, if the call may begin before its batch is complete.

        Args:
            place: its place in the batch. It does not begin if a call before it has not begun.
            text: the call, as the parser wrote it.
        """
        if place != (0 if self._batch is None else len(self._batch)):
            return
        call = self._log.read(text)
        if not _may_begin(call, self._log.tools):
            return
        record = await self._log.begin_early(call)
        if self._batch is None or self._events is None:
            self._events = ToolEvents()
            self._batch = self._start(self._log.tools, self._events)
        self._batch.begin_early(call, record)

    async def withdraw(self, place: int, why: str = NOT_VALID) -> None:
        """Stop the calls from a place on, wait for them and drop their results.

        Raises:
            asyncio.CancelledError: the caller was cancelled; by then the calls are over, and the log says so.
        """
        if not self.has_begun:
            return
        batch = self._batch
        if batch is None or place >= len(batch):
            await self._log.drop(place, (), why)
            return
        stopping = batch.stop(place)
        try:
            await outlast(stopping)
        finally:
            if all(task.done() for task in stopping):  # not where the event loop is gone
                dropped = batch.forget(place)
                if not batch:
                    self._batch = self._events = None
                if self._on_dropped is not None:
                    self._on_dropped(dropped)
                await self._log.drop(place, dropped, why)

    def complete(self) -> tuple[ToolBatch, ToolEvents]:
        """Start the other calls of the batch, which is in the log now; returns the batch and its events."""
        batch, events, log = self._batch, self._events, self._log
        if batch is None or events is None:
            events = ToolEvents()
            batch = self._start(log.tools, events)
        begun = len(batch)
        beginnings = log if log.saves.keeps_records else None
        batch.complete(log.calls[begun:], log.records[begun:], beginnings, log.needs)
        self._batch = self._events = None
        return batch, events

    async def close(self) -> None:
        """At the end of the turn, stop the calls of a batch that was not completed.

        A call whose row is not in the log does not count; a failure to save that is logged. The calls with a row become
        the batch `stopped`, since each of them has a result.

        Raises:
            asyncio.CancelledError: the caller was cancelled once more; by then the calls are over.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return  # the event loop is gone, and its tasks with it
        try:
            await self.withdraw(len(self._log.calls), STOPPED)
        except Exception:
            logger.exception("Calls that began early could not be settled in the log")
        finally:
            if self._batch is not None and self._log.calls:
                self.stopped, _ = self.complete()
                await self.stopped.stop_all()


def _may_begin(call: ResolvedCall, tools: Toolbox) -> bool:
    """Whether a call can be carried out and its tool has no effect outside."""
    from ..tools.registry import refusal

    return may_begin_early(call.options) and refusal(*call, tools.missing) is None


class CallEnds:
    """The ends of a batch's calls, on their way to the log.

    Args:
        log: has the calls; it outlives the program.
        batch: runs them.
    """

    def __init__(self, log: TurnLog, batch: ToolBatch) -> None:
        self._log, self._batch = log, batch
        self._loop = asyncio.get_running_loop()
        self._ended: list[int] = []  # not saved yet
        self._saving: asyncio.Future[object] | None = None
        self._is_asked = self._is_waiting = False
        batch.when_over(self._over)

    def consumer_is_at_work(self) -> None:
        """The turn's consumer has an event: the row of results cannot follow, however long that takes."""
        self._is_waiting = True
        self._save_soon()

    def consumer_is_back(self) -> None:
        """The turn's consumer asks for the next event."""
        self._is_waiting = False

    def _over(self, index: int) -> None:
        self._ended.append(index)
        self._save_soon()

    def _save_soon(self) -> None:
        """Save later, so that calls that end at one moment are saved together, or not at all if they are the last."""
        if self._ended and self._saving is None and not self._is_asked:
            self._is_asked = True
            self._loop.call_soon(self._save)

    def _save(self) -> None:
        self._is_asked = False
        batch = self._batch
        if not self._ended or batch.is_stopping or (batch.is_over and not self._is_waiting):
            return
        ended, self._ended = self._ended, []
        try:
            self._saving = self._log.note_ends(batch.outcomes(ended))
        except Exception as error:
            self._failed(error)
            return
        if self._saving is not None:
            self._saving.add_done_callback(self._saved)

    def _saved(self, saving: asyncio.Future[object]) -> None:
        self._saving = None
        if not saving.cancelled() and (error := saving.exception()) is not None:
            self._failed(error)
        self._save_soon()

    def _failed(self, error: BaseException) -> None:
        """The calls run on: the row of results is still to come, and raises if the log cannot be written by then."""
        logger.warning("Results could not be saved before their batch was over: %s", error)
