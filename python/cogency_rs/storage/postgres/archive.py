"""A PostgreSQL log as a whole, to be copied from or to; see `copying.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar

from ...errors import StorageError
from ..copying import StoredConversation, check_rows
from ..rows import END_OF_TIME
from .connection import Address, Connection, connect, explain, pack, read_dsn, unpack
from .schema import APPENDS, find_version, prepare

T = TypeVar("T")
Rows = list[tuple[Any, ...]]

PAGE = 1000
"""Ids that are read at a time."""

_IDS = """
    SELECT id FROM (
        (SELECT conversation_id AS id FROM {tables}.conversations WHERE conversation_id {after} $1 ORDER BY 1 LIMIT $2)
        UNION
        (SELECT DISTINCT conversation_id FROM {tables}.events WHERE conversation_id {after} $1 ORDER BY 1 LIMIT $2)
    ) AS ids ORDER BY id LIMIT $2
"""
_MESSAGES = """
    SELECT message_id, user_id, type, content, timestamp, written_at FROM {tables}.messages
    WHERE conversation_id = $1 ORDER BY number
"""
_CALL_COLUMNS = (
    "user_id, message_id, call_id, batch, position, name, server, status, attempt, started_at,"
    " completed_at, worker, decision, result, settling, provider_id, digest"
)
_CALLS = f"""
    SELECT {_CALL_COLUMNS} FROM {{tables}}.calls WHERE conversation_id = $1
    ORDER BY number, batch COLLATE "C", position
"""
_EVENTS = """
    SELECT event_id, type, content, timestamp FROM {tables}.events
    WHERE conversation_id = $1 ORDER BY event_id COLLATE "C"
"""
_PARTS = """
    SELECT message_id, number, type, media_type, data, at FROM {tables}.parts
    WHERE conversation_id = $1 ORDER BY message_id COLLATE "C", number
"""
_HEAD = """
    INSERT INTO {tables}.conversations AS c (conversation_id, last, latest) VALUES ($1, $2, $3)
    ON CONFLICT (conversation_id) DO UPDATE
    SET last = c.last + excluded.last, latest = greatest(c.latest, excluded.latest)
    RETURNING last - $2
"""
_ADD_MESSAGE = """
    INSERT INTO {tables}.messages (conversation_id, number, message_id, user_id, type, content, timestamp, written_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_ADD_CALL = f"""
    INSERT INTO {{tables}}.calls (conversation_id, {_CALL_COLUMNS})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
    ON CONFLICT (conversation_id, batch, position) DO UPDATE SET
        user_id = excluded.user_id, message_id = excluded.message_id, call_id = excluded.call_id,
        name = excluded.name, server = excluded.server, status = excluded.status, attempt = excluded.attempt,
        started_at = excluded.started_at, completed_at = excluded.completed_at, worker = excluded.worker,
        decision = excluded.decision, result = excluded.result, settling = excluded.settling,
        provider_id = excluded.provider_id, digest = excluded.digest
"""
_NUMBER_CALLS = """
    UPDATE {tables}.calls AS c SET number = m.number FROM {tables}.messages AS m
    WHERE c.conversation_id = $1 AND m.conversation_id = $1 AND m.message_id = c.message_id AND c.number IS NULL
"""
_ADD_EVENT = """
    INSERT INTO {tables}.events (conversation_id, event_id, type, content, timestamp) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
"""
_ADD_PART = """
    INSERT INTO {tables}.parts (conversation_id, message_id, number, type, media_type, data, at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
"""
_ADD_PROFILE = """
    INSERT INTO {tables}.profiles (user_id, version, data, created_at, char_count) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
"""


class TableArchive:
    """A PostgreSQL log that is copied, on one connection.

    Args:
        dsn: the address of its database.
        makes_tables: whether to create missing tables; otherwise they are an error.

    Raises:
        ConfigError: `dsn` is not an address.
    """

    def __init__(self, dsn: str, *, makes_tables: bool) -> None:
        self._address = read_dsn(dsn)
        self._makes_tables = makes_tables
        self._connection: Connection | None = None

    async def conversation_ids(self) -> AsyncIterator[str]:
        """Every conversation that has a row, a call or an event, or was claimed."""
        after, operator = "", ">="  # an id may be empty
        while ids := await self._fetch(_IDS.replace("{after}", operator), after, PAGE):
            for (id,) in ids:
                yield unpack(id)
            after, operator = ids[-1][0], ">"

    async def count(self) -> int:
        """How many conversations there are, without those that have only events."""
        [(count,)] = await self._fetch("SELECT count(*) FROM {tables}.conversations")
        return int(count)

    async def load(self, conversation_id: str) -> StoredConversation:
        """Everything of one conversation, as of one moment."""

        async def load(connection: Connection, address: Address) -> StoredConversation:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                found = [
                    await connection.fetch(
                        query.format(tables=address.tables), pack(conversation_id)
                    )
                    for query in (_MESSAGES, _CALLS, _EVENTS, _PARTS)
                ]
            return StoredConversation(*map(_read, found))

        return await self._do(load)

    async def store(
        self, conversation_id: str, whole: StoredConversation, *, rows_there: int
    ) -> None:
        """Save a conversation in one transaction; its first `rows_there` rows are there already."""
        new, id = whole.messages[rows_there:], pack(conversation_id)
        latest = max((row[4] for row in new if row[4] < END_OF_TIME), default=float("-inf"))

        async def store(connection: Connection, address: Address) -> None:
            async with connection.transaction():
                head = _HEAD.format(tables=address.tables)
                there = await connection.fetchval(head, id, len(new), latest)
                check_rows(conversation_id, there, rows_there)
                await connection.fetchval(f"SELECT {APPENDS}")
                numbered = ((number, *row) for number, row in enumerate(new, start=rows_there + 1))
                for query, rows in (
                    (_ADD_MESSAGE, numbered),
                    (_ADD_CALL, whole.calls),
                    (_ADD_EVENT, whole.events),
                    (_ADD_PART, whole.parts),
                ):
                    await connection.executemany(
                        query.format(tables=address.tables), [(id, *_packed(row)) for row in rows]
                    )
                await connection.execute(_NUMBER_CALLS.format(tables=address.tables), id)

        await self._do(store)

    async def profiles(self) -> Rows:
        """Every version of every profile."""
        return _read(
            await self._fetch(
                "SELECT user_id, version, data, created_at, char_count FROM {tables}.profiles"
                ' ORDER BY user_id COLLATE "C", version'
            )
        )

    async def store_profiles(self, profiles: Rows) -> None:
        """Save those profiles that are not there yet."""

        async def store(connection: Connection, address: Address) -> None:
            query = _ADD_PROFILE.format(tables=address.tables)
            await connection.executemany(query, [_packed(row) for row in profiles])

        await self._do(store)

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.terminate()

    async def _fetch(self, query: str, *values: Any) -> Rows:
        async def fetch(connection: Connection, address: Address) -> Rows:
            return await connection.fetch(query.format(tables=address.tables), *values)

        return await self._do(fetch)

    async def _do(self, work: Callable[[Connection, Address], Awaitable[T]]) -> T:
        try:
            if self._connection is None:
                self._connection = await connect(self._address)
                await self._check(self._connection)
            return await work(self._connection, self._address)
        except Exception as error:
            explained = explain(error, self._address)
        raise explained  # out of the block, so that its context is not the driver's error

    async def _check(self, connection: Connection) -> None:
        if self._makes_tables:
            await prepare(connection, self._address)
        elif not await find_version(connection, self._address):
            raise StorageError(
                f"{self._address.place} has no log in the schema {self._address.schema}; "
                "name another database, or another schema as ?schema=NAME"
            )


def _read(rows: Iterable[Iterable[Any]]) -> Rows:
    return [
        tuple(unpack(value) if isinstance(value, str) else value for value in row) for row in rows
    ]


def _packed(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(pack(value) for value in row)
