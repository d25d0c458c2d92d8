"""The protocol `Log` in dicts: as little as keeps it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

from cogency_rs import BusyError, CallRecord, ConfigError, Conversation, LogPage, StorageError
from cogency_rs.storage.log import Row, check_row_type

Stored = tuple[float, int, str, Row]
"""Time, number, whose it is, and the row."""


class MemoryLog:
    """Rows, calls and claims of one process, on one event loop."""

    def __init__(self) -> None:
        self.rows: defaultdict[str, list[Stored]] = defaultdict(list)
        self.records: defaultdict[str, dict[tuple[str, int], tuple[str, CallRecord]]] = defaultdict(
            dict
        )
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.lost: set[str] = set()
        self.mine: ContextVar[frozenset[str]] = ContextVar("mine", default=frozenset())
        self._numbers = count(1)

    def tick(self) -> int:
        return next(self._numbers)

    async def append(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> None:
        self._check(rows, calls)
        if conversation_id in self.lost:
            raise StorageError(f"the claim on {conversation_id!r} was lost")
        stored = [(row[2], self.tick(), user_id, row) for row in rows]
        self._save(conversation_id, stored, [((c.batch, c.position), (user_id, c)) for c in calls])

    def _check(self, rows: Any, calls: Any) -> None:
        try:
            for type, content, _ in rows:
                check_row_type(type)
                content.encode()
            for call in calls:
                call.name.encode()
        except UnicodeError as error:
            raise StorageError(f"not a text: {error}", cause=error) from error

    def _save(self, conversation_id: str, rows: Any, calls: Any) -> None:
        self.rows[conversation_id] = sorted([*self.rows[conversation_id], *rows])
        self.records[conversation_id] |= dict(calls)

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        rows = self.rows[conversation_id]
        known = 0
        if after is not None:
            try:
                known, last = map(int, after.split("/"))
            except ValueError:
                raise ConfigError(f"{after!r} is not a cursor") from None
            if known and [number for _, number, *_ in rows[:known]][-1:] != [last]:
                known = 0
        new = [
            {"type": type, "content": content, "timestamp": timestamp}
            for _, _, user, (type, content, timestamp) in rows[known:]
            if not user_id or user == user_id
        ]
        cursor = f"{len(rows)}/{rows[-1][1] if rows else 0}"
        return LogPage(new, cursor, is_whole=not known)

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        records = [record for _, record in sorted(self.records[conversation_id].items())]
        return [call for user, call in records if not user_id or user == user_id]

    @asynccontextmanager
    async def claim(self, conversation_id: str, *, wait: bool = True) -> AsyncGenerator[None, None]:
        lock = self.locks[conversation_id]
        if lock.locked() and (not wait or conversation_id in self.mine.get()):
            raise BusyError(f"{conversation_id!r} is busy", conversation_id=conversation_id)
        async with lock:
            self.mine.set(self.mine.get() | {conversation_id})
            try:
                yield
            finally:
                self.mine.set(self.mine.get() - {conversation_id})
                self.lost.discard(conversation_id)

    def lose_claim(self, conversation_id: str) -> None:
        self.lost.add(conversation_id)

    async def conversations(
        self, user_id: str = "", limit: int | None = None
    ) -> list[Conversation]:
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

    async def delete_conversation(self, conversation_id: str) -> int:
        self.records.pop(conversation_id, None)
        return len(self.rows.pop(conversation_id, []))
