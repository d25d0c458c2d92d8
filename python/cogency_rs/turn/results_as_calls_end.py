"""Saves the result of a call when the call ends, while others of its batch still run.

The row of results is saved when all calls are over, in call order. Until then a result would be lost with the program,
and it would not be known whether its call happened. So calls that end are saved in their records: those that end while
the last such save runs, together in the next one.

Invariants: at most one such save runs at a time; none begins when the batch is over and its row of results follows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager

from ..execution.batch import ToolBatch
from .turn_log import TurnLog

__all__ = ["CallEnds"]

logger: logging.Logger = logging.getLogger(__name__)


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

    @contextmanager
    def consumer_at_work(self) -> Generator[None]:
        """While the turn's consumer has an event, the row of results cannot follow, however long it takes."""
        self._is_waiting = True
        self._save_soon()
        try:
            yield
        finally:
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
