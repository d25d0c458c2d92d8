"""One answer of a service: what was read of it, as deltas, and why it is not complete."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from ..errors import Portable
from ..guards.json_text import read_json
from .connection import REPORTED, Read
from .deltas import REDACTED, Delta, ExtraDelta, Finish, OpaqueDelta, ReasoningDelta, TextDelta

__all__ = ["Answer", "IncompleteError", "NotStreamError", "ReportedError"]

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
