"""Numbers the tool calls of one answer, however its server tells them apart.

Servers that speak chat completions give each piece of a call an index, or none, or the same index to every call; and a
call's id and name once, or with each piece. The pieces returned here are numbered from 0, with each id and name once.
Where nothing but the name tells two calls apart, another name begins another call, and so does the same name once the
arguments are whole.
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
    arguments: ObjectReader = field(default_factory=ObjectReader)  # of a call without an id


class CallNumbers:
    """The calls of one answer so far."""

    def __init__(self) -> None:
        self._calls: list[_NumberedCall] = []
        self._numbers: dict[int, int] = {}  # by the server's index, of the last call that had it

    def read(
        self, index: int | None, id: str | None, name: str | None, arguments: str
    ) -> ToolCallDelta:
        """Give a piece of a call the call's number; an empty id or name becomes `None`."""
        id, name = id or None, name or None
        number = len(self._calls) - 1 if index is None else self._numbers.get(index, -1)
        if number < 0 or self._is_next(self._calls[number], index, id, name, arguments):
            number = len(self._calls)
            self._calls.append(_NumberedCall())
        if index is not None:
            self._numbers[index] = number
        call = self._calls[number]
        delta = ToolCallDelta(
            number, None if call.id else id, None if call.name else name, arguments
        )
        call.id, call.name = call.id or id, call.name or name
        if call.id is None:
            call.arguments.feed(arguments)
        return delta

    @staticmethod
    def _is_next(
        call: _NumberedCall, index: int | None, id: str | None, name: str | None, arguments: str
    ) -> bool:
        """Whether this is the first piece of a call after `call`."""
        if id is not None and call.id is not None:
            return id != call.id
        if name is None or call.name is None:
            return False
        return index is None or name != call.name or bool(arguments and call.arguments.is_whole)
