"""Conversations folded into messages, kept so that the next prompt costs only what is new.

Above the storage: any that keeps the protocol `Log` is asked for the rows after the last ones that were folded. One
that can only `load_messages` is folded whole each time.

Kept for each storage are at most `CONVERSATIONS` conversations and `CHARACTERS` of text; what was not used for longest
goes first.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import Any

from ._core import Folding, FoldOptions
from .history import Messages
from .storage.log import is_log

__all__ = ["CHARACTERS", "CONVERSATIONS", "fold_conversation", "newest_rows"]

CONVERSATIONS = 64
CHARACTERS = 32 * 2**20

FEW_ROWS = 256
"""Rows that are folded on the event loop; more are folded in a worker thread, so many at a time."""


async def fold_conversation(
    storage: Any, conversation_id: str, user_id: str, options: FoldOptions
) -> tuple[int, Messages]:
    """Fold a whole conversation, from what is kept of it and what is new.

    Args:
        storage: a `Log`, or anything that has `load_messages`.
        conversation_id: which one.
        user_id: only this user's rows; empty for everybody's.
        options: how rows become messages.

    Returns:
        How many rows it has, and its messages; the list and its dicts are the caller's.

    What the storage raises passes on unchanged. A row that cannot be folded raises `ValueError` or `TypeError`.
    """
    if not _is_read_as_log(storage):
        rows = await storage.load_messages(conversation_id, user_id, limit=None)
        folding = Folding(options)
        await _extend(folding, rows)
        return len(rows), folding.messages()
    kept = _kept_of(storage)
    user_id = user_id or ""
    key = (conversation_id, user_id, options)
    folded = kept.take(key) or _Folded(options)
    page = await storage.read(conversation_id, user_id=user_id, after=folded.cursor)
    if page.is_whole:
        folded = _Folded(options)
    await _extend(folded.folding, page.rows)
    folded.cursor = page.cursor
    folded.rows += len(page.rows)
    folded.characters += _characters(page.rows)
    messages = folded.folding.messages()
    kept.keep(key, folded)
    return folded.rows, messages


async def newest_rows(
    storage: Any, conversation_id: str, user_id: str, limit: int
) -> Sequence[Any]:
    """Load the newest rows of a conversation, at most `limit`, oldest first.

    A `Log` that cannot `load_messages` is read whole.
    """
    given: object = storage
    if hasattr(type(given), "load_messages") or not is_log(given):
        rows: Sequence[Any] = await storage.load_messages(conversation_id, user_id, limit=limit)
        return rows
    rows = (await storage.read(conversation_id, user_id=user_id)).rows
    return rows[-limit:]


async def _extend(folding: Folding, rows: Sequence[Any]) -> None:
    if len(rows) > FEW_ROWS:
        await asyncio.to_thread(_extend_in_parts, folding, rows)
    else:
        folding.extend(rows)


def _extend_in_parts(folding: Folding, rows: Sequence[Any]) -> None:
    left = iter(rows)
    while part := list(islice(left, FEW_ROWS)):  # between two parts the event loop has its turn
        folding.extend(part)


def _characters(rows: Sequence[dict[str, Any]]) -> int:
    return sum(len(row["content"]) for row in rows)


class _Folded:
    """One conversation as far as it was folded."""

    def __init__(self, options: FoldOptions) -> None:
        self.folding = Folding(options)
        self.cursor: str | None = None
        self.rows = 0
        self.characters = 0


Key = tuple[str, str, FoldOptions]


class _Kept:
    """The conversations of one storage that have been folded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, _Folded] = OrderedDict()
        self._characters = 0  # of all of them

    def take(self, key: Key) -> _Folded | None:
        """Take one out while it is used: another thread or task that asks meanwhile folds its own."""
        with self._lock:
            return self._take(key)

    def keep(self, key: Key, folded: _Folded) -> None:
        """Put one back, as the newest; let go what is too much."""
        with self._lock:
            self._take(key)
            self._kept[key] = folded
            self._characters += folded.characters
            while len(self._kept) > CONVERSATIONS or self._characters > CHARACTERS:
                self._take(next(iter(self._kept)))

    def _take(self, key: Key) -> _Folded | None:
        folded = self._kept.pop(key, None)
        if folded is not None:
            self._characters -= folded.characters
        return folded


_kept: dict[int, _Kept] = {}  # by the id of the storage, which need not have a hash


def _kept_of(storage: object) -> _Kept:
    """What is kept for a storage as long as it lives; nothing for one that cannot be referred to weakly."""
    kept = _kept.get(id(storage))
    if kept is None:
        kept = _Kept()
        try:
            weakref.finalize(storage, _kept.pop, id(storage), None).atexit = False
        except TypeError:
            return kept
        kept = _kept.setdefault(id(storage), kept)
    return kept


def _is_read_as_log(storage: object) -> bool:
    """Whether rows are asked for by `read`: not where a subclass loads them in a way of its own."""
    if not is_log(storage):
        return False
    for kind in type(storage).__mro__:
        if "read" in vars(kind):
            return True
        if "load_messages" in vars(kind):
            return False
    return False
