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
from functools import partial
from typing import Any

__all__ = ["all_done", "outlast"]


async def all_done(futures: Sequence[asyncio.Future[Any]]) -> None:
    """Wait until every one of these is done, however it ends. Cancelled, it leaves them alone.

    The cost is that of one wait for each that is not done when those before it are; `asyncio.wait` costs several
    times as much.
    """
    for future in futures:
        if future.done():
            continue
        waiter = future.get_loop().create_future()
        release = partial(_release, waiter)
        future.add_done_callback(release)
        try:
            await waiter
        except BaseException:
            future.remove_done_callback(release)
            raise


def _release(waiter: asyncio.Future[None], _: object) -> None:
    if not waiter.done():
        waiter.set_result(None)


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


def _shield() -> AbstractContextManager[Any]:
    """A shielded scope of anyio; where anyio is not loaded, nobody can be in one of its scopes."""
    scope = getattr(sys.modules.get("anyio"), "CancelScope", None)
    return nullcontext() if scope is None else scope(shield=True)
