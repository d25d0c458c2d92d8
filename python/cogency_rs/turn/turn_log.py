"""The log of one turn: its rows on their way to the storage, and its calls until they are settled.

A call gets its id and its record when its row is saved, and its record is settled in the same save as its results. A
storage that does not follow the protocol `Log` gets only the rows.
"""

from __future__ import annotations

import inspect
import logging
from asyncio import CancelledError, Future
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from .._core import EarlyCall, WithdrawnCalls
from ..calls.record import CallRecord, CallStatus, ToolExecution, write_result
from ..errors import ToolError
from ..hooks.approval import Need, Undecided, write_decision
from ..outside import monotonic, time, uuid7, worker
from ..storage.log import Row
from ..tools.registry import tool_call
from ..tools.toolbox import ResolvedCall, Toolbox
from ..types import ToolCall, ToolResult, TurnEvent
from .saves import STALE, TurnSaves, finish, is_over
from .settings import TurnSettings, TurnSource

logger: logging.Logger = logging.getLogger(__name__)

_TRIES = 3
"""How often the start of a call is written if each time takes longer than that."""

TurnRow = tuple[str, str, float]
"""A row of a turn: its type, its content, and its time."""

TurnStep: TypeAlias = TurnEvent | tuple[TurnRow, ...] | list[str] | EarlyCall | WithdrawnCalls

Steps: TypeAlias = list[TurnStep]
"""In order: event dicts to emit, tuples of rows to save, lists of calls to run, calls that may begin before their batch
is complete, and the places from which such calls do not count."""

Executions: TypeAlias = Callable[[], Sequence[ToolExecution]]


class TurnLog:
    """The rows of one turn, on their way to the storage.

    The log notes when a call begins if one of its batch may have to wait between its row and its start; otherwise they
    count as begun from their row on, which costs no commit.

    Args:
        settings: the conversation's.
        given: what the turn is made of.
        written_ids: whether the model wrote the ids of calls, not its provider: they are not kept.

    Attributes:
        saves: carries the saves out.
        calls: the calls that are in the log and have no result there, in order, with their tools.
        records: of the same calls, each as it was before this turn started it.
        needs: what approval each of them needs, if calls wait for approval.
    """

    def __init__(self, settings: TurnSettings, given: TurnSource, *, written_ids: bool) -> None:
        self.saves = TurnSaves(
            settings.execution.storage, settings.conversation_id, settings.user_id
        )
        self._settings = settings
        self._parts = given.parts_of_calls
        self._known = given.known
        self._written_ids = written_ids
        self._tools: Toolbox | None = None
        self.calls: Sequence[ResolvedCall] = ()
        self.records: list[CallRecord] = []
        self.needs: Sequence[Need] = ()
        self._early: Sequence[
            CallRecord
        ] = ()  # of calls that have begun and have no row yet, in order
        self._batch: tuple[str, int] | None = None  # its id, and how many of its places have a call
        self._executions: Executions | None = None

    @property
    def tools(self) -> Toolbox:
        """The tools that the calls of the batch may mean: those that there were at its first call."""
        if self._tools is None:
            self._tools = self._settings.toolbox()
        return self._tools

    @property
    def has_early_calls(self) -> bool:
        """Whether the log notes a call that has begun and has no row."""
        return bool(self._early)

    def is_due(self, index: int, attempts: int) -> bool:
        """Whether `begin` has something to write, or to make sure of, before a call starts.

        Args:
            index: the place of the call among `calls`.
            attempts: how often this turn has started it before.
        """
        is_new = self.saves.keeps_ends if attempts else self.records[index].status == "saved"
        return is_new or self.saves.is_stale

    async def begin(self, index: int, attempts: int, first: float) -> None:
        """Note in the log that a call begins, before it does, so that it is not run twice after a crash.

        If this is cancelled, the note is saved or not, and the call must not run in either case.

        Args:
            index: the place of the call among `calls`.
            attempts: how often this turn has started it before.
            first: when it did so first.

        Raises:
            ToolError: the note could not be saved, or took so long each time that another process may go on with the
                call; so the call must not run.
        """
        record = self.records[index]
        noted = record
        if self.saves.keeps_ends if attempts else record.status == "saved":
            noted = record.begun(worker(), time())
            if attempts:
                noted = noted._replace(attempt=noted.attempt + attempts, started_at=first)
        # Once more if this process was stopped meanwhile: the log refuses what comes from one that lost its claim.
        for _ in range(_TRIES):
            began = monotonic()
            try:
                saving = self.saves.append((), [noted])
                if inspect.isawaitable(saving):
                    await saving
            except Exception as error:
                raise ToolError(
                    f"Tool '{record.name}' was not run, because its start could not be logged: {error}",
                    cause=error,
                ) from error
            self.records[index] = record.to("open", "run")
            if monotonic() - began <= STALE:
                self.saves.written = max(self.saves.written, began)
                return
        raise ToolError(
            f"Tool '{record.name}' was not run, because the log took more than {STALE:.0f} s each time for its start"
        )

    def results_of_stopped(self) -> list[ToolResult]:
        """A result for each call, if the turn is stopped before they run; what an earlier program did stays."""
        return [record.result_if_stopped() for record in self.records]

    def note_ends(self, executions: Iterable[ToolExecution]) -> Future[Any] | None:
        """Begin to save that calls are over, with their results; their row of results comes later.

        Returns:
            The save; `None` if there is none, or it is over.
        """
        # Their records say how they ended, which counts once the row of results is saved.
        ended = [
            each.record._replace(status="open").to("ended", "run", result=write_result(each.result))
            for each in executions
        ]
        return self.saves.note(ended) if ended else None

    def _with_parts(self, rows: tuple[TurnRow, ...]) -> Sequence[Row]:
        """The rows, with its parts for that of a batch's first call."""
        place = next((place for place, row in enumerate(rows) if row[0] == "call"), None)
        if place is None or self.calls or not (parts := self._parts()):
            return rows
        return [*rows[:place], (*rows[place], parts), *rows[place + 1 :]]

    def settle(self, executions: Executions) -> None:
        """Take what settles the calls: `executions` gives their records, which are saved with their results."""
        self._executions = executions

    async def save(self, rows: tuple[TurnRow, ...], *, to_the_end: bool = False) -> None:
        """Save rows that belong together.

        A save in a `Log` goes on even if the turn is cancelled meanwhile, so that later rows come after these. In
        another storage that holds only for calls and results, so that it is known which calls are in the log, and with
        `to_the_end`.
        """
        kinds = {kind for kind, _, _ in rows}
        settled = self._settled() if "result" in kinds else []
        calls = [self.read(content) for kind, content, _ in rows if kind == "call"]
        if self._known and kinds == {"call"}:
            records = self._known[: len(calls)]
            pairs = zip(calls, records, strict=True)
            recall = self.tools.recall
            recalled = [recall(call, each.name, each.server) for (call, _), each in pairs]
            _give_ids(recalled, records)
            self._add(recalled, records)
            self._known = self._known[len(calls) :]
            return
        opened, began = self._opened(calls) if calls else [], monotonic()
        before = [_before_its_start(record) for record in opened]
        saves = self.saves
        if saves.keeps_records:
            saving = saves.append(self._with_parts(rows), [*settled, *opened])
        elif saves.way == "save_messages":
            saving = saves.storage.save_messages([saves.whole(row) for row in rows])
        else:
            saving = self._save_each(rows, calls, before)
            calls, before = [], []  # counted one by one
        if is_over(saving) or not inspect.isawaitable(saving):  # a plain function has saved them
            self._add(calls, before)
            saves.written = began
            return
        if not (to_the_end or saves.keeps_records or "call" in kinds or "result" in kinds):
            saves.is_torn = True
            await saving
            saves.is_torn = False
            return
        cancelled = await finish(saving)
        self._add(calls, before)
        saves.written = began
        if cancelled is not None:
            raise cancelled

    def read(self, content: str) -> ResolvedCall:
        """The call that a row holds, with its tool. It has no id yet, which its record gives it."""
        call = tool_call(content)
        call.provider_id = None if self._written_ids else call.id
        call.id = None
        return self.tools.resolve(call)

    async def begin_early(self, call: ResolvedCall) -> CallRecord:
        """Note in the log that a call begins before its row is known; returns its record from before."""
        [record] = self._new([call], "early")
        # Before the save, so that the call is settled even if that is cancelled.
        self._early = [*self._early, record]
        await self.saves.append_records([record])
        return _before_its_start(record)

    async def drop(self, place: int, executions: Sequence[ToolExecution], why: str) -> None:
        """Settle calls that have begun and do not count.

        Args:
            place: the first call's place in the batch; calls that have a row stay, and their starts are counted.
            executions: the executions of these calls.
            why: the reason, for the log.
        """
        with_row = executions[: max(len(self.records) - place, 0)]
        for index, execution in enumerate(with_row, start=place):
            before, record = self.records[index], execution.record
            if record.attempt > before.attempt:
                self.records[index] = before._replace(
                    attempt=record.attempt, started_at=record.started_at, worker=record.worker
                )
        first = max(place - len(self.calls), 0)
        records, self._early = [*map(_before_its_start, self._early[first:])], self._early[:first]
        if not records:
            return
        if not (self.records or self._early):
            self._batch = self._tools = None
        now, carried_out = time(), executions[max(len(self.calls) - place, 0) :]
        over = [*(each.record for each in carried_out), *records[len(carried_out) :]]
        await self.saves.append_records([record.dropped(why, "run", now) for record in over])

    async def wait(self, digests: Sequence[str | None]) -> tuple[list[ToolCall], list[ToolCall]]:
        """Note in the log that the calls wait for approval. Those that must not run at all are noted as denied.

        Args:
            digests: of what is shown of each that somebody is asked about.

        Returns:
            The calls with their ids, and those of them that somebody must decide about.
        """
        calls = [each.call for each in self.calls]
        asking = [call for call, need in zip(calls, self.needs, strict=True) if need is True]
        waiting: list[CallRecord] = []
        noted = zip(self.calls, self.records, self.needs, digests, strict=True)
        for each, record, need, digest in noted:
            decision = None
            if isinstance(need, Undecided) and each.tool is not None:
                decision = write_decision(need)
            waiting.append(record.to("waiting", "run", decision=decision, digest=digest))
        try:
            await self.saves.append_records(waiting)
        except CancelledError:  # they are saved
            self._close()
            raise
        self._close()
        return calls, asking

    async def save_what_is_left(self, steps: Steps) -> None:
        """Save the rows among the last steps of a turn that an error has ended; a failure is logged, not raised."""
        for step in steps:
            if isinstance(step, tuple):
                try:
                    await self.save(step, to_the_end=True)
                except Exception:
                    logger.exception("The rest of a stopped turn could not be saved")

    async def _save_each(
        self, rows: tuple[TurnRow, ...], calls: list[ResolvedCall], records: list[CallRecord]
    ) -> None:
        left = zip(calls, records, strict=True)
        for row in rows:
            await self.saves.storage.save_message(*self.saves.whole(row))
            if row[0] == "call":
                call, record = next(left)
                self._add([call], [record])

    def _opened(self, calls: list[ResolvedCall]) -> list[CallRecord]:
        """The records of calls that are about to be saved.

        Calls that began early are no longer early, even if it is not known whether the save will have succeeded.
        """
        begun = [record.to("open", "run") for record in self._early[: len(calls)]]
        _give_ids(calls, begun)
        self._early = self._early[len(calls) :]
        left = calls[len(begun) :]
        if left and self._settings.may_be_held([*self.calls, *calls]):
            return [*begun, *self._new(left, "saved")]
        return [*begun, *self._new(left, "open")]

    def _new(self, calls: list[ResolvedCall], status: CallStatus) -> list[CallRecord]:
        """New records, for calls that the log does not have. Calls that do not wait are started with them."""
        if not calls:
            return []
        if self._batch is None:
            self._batch = (self.records[0].batch if self.records else uuid7(), len(self.records))
        (batch, place), here = self._batch, worker()
        self._batch = (batch, place + len(calls))
        attempt, started_at = (0, None) if status == "saved" else (1, time())
        records = [
            CallRecord(
                uuid7(),
                batch,
                place + number,
                _storable(call.name),
                call.server,
                status,
                attempt,
                started_at,
                worker=here,
                provider_id=call.provider_id,
            )
            for number, (call, _) in enumerate(calls)
        ]
        _give_ids(calls, records)
        return records

    def _add(self, calls: Sequence[ResolvedCall], records: Sequence[CallRecord]) -> None:
        self.calls = [*self.calls, *calls]
        self.records = [*self.records, *records]

    def _close(self) -> None:
        """Forget the calls of a batch that is over."""
        self.calls, self.records, self._executions = (), [], None
        self.needs = ()
        self._batch = self._tools = None

    def _settled(self) -> list[CallRecord]:
        """The records of the calls, settled; the calls are no longer open."""
        records, executions = self.records, self._executions
        self._close()
        if executions is None:  # the turn was stopped before they could run
            now = time()
            return [record.over(record.result_if_stopped(), "run", now) for record in records]
        return [execution.record for execution in executions()]


def _give_ids(calls: Sequence[ResolvedCall], records: Sequence[CallRecord]) -> None:
    """Name calls as their records do; of more calls than records, the first."""
    for (call, _), record in zip(calls, records, strict=False):
        call.id, call.provider_id = record.id, record.provider_id


_NOT_STARTED = (0, None, None)
"""How often a call was started, when first, and when it was over."""


def _before_its_start(record: CallRecord) -> CallRecord:
    """The record of a new call without what its start wrote."""
    return type(record)._make(record[:6] + _NOT_STARTED + record[9:])


def _storable(name: str) -> str:
    """A name without lone surrogates, which JSON can hold and a storage cannot."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")
