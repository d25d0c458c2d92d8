"""Saves to the end: how rows reach a storage, and how a save is awaited even if its turn is cancelled."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..execution.shielded_wait import outlast
from ..storage.log import CLASSES, Row, is_log_class

if TYPE_CHECKING:
    from ..calls.record import CallRecord

__all__ = ["Way", "begin", "finish", "is_over", "save_to_the_end", "way_to_save"]

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
