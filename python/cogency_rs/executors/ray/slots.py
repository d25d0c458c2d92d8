"""A cap on how many calls are on their way at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from ...middleware import Invocation

__all__ = ["Slots"]


class Slots:
    """So many places, of each event loop.

    Args:
        count: how many; `None` for as many as come.
    """

    def __init__(self, count: int | None) -> None:
        self._count = count
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def one(self, invocation: Invocation) -> AsyncGenerator[None, None]:
        """Have a place for a call. To wait for it does not count as the call's time."""
        if self._count is None:
            yield
            return
        loop = asyncio.get_running_loop()
        free = self._free.setdefault(loop, asyncio.Semaphore(self._count))
        with invocation.waiting():
            await free.acquire()
        try:
            yield
        finally:
            free.release()
