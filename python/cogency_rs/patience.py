"""Waits for what must not be given up: calls that are being stopped, rows that are being saved.

A task that is cancelled while it waits here goes on waiting, and is cancelled afterwards. Under a cancelled scope of
anyio, which cancels its tasks again in every round of the loop, it waits in a scope of its own that is shielded, so
that the wait costs no processor time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

__all__ = ["all_done", "outlast"]


async def all_done(futures: Sequence[asyncio.Future[Any]]) -> None:
    """Wait until every one of these is done, however it ends. Cancelled, it leaves them alone.

    The cost is that of one wait for each that is not done when those before it are.
    """
    for future in futures:
        if not future.done():
            await _end_of(future)


async def outlast(futures: Sequence[asyncio.Future[Any]]) -> None:
    """Wait until every one of these is done, also when cancelled meanwhile.

    Raises:
        asyncio.CancelledError: the caller was cancelled; by now they are done.
    """
    try:
        await all_done(futures)
    except asyncio.CancelledError:
        with _shield():
            while not all(future.done() for future in futures):
                with suppress(asyncio.CancelledError):  # it is known already
                    await all_done(futures)
        raise


async def _end_of(future: asyncio.Future[Any]) -> None:
    """Wait as `asyncio.wait([future])` does, which costs several times as much."""
    waiter = asyncio.get_running_loop().create_future()

    def release(_: asyncio.Future[Any]) -> None:
        if not waiter.done():
            waiter.set_result(None)

    future.add_done_callback(release)
    try:
        await waiter
    finally:
        future.remove_done_callback(release)


def _shield() -> AbstractContextManager[Any]:
    """A shielded scope of anyio; where anyio is not loaded, nobody can be in one of its scopes."""
    anyio = sys.modules.get("anyio")
    return nullcontext() if anyio is None else anyio.CancelScope(shield=True)
