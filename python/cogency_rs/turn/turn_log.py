"""The log of one turn: its rows on their way to the storage, and its calls until they are settled.

A call gets its id and its record when its row is saved, and its record is settled in the same save as its results. A
storage that does not follow the protocol `Log` gets only the rows.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._core import EarlyCall, WithdrawnCalls
from ..execution.shielded_wait import outlast
from ..outside import monotonic, time, uuid7, worker
from ..storage.log import CLASSES, Row, is_log_class
from ..types import ToolCall, ToolResult

if TYPE_CHECKING:
    from ..calls.record import CallRecord, CallStatus, ToolExecution
    from ..hooks.approval import Need
    from ..storage.log import Part
    from ..tools.toolbox import ResolvedCall, Toolbox
    from ..types import TurnEvent


logger: logging.Logger = logging.getLogger(__name__)

Way = Literal["append", "save_messages", "save_message"]
"""How a storage saves: the method to call."""


async def save_to_the_end(
    storage: Any,
    conversation_id: str,
    user_id: str,
    rows: Sequence[Row],
    calls: Sequence[CallRecord] = (),
) -> None:
    """Save rows and calls that do not belong to a turn, to the end even if cancelled meanwhile.

    A storage that does not follow the protocol `Log` gets only the rows.
    """
    if way_to_save(storage) == "append":
        saving = storage.append(conversation_id, user_id=user_id, rows=rows, calls=calls)
    else:

        async def save_each() -> None:
            for row in rows:
                await storage.save_message(conversation_id, user_id, *row)

        saving = save_each()
    if is_over(saving):
        return
    cancelled = await finish(saving) if inspect.isawaitable(saving) else None
    if cancelled is not None:
        raise cancelled


def way_to_save(storage: object) -> Way:
    """How a storage saves. Its class decides, since a mock has every attribute."""
    kind: Any = type(storage)
    return _way_of(kind)


@lru_cache(CLASSES)
def _way_of(kind: Any) -> Way:
    """How the storages of a class save; a subclass's own way takes precedence over the inherited one."""
    for base in kind.__mro__:
        if "append" in vars(base) and is_log_class(kind):
            return "append"
        if "save_messages" in vars(base):
            return "save_messages"
    return "save_message"


def is_over(saving: object) -> bool:
    """Whether a save has ended at once, as in memory; raises its exception."""
    if not (isinstance(saving, asyncio.Future) and saving.done()):
        return False
    saving.result()
    return True


async def finish(saving: Awaitable[Any]) -> asyncio.CancelledError | None:
    """Await a save to its end, even if cancelled meanwhile.

    A future needs no task, so a program that cancels all tasks at its end does not cancel it.

    Returns:
        The cancellation, which the caller must raise again; `None` if there was none.

    Raises:
        asyncio.CancelledError: the caller was cancelled, and it is not known that the rows are saved.
    """
    future = begin(saving)
    cancelled: asyncio.CancelledError | None = None
    try:
        await outlast([future])
    except asyncio.CancelledError as error:
        cancelled = error
        failed = "it was cancelled too" if future.cancelled() else future.exception()
        if failed:
            logger.error("The log could not be written while its turn was cancelled: %s", failed)
            raise
    else:
        future.result()
    return cancelled


def begin(work: Awaitable[Any]) -> asyncio.Future[Any]:
    """Begin to await `work`; a coroutine gets a task, which starts at once if Python can do that."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # The loop was closed before the turn was closed or collected, so nothing can begin.
        if inspect.iscoroutine(work):
            work.close()
        raise
    if sys.version_info >= (3, 12) and inspect.iscoroutine(work) and not loop.get_task_factory():
        return asyncio.Task(work, loop=loop, eager_start=True)
    return asyncio.ensure_future(work)


STALE = 10.0
"""Seconds after a write in which no other process can have taken the conversation: a lease lasts three times as long,
and is renewed as often."""

_TRIES = 3
"""How often the start of a call is written if each time takes longer than that."""

TurnRow = tuple[str, str, float]
"""A row of a turn: its type, its content, and its time."""

TurnStep: TypeAlias = "TurnEvent | tuple[TurnRow, ...] | list[str] | EarlyCall | WithdrawnCalls"

Steps: TypeAlias = "list[TurnStep]"
"""In order: event dicts to emit, tuples of rows to save, lists of calls to run, calls that may begin before their batch
is complete, and the places from which such calls do not count."""

Executions: TypeAlias = "Callable[[], Sequence[ToolExecution]]"


class TurnLog:
    """The rows of one turn, on their way to the storage.

    Args:
        storage: the storage.
        conversation_id: the conversation's id.
        user_id: the user's id.
        toolbox: makes the toolbox that finds the tools of a batch's calls; called once in each batch.
        known: records of calls that are in the log already and come again.
        may_be_held: whether one of these calls may have to wait between its row and its start. Then the log notes when
            each of them begins; otherwise they count as begun from their row on, which costs no commit.
        written_ids: whether the model wrote the ids of calls, not its provider: they are not kept.
        parts: gives the parts of the row of a batch's first call, if the storage keeps parts.

    Attributes:
        calls: the calls that are in the log and have no result there, in order, with their tools.
        records: of the same calls, each as it was before this turn started it.
        needs: what approval each of them needs, if calls wait for approval.
        digests: of what is shown of each that somebody is asked about, if calls wait.
    """

    def __init__(
        self,
        storage: object,
        conversation_id: str,
        user_id: str,
        known: Sequence[CallRecord] = (),
        *,
        toolbox: Callable[[], Toolbox],
        may_be_held: Callable[[Sequence[ResolvedCall]], bool] = lambda calls: False,
        written_ids: bool = False,
        parts: Callable[[], tuple[Part, ...]] = tuple,
    ) -> None:
        self._make_toolbox = toolbox
        self._tools: Toolbox | None = None
        self._may_be_held = may_be_held
        self._written_ids = written_ids
        self._parts = parts
        self.is_torn = False  # whether a row may be missing, since its save was cancelled or failed
        self._known = known
        self._storage: Any = storage
        self._conversation_id, self._user_id = conversation_id, user_id
        self._way = way_to_save(storage)
        self.calls: Sequence[ResolvedCall] = ()
        self.needs: Sequence[Need] = ()
        self.digests: Sequence[str | None] = ()
        self.records: list[CallRecord] = []
        self._early: Sequence[
            CallRecord
        ] = ()  # of calls that have begun and have no row yet, in order
        self._batch: str | None = None
        self._places = 0  # how many places of the batch have a call
        self._executions: Executions | None = None
        self._noting: asyncio.Future[Any] | None = None  # the last note about the ends of calls
        self._written = monotonic()  # when that began which was last written

    @property
    def tools(self) -> Toolbox:
        """The tools that the calls of the batch may mean: those that there were at its first call."""
        if self._tools is None:
            self._tools = self._make_toolbox()
        return self._tools

    @property
    def has_early_calls(self) -> bool:
        """Whether the log notes a call that has begun and has no row."""
        return bool(self._early)

    @property
    def knows_beginnings(self) -> bool:
        """Whether the storage keeps records of calls."""
        return self._way == "append"

    def is_due(self, index: int, attempts: int) -> bool:
        """Whether `begin` has something to write, or to make sure of, before a call starts.

        Args:
            index: the place of the call among `calls`.
            attempts: how often this turn has started it before.
        """
        is_new = self.keeps_ends if attempts else self.records[index].status == "saved"
        return is_new or self._is_stale()

    def _is_stale(self) -> bool:
        """Whether a process that was stopped since it last wrote may have lost the conversation to another one."""
        return monotonic() - self._written > STALE

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
        from ..errors import ToolError

        record = self.records[index]
        noted = record
        if self.keeps_ends if attempts else record.status == "saved":
            noted = record.begun(worker(), time())
            if attempts:
                noted = noted._replace(attempt=noted.attempt + attempts, started_at=first)
        # Once more if this process was stopped meanwhile: the log refuses what comes from one that lost its claim.
        for _ in range(_TRIES):
            began = monotonic()
            try:
                saving = self._append((), [noted])
                if inspect.isawaitable(saving):
                    await saving
            except Exception as error:
                raise ToolError(
                    f"Tool '{record.name}' was not run, because its start could not be logged: {error}",
                    cause=error,
                ) from error
            self.records[index] = record.to("open", "run")
            if monotonic() - began <= STALE:
                self._written = max(self._written, began)
                return
        raise ToolError(
            f"Tool '{record.name}' was not run, because the log took more than {STALE:.0f} s each time for its start"
        )

    @property
    def keeps_ends(self) -> bool:
        """Whether the ends of calls can be noted so that they outlive the program."""
        return self._way == "append" and getattr(self._storage, "is_durable", True) is not False

    def results_of_stopped(self) -> list[ToolResult]:
        """A result for each call, if the turn is stopped before they run; what an earlier program did stays."""
        return [record.result_if_stopped() for record in self.records]

    def note_ends(self, executions: Iterable[ToolExecution]) -> asyncio.Future[Any] | None:
        """Begin to save that calls are over, with their results; their row of results comes later.

        Returns:
            The save; `None` if there is none, or it is over.
        """
        from ..calls.record import write_result

        # Their records say how they ended, which counts once the row of results is saved.
        ended = [
            each.record._replace(status="open").to("ended", "run", result=write_result(each.result))
            for each in executions
        ]
        if not ended:
            return None
        saving = self._storage.append(
            self._conversation_id, user_id=self._user_id, rows=(), calls=ended
        )
        if is_over(saving) or not inspect.isawaitable(saving):
            return None
        self._noting = begin(saving)
        return self._noting

    def _with_parts(self, rows: tuple[TurnRow, ...]) -> Sequence[Row]:
        """The rows, with its parts for that of a batch's first call."""
        place = next((place for place, row in enumerate(rows) if row[0] == "call"), None)
        if place is None or self.calls or not (parts := self._parts()):
            return rows
        return [*rows[:place], (*rows[place], parts), *rows[place + 1 :]]

    def _append(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> Any:
        """Begin to save rows and calls, after a note about ends that is being saved.

        A storage whose saves are futures carries them out in order; one whose saves are coroutines may not.
        """
        noting = self._noting
        if isinstance(noting, asyncio.Task) and not noting.done():
            return self._append_after(noting, rows, calls)
        return self._storage.append(
            self._conversation_id, user_id=self._user_id, rows=rows, calls=calls
        )

    async def _append_after(
        self, noting: asyncio.Future[Any], rows: Sequence[Row], calls: Sequence[CallRecord]
    ) -> None:
        await asyncio.wait([noting])
        await self._storage.append(
            self._conversation_id, user_id=self._user_id, rows=rows, calls=calls
        )

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
        if self._way == "append":
            saving = self._append(self._with_parts(rows), [*settled, *opened])
        elif self._way == "save_messages":
            saving = self._storage.save_messages([self._whole(row) for row in rows])
        else:
            saving = self._save_each(rows, calls, before)
            calls, before = [], []  # counted one by one
        if is_over(saving) or not inspect.isawaitable(saving):  # a plain function has saved them
            self._add(calls, before)
            self._written = began
            return
        if not (to_the_end or self._way == "append" or "call" in kinds or "result" in kinds):
            self.is_torn = True
            await saving
            self.is_torn = False
            return
        cancelled = await finish(saving)
        self._add(calls, before)
        self._written = began
        if cancelled is not None:
            raise cancelled

    def read(self, content: str) -> ResolvedCall:
        """The call that a row holds, with its tool. It has no id yet, which its record gives it."""
        from ..tools.registry import tool_call

        call = tool_call(content)
        call.provider_id = None if self._written_ids else call.id
        call.id = None
        return self.tools.resolve(call)

    async def begin_early(self, call: ResolvedCall) -> CallRecord:
        """Note in the log that a call begins before its row is known; returns its record from before."""
        [record] = self._new([call], "early")
        # Before the save, so that the call is settled even if that is cancelled.
        self._early = [*self._early, record]
        cancelled = await self._append_records([record])
        if cancelled is not None:
            raise cancelled
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
            self._batch, self._places, self._tools = None, 0, None
        now, carried_out = time(), executions[max(len(self.calls) - place, 0) :]
        over = [*(each.record for each in carried_out), *records[len(carried_out) :]]
        cancelled = await self._append_records([record.dropped(why, "run", now) for record in over])
        if cancelled is not None:
            raise cancelled

    async def _append_records(self, records: Sequence[CallRecord]) -> asyncio.CancelledError | None:
        """Save records without rows, to the end even if cancelled meanwhile; returns the cancellation."""
        if self._way != "append":
            return None
        saving = self._storage.append(
            self._conversation_id, user_id=self._user_id, rows=(), calls=records
        )
        if is_over(saving) or not inspect.isawaitable(saving):
            return None
        return await finish(saving)

    async def wait(self) -> tuple[list[ToolCall], list[ToolCall]]:
        """Note in the log that the calls wait for approval. Those that must not run at all are noted as denied.

        Returns:
            The calls with their ids, and those of them that somebody must decide about.
        """
        from ..hooks.approval import Undecided, write_decision

        calls = [each.call for each in self.calls]
        asking = [call for call, need in zip(calls, self.needs, strict=True) if need is True]
        waiting: list[CallRecord] = []
        noted = zip(self.calls, self.records, self.needs, self.digests, strict=True)
        for each, record, need, digest in noted:
            decision = None
            if isinstance(need, Undecided) and each.tool is not None:
                decision = write_decision(need)
            waiting.append(record.to("waiting", "run", decision=decision, digest=digest))
        cancelled = await self._append_records(waiting)
        self._close()
        if cancelled is not None:
            raise cancelled
        return calls, asking

    async def save_what_is_left(self, steps: Steps) -> None:
        """Save the rows among the last steps of a turn that an error has ended; a failure is logged, not raised."""
        for step in steps:
            if isinstance(step, tuple):
                try:
                    await self.save(step, to_the_end=True)
                except Exception:
                    logger.exception("The rest of a stopped turn could not be saved")

    def _whole(self, row: TurnRow) -> tuple[str, str, str, str, float]:
        return (self._conversation_id, self._user_id, *row)

    async def _save_each(
        self, rows: tuple[TurnRow, ...], calls: list[ResolvedCall], records: list[CallRecord]
    ) -> None:
        left = zip(calls, records, strict=True)
        for row in rows:
            await self._storage.save_message(*self._whole(row))
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
        if left and self._may_be_held([*self.calls, *calls]):
            return [*begun, *self._new(left, "saved")]
        return [*begun, *self._new(left, "open")]

    def _new(self, calls: list[ResolvedCall], status: CallStatus) -> list[CallRecord]:
        """New records, for calls that the log does not have. Calls that do not wait are started with them."""
        from ..calls.record import CallRecord

        if not calls:
            return []
        if self._batch is None:
            self._batch = self.records[0].batch if self.records else uuid7()
            self._places = len(self.records)
        place, here = self._places, worker()
        attempt, started_at = (0, None) if status == "saved" else (1, time())
        self._places += len(calls)
        records = [
            CallRecord(
                uuid7(),
                self._batch,
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
        self.needs = self.digests = ()
        self._batch, self._places, self._tools = None, 0, None

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
