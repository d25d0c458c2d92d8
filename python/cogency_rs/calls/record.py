"""The one record of a call, its state machine, and what came of the call.

`CallRecord` is what a log stores of a call. Its status is stored, and changes only by the table `TRANSITIONS`, which
says who may make each change. `tests/calls/transitions.jsonl` has the same table, for the core too.

Invariant: a call that may have begun never becomes one that has not, unless somebody found out that nothing happened.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import DeniedError, StorageError, ToolError, UnknownOutcome
from ..guards.json import read_json
from ..loading import PlainData
from ..outside import is_uuid7
from ..types import CallEnd, ToolCall, ToolResult
from .tool_result import cancelled, exception_of, failure, status_of, unknown

if TYPE_CHECKING:
    from datetime import datetime


CallStatus = Literal["early", "saved", "open", "delegated", "ended", "waiting"] | CallEnd
"""The state of a call. Without a result in the log it is `early` if it began while the model still wrote its batch, and
has no row yet; `saved` if it has not begun; `open` if it may have begun; `delegated` if it has, and a run inside of it
waits; `ended` if it is over and others of its batch are not, so that its result is in its record only; `waiting` if
someone has to approve it, or another call of its batch, first. Otherwise how it ended."""

Actor = Literal["run", "successor", "person", "reconcile"]
"""Who changes the state of a call: the run that made it; a later run that takes the conversation over; a person; or its
tool, when it is asked what happened."""

ENDS: frozenset[CallStatus] = frozenset[CallStatus](
    {"success", "failure", "blocked", "denied", "timeout", "cancelled", "unknown"}
)
"""How calls end."""

NEW: frozenset[CallStatus] = frozenset[CallStatus]({"saved", "open"})
"""The states in which a call's row may be saved."""

BEGUN: frozenset[CallStatus] = frozenset[CallStatus]({"open", "delegated", "ended"})
"""The states of a call without a row of results that may have begun."""

UNSETTLED: frozenset[CallStatus] = NEW | BEGUN | frozenset[CallStatus]({"waiting"})
"""The states of a call that has a row but no result in the log."""

IN_DOUBT: frozenset[CallStatus] = UNSETTLED | frozenset[CallStatus]({"early"})
"""The states of a call that must be settled if the run that made it is over."""

STATES: frozenset[CallStatus] = IN_DOUBT | ENDS
"""All states."""


def _transitions() -> dict[tuple[CallStatus | None, CallStatus], frozenset[Actor]]:
    rows: list[tuple[CallStatus | None, Iterable[CallStatus], Iterable[Actor]]] = [
        (None, ("early", "saved", "open"), ("run",)),
        # Its row is saved; or it does not count.
        ("early", ("open",), ("run",)),
        ("early", ("cancelled",), ("run", "successor")),
        # It begins; or it is refused, answered by a hook or stopped before that.
        ("saved", ("open",), ("run",)),
        ("saved", ENDS - {"unknown"}, ("run",)),
        ("saved", ("waiting",), ("run", "successor")),
        ("saved", ("saved", "cancelled"), ("successor",)),
        # Of a batch that waits no call has begun, though one that nothing could hold back was `open` from its row on.
        ("open", ("waiting", "delegated"), ("run",)),
        ("open", ("open",), ("run", "successor")),
        ("open", ("ended",), ("run", "successor", "person", "reconcile")),
        ("open", ("saved",), ("person", "reconcile")),
        ("open", ENDS, ("run",)),
        ("open", ("unknown",), ("successor",)),
        ("delegated", ("open", *ENDS), ("run",)),
        ("delegated", ("delegated", "unknown"), ("successor",)),
        ("delegated", ("ended",), ("run", "person", "reconcile")),
        ("delegated", ("saved",), ("person", "reconcile")),
        ("waiting", ("waiting",), ("person", "successor")),
        ("waiting", ("saved", "denied"), ("successor",)),
        ("ended", ENDS, ("run", "successor")),
        ("ended", ("ended",), ("successor",)),
        # The model has read that it is unknown, and is told later.
        ("unknown", ("success", "failure", "cancelled"), ("person",)),
    ]
    table: dict[tuple[CallStatus | None, CallStatus], frozenset[Actor]] = {}
    for before, afters, actors in rows:
        for after in afters:
            known = table.get((before, after), frozenset[Actor]())
            table[before, after] = known | frozenset[Actor](actors)
    return table


TRANSITIONS = _transitions()
"""Who may bring a call from one state into another; `None` stands for a call without a record."""


class CallRecord(NamedTuple):
    """How one call went, over all programs that carried it out; the rows of a log have its arguments and its result.

    Attributes:
        id: the call's id, ours and time-ordered: made when the call is first seen, and never used twice. Decisions
            name it, and it is the idempotency key that the tool is given.
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
        provider_id: the id that the provider gave the call, which it may give to others too; `None` if it gave none.
        digest: of what somebody who decides about the call is shown (`digest_of`); `None` as long as nobody has to.
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
    provider_id: str | None = None
    digest: str | None = None

    @property
    def seconds(self) -> float | None:
        """The time from its start to its result; `None` without both."""
        if self.started_at is None or self.completed_at is None:
            return None
        return self.completed_at - self.started_at

    @property
    def execution_id(self) -> str:
        """As the tool is told it, in `ToolContext.execution_id`: the id, which is ours.

        An earlier version took a provider's id, which may be short or come twice; a call of such a log is named by its
        batch, whose id is never used twice, and its place, as its tool was told then.
        """
        is_ours = is_uuid7(self.id) or not self.batch
        return self.id if is_ours else f"{self.batch}-{self.position}"

    @property
    def is_dropped(self) -> bool:
        """Whether the call began early and does not count, so that it has no row."""
        return self.decision is not None and '"dropped"' in self.decision

    def to(self, status: CallStatus, by: Actor, **changes: Any) -> CallRecord:
        """The record in another state, with further changes.

        Args:
            status: the state.
            by: who brings it there.
            changes: other fields.

        Raises:
            StorageError: the log has the call in a state that this version does not know.
            ValueError: `TRANSITIONS` has no such change; nothing should ask for it.
        """
        if by not in TRANSITIONS.get((self.status, status), ()):
            self.check_state()
            raise ValueError(
                f"the call {self.id!r} of '{self.name}' is {self.status}, and {by} may not make it {status}"
            )
        return self._replace(status=status, **changes)

    def check_state(self) -> None:
        """Refuse a state that this version does not know.

        Raises:
            StorageError: it is in one.
        """
        if self.status not in STATES:
            raise StorageError(
                f"the log has the call {self.id!r} of '{self.name}' in the state {self.status!r}, which this program "
                "does not know: a newer version has written it; run: pip install --upgrade cogency-rs"
            )

    def begun(self, worker: str, now: float) -> CallRecord:
        """The record of a call that a process starts, or is about to. One without a row stays `early`.

        Args:
            worker: the process.
            now: seconds since the epoch.
        """
        started = self if self.status == "early" else self.to("open", "run")
        return started._replace(attempt=self.attempt + 1, started_at=now, worker=worker)

    def taken_over(self, worker: str) -> CallRecord:
        """The record of a call without results that another process goes on with.

        One that has not begun is the process's own now, and is marked when it begins. Of one that may have begun, the
        process, the time and the attempt of its start stay.
        """
        if self.status in BEGUN:
            # Other programs may have left the count at 0.
            return self.to(self.status, "successor", attempt=max(self.attempt, 1))
        return self.to("saved", "successor", worker=worker)

    def put_off(self) -> CallRecord:
        """The record while another call of its batch still waits for a decision."""
        return self if self.status in BEGUN else self.to("waiting", "successor")

    def decided(self, decision: str, digest: str | None) -> CallRecord:
        """The record of a call that waits, of which somebody has decided something.

        Args:
            decision: what, as JSON.
            digest: of what was decided about.
        """
        return self.to("waiting", "person", decision=decision, digest=digest)

    def dropped(self, why: str, by: Actor, now: float) -> CallRecord:
        """The record of a call that began early and does not count."""
        early = self._replace(status="early")  # whatever came of it, the log has no row of it
        decision = json.dumps({"dropped": why})
        return early.to("cancelled", by, completed_at=self.completed_at or now, decision=decision)

    def over(self, result: ToolResult, by: Actor, now: float) -> CallRecord:
        """The record of a call whose result is saved in the row of results."""
        return self.to(status_of(result), by, completed_at=self.completed_at or now, result=None)

    def result_without_run(self) -> ToolResult:
        """The result of a call whose conversation goes on without it: no further run can carry it out."""
        match self.status:
            case "ended":
                return KnownEnd.of(self).result
            case "waiting":
                why = "nobody had approved it when the conversation went on"
                text = f"Tool '{self.name}' was not run: {why}"
                return failure(text, DeniedError(text), "denied")
            case "saved":
                text = f"Tool '{self.name}' was not run: the program ended before the call began"
                return failure(text, None, "cancelled")
            case _:
                return unknown(self.name)

    def result_if_stopped(self) -> ToolResult:
        """The result of a call that a turn did not run, because it was stopped; an earlier program may have run it."""
        if self.status == "ended":
            return KnownEnd.of(self).result
        if self.status in BEGUN and self.attempt:
            return unknown(self.name)
        return cancelled()


def given_up(record: CallRecord, now: float) -> CallRecord:
    """Settle the record of a call whose result can no longer get into the conversation."""
    if record.status == "early":
        return record.dropped("the program that ran it ended", "successor", now)
    return record.over(record.result_without_run(), "successor", now)


def told_apart(records: Sequence[CallRecord]) -> Sequence[CallRecord]:
    """The calls of a conversation under ids of which none is there twice.

    An earlier version took the provider's id for the call's, and some providers repeat theirs. Such a call is named by
    its batch, whose id is never used twice, and its place.
    """
    counts = Counter(record.id for record in records)
    if len(counts) == len(records):
        return records
    return [
        record
        if counts[record.id] == 1
        else record._replace(
            id=f"{record.batch}-{record.position}", provider_id=record.provider_id or record.id
        )
        for record in records
    ]


def digest_of(
    name: str, server: str | None, args: object, preview: str | None = None, *, tool: str = ""
) -> str:
    """A digest of a call and its preview, as they are shown for a decision.

    Args:
        name: the tool's one name.
        server: its server.
        args: the arguments.
        preview: what the tool says that the call would do; `None` if it says nothing.
        tool: what is said of the tool: a decision does not hold for another tool that has its name.

    Returns:
        The digest of the call and, after a colon, that of the preview, if there is one.
    """
    # Not every value of Python's JSON has a form of its own in JSON, such as NaN; each has one here.
    call = json.dumps([name, server, args, tool], sort_keys=True, default=repr)
    of_call = hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()
    if preview is None:
        return of_call
    return f"{of_call}:{hashlib.sha256(preview.encode('utf-8', 'surrogatepass')).hexdigest()}"


class RecordedError(ToolError):
    """An exception that was read from a record, in place of the original.

    Attributes:
        kind: the name of the original's class.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class ToolExecution(PlainData):
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
                "provider_id": self.call.provider_id,
            },
            "result": {
                "outcome": self.result.outcome,
                "content": self.result.content,
                "error": self.result.error,
                "exception": exception and [_kind(exception), str(exception)],
                "status": getattr(self.result, "status", None),  # cogency's own results lack it
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
class KnownEnd:
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
                if found["status"] not in ENDS:
                    raise ValueError("it ended in no known way")
                result.status = found["status"]
                result.exception = RecordedError(*found["exception"])
            return cls(result, "is_new" in found)
        except (ValueError, TypeError, KeyError):
            text = f"It is not known how the call to '{record.name}' ended: its result cannot be read from the log"
            return cls(failure(text, UnknownOutcome(text), "unknown"))


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


def _kind(exception: BaseException) -> str:
    return exception.kind if isinstance(exception, RecordedError) else type(exception).__name__


def utc(seconds: float) -> datetime:
    """Make an aware datetime of a time of `time.time()`."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)
