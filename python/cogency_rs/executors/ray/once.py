"""Work that is done once in a thread, however many ask for it, on whatever loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["Once"]

T = TypeVar("T")


class Once(Generic[T]):
    """What `work` returns, or raises; after an error the next one who asks begins anew.

    Args:
        work: called in a thread of its own, which may block.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: Future[T] | None = None

    async def get(self) -> T:
        """Give the outcome. Cancelled, the work goes on for the others."""
        outcome = self._outcome
        if outcome is None or (outcome.done() and outcome.exception() is not None):
            outcome = self._outcome = Future()
            outcome.set_running_or_notify_cancel()  # so that nobody who waits for it can cancel it
            threading.Thread(target=self._run, args=(outcome,), daemon=True).start()
        if outcome.done():
            return outcome.result()
        return await asyncio.wrap_future(outcome)

    def known(self) -> T | None:
        """Give the outcome if it is there."""
        outcome = self._outcome
        if outcome is None or not outcome.done() or outcome.exception() is not None:
            return None
        return outcome.result()

    def _run(self, outcome: Future[T]) -> None:
        try:
            value = self._work()
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)
