"""What ends a run wherever it waits: a person, and the end of its time.

Both cancel what the run awaits, so nothing that a run does needs a time limit of its own. Two things are not cut: what
belongs to the end of a step or of the run (`held`), so that the log and the result are whole; and rows that are being
saved, which outlast any cancellation.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any, Literal

from ..runs.context import Account


class Interruption:
    """Ends what a run does, and not the task that waits for it: that is cancelled only while it is in the run.

    The run takes the cancellation back, so it goes no further.

    Args:
        account: knows how long the run may last.

    Attributes:
        message: what a person said when asking the run to stop or to end; `None` if nobody has asked.
    """

    __slots__ = (
        "_account",
        "_before",
        "_is_asked",
        "_is_held",
        "_is_late",
        "_is_over",
        "_is_sent",
        "_items",
        "_task",
        "_timer",
        "message",
    )

    def __init__(self, account: Account) -> None:
        self._account = account
        self.message: str | None = None
        self._items: weakref.ref[Any] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._before = 0  # requests to cancel the task that have nothing to do with the run
        self._is_asked = self._is_late = self._is_sent = self._is_over = self._is_held = False

    def watch(self, items: AsyncGenerator[Any, None]) -> None:
        """Note what carries out the run. A strong reference would keep an abandoned run alive."""
        self._items = weakref.ref(items)

    def begin(self) -> None:
        """Begin the run, and its time."""
        self._note()
        self._account.begin()
        self._wait()

    def _note(self) -> None:
        """Note the task that is in the run now."""
        self._task = task = asyncio.current_task()
        self._before = 0 if task is None else task.cancelling()

    def enter(self) -> None:
        """Note the task that goes on with the run.

        Raises:
            asyncio.CancelledError: a person asked the run to end while no task was in it.
        """
        if asyncio.current_task() is not self._task:  # seldom: this is done at each event
            self._note()
        if self._is_asked and not self._is_sent:
            raise asyncio.CancelledError

    def check_time(self) -> None:
        """Check that the run has time left, and wait for its end anew: the clock may have been set.

        Raises:
            asyncio.CancelledError: its time is over.
        """
        left = self._account.seconds_left
        if left is None or self._is_sent:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if left <= 0 or self._account.is_out_of_time:
            self._account.run_out()
            self._is_late = True
            raise asyncio.CancelledError
        self._wait()

    def ask(self) -> None:
        """Ask the run to end, for a person; from any thread."""
        self._is_asked = True
        task = self._task
        if task is not None and not (self._is_over or task.get_loop().is_closed()):
            task.get_loop().call_soon_threadsafe(self._send)

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """`with interruption.held():` lets the end of the run's time wait for what is done there."""
        before, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = before

    def ends_for_time(self) -> bool:
        """Whether a `CancelledError` is the end of the run's time, and nothing else: if so, it ends here."""
        task = self._task
        if self._is_over or self._is_asked or not self._is_late or task is None:
            return False
        if task.cancelling() - self._is_sent > self._before:
            return False
        return self.ends() == "time"

    def ends(self) -> Literal["person", "time"] | None:
        """Whose request a `CancelledError` is that ends here; `None` if something else has cancelled the task."""
        if self._is_over or not (self._is_asked or self._is_late):
            return None
        task, is_sent = self._task, self._is_sent
        self._is_late = self._is_sent = False
        self._is_over = self._is_asked
        if task is not None and (task.uncancel() if is_sent else task.cancelling()) > self._before:
            self._is_over = True
            return None
        return "person" if self._is_asked else "time"

    def close(self) -> None:
        """Take no further request, and end no more for its time: the run is ending."""
        self._is_over = True
        self._task = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        """Wait for the end of the run's time."""
        left = self._account.seconds_left
        if left is not None:
            self._timer = asyncio.get_running_loop().call_later(max(left, 0.0), self._run_out)

    def _run_out(self) -> None:
        self._timer = None
        self._account.run_out()
        if not self._is_held:
            self._is_late = True
            self._send()

    def _send(self) -> None:
        items = None if self._items is None else self._items()
        if self._is_over or self._is_sent or self._task is None or items is None:
            return
        if items.ag_running:  # else `enter` and `check_time` see it
            self._is_sent = True
            self._task.cancel()
