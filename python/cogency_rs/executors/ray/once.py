"""Work that is done once, in a thread, for any number of callers on any event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["Once"]

T = TypeVar("T")


class Once(Generic[T]):
    """The value that `work` returns, or its exception; after an exception the next `get` starts over.

    Args:
        work: called in its own thread, so it may block. It must not return `None`.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: Future[T] | None = None
        self._known: T | None = None

    async def get(self) -> T:
        """Wait for the outcome. If a caller is cancelled, the work goes on for the others."""
        if self._known is not None:
            return self._known
        outcome = self._outcome
        if outcome is None or (outcome.done() and outcome.exception() is not None):
            outcome = self._outcome = Future()
            outcome.set_running_or_notify_cancel()  # so that a waiting caller cannot cancel it
            threading.Thread(target=self._run, args=(outcome,), daemon=True).start()
        if outcome.done():
            return outcome.result()
        return await asyncio.wrap_future(outcome)

    def known(self) -> T | None:
        """The outcome, if it is there."""
        return self._known

    def _run(self, outcome: Future[T]) -> None:
        try:
            value = self._work()
        except BaseException as error:
            outcome.set_exception(error)
        else:
            self._known = value
            outcome.set_result(value)
