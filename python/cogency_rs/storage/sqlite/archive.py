"""A SQLite log as a whole, to be copied from or to; see `copying.py`."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Any

from ..copying import StoredConversation, check_rows
from ..rows import call_of
from .connection import layout_of
from .log import SQLite
from .queries import BY_ROW, columns_there, order_of
from .schema import has_table

PAGE = 1000
"""Ids that are read at a time."""

_IDS = """
    SELECT conversation_id FROM messages WHERE conversation_id {after} :after
    UNION SELECT conversation_id FROM events WHERE conversation_id {after} :after
    {calls} ORDER BY conversation_id LIMIT :page
"""
_CALLS = "UNION SELECT conversation_id FROM calls WHERE conversation_id {after} :after"
# Another program may have written anything into a column.
_MESSAGES = """
    SELECT CAST(message_id AS TEXT), CAST(COALESCE(user_id, '') AS TEXT), CAST(type AS TEXT), CAST(content AS TEXT),
        CAST(timestamp AS REAL), {written_at}
    FROM messages WHERE conversation_id = ? ORDER BY {order}
"""
_PARTS = """
    SELECT message_id, number, type, media_type, data, at
    FROM cogency_rs_parts WHERE conversation_id = ? ORDER BY message_id, number
"""
_CALL_COLUMNS = (
    "message_id, call_id, batch, position, name, server, status, attempt, started_at, completed_at,"
    " worker, decision, result, settling, provider_id, digest"
)
_READ_CALLS = """
    SELECT COALESCE(user_id, ''), {columns} FROM calls WHERE conversation_id = ? ORDER BY {order}
"""
_EVENTS = """
    SELECT CAST(event_id AS TEXT), CAST(type AS TEXT), CAST(content AS TEXT), CAST(timestamp AS REAL)
    FROM events WHERE conversation_id = ? ORDER BY event_id
"""


class FileArchive:
    """A SQLite log that is copied.

    Args:
        path: its file; it is created if missing.
    """

    def __init__(self, path: str) -> None:
        self._log = SQLite(path)
        self._database = self._log._database  # pyright: ignore[reportPrivateUsage]  (ours)

    async def conversation_ids(self) -> AsyncIterator[str]:
        """Every conversation that has a row, a call or an event."""
        after, operator = "", ">="  # an id may be empty

        def read(connection: sqlite3.Connection) -> list[str]:
            found = connection.execute(_ids(connection, operator), {"after": after, "page": PAGE})
            return [str(id) for (id,) in found]

        while ids := await self._database.read(read):
            for id in ids:
                yield id
            after, operator = ids[-1], ">"

    async def count(self) -> int:
        """How many conversations there are."""

        def read(connection: sqlite3.Connection) -> int:
            query = _ids(connection, ">=")
            values = {"after": "", "page": -1}
            return int(connection.execute(f"SELECT COUNT(*) FROM ({query})", values).fetchone()[0])

        return await self._database.read(read)

    async def load(self, conversation_id: str) -> StoredConversation:
        """Everything of one conversation, as of one moment."""

        def read(connection: sqlite3.Connection) -> StoredConversation:
            with _one_moment(connection):
                values = (conversation_id,)
                is_new = layout_of(connection).is_ordered
                messages = _MESSAGES.format(
                    order=order_of(connection), written_at="written_at" if is_new else "NULL"
                )
                calls: list[Any] = []
                if has_table(connection, "calls"):
                    columns = columns_there(connection, _CALL_COLUMNS)
                    query = _READ_CALLS.format(
                        columns=columns, order=BY_ROW if is_new else "batch, position"
                    )
                    calls = connection.execute(query, values).fetchall()
                    for _, _, *call in calls:
                        call_of(call)
                return StoredConversation(
                    connection.execute(messages, values).fetchall(),
                    calls,
                    connection.execute(_EVENTS, values).fetchall(),
                    connection.execute(_PARTS, values).fetchall() if is_new else [],
                )

        return await self._database.read(read)

    async def store(
        self, conversation_id: str, whole: StoredConversation, *, rows_there: int
    ) -> None:
        """Save a conversation in one transaction; its first `rows_there` rows are there already."""

        def write(connection: sqlite3.Connection) -> None:
            query = "SELECT COUNT(*) FROM messages WHERE conversation_id = ?"
            [count] = connection.execute(query, (conversation_id,)).fetchone()
            check_rows(conversation_id, count, rows_there)
            connection.executemany(
                "INSERT INTO messages (conversation_id, message_id, user_id, type, content, timestamp, written_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(conversation_id, *row) for row in whole.messages[rows_there:]],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO cogency_rs_parts"
                " (conversation_id, message_id, number, type, media_type, data, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(conversation_id, *part) for part in whole.parts],
            )
            connection.executemany(
                f"INSERT OR REPLACE INTO calls (conversation_id, user_id, {_CALL_COLUMNS})"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(conversation_id, *row) for row in whole.calls],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO events (conversation_id, event_id, type, content, timestamp)"
                " VALUES (?, ?, ?, ?, ?)",
                [(conversation_id, *row) for row in whole.events],
            )

        await self._database.write(write)

    async def profiles(self) -> list[tuple[Any, ...]]:
        """Every version of every profile."""
        query = "SELECT user_id, version, data, created_at, char_count FROM profiles ORDER BY user_id, version"
        return await self._database.read(lambda connection: connection.execute(query).fetchall())

    async def store_profiles(self, profiles: list[tuple[Any, ...]]) -> None:
        """Save those profiles that are not there yet."""

        def write(connection: sqlite3.Connection) -> None:
            columns = "user_id, version, data, created_at, char_count"
            statement = f"INSERT OR IGNORE INTO profiles ({columns}) VALUES (?, ?, ?, ?, ?)"
            connection.executemany(statement, profiles)

        await self._database.write(write)

    async def close(self) -> None:
        """Close the file."""
        await self._log.close()


def _ids(connection: sqlite3.Connection, operator: str) -> str:
    """The query for a page of ids."""
    calls = _CALLS if has_table(connection, "calls") else ""
    return _IDS.format(calls=calls.format(after=operator), after=operator)


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Inside this context, everything is read as of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
