"""The log in memory: gone with the object, and otherwise like any other."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from itertools import count

from ..errors import ConfigError, StorageError
from .claims import Claim, Claims
from .log import ROW_TYPES, CallRecord, Conversation, LogPage, Row, check_row_type
from .owners import not_the_owner

__all__ = ["Memory"]

_Stored = tuple[float, int, str, Row]
"""Timestamp, number, user and the row."""


class Memory:
    """A `Log` in memory, for one event loop at a time.

    An agent without a storage writes to it, and so do tests. An append costs O(new rows) unless their timestamps are
    older than stored ones; a read costs O(rows after the cursor).
    """

    def __init__(self) -> None:
        self.rows: defaultdict[str, list[_Stored]] = defaultdict(list)
        self.records: defaultdict[str, dict[tuple[str, int], tuple[str, CallRecord]]] = defaultdict(
            dict
        )
        self._claims = Claims()
        self._numbers = count(1)

    def append(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> asyncio.Future[None]:
        """Save rows and calls; see `Log.append`."""
        self._check(rows, calls)
        stored, numbers = self.rows[conversation_id], self._numbers
        for row in rows:
            new = (row[2], next(numbers), user_id, row)
            if stored and new < stored[-1]:
                insort(stored, new)
            else:
                stored.append(new)
        if calls:
            records = self.records[conversation_id]
            for call in calls:
                records[call.batch, call.position] = (user_id, call)
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        saved.set_result(None)
        return saved

    def _check(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> None:
        try:
            for type, content, _ in rows:
                if type not in ROW_TYPES:
                    check_row_type(type)
                if not content.isascii():
                    content.encode()
            for call in calls:
                if not call.name.isascii():
                    call.name.encode()
        except UnicodeError as error:
            raise StorageError(
                f"a row is not text that can be stored: {error}", cause=error
            ) from error

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        """Read the rows that follow a cursor, or all; see `Log.read`."""
        rows = self.rows.get(conversation_id, [])
        known = 0 if after is None else _place(rows, after)
        new = [
            {"type": type, "content": content, "timestamp": timestamp}
            for _, _, user, (type, content, timestamp) in rows[known:]
            if not user_id or user == user_id
        ]
        cursor = f"{len(rows)}/{rows[-1][1] if rows else 0}"
        return LogPage(new, cursor, is_whole=not known)

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation; see `Log.calls`."""
        records = sorted(self.records.get(conversation_id, {}).items(), key=lambda item: item[0])
        return [call for _, (user, call) in records if not user_id or user == user_id]

    async def owner(self, conversation_id: str) -> str | None:
        """The user of a conversation's first row; see `Log.owner`."""
        rows = self.rows.get(conversation_id)
        return rows[0][2] if rows else None

    def claim(self, conversation_id: str, *, wait: bool = True) -> Claim:
        """Have a conversation to oneself; see `Log.claim`."""
        return Claim(conversation_id, self._claims, None, wait=wait)

    async def conversations(
        self, user_id: str = "", limit: int | None = None
    ) -> list[Conversation]:
        """List conversations, the one with the latest row first."""
        found: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for conversation_id, rows in self.rows.items():
            for _, _, user, row in rows:
                if not user_id or user == user_id:
                    found[conversation_id, user].append(row)
        listed = [
            Conversation(
                id,
                user,
                len(rows),
                rows[0][2],
                rows[-1][2],
                next((content for type, content, _ in rows if type == "user"), None),
            )
            for (id, user), rows in found.items()
        ]
        return sorted(listed, key=lambda one: -one.last)[:limit]

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> int:
        """Remove everything of a conversation; returns how many rows it had.

        Args:
            conversation_id: which one.
            user_id: whose it must be; `None` for anybody's.

        Raises:
            OwnerError: it is another user's; nothing was removed.
        """
        if user_id is not None and await self.owner(conversation_id) not in (None, user_id):
            raise not_the_owner(conversation_id, user_id)
        self.records.pop(conversation_id, None)
        return len(self.rows.pop(conversation_id, []))


def _place(rows: list[_Stored], cursor: str) -> int:
    """How many rows stand before a cursor; 0 if they have changed since."""
    try:
        known, last = map(int, cursor.split("/"))
    except ValueError:
        raise ConfigError(f"{cursor!r} is not a cursor of this log") from None
    return known if known and [number for _, number, *_ in rows[:known][-1:]] == [last] else 0
