"""What became of one call, as a value that can be stored and read again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from .errors import BlockTool, DeniedError, ToolError, UnknownOutcome
from .types import ToolCall, ToolResult

__all__ = ["Status", "ToolExecution", "status_of", "utc"]

Status = Literal["success", "failure", "blocked", "denied", "timeout", "cancelled", "unknown"]
"""How a call ended. `blocked`: a hook or a limit refused it; `denied`: nobody agreed to it; `unknown`: it is not known
whether it had its effect."""


class RecordedError(ToolError):
    """An exception that is known from a record only.

    Attributes:
        kind: the name of its class.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class ToolExecution:
    """One call and what became of it.

    Attributes:
        id: the call's own, time-ordered unless the provider gave one.
        call: what was carried out, as hooks and middleware left it.
        result: what the model reads.
        started_at: when the call began to be carried out, in UTC.
        completed_at: when its result was there, in UTC.
        status: how it ended.
        attempt: how often the tool was started; 0 where it never was.
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
        """Which tool."""
        return self.call.name

    @property
    def args(self) -> dict[str, Any]:
        """With which arguments."""
        return self.call.args

    @property
    def value(self) -> Any:
        """What a success gave; `None` of a failure."""
        return None if self.result.error else self.result.content

    @property
    def error(self) -> str | None:
        """What a failure says; `None` of a success."""
        return self.result.outcome if self.result.error else None

    @property
    def blocked(self) -> bool:
        """Whether a hook, or a limit of its run, refused it."""
        return self.status == "blocked"

    @property
    def duration(self) -> timedelta:
        """From its start to its result."""
        return self.completed_at - self.started_at

    def to_dict(self) -> dict[str, Any]:
        """Write it as a dict that JSON can hold, if its arguments and its content can be."""
        exception = getattr(self.result, "exception", None)  # cogency's own results have none
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
        """Read what `to_dict` wrote: an equal record, whose exception is known by its class name and text."""
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


def _kind(exception: BaseException) -> str:
    return exception.kind if isinstance(exception, RecordedError) else type(exception).__name__


def status_of(result: ToolResult) -> Status:
    """How the call ended whose result this is."""
    if not result.error:
        return "success"
    match getattr(result, "exception", None):  # cogency's own results have none
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
    """A time of `time.time()` as an aware datetime."""
    return datetime.fromtimestamp(seconds, UTC)
