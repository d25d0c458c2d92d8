"""Coroutines that wait for an answer from another thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..errors import StorageError

__all__ = ["Waiter", "answer", "done"]

T = TypeVar("T")


class Waiter:
    """One coroutine's wait for an answer from another thread.

    Attributes:
        future: what the coroutine awaits.
        value: the answer, unless there is an error.
        error: why there is no value, or `None`.
    """

    __slots__ = ("error", "future", "loop", "value")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.value: Any = None
        self.error: StorageError | None = None


def answer(waiters: Iterable[Waiter]) -> None:
    """Wake all `waiters`, with one call per event loop."""
    loops: defaultdict[asyncio.AbstractEventLoop, list[Waiter]] = defaultdict(list)
    for waiter in waiters:
        loops[waiter.loop].append(waiter)
    for loop, group in loops.items():
        # A loop that was closed meanwhile raises; nobody waits there.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, group)


def _settle(waiters: list[Waiter]) -> None:
    for waiter in waiters:
        if waiter.future.done():  # cancelled
            continue
        if waiter.error is not None:
            waiter.future.set_exception(waiter.error)
        else:
            waiter.future.set_result(waiter.value)


def done(value: T) -> asyncio.Future[T]:
    """A future of the running loop that has its value already."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future
