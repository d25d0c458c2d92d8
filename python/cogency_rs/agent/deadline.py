"""A time limit for a step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from ..runs.limits import Account

__all__ = ["Deadline"]

T = TypeVar("T")


class Deadline:
    """Ends a step when the time of its run is over.

    Attributes:
        is_over: whether it has ended the step.
    """

    __slots__ = ("_account", "is_over")

    def __init__(self, account: Account) -> None:
        self._account = account
        self.is_over = False

    async def until(self, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the events that come in time, then close their source: its calls are cancelled and settled."""
        async with aclosing(events):
            while (left := self._account.seconds_left) is not None:
                if left <= 0:
                    self.is_over = True
                    return
                limit = asyncio.timeout(left)
                try:
                    async with limit:
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if not limit.expired():
                        raise
                    self.is_over = True
                    return
                yield event
