"""`CallRecord`: the record of one call, which logs store; and `ToolExecution`: a call, its result and that record."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import BlockTool, DeniedError, ToolError, UnknownOutcome
from ..guards.json_text import read_json
from ..ids import is_uuid7
from ..loading.dataclass import Later, dataclass
from ..types import ToolCall, ToolResult
from .status import Status, status_of
from .tool_result import exception_of, failure

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "IN_DOUBT",
    "NEW",
    "UNSETTLED",
    "CallRecord",
    "CallStatus",
    "KnownEnd",
    "ToolExecution",
    "dropped",
    "utc",
    "write_new_result",
    "write_result",
]

CallStatus = Literal["early", "saved", "open", "ended", "waiting"] | Status
"""The state of a call. Without a result in the log it is `early` if it began while the model still wrote its batch, and
has no row yet; `saved` if it has not begun; `open` if it may have begun; `ended` if it is over and others of its batch
are not, so that its result is in its record only; `waiting` if someone has to approve it, or another call of its batch,
first. Otherwise how it ended."""

NEW = frozenset({"saved", "open"})
"""The states in which a call's row may be saved."""

UNSETTLED = frozenset({*NEW, "ended", "waiting"})
"""The states of a call that has a row but no result in the log."""

IN_DOUBT = UNSETTLED | {"early"}
"""The states of a call that must be settled if the run that made it is over."""


class CallRecord(NamedTuple):
    """How one call went, over all programs that carried it out; the rows of a log have its arguments and its result.

    Attributes:
        id: the call's id; time-ordered unless the provider gave one.
        batch: the id of the batch, shared by the calls that ran together; time-ordered, never used twice. It is "" if
            the batch is not part of a turn, so that no log can have the call.
        position: its place in the batch, from 0. A call that does not count in the end keeps its place.
        name: the tool's name.
        server: the name of the tool's server; `None` for the agent's own tools.
        status: one of `UNSETTLED` until the results are saved; `"early"` as long as it has begun and has no row.
        attempt: how often the tool was started.
        started_at: when it began to be carried out, in seconds since the epoch; `None` if it has not.
        completed_at: when its result was there; `None` while it is open.
        worker: the process that carries it out, `"host:pid"`.
        decision: a JSON object; `None` if nothing was decided. Either `approved`, a bool, with the `args` to run if
            they were changed, or the `message` of a denial; or `dropped`, the reason why a call that began early does
            not count.
        result: a JSON object with the result of a call that is `ended`; otherwise `None`, since the row of results has
            it.
        settling: a JSON object: how an unknown outcome was settled, or was tried to be; `None` if nobody tried.
    """

    id: str
    batch: str
    position: int
    name: str
    server: str | None = None
    status: CallStatus = "open"
    attempt: int = 0
    started_at: float | None = None
    completed_at: float | None = None
    worker: str | None = None
    decision: str | None = None
    result: str | None = None
    settling: str | None = None

    @property
    def seconds(self) -> float | None:
        """The time from its start to its result; `None` without both."""
        if self.started_at is None or self.completed_at is None:
            return None
        return self.completed_at - self.started_at

    @property
    def is_dropped(self) -> bool:
        """Whether the call began early and does not count, so that it has no row."""
        return self.decision is not None and '"dropped"' in self.decision

    @property
    def execution_id(self) -> str:
        """As the tool is told it, in `ToolContext.execution_id`.

        It is the id, if that is ours. A provider's may be short, or come twice, so that what somebody else pays for
        could be taken for this call: then it is made of the batch, whose id is never used twice.
        """
        return f"{self.batch}-{self.position}" if self.batch and not is_uuid7(self.id) else self.id


def dropped(record: CallRecord, why: str, now: float) -> CallRecord:
    """The record of a call that began early and does not count."""
    return record._replace(
        status="cancelled",
        completed_at=record.completed_at or now,
        decision=json.dumps({"dropped": why}),
    )


class RecordedError(ToolError):
    """An exception that was read from a record, in place of the original.

    Attributes:
        kind: the name of the original's class.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class ToolExecution(Later):
    """One call, what came of it, and the record of how that went.

    Attributes:
        call: the call that was carried out, as hooks left it.
        result: its result, which the model reads.
        record: its id, status, times and attempts, as a log has them, under the name that the model asked for.
    """

    call: ToolCall
    result: ToolResult
    record: CallRecord

    @property
    def id(self) -> str:
        """The id of the call."""
        return self.record.id

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.call.name

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the call."""
        return self.call.args

    @property
    def status(self) -> CallStatus:
        """How it ended."""
        return self.record.status

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

    def to_dict(self) -> dict[str, Any]:
        """Write it as a dict, which JSON can hold if it can hold the arguments and the content."""
        exception = exception_of(self.result)
        return {
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
            "record": self.record._asdict(),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> ToolExecution:
        """Read what `to_dict` wrote: an equal value, with a `RecordedError` in place of an exception."""
        result = dict(written["result"])
        if (exception := result.get("exception")) is not None:
            result["exception"] = RecordedError(*exception)
        return cls(
            ToolCall(**written["call"]), ToolResult(**result), CallRecord(**written["record"])
        )


@dataclass(frozen=True)
class KnownEnd(Later):
    """What came of a call that an earlier program carried out, or of which it was found out.

    Attributes:
        result: its result.
        is_new: whether the hooks have not seen it yet, since it was found out afterwards.
    """

    result: ToolResult
    is_new: bool = False

    @classmethod
    def of(cls, record: CallRecord) -> KnownEnd:
        """Read the result in a record that is `ended`; if it cannot be read, the outcome of the call is unknown."""
        try:
            found: Any = read_json(record.result or "")
            result = ToolResult(found["outcome"], found["content"], found["error"])
            if result.error:
                result.exception = _exception(found["status"], *found["exception"])
            return cls(result, "is_new" in found)
        except (ValueError, TypeError, KeyError):
            text = f"It is not known how the call to '{record.name}' ended: its result cannot be read from the log"
            return cls(failure(text, UnknownOutcome(text)))


def write_result(result: ToolResult) -> str:
    """Write the result of a call, and how it ended, as JSON for its record in the log.

    Raises:
        TypeError: JSON cannot hold the content.
        ValueError: as above.
    """
    return json.dumps(_written(result))


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


def utc(seconds: float) -> datetime:
    """Make an aware datetime of a time of `time.time()`."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)
