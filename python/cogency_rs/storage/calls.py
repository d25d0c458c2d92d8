"""The calls of a SQLite log: one row for each, next to its row among the messages, settled with its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls.record import NEW, CallRecord
from .layout import layout_of
from .schema import (
    IS_OPEN,
    IS_PROVIDERS,
    IS_UNKNOWN,
    OPEN_CALLS,
    OWN_ID,
    UNKNOWN_CALLS,
    has_column,
    has_index,
    has_table,
)
from .stored_rows import call_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = [
    "BY_ROW",
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
    " result, settling, provider_id, digest"
)
# A call gets its row when it is saved, or if it began early, when it is open. The row then stays.
_SAVE = f"""
    INSERT INTO calls (conversation_id, user_id, message_id, {_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (conversation_id, batch, position) DO UPDATE SET
        message_id = COALESCE(message_id, excluded.message_id),
        status = excluded.status, attempt = excluded.attempt, started_at = excluded.started_at,
        completed_at = excluded.completed_at, worker = excluded.worker, decision = excluded.decision,
        result = excluded.result, settling = excluded.settling, digest = excluded.digest
"""
_READ = """
    SELECT {} FROM calls {}
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user) AND {}
    ORDER BY {}
"""
BY_ROW = f"""
    COALESCE((SELECT rowid FROM messages WHERE messages.message_id = calls.message_id), {2**63 - 1}), batch, position
"""
"""The order of the calls' rows, which is that of commits; after them those without a row."""


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
    """The calls of a conversation, in the order of their rows; empty if this package never wrote to the file."""
    return [call_of(row) for row in _read(connection, _COLUMNS, conversation_id, user_id)]


def read_open_calls(
    connection: sqlite3.Connection, conversation_id: str, user_id: str
) -> list[CallRecord]:
    """Those of the calls that are not settled. The cost does not depend on the others."""
    # SQLite does not choose the index on its own. A file that an earlier version wrote lacks it.
    by = f"INDEXED BY {OPEN_CALLS}" if has_index(connection, OPEN_CALLS) else ""
    rows = _read(connection, _COLUMNS, conversation_id, user_id, by=by, which=IS_OPEN)
    return [call_of(row) for row in rows]


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
        (OPEN_CALLS, f"{IS_OPEN} AND status IN ('open', 'delegated', 'waiting')"),
        (UNKNOWN_CALLS, IS_UNKNOWN),
    ):
        by = f"INDEXED BY {index}" if has_index(connection, index) else ""
        rows = connection.execute(
            f"SELECT conversation_id, COALESCE(user_id, ''), {columns} FROM calls {by}"
            f" WHERE {which} AND (:user = '' OR user_id = :user)",
            {"user": user_id},
        )
        found += [(id, user, call_of(row)) for id, user, *row in rows]
    return sorted(found, key=lambda each: (each[0], each[2].batch, each[2].position))


def read_calls_by_row(
    connection: sqlite3.Connection, conversation_id: str
) -> dict[str, CallRecord]:
    """The calls of a conversation, by the id of their row."""
    rows = _read(connection, f"message_id, {_COLUMNS}", conversation_id, "")
    return {id: call_of(row) for id, *row in rows if id is not None}


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
    order = BY_ROW if layout_of(connection).is_ordered else "batch, position"
    query = _READ.format(columns_there(connection, columns), by, which, order)
    return connection.execute(query, values)


def columns_there(connection: sqlite3.Connection, columns: str) -> str:
    """The columns of calls as far as this file has them: one that only an earlier version wrote lacks the newer ones.

    An id that may be a provider's is read as it will be stored once the file is upgraded.
    """
    old: dict[str, str] = {}
    for newer in ("decision", "result", "settling", "digest"):
        if not has_column(connection, "calls", newer):
            old[newer] = "NULL"
    if not has_column(connection, "calls", "provider_id"):
        old["provider_id"] = f"CASE WHEN {IS_PROVIDERS} THEN call_id END"
        old["call_id"] = f"CASE WHEN {IS_PROVIDERS} THEN {OWN_ID} ELSE call_id END"
    return ", ".join(old.get(name, name) for name in columns.split(", "))
