"""Reads a log in PostgreSQL that other programs may be writing, and leaves everything as it is.

It makes no tables. Everything that a command shows was true at one moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from ..calls.record import CallRecord
from ..errors import ConfigError, StorageError
from ..storage.log import Conversation
from ..storage.postgres.connection import (
    Address,
    PostgresConnection,
    connect,
    explain,
    pack,
    read_dsn,
    unpack,
)
from ..storage.postgres.queries import run_query
from ..storage.postgres.schema import find_version
from ..storage.queries import read_conversations
from .exits import UnusableError
from .stored import Doubtful, Lease, Row, choose_user, saved_at, shown_time

__all__ = ["conversations", "place", "rows", "state"]

T = TypeVar("T")

_USERS = """
    SELECT user_id FROM (SELECT DISTINCT user_id FROM {tables}.messages WHERE conversation_id = $1) AS users
    ORDER BY user_id COLLATE "C"
"""
_ROWS = """
    SELECT m.message_id, m.type, m.content, m.timestamp,
        c.call_id, c.batch, c.position, c.name, c.server, c.status, c.attempt, c.started_at, c.completed_at, c.worker,
        c.decision
    FROM {tables}.messages AS m LEFT JOIN {tables}.calls AS c
        ON c.conversation_id = m.conversation_id AND c.message_id = m.message_id
    WHERE m.conversation_id = $1 AND m.user_id = $2
    ORDER BY {order}
"""
ORDERED = 7
"""From this version of the tables on, the number of a row is its position; before, rows were read by time."""

_LEASES = """
    SELECT conversation_id, lease_number, lease_worker, lease_machine,
        extract(epoch FROM lease_expires_at - clock_timestamp())::float8
    FROM {tables}.conversations WHERE lease_owner IS NOT NULL AND lease_expires_at > clock_timestamp()
    ORDER BY conversation_id COLLATE "C"
"""
_DOUBTFUL = """
    SELECT conversation_id, call_id, name, status, worker FROM {tables}.calls
    WHERE status IN ('saved', 'open', 'ended', 'waiting', 'unknown')
    ORDER BY conversation_id COLLATE "C", batch COLLATE "C", position
"""


def place(dsn: str) -> str:
    """Host, port and database of a log, as messages name it.

    Raises:
        UnusableError: it is not an address.
    """
    return _address(dsn).place


def conversations(dsn: str) -> list[Conversation]:
    """List the conversations of a log, the one with the latest row last.

    Raises:
        UnusableError: there is no such log, or this user may not read it.
        StorageError: it cannot be read at this moment.
    """

    async def ask(connection: PostgresConnection, address: Address) -> list[Conversation]:
        return await run_query(connection, address, read_conversations())

    return [
        replace(found, first=shown_time(found.first), last=shown_time(found.last))
        for found in reversed(_read(dsn, ask))
    ]


def rows(dsn: str, conversation_id: str, user_id: str | None = None) -> list[Row]:
    """Read a conversation, in the order in which its rows were committed.

    Args:
        dsn: of the log.
        conversation_id: its id.
        user_id: whose, if several users have a conversation of that id.

    Raises:
        UnusableError: as above; or there is no such conversation, or it is not clear whose is meant.
        StorageError: as above.
    """
    conversation_id = conversation_id.encode(errors="replace").decode()  # as the shell gave it

    async def ask(connection: PostgresConnection, address: Address) -> list[Row]:
        users = await connection.fetch(_USERS.format(tables=address.tables), pack(conversation_id))
        names = [unpack(user) for (user,) in users]
        user = choose_user(address.place, names, conversation_id, user_id, listed_by="DB")
        is_ordered = await find_version(connection, address) >= ORDERED
        query = _ROWS.format(
            tables=address.tables, order="m.number" if is_ordered else "m.timestamp, m.number"
        )
        found = await connection.fetch(query, pack(conversation_id), pack(user))
        return [_row(*row) for row in found]

    return _read(dsn, ask)


def state(dsn: str) -> tuple[list[Lease], list[Doubtful]]:
    """The claims that are held, and the calls that are in doubt.

    Raises:
        UnusableError: as above.
        StorageError: as above.
    """

    async def ask(
        connection: PostgresConnection, address: Address
    ) -> tuple[list[Lease], list[Doubtful]]:
        leases = await connection.fetch(_LEASES.format(tables=address.tables))
        doubtful = await connection.fetch(_DOUBTFUL.format(tables=address.tables))
        return (
            [Lease(*map(_text, row)) for row in leases],
            [Doubtful(*map(_text, row)) for row in doubtful],
        )

    return _read(dsn, ask)


def _row(id: str, type: str, content: str, timestamp: float, *call: Any) -> Row:
    record = None if call[0] is None else CallRecord(*map(_text, call))
    return Row(unpack(type), unpack(content), shown_time(timestamp), saved_at(id), record)


def _text(value: Any) -> Any:
    return unpack(value) if isinstance(value, str) else value


def _address(dsn: str) -> Address:
    try:
        return read_dsn(dsn)
    except ConfigError as error:
        raise UnusableError(str(error)) from error


def _read(dsn: str, ask: Callable[[PostgresConnection, Address], Awaitable[T]]) -> T:
    address = _address(dsn)
    try:
        return asyncio.run(_ask(address, ask))
    except UnusableError:
        raise
    except ConfigError as error:  # there is no driver
        raise UnusableError(str(error)) from error
    except Exception as error:
        explained = explain(error, address)
    if explained.retryable:
        raise explained
    raise UnusableError(str(explained), cause=explained.cause)


async def _ask(address: Address, ask: Callable[[PostgresConnection, Address], Awaitable[T]]) -> T:
    connection = await connect(address)
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if not await find_version(connection, address):
            raise StorageError(
                f"{address.place} has no log in the schema {address.schema}; "
                "name another database, or another schema as ?schema=NAME"
            )
        return await ask(connection, address)
    finally:
        connection.terminate()
