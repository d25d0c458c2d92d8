"""Waits for work that must not be abandoned: calls that are being stopped, rows that are being saved.

A task that is cancelled while it waits here goes on waiting, and is cancelled afterwards. A cancelled scope of anyio
cancels its tasks again in every round of the event loop. There the task waits in its own shielded scope, so that
waiting costs no processor time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any


async def all_done(futures: Sequence[asyncio.Future[Any]]) -> None:
    """Wait until all futures are done, however they end. If the caller is cancelled, they are left alone.

    Costs one wait for each future that is not done when the ones before it are. `asyncio.wait` costs several times as
    much.
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
    """Wait until all futures are done, even if the caller is cancelled meanwhile.

    Raises:
        asyncio.CancelledError: the caller was cancelled; by then all futures are done.
    """
    try:
        await all_done(futures)
    except asyncio.CancelledError:
        with _shield():
            await _until_done(futures)
        raise


async def _until_done(futures: Sequence[asyncio.Future[Any]]) -> None:
    """As `all_done`, whatever cancels the caller meanwhile."""
    while not all(future.done() for future in futures):
        with suppress(asyncio.CancelledError):  # `outlast` raises it in any case
            await all_done(futures)


def _shield() -> AbstractContextManager[Any]:
    """A shielded scope of anyio. If anyio is not loaded, no task can be in one of its scopes, and none is needed."""
    scope = getattr(sys.modules.get("anyio"), "CancelScope", None)
    return nullcontext() if scope is None else scope(shield=True)


def is_asked_to_stop() -> bool:
    """Whether the current task has been cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_at_work(tasks: Sequence[asyncio.Task[Any]]) -> bool:
    """Whether the present code runs because one of these tasks does, and not, say, the garbage collector."""
    with suppress(RuntimeError):
        return asyncio.current_task() in (*tasks,)
    return False
