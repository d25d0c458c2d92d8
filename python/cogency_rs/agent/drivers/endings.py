"""How an answer ended, in the words of the core, for answers that the core did not read itself."""

from __future__ import annotations

from typing import Any, Literal

from ..._core import Parser

__all__ = ["Cut", "cut_of", "event_of_cut"]

Cut = Literal["length", "stopped", "unknown"]
"""Why something is incomplete: the answer reached its length limit, the model stopped by itself, or it is unknown."""


def event_of_cut(reason: str | None) -> dict[str, Any] | None:
    """The `error` event for an answer that was cut at its length limit; `None` for any other answer."""
    events: list[Any] = Parser(errors="event").finish(reason)
    return events[0] if events else None


def cut_of(reason: str | None) -> Cut:
    """What a provider's finish reason says about something that is incomplete."""
    if event_of_cut(reason) is not None:
        return "length"
    block = Parser(errors="event")
    block.feed("<execute>[")
    events: list[Any] = block.finish(reason)
    return "stopped" if events[-1]["kind"] == "unfinished" else "unknown"
