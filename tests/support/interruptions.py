"""Cancels work at its n-th suspension, for every n.

A coroutine can be cancelled wherever it waits, and at each place in three ways: just before it begins to wait, while it
waits, and after the wait has ended but before the coroutine goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any

Moment = Callable[[Callable[[], None], Any], None]
"""Called just before the coroutine suspends, with a function that cancels it and the future it waits for, if any."""


def as_it_begins_to_wait(cancel: Callable[[], None], waited_for: Any) -> None:
    cancel()


def while_it_waits(cancel: Callable[[], None], waited_for: Any) -> None:
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, cancel)


def when_the_wait_is_over(cancel: Callable[[], None], waited_for: Any) -> None:
    # This callback runs before the one that wakes the task, which is added later, when the task suspends.
    if waited_for is None:
        asyncio.get_running_loop().call_soon(cancel)
    else:
        waited_for.add_done_callback(lambda _: cancel())


MOMENTS = [as_it_begins_to_wait, while_it_waits, when_the_wait_is_over]


@dataclass
class Ending:
    """How interrupted work ended.

    Attributes:
        suspensions: how often the work waited.
        requested: whether it was told to stop before it was over.
        cancelled: whether it ended with `CancelledError`.
        leaked: the tasks that were left when it ended.
    """

    suspensions: int = 0
    requested: bool = False
    cancelled: bool = False
    leaked: set[asyncio.Task[Any]] = field(default_factory=set)


class _Watched(Awaitable[Any]):
    """Awaits `work`, and calls `moment` at its suspension number `at`."""

    def __init__(
        self, work: Coroutine[Any, Any, Any], at: int, moment: Moment, ending: Ending
    ) -> None:
        self._work, self._at, self._moment, self._ending = work, at, moment, ending

    def __await__(self) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        thrown: BaseException | None = None
        while True:
            try:
                waited_for = self._work.throw(thrown) if thrown else self._work.send(None)
            except StopIteration as returned:
                return returned.value
            self._ending.suspensions += 1
            if self._ending.suspensions == self._at:
                self._moment(lambda: self._cancel(task), waited_for)
            thrown = None
            try:
                yield waited_for
            except BaseException as error:
                thrown = error

    def _cancel(self, task: asyncio.Task[Any]) -> None:
        self._ending.requested |= task.cancel()


async def cancelled_at(work: Coroutine[Any, Any, Any], at: int, moment: Moment) -> Ending:
    """Run `work` as a task and cancel it at its suspension number `at`; any other exception is raised."""
    ending = Ending()
    watched = _Watched(work, at, moment, ending)
    others = asyncio.all_tasks()

    async def main() -> None:
        try:
            await watched
        finally:
            ending.leaked = asyncio.all_tasks() - others - {asyncio.current_task()}

    task = asyncio.create_task(main())
    await asyncio.wait([task])
    ending.cancelled = task.cancelled()
    if not ending.cancelled:
        task.result()
    return ending
