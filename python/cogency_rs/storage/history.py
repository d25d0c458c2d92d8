"""Conversations folded into messages, kept so that the next prompt costs only what is new.

Kept are at most `CONVERSATIONS` conversations and `CHARACTERS` of text; what was not used for longest
goes first. What is kept is checked against the file each time: if rows came in between, or went, the
conversation is folded anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .._core import Folding, FoldOptions

if TYPE_CHECKING:
    import sqlite3

__all__ = ["CHARACTERS", "CONVERSATIONS", "Histories"]

CONVERSATIONS = 64
CHARACTERS = 32 * 2**20

# One statement, so that the sums and the rows are of the same moment. The sums are read off an index; they tell
# whether a row came or went that is not among the new ones.
_NEWER = """
    WITH whole(count, sum) AS (
        SELECT COUNT(*), TOTAL(rowid) FROM messages WHERE conversation_id = :conversation
    )
    SELECT count, sum, timestamp, rowid, message_id, user_id, type, content
    FROM messages, whole
    WHERE conversation_id = :conversation AND timestamp >= :since
    ORDER BY timestamp, rowid
"""


class Histories:
    """The conversations of one storage that have been folded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, FoldOptions], _History] = OrderedDict()

    def messages(
        self,
        connection: sqlite3.Connection,
        conversation_id: str,
        user_id: str,
        options: FoldOptions,
    ) -> tuple[int, list[dict[str, Any]]]:
        """Fold a conversation, from what is kept of it and what is new.

        Returns:
            How many events it has, and its messages; the list and its dicts are the caller's.
        """
        user_id = user_id or ""
        key = (conversation_id, user_id, options)
        # Taken out while it is used: another thread that asks meanwhile folds its own.
        with self._lock:
            history = self._kept.pop(key, None)
        if history is None or not history.grow(connection, conversation_id, user_id):
            history = _History(options)
            history.grow(connection, conversation_id, user_id)
        messages = history.folding.messages()
        with self._lock:
            self._kept[key] = history
            self._let_go()
        return history.events, messages

    def _let_go(self) -> None:
        while len(self._kept) > CONVERSATIONS or (
            sum(history.characters for history in self._kept.values()) > CHARACTERS
        ):
            self._kept.popitem(last=False)


class _History:
    """One conversation as far as it was folded."""

    def __init__(self, options: FoldOptions) -> None:
        self.folding = Folding(options)
        self.events = 0
        self.characters = 0
        self._whole = (0, 0.0)  # how many rows of all users, and the sum of their numbers
        self._last = (float("-inf"), 0, "")

    def grow(self, connection: sqlite3.Connection, conversation_id: str, user_id: str) -> bool:
        """Take the rows behind the last one; `False` if the rows up to it are not what they were."""
        values = {"conversation": conversation_id, "since": self._last[0]}
        rows = connection.execute(_NEWER, values).fetchall()
        newer = [row for row in rows if row[2:4] > self._last[:2]]
        count, numbers = self._whole
        grown = (count + len(newer), numbers + sum(row[3] for row in newer))
        is_there = not count or any(row[2:5] == self._last for row in rows)
        if not is_there or grown != (rows[0][:2] if rows else (0, 0)):
            return False
        wanted = [row for row in newer if not user_id or row[5] == user_id]
        self.folding.extend({"type": type, "content": content} for *_, type, content in wanted)
        self.events += len(wanted)
        self.characters += sum(len(row[7]) for row in wanted)
        self._whole = grown
        if newer:
            self._last = newer[-1][2:5]
        return True
