"""`ToolExecution`: the record of one call, as a value that can be stored and read back."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import time
from typing import Any, Literal, NamedTuple, cast

from ..errors import BlockTool, DeniedError, ToolError, UnknownOutcome
from ..guards.json_text import read_json
from ..types import ToolCall, ToolResult
from .tool_result import exception_of, failure

__all__ = [
    "KnownEnd",
    "Status",
    "ToolExecution",
    "status_of",
    "utc",
    "write_new_result",
    "write_result",
]

Status = Literal["success", "failure", "blocked", "denied", "timeout", "cancelled", "unknown"]
"""How a call ended. `blocked`: a hook or a limit refused it. `denied`: it was not approved. `unknown`: it is not known
whether it had its effect."""


class RecordedError(ToolError):
    """An exception that was read from a record, in place of the original.

    Attributes:
        kind: the name of the original's class.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class ToolExecution:
    """One call and how it ended.

    Attributes:
        id: the call's id, time-ordered unless the provider gave one.
        call: the call that was carried out, as hooks left it.
        result: its result, which the model reads.
        started_at: when it began to be carried out, in UTC.
        completed_at: when its result was known, in UTC.
        status: how it ended.
        attempt: how often the tool was started; 0 if it never was.
    """

    id: str
    call: ToolCall
    result: ToolResult
    started_at: datetime
    completed_at: datetime
    status: Status
    attempt: int = 1

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.call.name

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the call."""
        return self.call.args

    @property
    def value(self) -> Any:
        """The content of a success; `None` for a failure."""
        return None if self.result.error else self.result.content

    @property
    def error(self) -> str | None:
        """The message of a failure; `None` for a success."""
        return self.result.outcome if self.result.error else None

    @property
    def blocked(self) -> bool:
        """Whether a hook, or a limit of the run, refused the call."""
        return self.status == "blocked"

    @property
    def duration(self) -> timedelta:
        """The time from its start to its result."""
        return self.completed_at - self.started_at

    def to_dict(self) -> dict[str, Any]:
        """Write the record as a dict, which JSON can hold if it can hold the arguments and the content."""
        exception = exception_of(self.result)
        return {
            "id": self.id,
            "call": {
                "id": self.call.id,
                "server": self.call.server,
                "name": self.call.name,
                "args": self.call.args,
            },
            "result": {
                "outcome": self.result.outcome,
                "content": self.result.content,
                "error": self.result.error,
                "exception": exception and [_kind(exception), str(exception)],
            },
            "started_at": self.started_at.isoformat(),
            "completed_at": self.completed_at.isoformat(),
            "status": self.status,
            "attempt": self.attempt,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> ToolExecution:
        """Read what `to_dict` wrote: an equal record, with a `RecordedError` in place of an exception."""
        call, result = record["call"], dict(record["result"])
        if (exception := result.get("exception")) is not None:
            result["exception"] = RecordedError(*exception)
        return cls(
            id=record["id"],
            call=ToolCall(**call),
            result=ToolResult(**result),
            started_at=datetime.fromisoformat(record["started_at"]),
            completed_at=datetime.fromisoformat(record["completed_at"]),
            status=cast("Status", record["status"]),
            attempt=record["attempt"],
        )


class KnownEnd(NamedTuple):
    """How a call ended that an earlier program carried out.

    Attributes:
        result: its result.
        started_at: when it was started, in seconds since the epoch; 0 if that is not known.
        completed_at: when its result was there.
        is_new: whether the hooks after calls have not seen it yet, since it was found out afterwards.
    """

    result: ToolResult
    started_at: float
    completed_at: float
    is_new: bool = False

    @classmethod
    def read(
        cls, name: str, stored: str | None, started_at: float | None, ended: float | None
    ) -> KnownEnd:
        """Read what `write_result` wrote; without it, or if it cannot be read, the outcome of the call is unknown.

        Args:
            name: the tool's name.
            stored: the result.
            started_at: when the call was started, if that is known.
            ended: when it ended, if that is known.
        """
        now, is_new = ended or time(), False
        try:
            found: Any = read_json(stored or "")
            result = ToolResult(found["outcome"], found["content"], found["error"])
            is_new = "is_new" in found
            if result.error:
                result.exception = _exception(found["status"], *found["exception"])
        except (ValueError, TypeError, KeyError):
            text = f"It is not known how the call of '{name}' ended: its result cannot be read from the log"
            result = failure(text, UnknownOutcome(text))
        return cls(result, started_at or 0.0, now, is_new)


def write_result(execution: ToolExecution) -> str:
    """Write the result of a call, and how it ended, as JSON for its record in the log.

    Raises:
        TypeError: JSON cannot hold the content.
        ValueError: as above.
    """
    return json.dumps(_written(execution.result))


def write_new_result(result: ToolResult) -> str:
    """Write the result of a call that was found out, before any hook has seen it; otherwise as `write_result`."""
    return json.dumps({**_written(result), "is_new": True})


def _written(result: ToolResult) -> dict[str, Any]:
    exception = exception_of(result)
    return {
        "status": status_of(result),
        "outcome": result.outcome,
        "content": result.content,
        "error": result.error,
        "exception": ["", ""] if exception is None else [_kind(exception), str(exception)],
    }


def _exception(status: Status, kind: str, message: str) -> BaseException:
    """The exception of a failed call, from which `status_of` tells again how it ended."""
    match status:
        case "blocked":
            return BlockTool(message)
        case "denied":
            return DeniedError(message)
        case "unknown":
            return UnknownOutcome(message)
        case "timeout":
            return ToolError(message, timeout=True)
        case "cancelled":
            return asyncio.CancelledError(message)
        case _:
            return RecordedError(kind, message)


def _kind(exception: BaseException) -> str:
    return exception.kind if isinstance(exception, RecordedError) else type(exception).__name__


def status_of(result: ToolResult) -> Status:
    """How a call with this result ended."""
    if not result.error:
        return "success"
    match exception_of(result):
        case BlockTool():
            return "blocked"
        case DeniedError():
            return "denied"
        case UnknownOutcome():
            return "unknown"
        case ToolError(timeout=True):
            return "timeout"
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return "failure"


def utc(seconds: float) -> datetime:
    """Make an aware datetime of a time of `time.time()`."""
    return datetime.fromtimestamp(seconds, UTC)
