"""What prompts of an agent are made of. It is made once, since it is the same in every run with the same tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

_T = TypeVar("_T")

__all__ = ["Prompts"]

MOST_KEPT = 64
"""How many values are kept; tools that are visible only in some runs lead to several."""


class Prompts:
    """What was made so far, by the values that it depends on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, write: Callable[[], _T]) -> _T:
        """The value of a key; `write` makes it if it is not kept. What has no hash is in no key that is kept."""
        try:
            kept: _T | None = self._kept.get(key)
        except TypeError:  # such as a function that is an object with a comparison
            return write()
        return self._keep(key, write()) if kept is None else kept

    async def get_awaited(self, key: Hashable, write: Callable[[], Awaitable[_T]]) -> _T:
        """The same, with a key that has a hash and a `write` that is awaited."""
        kept: _T | None = self._kept.get(key)
        return self._keep(key, await write()) if kept is None else kept

    def _keep(self, key: Hashable, made: _T) -> _T:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = made
        return made
