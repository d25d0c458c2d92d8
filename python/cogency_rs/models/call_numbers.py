"""Numbers the tool calls of one answer, however its server tells them apart.

Servers that speak chat completions give each piece of a call an index, or none, or the same index to every call; an id
and a name once, or with each piece; to every call the same id; or to the rest of a call another index than to its first
piece. The pieces returned here are numbered from 0, with each id and name once.

A piece belongs to the call with its id; to the one that last had its index; or, if neither is known and it has no name,
to the last call. Where nothing but the name tells two calls apart, another name begins another call, and so does the
same name once the arguments are whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .._core import ObjectReader
from .deltas import ToolCallDelta

__all__ = ["CallNumbers"]


@dataclass
class _NumberedCall:
    id: str | None = None
    name: str | None = None
    arguments: ObjectReader = field(default_factory=ObjectReader)

    def goes_on(self, name: str | None) -> bool:
        """Whether a piece with this name can be a part of it."""
        return (name is None or name == self.name) and not self.arguments.is_whole


class CallNumbers:
    """The calls of one answer so far."""

    def __init__(self) -> None:
        self._calls: list[_NumberedCall] = []
        self._by_index: dict[int, int] = {}  # the last call that had the index
        self._by_id: dict[str, int] = {}  # the last call that had the id

    def read(
        self, index: int | None, id: str | None, name: str | None, arguments: str
    ) -> ToolCallDelta:
        """Give a piece of a call the call's number; an empty id or name becomes `None`."""
        id, name = id or None, name or None
        number = self._number(index, id, name, arguments)
        if number is None:
            number = len(self._calls)
            self._calls.append(_NumberedCall())
        if index is not None:
            self._by_index[index] = number
        call = self._calls[number]
        delta = ToolCallDelta(
            number, None if call.id else id, None if call.name else name, arguments
        )
        call.id, call.name = call.id or id, call.name or name
        if id is not None:
            self._by_id[id] = number
        call.arguments.feed(arguments)
        return delta

    def number_of(self, index: int | None) -> int | None:
        """The number of the call that last had an index; `None` if none had it."""
        return None if index is None else self._by_index.get(index)

    def _number(
        self, index: int | None, id: str | None, name: str | None, arguments: str
    ) -> int | None:
        """The number of the call that a piece is a part of; `None` if it begins one."""
        last = len(self._calls) - 1 if self._calls else None
        here = last if index is None else self._by_index.get(index)
        if id is not None:
            if index is not None and here is not None and self._calls[here].id == id:
                return here
            if (same := self._by_id.get(id)) is not None:
                is_rest = index is None and not arguments
                return same if is_rest or self._calls[same].goes_on(name) else None
        elif here is None and name is None and last is not None and self._calls[last].goes_on(None):
            return last  # under an index that no call had
        if here is None:
            return None
        call = self._calls[here]
        if id is not None and call.id is not None:
            return None
        if name is None or call.name is None:
            return here
        is_next = index is None or name != call.name or (arguments and call.arguments.is_whole)
        return None if is_next else here
