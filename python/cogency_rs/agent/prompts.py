"""The system prompts of an agent, each written once: they say the same in every run with the same tools."""

from __future__ import annotations

from collections.abc import Callable, Hashable

__all__ = ["Prompts"]

MOST_KEPT = 64
"""Prompts that are kept; tools that are visible in some runs only make several."""


class Prompts:
    """Prompts that were written, by what they depend on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, str] = {}

    def get(self, key: Hashable, write: Callable[[], str]) -> str:
        """The prompt of a key; `write` makes it where it is not kept."""
        kept = self._kept.get(key)
        if kept is None:
            kept = write()
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = kept
        return kept
