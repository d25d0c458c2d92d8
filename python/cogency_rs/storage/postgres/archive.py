"""A PostgreSQL log as a whole, to be copied from or to; see `../copying.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import StorageError
from ..copying import Rows, SqlArchive, check_rows
from ..queries import Query, Statement, find
from ..rows import END_OF_TIME
from .connection import PostgresConnection, connect, explain, read_dsn
from .queries import run_query
from .schema import APPENDS, find_version, prepare

T = TypeVar("T")

_ADD_TO_HEAD = """
    INSERT INTO {t}conversations AS c (conversation_id, last, latest) VALUES ($1, $2, $3)
    ON CONFLICT (conversation_id) DO UPDATE
    SET last = c.last + excluded.last, latest = greatest(c.latest, excluded.latest)
    RETURNING last - $2
"""
_ADD_NUMBERED_ROW = """
    INSERT INTO {t}messages (conversation_id, number, message_id, user_id, type, content, timestamp, written_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_NUMBER_CALLS = """
    UPDATE {t}calls AS c SET number = m.number FROM {t}messages AS m
    WHERE c.conversation_id = $1 AND m.conversation_id = $1 AND m.message_id = c.message_id AND c.number IS NULL
"""


class TableArchive(SqlArchive):
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
        self._connection: PostgresConnection | None = None

    async def _ask(self, query: Callable[..., Query[T]], *values: Any) -> T:
        return await self._answer(query(*values), isolation="repeatable_read", readonly=True)

    async def _change(self, query: Callable[..., Query[T]], *values: Any) -> T:
        return await self._answer(query(*values))

    async def _answer(self, query: Query[T], **transaction: Any) -> T:
        try:
            if self._connection is None:
                self._connection = await connect(self._address)
                await self._check(self._connection)
            async with self._connection.transaction(**transaction):
                return await run_query(self._connection, self._address, query)
        except Exception as error:
            explained = explain(error, self._address)
        raise explained  # out of the block, so that its context is not the driver's error

    async def _check(self, connection: PostgresConnection) -> None:
        if self._makes_tables:
            await prepare(connection, self._address)
        elif not await find_version(connection, self._address):
            raise StorageError(
                f"{self._address.place} has no log in the schema {self._address.schema}; "
                "name another database, or another schema as ?schema=NAME"
            )

    def _add_messages(self, conversation_id: str, new: Rows, rows_there: int) -> Query[None]:
        latest = max((row[4] for row in new if row[4] < END_OF_TIME), default=float("-inf"))
        [(there,)] = yield from find(_ADD_TO_HEAD, conversation_id, len(new), latest)
        check_rows(conversation_id, there, rows_there)
        yield from find(f"SELECT {APPENDS}")
        numbered = enumerate(new, start=rows_there + 1)
        rows = [(conversation_id, number, *row) for number, row in numbered]
        yield Statement(_ADD_NUMBERED_ROW, many=rows)

    def _number_calls(self, conversation_id: str) -> Query[None]:
        yield from find(_NUMBER_CALLS, conversation_id)

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.terminate()
