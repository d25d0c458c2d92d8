"""The state of a conversation according to its log: its calls without results, and its last row.

The last row of a run that is over is the model's answer, or a row `end` with its output; that of a cancelled run is a
row `cancelled`, that of a failed run a row `error`. If the last row is any other, the program ended during the run.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterable, Mapping, Sequence
from time import time
from typing import Any, NamedTuple

from ..calls.records import IN_DOUBT, UNSETTLED, CallRecord, CallStatus, KnownEnd, dropped
from ..calls.status import status_of
from ..calls.tool_result import failure, unknown
from ..errors import DeniedError, ToolParseError
from ..guards.arguments import check_mapping, refused
from ..guards.json_text import read_json
from ..hooks import Decision, ToolApproved, ToolDenied
from ..hooks.approval import read_decision, write_decision
from ..loading.dataclass import Later, dataclass, replace
from ..protocol.codec import parse_tool_call
from ..runs.run_result import NO_OUTPUT
from ..storage.log import overrides
from ..types import ToolCall, ToolResult
from .cut_answer import report_of

__all__ = [
    "Decisions",
    "OpenBatch",
    "StoredState",
    "decisions_of",
    "given_up_records",
    "rows_before_open_calls",
]

_BEGUN = frozenset({"open", "ended"})
"""The states of a call without a row of results that may have begun."""

Decisions = Mapping[str, Decision | bool]
"""Decisions by the ids of calls; `True` and `False` stand for the plain answers."""


def decisions_of(decisions: Decisions | None) -> dict[str, Decision]:
    """Decisions as values.

    Raises:
        ArgumentError: they are not a dict, or a value is not a decision.
    """
    check_mapping("decisions", decisions, "a dict from the ids of calls to decisions, or None")
    read: dict[str, Decision] = {}
    for id, decision in (decisions or {}).items():
        match decision:
            case bool():
                read[id] = ToolApproved() if decision else ToolDenied()
            case ToolApproved() | ToolDenied():
                read[id] = decision
            case _:
                raise refused(
                    f"the decision for {id!r}", decision, "True, False, ToolApproved or ToolDenied"
                )
    return read


class OpenBatch(NamedTuple):
    """The calls at the end of a conversation that have no results.

    Attributes:
        calls: the calls, with ids.
        records: their records in the log.
    """

    calls: tuple[ToolCall, ...]
    records: tuple[CallRecord, ...]

    @property
    def not_begun(self) -> frozenset[str]:
        """The ids of the calls that are certain not to have run."""
        return frozenset(record.id for record in self.records if record.status not in _BEGUN)

    def decided(self) -> dict[str, Decision]:
        """The decisions made so far, by id."""
        return {
            record.id: read_decision(record.decision)
            for record in self.records
            if record.decision is not None
        }

    def with_decisions(self, decisions: Mapping[str, Decision]) -> OpenBatch:
        """The batch with further decisions; earlier decisions stay."""
        records = [
            record._replace(decision=write_decision(decisions[record.id]))
            if record.id in decisions and record.decision is None
            else record
            for record in self.records
        ]
        return self._replace(records=tuple(records))

    def put_off(self) -> OpenBatch:
        """The batch as it is while a call still waits for a decision."""
        records = [
            record if record.status in _BEGUN else record._replace(status="waiting")
            for record in self.records
        ]
        return self._replace(records=tuple(records))

    def taken_over(self, worker: str) -> tuple[CallRecord, ...]:
        """The records of the calls, taken over by a process.

        Those that have not begun are its own now, and are marked when they begin. Of a call that may have begun, the
        process, the time and the attempt of its start stay.
        """
        return tuple(
            record._replace(attempt=max(record.attempt, 1))  # other programs may have left it at 0
            if record.status in _BEGUN
            else record._replace(worker=worker, status="saved")
            for record in self.records
        )

    def given_up(self) -> tuple[list[ToolResult], list[CallRecord]]:
        """A result for each call of a conversation that went on without them, and their records."""
        results = [
            _given_up(call, record) for call, record in zip(self.calls, self.records, strict=True)
        ]
        now = time()
        records = [
            record._replace(
                status=status_of(result), completed_at=record.completed_at or now, result=None
            )
            for record, result in zip(self.records, results, strict=True)
        ]
        return results, records


def _given_up(call: ToolCall, record: CallRecord) -> ToolResult:
    match record.status:
        case "ended":
            return KnownEnd.of(record).result
        case "waiting":
            why = "nobody had approved it when the conversation went on"
            text = f"Tool '{call.name}' was not run: {why}"
            return failure(text, DeniedError(text))
        case "saved":
            text = f"Tool '{call.name}' was not run: the program ended before the call began"
            return failure(text, CancelledError(text))
        case _:
            return unknown(call.name)


def given_up_records(records: Iterable[CallRecord]) -> list[CallRecord]:
    """Settle the records of calls whose results can no longer get into the conversation."""
    now = time()
    return [
        dropped(record, "the program that ran it ended", now)
        if record.status == "early"
        else record._replace(
            status=status_of(KnownEnd.of(record).result)
            if record.status == "ended"
            else _GIVEN_UP.get(record.status, "unknown"),
            completed_at=record.completed_at or now,
            result=None,
        )
        for record in records
    ]


_GIVEN_UP: dict[CallStatus, CallStatus] = {"waiting": "denied", "saved": "cancelled"}


@dataclass(frozen=True)
class StoredState(Later):
    """The state of a conversation.

    Attributes:
        last: the type of its last row, leaving aside rows without meaning here; `None` if there is none.
        rows: its rows, leaving aside the same.
        ended: the output of a run that a tool ended; `NO_OUTPUT` for any other.
        batch: the calls without results; `None` if all have results.
        is_cut: whether the model was stopped, or refused to go on, after it had written something, and no question
            follows.
        stale: records of earlier calls that were never settled.
        ids: the ids of all its calls.
    """

    last: str | None
    rows: tuple[Any, ...]
    ended: Any
    batch: OpenBatch | None
    is_cut: bool
    stale: tuple[CallRecord, ...]
    ids: frozenset[str]

    @property
    def is_over(self) -> bool:
        """Whether the last question has its answer."""
        return self.batch is None and self.last in ("respond", "end")

    @classmethod
    async def read(cls, storage: Any, conversation_id: str, user_id: str = "") -> StoredState:
        """Read it from the log, of the rows that prompts for this user show; linear in the conversation."""
        page = await storage.read(conversation_id, user_id=user_id)
        return cls._of(page.rows, await storage.calls(conversation_id, user_id=user_id))

    @classmethod
    async def before_question(
        cls, storage: Any, conversation_id: str, user_id: str = ""
    ) -> StoredState:
        """The part of the state that a new question needs: rows are read only if calls are open.

        Its `ids` are those of open calls, at least.
        """
        read = storage.open_calls if overrides(storage, "open_calls", "calls") else storage.calls
        records = await read(conversation_id, user_id=user_id)
        if not any(record.status in IN_DOUBT for record in records):
            return cls._of([], records)
        page = await storage.read(conversation_id, user_id=user_id)
        return cls._of(page.rows, records)

    @classmethod
    def _of(cls, rows: Sequence[Any], records: Sequence[CallRecord]) -> StoredState:
        telling = [row for row in rows if row["type"] not in _SILENT]
        open_records = [record for record in records if record.status in UNSETTLED]
        calls = _calls_without_results(telling)
        newest = open_records[-1].batch if open_records and calls else None
        ours = [record for record in open_records if record.batch == newest]
        if len(ours) > len(calls):
            ours = []
        is_ended = bool(telling) and telling[-1]["type"] == "end"
        ended = _output(telling[-1]["content"]) if is_ended else NO_OUTPUT
        batch = None
        if ours:
            named = zip(calls[len(calls) - len(ours) :], ours, strict=True)
            batch = OpenBatch(
                tuple(replace(call, id=record.id) for call, record in named), tuple(ours)
            )
        return cls(
            last=telling[-1]["type"] if telling else None,
            rows=tuple(telling),
            ended=ended,
            batch=batch,
            is_cut=_is_cut(telling),
            stale=tuple(
                record for record in records if record.status in IN_DOUBT and record not in ours
            ),
            ids=frozenset(record.id for record in records),
        )


_SILENT = frozenset({"metric", "execute"})


def _is_cut(rows: Sequence[Any]) -> bool:
    if len(rows) < 2 or rows[-2]["type"] not in ("think", "respond"):
        return False
    last = rows[-1]
    is_refused = last["type"] == "error" and report_of(last).get("kind") == "refused"
    return is_refused or last["type"] == "cancelled"


def _output(content: str) -> Any:
    """The output in a row `end`, which is empty if there was none; another program may have written any text."""
    if not content:
        return NO_OUTPUT
    try:
        return read_json(content)
    except ValueError:
        return content


def _calls_without_results(rows: Sequence[Any]) -> list[ToolCall]:
    """The calls after the last question and the last results."""
    calls: list[ToolCall] = []
    for row in rows:
        if row["type"] in ("user", "result"):
            calls.clear()
        elif row["type"] == "call":
            try:
                calls.append(parse_tool_call(row["content"]))
            except ToolParseError:
                continue
    return calls


def rows_before_open_calls(rows: Sequence[Mapping[str, Any]]) -> int:
    """How many rows of a conversation there are before calls without results, and the text of the same answer."""
    first_call: int | None = None
    for place, row in enumerate(rows):
        if row["type"] in ("user", "result"):
            first_call = None
        elif row["type"] == "call" and first_call is None:
            first_call = place
    if first_call is None:
        return len(rows)
    while first_call and rows[first_call - 1]["type"] in ("think", "respond"):
        first_call -= 1
    return first_call
