"""The calls of a SQLite log: one row for each, next to its row among the messages, settled with its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls.records import NEW, CallRecord
from .schema import (
    IS_OPEN,
    IS_UNKNOWN,
    OPEN_CALLS,
    UNKNOWN_CALLS,
    has_column,
    has_index,
    has_table,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = [
    "columns_there",
    "read_calls",
    "read_calls_by_row",
    "read_open_calls",
    "read_unsettled_calls",
    "save_calls",
]

# In the order of `CallRecord`.
_COLUMNS = (
    "call_id, batch, position, name, server, status, attempt, started_at, completed_at, worker, decision,"
    " result, settling"
)
# A call gets its row when it is saved, or if it began early, when it is open. The row then stays.
_SAVE = f"""
    INSERT INTO calls (conversation_id, user_id, message_id, {_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (conversation_id, batch, position) DO UPDATE SET
        message_id = COALESCE(message_id, excluded.message_id),
        status = excluded.status, attempt = excluded.attempt, started_at = excluded.started_at,
        completed_at = excluded.completed_at, worker = excluded.worker, decision = excluded.decision,
        result = excluded.result, settling = excluded.settling
"""
_READ = """
    SELECT {} FROM calls {}
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user) AND {}
    ORDER BY batch, position
"""


def save_calls(
    connection: sqlite3.Connection,
    conversation_id: str,
    user_id: str,
    calls: Iterable[CallRecord],
    message_ids: Iterable[str],
) -> None:
    """Save new calls, and settle those that are there.

    Args:
        connection: in a transaction.
        conversation_id: the conversation they belong to.
        user_id: whose conversation that is.
        calls: by batch and position.
        message_ids: of the `call` rows that are saved too; they belong to the open calls, in order.
    """
    rows = iter(message_ids)
    connection.executemany(
        _SAVE,
        [
            (conversation_id, user_id, next(rows, None) if call.status in NEW else None, *call)
            for call in calls
        ],
    )


def read_calls(
    connection: sqlite3.Connection, conversation_id: str, user_id: str
) -> list[CallRecord]:
    """The calls of a conversation, by batch and position; empty if this package never wrote to the file."""
    return [CallRecord(*row) for row in _read(connection, _COLUMNS, conversation_id, user_id)]


def read_open_calls(
    connection: sqlite3.Connection, conversation_id: str, user_id: str
) -> list[CallRecord]:
    """Those of the calls that are not settled. The cost does not depend on the others."""
    # SQLite does not choose the index on its own. A file that an earlier version wrote lacks it.
    by = f"INDEXED BY {OPEN_CALLS}" if has_index(connection, OPEN_CALLS) else ""
    rows = _read(connection, _COLUMNS, conversation_id, user_id, by=by, which=IS_OPEN)
    return [CallRecord(*row) for row in rows]


def read_unsettled_calls(
    connection: sqlite3.Connection, user_id: str
) -> list[tuple[str, str, CallRecord]]:
    """The calls of all conversations that are waiting, may have begun, or are unknown, with conversation and user.

    The cost does not depend on the others.
    """
    if not has_table(connection, "calls"):
        return []
    columns = columns_there(connection, _COLUMNS)
    found: list[tuple[str, str, CallRecord]] = []
    for index, which in (
        (OPEN_CALLS, f"{IS_OPEN} AND status IN ('open', 'waiting')"),
        (UNKNOWN_CALLS, IS_UNKNOWN),
    ):
        by = f"INDEXED BY {index}" if has_index(connection, index) else ""
        rows = connection.execute(
            f"SELECT conversation_id, COALESCE(user_id, ''), {columns} FROM calls {by}"
            f" WHERE {which} AND (:user = '' OR user_id = :user)",
            {"user": user_id},
        )
        found += [(id, user, CallRecord(*row)) for id, user, *row in rows]
    return sorted(found, key=lambda each: (each[0], each[2].batch, each[2].position))


def read_calls_by_row(
    connection: sqlite3.Connection, conversation_id: str
) -> dict[str, CallRecord]:
    """The calls of a conversation, by the id of their row."""
    rows = _read(connection, f"message_id, {_COLUMNS}", conversation_id, "")
    return {id: CallRecord(*row) for id, *row in rows if id is not None}


def _read(
    connection: sqlite3.Connection,
    columns: str,
    conversation_id: str,
    user_id: str,
    *,
    by: str = "",
    which: str = "TRUE",
) -> Iterable[Sequence[Any]]:
    if not has_table(connection, "calls"):
        return ()
    values = {"conversation": conversation_id, "user": user_id}
    return connection.execute(_READ.format(columns_there(connection, columns), by, which), values)


def columns_there(connection: sqlite3.Connection, columns: str) -> str:
    """The columns of calls that this file has: one that only an earlier version wrote lacks the newer ones."""
    for newer in ("decision", "result", "settling"):
        if not has_column(connection, "calls", newer):
            columns = columns.replace(newer, "NULL")
    return columns
