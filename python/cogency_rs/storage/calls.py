"""The calls of a SQLite log: one row for each, beside its row among the messages, settled with its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .log import IN_DOUBT, NEW, CallRecord
from .schema import has_column, has_table

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

__all__ = ["columns_there", "read_calls", "read_calls_by_row", "save_calls"]

# In the order of `CallRecord`.
_COLUMNS = "call_id, batch, position, name, server, status, attempt, started_at, completed_at, worker, decision"
# A call gets its row when it is saved, or if it began early, when it is open. The row then stays.
_SAVE = f"""
    INSERT INTO calls (conversation_id, user_id, message_id, {_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (conversation_id, batch, position) DO UPDATE SET
        message_id = COALESCE(message_id, excluded.message_id),
        status = excluded.status, attempt = excluded.attempt, started_at = excluded.started_at,
        completed_at = excluded.completed_at, worker = excluded.worker, decision = excluded.decision
"""
_READ = """
    SELECT {} FROM calls
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user){}
    ORDER BY batch, position
"""
_IN_DOUBT = f" AND status IN {tuple(sorted(IN_DOUBT))}"


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
    connection: sqlite3.Connection,
    conversation_id: str,
    user_id: str,
    *,
    only_in_doubt: bool = False,
) -> list[CallRecord]:
    """The calls of a conversation, by batch and position; empty if this package never wrote to the file."""
    if not has_table(connection, "calls"):
        return []
    values = {"conversation": conversation_id, "user": user_id}
    query = _READ.format(columns_there(connection, _COLUMNS), _IN_DOUBT if only_in_doubt else "")
    return [CallRecord(*row) for row in connection.execute(query, values)]


def read_calls_by_row(
    connection: sqlite3.Connection, conversation_id: str
) -> dict[str, CallRecord]:
    """The calls of a conversation, by the id of their row."""
    if not has_table(connection, "calls"):
        return {}
    values = {"conversation": conversation_id, "user": ""}
    rows = connection.execute(
        _READ.format(columns_there(connection, f"message_id, {_COLUMNS}"), ""), values
    )
    return {id: CallRecord(*row) for id, *row in rows if id is not None}


def columns_there(connection: sqlite3.Connection, columns: str) -> str:
    """The columns of calls that this file has: one that only an earlier version wrote has no decisions."""
    if has_column(connection, "calls", "decision"):
        return columns
    return columns.replace("decision", "NULL")
