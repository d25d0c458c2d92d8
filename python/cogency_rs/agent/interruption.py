"""A request to end a run at once, wherever it waits."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator
from typing import Any

__all__ = ["Interruption"]


class Interruption:
    """Ends a run, and not the task that waits for it: that is cancelled only while it is in the run.

    The run takes the cancellation back, so it goes no further.
    """

    __slots__ = ("_before", "_is_asked", "_is_over", "_is_sent", "_items", "_task")

    def __init__(self) -> None:
        self._items: weakref.ref[Any] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._before = 0  # requests to cancel the task that have nothing to do with the run
        self._is_asked = self._is_sent = self._is_over = False

    def watch(self, items: AsyncGenerator[Any, None]) -> None:
        """Note what carries out the run. A strong reference would keep an abandoned run alive."""
        self._items = weakref.ref(items)

    def note(self) -> None:
        """Note the task that is in the run now."""
        self._task = task = asyncio.current_task()
        self._before = 0 if task is None else task.cancelling()

    def enter(self) -> None:
        """Do the same where the run is gone on with.

        Raises:
            asyncio.CancelledError: the run was asked to end while no task was in it.
        """
        if asyncio.current_task() is not self._task:  # seldom: this is done at each event
            self.note()
        if self._is_asked and not self._is_sent:
            raise asyncio.CancelledError

    def ask(self) -> None:
        """Ask the run to end; from any thread."""
        self._is_asked = True
        task = self._task
        if task is not None and not (self._is_over or task.get_loop().is_closed()):
            task.get_loop().call_soon_threadsafe(self._send)

    def _send(self) -> None:
        items = None if self._items is None else self._items()
        if self._is_over or self._is_sent or self._task is None or items is None:
            return
        if items.ag_running:  # else `enter` sees it
            self._is_sent = True
            self._task.cancel()

    def ends(self) -> bool:
        """Whether a `CancelledError` is this request, which ends here, and nothing else has cancelled the task."""
        if not self._is_asked or self._is_over:
            return False
        self._is_over = True
        task = self._task
        if task is None:
            return True
        return (task.uncancel() if self._is_sent else task.cancelling()) <= self._before

    def close(self) -> None:
        """Take no further request: the run is ending."""
        self._is_over = True
