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
        await asyncio.sleep(0.001)
