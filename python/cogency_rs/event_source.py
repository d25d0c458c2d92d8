"""Feeds the events of another parser into a turn.

A turn takes only what it saves. Events of calls that are not complete yet are not saved, so they go around the turn:
`EventSource` hands them out unchanged, in their place among the turn's steps.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

from ._core import Turn
from .parser import ClosedOnce

__all__ = ["EventSource"]

_PASSING = frozenset({"tool_call_start", "tool_call_delta"})


class EventSource:
    """Reads events as a `ClosedOnce` reads text: awaited, it gives steps or an event, and `None` at the end.

    Args:
        iterator: gives event dicts.
        turn: takes the events.
        enter: called with each event that the turn is to take, to hand it over.

    Attributes:
        failed: the exception that the iterator raised; `None` if it raised none.
    """

    def __init__(
        self, iterator: AsyncIterator[Any], turn: Turn, enter: Callable[[Any], None]
    ) -> None:
        self.failed: Exception | None = None
        self._stretch = _Stretch(iterator)
        self._turn, self._enter = turn, enter
        self._source = ClosedOnce(self._stretch, turn, enter)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._next().__await__()

    async def _next(self) -> Any:
        steps = await self._source
        passing = self._stretch.passing
        if steps is not None or passing is None:
            return steps
        # A source that has ended reads no more, so a new one reads what follows.
        self._stretch.passing = None
        self._source = ClosedOnce(self._stretch, self._turn, self._enter)
        return passing

    async def aclose(self) -> None:
        """Close the iterator, where it can be closed; see `ClosedOnce.aclose`."""
        await self._source.aclose()


class _Stretch:
    """The events up to the next one that goes around the turn. After its end, it can be read again for the next ones.

    Attributes:
        passing: the event at which the stretch ended; `None` while it goes on, and at the end of all events.
    """

    def __init__(self, iterator: AsyncIterator[Any]) -> None:
        self.passing: Any = None
        self._iterator = iterator

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        event = await anext(self._iterator)
        if event["type"] in _PASSING:
            self.passing = event
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        close = getattr(self._iterator, "aclose", None)
        if close is not None:
            await close()
