"""One answer of a service: its bytes, or the objects that an SDK has made of them, read into deltas.

An SDK's stream has the response that it reads, and its bytes are read here. Where something has wrapped the stream, as
instrumentation does, or where the bytes are not server-sent events, there are only objects: these are read as the JSON
that they were made of. One reader reads both.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, cast

from .._core import AnswerReader
from ..json_text import read_json
from ..redaction import Secrets
from .anthropic_history import REDACTED
from .deltas import Delta, Finish, ReasoningDelta

__all__ = ["Answer", "IncompleteError", "NotStreamError", "ReportedError", "pieces_of"]

_log = logging.getLogger("cogency_rs")


class IncompleteError(Exception):
    """The stream ended before the answer did, or cannot be read. The text says how that is known."""


class NotStreamError(Exception):
    """The service answered with something that is not a stream of events. The text says what came."""


class ReportedError(Exception):
    """The service reported an error with a status that says that all is well.

    Attributes:
        body: what it reported.
        is_answering: whether the answer had begun.
    """

    def __init__(self, body: Mapping[str, Any], *, is_answering: bool) -> None:
        super().__init__("the service reported an error")
        self.body = body
        self.is_answering = is_answering


async def pieces_of(stream: Any, kind: type[Any]) -> AsyncGenerator[bytes, None]:
    """What an SDK's stream has read: its bytes, if it is of this class of the SDK's, or its objects."""
    response: Any = getattr(stream, "response", None) if type(stream) is kind else None
    if response is not None and _content_type(stream) != _EVENT_STREAM_OF_AWS:
        async for data in response.aiter_bytes():
            yield data
        return
    async for chunk in stream:
        yield b"data: %s\n\n" % _json_of(chunk)


_EVENT_STREAM_OF_AWS = "application/vnd.amazon.eventstream"


def _content_type(stream: Any) -> str:
    """What an SDK's stream is declared to be; empty if it does not say."""
    headers = getattr(getattr(stream, "response", None), "headers", {})
    return str(headers.get("content-type", "")).partition(";")[0].strip().lower()


def _json_of(chunk: Any) -> bytes:
    """The JSON that an object was made of, on one line."""
    if hasattr(chunk, "model_dump_json"):
        text: str = chunk.model_dump_json(exclude_unset=True, warnings=False)
    else:
        text = json.dumps(chunk, default=vars)
    return text.encode("utf-8", "surrogatepass")


class Answer:
    """Reads one answer.

    Attributes:
        is_over: whether nothing more will be read of it.
        fault: why it is not complete; the deltas before that were handed out.
    """

    def __init__(
        self, api: Literal["completions", "messages"], secrets: Secrets, stream: Any
    ) -> None:
        self._reader = AnswerReader(api, secrets=secrets.pairs)
        self._gives_up = api == "completions"  # a server may say so with a finish_reason
        self._declared = _content_type(stream)
        self._has_begun = False
        self.is_over = False
        self.fault: Exception | None = None

    def feed(self, data: bytes) -> list[Delta]:
        """Read the next bytes."""
        deltas = self._taken(self._reader.feed(data))
        self.is_over |= self._reader.is_done
        return deltas

    def finish(self) -> list[Delta]:
        """The deltas after the last bytes."""
        self.is_over = True
        return self._taken(self._reader.finish())

    def break_off(self, error: Exception) -> list[Delta]:
        """The last deltas of an answer whose bytes broke off. If only their end is missing, it is complete."""
        self.is_over = True
        deltas = self._taken(self._reader.break_off(type(error).__name__))
        if self.fault is not None:
            self.fault = error
        return deltas

    def _taken(self, deltas: list[Any]) -> list[Delta]:
        taken: list[Delta] = []
        for delta in deltas:
            match delta:
                case ("fault", kind, message, body):
                    self.fault = self._fault(kind, message, body)
                case ("redacted", data):
                    taken.append(ReasoningDelta("", f"{REDACTED}{data}"))
                case ("note", words):
                    _log.warning("%s", words)
                case (str(), *_):
                    pass
                case Finish() if self._gives_up and delta.kind == "broken":
                    self.fault = IncompleteError(delta.reason or "")
                case Finish():
                    taken.append(finish_of(delta))
                case _:
                    self._has_begun = True
                    taken.append(delta)
        self.is_over |= self.fault is not None
        return taken

    def _fault(self, kind: str, message: str, body: str) -> Exception:
        match kind:
            case "Reported":
                try:
                    reported: Any = read_json(body)
                except ValueError:
                    reported = None
                is_object = isinstance(reported, Mapping)
                said = cast("Mapping[str, Any]", reported) if is_object else {"message": body}
                return ReportedError(said, is_answering=self._has_begun)
            case "NotStream" if self._declared == "text/event-stream" and not body.strip():
                return IncompleteError("it ended without a word")
            case "NotStream":
                declared = f", declared as {self._declared}" if self._declared else ""
                return NotStreamError(f"{message.removeprefix(_NOT_STREAM)}{declared}")
            case _:
                return IncompleteError(message.removeprefix("the stream "))


_NOT_STREAM = "the answer is not a stream of events, but "

_WORDS = {"whole": "stop", "calls": "tool_calls", "length": "length"}
"""The words of chat completions for the end of an answer, by what the provider's word means."""


def finish_of(finish: Finish) -> Finish:
    """Why an answer ended, in the words of chat completions: `stop`, `length`, `tool_calls`; others as they are."""
    return Finish(_WORDS[finish.kind]) if finish.kind in _WORDS else finish
