"""A bound on how many calls are under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from weakref import WeakKeyDictionary

from ...hooks import Invocation

__all__ = ["Slots"]

_NO_BOUND = nullcontext()


class Slots:
    """A number of places, for each event loop.

    Args:
        count: how many places; `None` for no bound.
    """

    def __init__(self, count: int | None) -> None:
        self._count = count
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def one(self, invocation: Invocation) -> AbstractAsyncContextManager[None]:
        """Hold a place for a call. The call's time limit does not run while it waits for the place."""
        return _NO_BOUND if self._count is None else self._one(invocation, self._count)

    @asynccontextmanager
    async def _one(self, invocation: Invocation, count: int) -> AsyncGenerator[None, None]:
        loop = asyncio.get_running_loop()
        free = self._free.setdefault(loop, asyncio.Semaphore(count))
        with invocation.waiting():
            await free.acquire()
        try:
            yield
        finally:
            free.release()
