"""How rows and records reach a storage: one save after the other, each to its end even if its turn is cancelled."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import Any, Literal

from ..calls.record import CallRecord
from ..execution.shielded_wait import outlast
from ..outside import monotonic
from ..storage.log import CLASSES, Row, is_log_class

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


class TurnSaves:
    """The saves of one turn.

    Args:
        storage: the storage.
        conversation_id: the conversation's id.
        user_id: the user's id.

    Attributes:
        storage: the storage.
        way: how it saves.
        is_torn: whether a row may be missing, since its save was cancelled or failed.
        written: when that began which was last written, by the monotonic clock.
    """

    def __init__(self, storage: Any, conversation_id: str, user_id: str) -> None:
        self.storage = storage
        self.way: Way = way_to_save(storage)
        self.is_torn = False
        self.written = monotonic()
        self._conversation_id, self._user_id = conversation_id, user_id
        self._noting: asyncio.Future[Any] | None = None  # the last note about the ends of calls

    @property
    def keeps_records(self) -> bool:
        """Whether the storage keeps records of calls."""
        return self.way == "append"

    @property
    def keeps_ends(self) -> bool:
        """Whether the ends of calls can be noted so that they outlive the program."""
        return self.keeps_records and getattr(self.storage, "is_durable", True) is not False

    @property
    def is_stale(self) -> bool:
        """Whether a process that was stopped since it last wrote may have lost the conversation to another one."""
        return monotonic() - self.written > STALE

    def whole(self, row: tuple[str, str, float]) -> tuple[str, str, str, str, float]:
        """A row with its ids, as storages without `append` take it."""
        return (self._conversation_id, self._user_id, *row)

    def append(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> Any:
        """Begin to save rows and calls, after a note about ends that is being saved.

        A storage whose saves are futures carries them out in order; one whose saves are coroutines may not.
        """
        noting = self._noting
        if isinstance(noting, asyncio.Task) and not noting.done():
            return self._append_after(noting, rows, calls)
        return self._append(rows, calls)

    async def append_records(self, records: Sequence[CallRecord]) -> None:
        """Save records without rows, to the end even if cancelled meanwhile.

        Raises:
            asyncio.CancelledError: the caller was cancelled; by then they are saved.
        """
        if not self.keeps_records:
            return
        saving = self._append((), records)
        if is_over(saving) or not inspect.isawaitable(saving):
            return
        cancelled = await finish(saving)
        if cancelled is not None:
            raise cancelled

    def note(self, records: Sequence[CallRecord]) -> asyncio.Future[Any] | None:
        """Begin to save records, before which nothing else is saved; `None` if that is over at once."""
        saving = self._append((), records)
        if is_over(saving) or not inspect.isawaitable(saving):
            return None
        self._noting = begin(saving)
        return self._noting

    def _append(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> Any:
        return self.storage.append(
            self._conversation_id, user_id=self._user_id, rows=rows, calls=calls
        )

    async def _append_after(
        self, noting: asyncio.Future[Any], rows: Sequence[Row], calls: Sequence[CallRecord]
    ) -> None:
        await asyncio.wait([noting])
        await self._append(rows, calls)
