"""Makes the calls of a batch wait until they may run, and stops those whose time is up.

`_core.Schedule` decides; this file has the futures on which calls wait, and the one timer.
"""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Literal

from .._core import Schedule

__all__ = ["Late", "Timetable"]

Late = Literal["call", "batch"]
"""Which time limit is over: that of the call, or that of the batch."""

Ticket = tuple[int, int]


class Timetable:
    """The order and the time limits of the calls of one batch, on the running event loop.

    Args:
        schedule: decides.
        stop: called with the index of a call whose time is up.

    Attributes:
        late: the calls whose time is up and that have not noticed yet.
    """

    def __init__(self, schedule: Schedule, stop: Callable[[int], object]) -> None:
        self.late: dict[int, Late] = {}
        self._schedule = schedule
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Ticket, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._goes_off = math.inf

    async def admission(self, index: int) -> None:
        """Wait until a call may run. When it has run, `leave` must be called.

        Raises:
            asyncio.CancelledError: the caller was cancelled, or no further call may run.
        """
        ticket = self._schedule.ask(index)
        if ticket is True:
            return
        if ticket is False:
            raise asyncio.CancelledError
        waiter = self._waiting[ticket] = self._loop.create_future()
        try:
            with self.held(index):
                await waiter
        except asyncio.CancelledError:
            if self._waiting.pop(ticket, None) is not None:
                self._schedule.withdraw(ticket)
            else:  # admitted, but cancelled before it went on
                self.leave(index)
            raise

    def add(self, count: int, barriers: Iterable[int]) -> None:
        """Add calls after those that are there; `barriers` are the indices of the sequential ones."""
        self._schedule.add(count)
        for index in barriers:
            self.set_sequential(index)
        self.arm()

    def set_sequential(self, index: int) -> None:
        """Make a call sequential, if it is not over."""
        self._schedule.set_sequential(index)

    def truncate(self, count: int) -> None:
        """Forget the calls from this index on, all of which have ended."""
        for index in range(count, self._schedule.count):
            self.over(index)
        self._schedule.truncate(count)

    def set_deadline(self, seconds: float) -> None:
        """Give all calls together this many seconds, from now on."""
        self._schedule.set_deadline(self._loop.time() + seconds)
        self.arm()

    def leave(self, index: int) -> None:
        """Note that a call does not run now; it may ask for admission again."""
        self._admit(self._schedule.leave(index))

    def over(self, index: int) -> None:
        """Note that a call is over, and will not ask again."""
        self._admit(self._schedule.over(index))

    def close(self) -> None:
        """Let no further calls run."""
        self._schedule.close()

    def start_clock(self, index: int, limit: float) -> None:
        """Give a call `limit` seconds from now on."""
        self._schedule.start_clock(index, self._loop.time(), limit)
        self.arm()

    @contextmanager
    def held(self, index: int) -> Generator[None, None, None]:
        """`with timetable.held(index):` stops the clock of a call."""
        self._schedule.hold_clock(index, self._loop.time())
        try:
            yield
        finally:
            self._schedule.resume_clock(index, self._loop.time())
            self.arm()

    def arm(self) -> None:
        """Set the timer to the next deadline, unless it goes off earlier."""
        deadline = self._schedule.next_deadline()
        if deadline is None or self._goes_off <= deadline or self._loop.is_closed():
            return
        self.disarm()
        self._goes_off = deadline
        # Weak, so that the timer does not keep a dropped batch alive.
        weak: weakref.ref[Timetable] = weakref.ref(self)
        self._timer = self._loop.call_at(deadline, _tick, weak, deadline)

    def disarm(self) -> None:
        """Cancel the timer."""
        timer, self._timer = self._timer, None
        self._goes_off = math.inf
        if timer is not None:
            timer.cancel()

    def tick(self, now: float) -> None:
        """Stop the calls whose time is up."""
        self._timer, self._goes_off = None, math.inf
        is_batch, due = self._schedule.due(now)
        for index in due:
            self.late[index] = "batch" if is_batch else "call"
            self._stop(index)
        self.arm()

    def _admit(self, tickets: list[Ticket]) -> None:
        if tickets and not self._loop.is_closed():
            for ticket in tickets:
                waiter = self._waiting.pop(ticket)
                if not waiter.done():
                    waiter.set_result(None)


def _tick(timetable: weakref.ref[Timetable], now: float) -> None:
    alive = timetable()
    if alive is not None:
        alive.tick(now)
