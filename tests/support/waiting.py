"""Waits for what another task, thread or process does."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 60
"""Seconds after which a test gives up waiting."""

PAUSE = 0.001
"""Seconds until it is asked again whether something is so: the only pause in the tests, which decides nothing."""


def wait_until(is_so: Callable[[], Any], otherwise: str) -> None:
    """Wait in a thread until something is so; fails with the words `otherwise` after `PATIENCE` seconds."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(PAUSE)


async def until(is_so: Callable[[], Any], otherwise: str) -> None:
    """Wait until something is so; fails with the words `otherwise` after `PATIENCE` seconds.

    Args:
        is_so: asked again and again; a function or a coroutine function.
        otherwise: what is wrong if it never becomes so.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = is_so()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return
        assert time.monotonic() < deadline, otherwise
        await asyncio.sleep(PAUSE)
