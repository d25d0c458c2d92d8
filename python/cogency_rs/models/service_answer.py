"""One answer of a service: what was read of it, as deltas with numbered calls, and why it is not complete.

Servers that speak chat completions give each piece of a call an index, or none, or the same index to every call; an id
and a name once, or with each piece; to every call the same id; or to the rest of a call another index than to its first
piece. The pieces returned here are numbered from 0, with each id and name once.

A piece belongs to the call with its id; to the one that last had its index; or, if neither is known and it has no name,
to the last call. Where nothing but the name tells two calls apart, another name begins another call, and so does the
same name once the arguments are whole.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from .._core import Finish, ObjectReader
from ..errors import Portable
from ..guards.json import read_json
from .connection import REPORTED, Read
from .request import (
    REDACTED,
    Delta,
    ExtraDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)


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


_log = logging.getLogger("cogency_rs")


class IncompleteError(Portable):
    """The stream ended before the answer did, or cannot be read. The text says how that is known."""


class NotStreamError(Portable):
    """The service answered with something that is not a stream of events. The text says what came."""


class ReportedError(Portable):
    """The service reported an error with a status that says that all is well.

    Attributes:
        body: what it reported.
        is_answering: whether the answer had begun.
    """

    def __init__(self, body: Mapping[str, Any], *, is_answering: bool) -> None:
        super().__init__("the service reported an error")
        self.body = body
        self.is_answering = is_answering


class Answer:
    """What was read of one answer.

    Args:
        api: how it was read.
        declared: its content type.
        wants_reason: whether the service says why its answers end, so that one without a reason was cut.

    Attributes:
        has_reason: whether the service said why the answer ended.
        is_over: whether nothing more will be read of it.
        fault: why it is not complete; the deltas before that were handed out.
    """

    __slots__ = (
        "_declared",
        "_gives_up",
        "_has_begun",
        "_wants_reason",
        "fault",
        "has_reason",
        "is_over",
    )

    def __init__(self, api: str, declared: str, *, wants_reason: bool) -> None:
        self._gives_up = api == "completions"  # a server may say so with a finish_reason
        self._declared = declared
        self._has_begun = False
        self._wants_reason = wants_reason
        self.has_reason = False
        self.is_over = False
        self.fault: Exception | None = None

    def take(self, read: Read) -> list[Delta]:
        """The deltas of what was read. If only the end of an answer is missing, it is complete."""
        if not read.is_over and [*map(type, read.deltas)] == _ONE_TEXT:  # most are
            self._has_begun = True
            return read.deltas
        deltas = self._taken(read.deltas)
        if self.fault is not None and read.error is not None:
            self.fault = read.error
        self.is_over = read.is_over or self.fault is not None
        return deltas

    def _taken(self, deltas: list[Any]) -> list[Delta]:
        taken: list[Delta] = []
        for delta in deltas:
            match delta:
                case ("fault", "NoReason", *_) if self._has_begun and not self._wants_reason:
                    _log.warning(
                        "the server did not say why the answer ended: it may have been cut"
                    )
                    taken.append(Finish(None))
                case ("fault", kind, message, body):
                    self.fault = self._fault(kind, message, body)
                case ("redacted", data):
                    taken.append(ReasoningDelta("", f"{REDACTED}{data}"))
                case ("opaque", call, name, value):
                    taken.append(OpaqueDelta(name, value, call))
                case ("extra", path, value):
                    taken.append(ExtraDelta(path, value))
                case ("note", words):
                    _log.warning("%s", words)
                case (str(), *_):
                    pass
                case Finish() if self._gives_up and delta.kind == "broken":
                    self.fault = IncompleteError(delta.reason or "")
                case Finish():
                    self.has_reason |= delta.reason is not None
                    taken.append(finish_of(delta))
                case _:
                    self._has_begun = True
                    taken.append(delta)
        return taken

    def _fault(self, kind: str, message: str, body: str) -> Exception:
        match kind:
            case "Reported":
                reported: Any = None
                if len(body) <= REPORTED:
                    with suppress(ValueError):
                        reported = read_json(body)
                is_object = isinstance(reported, Mapping)
                said = (
                    cast("Mapping[str, Any]", reported)
                    if is_object
                    else {"message": body[:REPORTED]}
                )
                return ReportedError(said, is_answering=self._has_begun)
            case "NotStream" if self._declared == "text/event-stream" and not body.strip():
                return IncompleteError("it ended before it sent anything")
            case "NotStream":
                declared = f", declared as {self._declared}" if self._declared else ""
                return NotStreamError(f"{message.removeprefix(_NOT_STREAM)}{declared}")
            case _:
                return IncompleteError(message.removeprefix("the stream "))


_ONE_TEXT = [TextDelta]

_NOT_STREAM = "the answer is not a stream of events, but "

_WORDS = {"whole": "stop", "calls": "tool_calls", "length": "length"}
"""The words of chat completions for the end of an answer, by what the provider's word means."""


def finish_of(finish: Finish) -> Finish:
    """Why an answer ended, in the words of chat completions: `stop`, `length`, `tool_calls`; others as they are."""
    return Finish(_WORDS[finish.kind]) if finish.kind in _WORDS else finish
