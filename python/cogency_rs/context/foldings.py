"""Folds conversations into messages, and keeps the foldings, so that the next prompt costs only what is new.

It works with every storage. A `Log` is asked for the rows after the last ones that were folded. The conversations of a
storage that only has `load_messages` are folded whole each time.

For each storage at most `CONVERSATIONS` conversations and `CHARACTERS` of text are kept; the least recently used
conversation is dropped first.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from .._core import Folding, FoldOptions
from ..storage.log import LogPage, is_log
from .history import Messages, TooLong, merged

__all__ = ["CHARACTERS", "CONVERSATIONS", "fold_conversation", "newest_rows"]

CONVERSATIONS = 64
CHARACTERS = 32 * 2**20

FEW_ROWS = 256
"""Up to this many rows are folded on the event loop; more are folded in a worker thread, this many at a time."""


async def fold_conversation(
    storage: Any,
    conversation_id: str,
    user_id: str,
    options: FoldOptions,
    *,
    merge_roles: bool = False,
    most: int | None = None,
) -> tuple[int, Messages] | TooLong:
    """Fold a whole conversation, starting from its kept folding if there is one.

    Args:
        storage: a `Log`, or an object with `load_messages`.
        conversation_id: the conversation's id.
        user_id: the id of a user, for only this user's rows; empty for the rows of all users.
        options: how rows become messages.
        merge_roles: whether neighbouring messages of one role become one; see `History`.
        most: a conversation of more rows is not folded; `None` for any number.

    Returns:
        How many rows the conversation has, and its messages; the caller may change the list and its dicts. Or
        `TooLong`, if it has more than `most` rows.

    An exception of the storage is raised unchanged. A row that cannot be folded raises `ValueError` or `TypeError`.
    """
    if not _is_read_as_log(storage):
        limit = None if most is None else most + 1
        rows = await storage.load_messages(conversation_id, user_id, limit=limit)
        if most is not None and len(rows) > most:
            return TooLong(rows[-most:])
        folding = Folding(options)
        await _extend(folding, rows)
        messages = folding.messages()
        return len(rows), merged(messages) if merge_roles else messages
    kept = _kept_of(storage)
    user_id = user_id or ""
    key = (conversation_id, user_id, options)
    folded = kept.take(key)
    if folded is None:
        page = await _first_page(storage, conversation_id, user_id, most)
    else:
        page = await storage.read(conversation_id, user_id=user_id, after=folded.cursor)
    if folded is None or page.is_whole:
        folded = _Folded(options)
    if most is not None and folded.rows + len(page.rows) > most:
        return TooLong(page.rows[-most:] if not folded.rows else None)
    await _extend(folded.folding, page.rows)
    folded.cursor = page.cursor
    folded.rows += len(page.rows)
    folded.characters += _characters(page.rows)
    messages = folded.merged() if merge_roles else folded.folding.messages()
    kept.keep(key, folded)
    return folded.rows, messages


async def _first_page(
    storage: Any, conversation_id: str, user_id: str, most: int | None
) -> LogPage:
    """The whole conversation; if it has more than `most` rows, perhaps only the newest `most + 1`."""
    if most is not None and _overrides(storage, "newest", "read"):
        page: LogPage = await storage.newest(conversation_id, user_id=user_id, limit=most + 1)
    else:
        page = await storage.read(conversation_id, user_id=user_id, after=None)
    return page


async def newest_rows(
    storage: Any, conversation_id: str, user_id: str, limit: int
) -> Sequence[Any]:
    """Load the newest rows of a conversation, at most `limit`, oldest first.

    A `Log` without `load_messages` is read whole.
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
    while part := list(islice(left, FEW_ROWS)):  # between two parts, the event loop may run
        folding.extend(part)


def _characters(rows: Iterable[dict[str, Any]]) -> int:
    return sum(len(row["content"]) for row in rows)


class _Folded:
    """One conversation, as far as it has been folded."""

    def __init__(self, options: FoldOptions) -> None:
        self.folding = Folding(options)
        self.cursor: str | None = None
        self.rows = 0
        self.characters = 0
        # The merged messages to which no row can add any more, and how many messages they were.
        self._merged: Messages = []
        self._settled = 0

    def merged(self) -> Messages:
        """The messages so far, neighbours of one role merged, as new dicts. Only new messages cost anything."""
        messages = self.folding.messages(self._settled)
        settled = self._newly_settled(messages)
        if settled:
            new = merged(messages[:settled])
            self.characters += _characters(new)
            self._merged += new
            self._settled += settled
        return [*map(dict, self._merged), *merged(messages[settled:])]

    def _newly_settled(self, messages: Messages) -> int:
        """How many of these messages stand before the last question and its neighbours of the same role."""
        question = self.folding.last_question()
        if question is None:
            return 0
        settled = question - self._settled
        while settled > 0 and messages[settled - 1]["role"] == messages[settled]["role"]:
            settled -= 1
        return max(settled, 0)


Key = tuple[str, str, FoldOptions]


class _Kept:
    """The conversations of one storage that have been folded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, _Folded] = OrderedDict()
        self._characters = 0  # of all of them

    def take(self, key: Key) -> _Folded | None:
        """Take a conversation out while it is used: others that ask for it meanwhile fold one of their own."""
        with self._lock:
            return self._take(key)

    def keep(self, key: Key, folded: _Folded) -> None:
        """Put a conversation back, as the most recently used one, and drop what is above the bounds."""
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
    """The kept foldings of a storage while it lives; always empty if the storage does not allow weak references."""
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
    """Whether rows are loaded by `read`: not if a subclass overrides only `load_messages`."""
    return is_log(storage) and _overrides(storage, "read", "load_messages")


def _overrides(storage: object, method: str, other: str) -> bool:
    """Whether a storage's class has a method and got it no earlier than another: a subclass may override only that."""
    for kind in type(storage).__mro__:
        if method in vars(kind):
            return True
        if other in vars(kind):
            return False
    return False
