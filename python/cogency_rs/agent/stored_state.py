"""The state of a conversation according to its log, and the rows that a run writes besides its turns.

The last row of a run that is over is the model's answer, or a row `end` with its output; that of a cancelled run is a
row `cancelled`, that of a failed run a row `error`. If the last row is any other, the program ended during the run.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..calls.record import BEGUN, ENDS, IN_DOUBT, UNSETTLED, CallRecord, given_up, told_apart
from ..errors import ToolParseError
from ..guards.arguments import check_mapping, refused
from ..guards.json import json_value_or_text, read_json
from ..hooks import Decision, ToolApproved, ToolDenied
from ..hooks.approval import read_decision
from ..outside import time
from ..protocol import parse_tool_call
from ..runs.context import RunContext
from ..runs.result import NO_OUTPUT
from ..storage.log import Begun, Row, overrides
from ..turn.saves import save_to_the_end
from ..types import ToolCall, ToolResult
from .answer import report_of

logger: logging.Logger = logging.getLogger(__name__)


class RunLog:
    """The log of a conversation, for one run.

    Each method saves to the end, even when the run is cancelled meanwhile.
    """

    __slots__ = ("_ctx", "_has_begun")

    def __init__(self, ctx: RunContext[Any]) -> None:
        self._ctx = ctx
        self._has_begun = False  # a run that has written no row writes none about its end either

    async def append(self, rows: Sequence[Row], calls: Sequence[CallRecord] = ()) -> None:
        """Save rows and calls together."""
        ctx = self._ctx
        self._has_begun = True
        await save_to_the_end(ctx.storage, ctx.conversation_id, ctx.user_id, rows, calls)

    async def report(
        self,
        code: str,
        content: str,
        *,
        kind: str = "malformed",
        finding: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Save a report of what is wrong with an answer, for the model; returns its event.

        Args:
            code: the code of the event.
            content: what is wrong and what to do, for this model.
            kind: the kind of the event.
            finding: what the log keeps in the place of `content`, if what to do depends on the form of a model that
                reads it: `content` for what is wrong in plain words, `advice` for the name of what to do, and `call`
                for a call to write.
        """
        now = time()
        report = {"kind": kind, "code": code, "content": content, "raw": ""}
        await self.append((("error", json.dumps(report | dict(finding or {})), now),))
        return {"type": "error", **report, "line": None, "column": None, "timestamp": now}

    async def ended(self, output: Any) -> None:
        """Save that the run is completed with this output, although the log does not end with an answer of the model.

        The row is empty for `NO_OUTPUT`.
        """
        content = "" if output is NO_OUTPUT else json.dumps(json_value_or_text(output))
        await self.append((("end", content, time()),))

    async def cancelled(self, message: str) -> dict[str, Any]:
        """Save that a person stopped the run; returns the event that says so."""
        now = time()
        await self.append((("cancelled", message, now),))
        return {"type": "cancelled", "content": message, "timestamp": now}

    async def note_cancellation(self) -> None:
        """Save that the run was cancelled. If that fails, it is only logged."""
        await self._note("cancelled", "")

    async def note_failure(self, error: Exception) -> None:
        """Save that the run failed. If that fails, it is only logged. No prompt shows it: the model made no error."""
        content = f"{type(error).__name__}: {error}"
        await self._note("error", json.dumps({"kind": "failed", "content": content, "raw": ""}))

    async def _note(self, type: str, content: str) -> None:
        if not self._has_begun:
            return
        try:
            await self.append(((type, content, time()),))
        except Exception:
            logger.exception("The end of a run could not be saved (%s)", type)


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
        return frozenset(record.id for record in self.records if record.status not in BEGUN)

    def decided(self) -> dict[str, Decision]:
        """The decisions made so far, by id."""
        return {
            record.id: read_decision(record.decision)
            for record in self.records
            if record.decision is not None
        }

    def put_off(self) -> OpenBatch:
        """The batch as it is while a call still waits for a decision."""
        return self._replace(records=tuple(record.put_off() for record in self.records))

    def given_up(self) -> tuple[list[ToolResult], list[CallRecord]]:
        """A result for each call of a conversation that went on without them, and their records."""
        results = [record.result_without_run() for record in self.records]
        now = time()
        return results, [given_up(record, now) for record in self.records]


def given_up_records(records: Iterable[CallRecord]) -> list[CallRecord]:
    """Settle the records of calls whose results can no longer get into the conversation."""
    now = time()
    return [given_up(record, now) for record in records]


@dataclass(frozen=True)
class StoredState:
    """The state of a conversation.

    Attributes:
        last: the type of its last row, leaving aside rows without meaning here; `None` if there is none.
        rows: its rows, leaving aside the same.
        ended: the output in a last row `end`; `NO_OUTPUT` if the last row is any other.
        batch: the calls without results; `None` if all have results.
        is_cut: whether the model was stopped, or refused to go on, after it had written something, and no question
            follows.
        stale: records of earlier calls that were never settled.
        records: the records of all its calls that were read.
    """

    last: str | None
    rows: tuple[Any, ...]
    ended: Any
    batch: OpenBatch | None
    is_cut: bool
    stale: tuple[CallRecord, ...]
    records: tuple[CallRecord, ...]

    @property
    def is_over(self) -> bool:
        """Whether the last question has its answer."""
        return self.batch is None and self.last in ("respond", "end")

    @classmethod
    async def read(
        cls,
        storage: Any,
        conversation_id: str,
        user_id: str = "",
        *,
        begun: Begun | None = None,
    ) -> StoredState:
        """Read it from the log, of the rows that prompts for this user show; linear in the conversation.

        What was read when the run began is not read again.
        """
        if begun is not None and begun.page is not None:
            return cls._of(begun.page.rows, begun.calls)
        page = await storage.read(conversation_id, user_id=user_id)
        return cls._of(page.rows, await storage.calls(conversation_id, user_id=user_id))

    @classmethod
    async def before_question(
        cls,
        storage: Any,
        conversation_id: str,
        user_id: str = "",
        *,
        begun: Begun | None = None,
    ) -> StoredState:
        """The part of the state that a new question needs: rows are read only if calls are open.

        Its `records` are those of open calls, at least. What was read when the run began is not read again.
        """
        if begun is not None:
            return cls._of([] if begun.page is None else begun.page.rows, begun.calls)
        read = storage.open_calls if overrides(storage, "open_calls", "calls") else storage.calls
        records = await read(conversation_id, user_id=user_id)
        if all(record.status in ENDS for record in records):
            return cls._of([], records)
        page = await storage.read(conversation_id, user_id=user_id)
        return cls._of(page.rows, records)

    @classmethod
    def _of(cls, rows: Sequence[Any], records: Sequence[CallRecord]) -> StoredState:
        records = told_apart(records)
        for record in records:
            record.check_state()
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
                tuple(
                    replace(call, id=record.id, provider_id=record.provider_id)
                    for call, record in named
                ),
                tuple(ours),
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
            records=tuple(records),
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
