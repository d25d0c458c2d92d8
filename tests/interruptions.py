"""Cancels work at its n-th suspension, for every n.

A coroutine can be cancelled wherever it waits, and at each place in three ways: just as it begins to wait,
while it waits, and when what it waited for has come but it does not know yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

Moment = Callable[[asyncio.Task[Any], Any], None]


def as_it_begins_to_wait(task: asyncio.Task[Any], waited_for: Any) -> None:
    task.cancel()


def while_it_waits(task: asyncio.Task[Any], waited_for: Any) -> None:
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, task.cancel)


def when_it_need_not_wait_any_longer(task: asyncio.Task[Any], waited_for: Any) -> None:
    # Runs before the callback that wakes the task, which is added when the task really suspends.
    if waited_for is None:
        asyncio.get_running_loop().call_soon(task.cancel)
    else:
        waited_for.add_done_callback(lambda _: task.cancel())


MOMENTS = [as_it_begins_to_wait, while_it_waits, when_it_need_not_wait_any_longer]


class _Watched(Awaitable[Any]):
    """Awaits `work`, and calls `moment` at suspension `at`."""

    def __init__(self, work: Coroutine[Any, Any, Any], at: int, moment: Moment) -> None:
        self._work, self._at, self._moment = work, at, moment
        self.suspensions = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        assert task is not None
        resume: Callable[[], Any] = lambda: self._work.send(None)  # noqa: E731
        while True:
            try:
                waited_for = resume()
            except StopIteration as returned:
                return returned.value
            self.suspensions += 1
            if self.suspensions == self._at:
                self._moment(task, waited_for)
            try:
                yield waited_for
            except BaseException as error:
                resume = lambda error=error: self._work.throw(error)  # noqa: E731
            else:
                resume = lambda: self._work.send(None)  # noqa: E731


async def cancelled_at(work: Coroutine[Any, Any, Any], at: int, moment: Moment) -> bool | None:
    """Run `work` as a task and cancel it at suspension `at`.

    Returns:
        Whether it ended with `CancelledError`; `None` when it suspends fewer times.
    """
    watched = _Watched(work, at, moment)

    async def main() -> Any:
        return await watched

    task = asyncio.create_task(main())
    await asyncio.wait([task])
    if watched.suspensions < at:
        task.result()
        return None
    if task.cancelled():
        return True
    task.result()
    return False
