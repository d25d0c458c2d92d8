"""Calls that begin while the model still writes their batch.

Only calls that have no effect outside do, and only those at the start of a batch: what stands behind a call that may
have one must see it. The others follow when the batch is complete, and then all of them are one batch like any other.

Invariants: a call that has begun has its record in the log; one that does not count in the end has been cancelled and
awaited, its result is nowhere, and its record says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from .batch import ToolBatch
from .batch_options import BatchOptions
from .patience import outlast
from .records import ToolExecution
from .registry import refusal, tool_call
from .tool_events import ToolEvents
from .toolbox import Toolbox
from .tools import ToolOptions, options_of
from .turn_log import TurnLog
from .types import ToolCall

__all__ = ["EarlyCalls", "OnDropped", "may_begin_early", "may_have_early_calls"]

logger: logging.Logger = logging.getLogger(__name__)

OnDropped = Callable[[Sequence[ToolExecution]], None]
"""Called with what became of calls that began early and do not count."""

NOT_VALID = "its batch was not valid"
TO_WAIT = "its batch waits for somebody's agreement"
STOPPED = "the turn was stopped before its batch was complete"


def may_begin_early(options: ToolOptions) -> bool:
    """Whether calls of a tool may begin before their batch is complete: nobody is asked, and nothing is to see them."""
    return options.read_only and not options.sequential and options.requires_approval is False


def may_have_early_calls(options: BatchOptions, tools: Sequence[ToolOptions]) -> bool:
    """Whether any call may begin early: not where hooks are around calls, all of which are asked before any starts."""
    return not options.has_call_hooks and any(map(may_begin_early, tools))


class EarlyCalls:
    """The batch that a model writes, and those of its calls that have begun.

    Args:
        log: where the calls are noted.
        toolbox: which tool a call means.
        start: makes a batch without calls.
        on_dropped: told of calls that do not count; `None` for nobody.

    Attributes:
        stopped: the batch of calls that are in the log, some of which had begun when their turn was stopped; they are
            over. `None` where there is none.
    """

    def __init__(
        self,
        log: TurnLog,
        toolbox: Callable[[], Toolbox],
        start: Callable[[Toolbox, ToolEvents], ToolBatch],
        on_dropped: OnDropped | None = None,
    ) -> None:
        self._log = log
        self._toolbox = toolbox
        self._start = start
        self._on_dropped = on_dropped
        self._tools: Toolbox | None = None
        self._batch: ToolBatch | None = None
        self._said: ToolEvents | None = None
        self.stopped: ToolBatch | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a call has begun whose batch is not complete."""
        return self._batch is not None or self._log.has_early_calls

    async def begin(self, place: int, text: str) -> None:
        """Start a call of which it is known that it is complete, if it may begin before its batch is.

        Args:
            place: its place in the batch. It does not begin where one before it has not.
            text: the call, as the parser wrote it.
        """
        if place != (0 if self._batch is None else len(self._batch)):
            return
        if self._tools is None:
            self._tools = self._toolbox()
        call = tool_call(text)
        if not _may_begin(call, self._tools):
            return
        id = await self._log.begin_early(call)
        if self._batch is None or self._said is None:
            self._said = ToolEvents()
            self._batch = self._start(self._tools, self._said)
        self._batch.begin_early(call, id)

    async def withdraw(self, place: int, why: str = NOT_VALID) -> None:
        """Stop the calls from a place on, wait for them and drop what they gave.

        Raises:
            asyncio.CancelledError: the caller was cancelled; by now they are over, and the log says so.
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
                    self._batch = self._said = None
                if self._on_dropped is not None:
                    self._on_dropped(dropped)
                await self._log.drop(place, dropped, why)

    def complete(self) -> tuple[ToolBatch, ToolEvents]:
        """The batch is in the log: start the rest of its calls; returns it, and what its calls say."""
        batch, said, log = self._batch, self._said, self._log
        if batch is None or said is None:
            said = ToolEvents()
            batch = self._start(self._tools or self._toolbox(), said)
        begun = len(batch)
        begin = log.begin if log.is_told_of_beginnings else None
        batch.complete(log.calls[begun:], log.ids[begun:], begin)
        self._batch = self._said = self._tools = None
        return batch, said

    async def close(self) -> None:
        """The turn is over: stop what has begun and was not completed.

        A call whose row is not in the log does not count; a failure to save that is logged. Those with a row are then
        the batch `stopped`, since each of them has a result.

        Raises:
            asyncio.CancelledError: the caller was cancelled once more; by now they are over.
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


def _may_begin(call: ToolCall, tools: Toolbox) -> bool:
    """Whether a call is one that can be carried out, of a tool that has no effect outside."""
    tool = tools.find(call)
    return may_begin_early(options_of(tool)) and refusal(call, tool, tools.missing) is None
