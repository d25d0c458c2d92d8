"""What is read from a SQLite log, and the changes that are one query: rows, calls, and which conversations there are.

A cursor names the last row of a conversation by its number, which is its position, and the state of the rows up to it:
the file, the number of its schema, and the conversation's revision (`schema.py`). While the state is the same and that
row is there, rows were only added after it. Where no revisions are kept, every page is whole. A page costs a few
searches in indexes, and the rows that are returned.

A file that this version has not upgraded, since it can only be read, or since nothing of ours has written to it yet, is
read by time, as it was before; the positions are then the places of the rows, and every page is whole.

A call has one row, next to its row among the messages, which is settled with its results.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...calls.record import NEW, CallRecord
from ...errors import ConfigError
from ...guards.json import read_json
from ...outside import time, uuid7
from ..log import Conversation, LogPage, Part
from ..rows import EVENTS, LISTED, OWNERS, PARTS, REVISIONS, Origin, call_of, shown
from .connection import Connection, Layout, layout_of
from .schema import (
    IS_OPEN,
    IS_PROVIDERS,
    IS_UNKNOWN,
    OPEN_CALLS,
    OWN_ID,
    TABLE,
    UNKNOWN_CALLS,
    has_column,
    has_index,
    has_table,
)

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


# Another program may have written anything into a column.
_LIST = """
    SELECT
        conversation_id, COALESCE(user_id, ''), COUNT(*),
        MIN(CAST(timestamp AS REAL)), MAX(CAST(timestamp AS REAL)),
        (
            SELECT CAST(content AS TEXT) FROM messages AS asked
            WHERE asked.conversation_id = messages.conversation_id AND type = 'user'
              AND COALESCE(asked.user_id, '') = COALESCE(messages.user_id, '')
            ORDER BY {order} LIMIT 1
        )
    FROM messages
    WHERE :user = '' OR user_id = :user
    GROUP BY conversation_id, COALESCE(user_id, '')
    ORDER BY MAX(timestamp) DESC, conversation_id DESC
    LIMIT :limit
"""


def list_conversations(
    connection: sqlite3.Connection, user_id: str = "", limit: int | None = None
) -> list[Conversation]:
    """List conversations, one entry for each user of each, the one with the latest row first."""
    values = {"user": user_id, "limit": -1 if limit is None else limit}
    query = _LIST.format(order=order_of(connection))
    listed = connection.execute(query, values).fetchall()
    LISTED.check_all([row[:2] for row in listed], "of the list of conversations")
    return [Conversation(*row) for row in listed]


def order_of(connection: sqlite3.Connection) -> str:
    """What the rows of a conversation are sorted by: their number, or in a file that is not upgraded their time."""
    return "rowid" if layout_of(connection).is_ordered else "timestamp, rowid"


# Read off an index, without a look at other rows.
_OWNER = """
    SELECT COALESCE(user_id, '') FROM messages WHERE conversation_id = ? ORDER BY {order} LIMIT 1
"""


def owner_of(connection: sqlite3.Connection, conversation_id: str) -> str | None:
    """The user of a conversation's first row; `None` if it has no row."""
    query = _OWNER.format(order=order_of(connection))
    row = connection.execute(query, (conversation_id,)).fetchone()
    if row is None:
        return None
    OWNERS.check(row, f"the first of conversation {conversation_id!r}")
    owner: str = row[0]
    return owner


_FORK = """
    INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp, written_at)
    SELECT lower(hex(randomblob(16))), :new, user_id, type, content, timestamp, written_at FROM messages
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user)
    ORDER BY rowid LIMIT :rows
"""
_HAS_PARTS = "SELECT 1 FROM cogency_rs_parts WHERE conversation_id = ? LIMIT 1"
_FORK_PARTS = """
    WITH old AS (
        SELECT message_id AS id, ROW_NUMBER() OVER (ORDER BY rowid) AS place FROM messages
        WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user)
    ), new AS (
        SELECT message_id AS id, ROW_NUMBER() OVER (ORDER BY rowid) AS place FROM messages
        WHERE conversation_id = :new
    )
    INSERT INTO cogency_rs_parts (conversation_id, message_id, number, type, media_type, data, at)
    SELECT :new, new.id, number, type, media_type, data, at
    FROM cogency_rs_parts AS parts JOIN old ON old.id = parts.message_id JOIN new ON new.place = old.place
    WHERE parts.conversation_id = :conversation
"""
_ORIGIN = """
    SELECT content FROM events WHERE conversation_id = ? AND type = 'fork' ORDER BY timestamp LIMIT 1
"""


def fork_conversation(
    connection: sqlite3.Connection, new_id: str, conversation_id: str, user_id: str, rows: int
) -> None:
    """Begin a conversation with the first rows of another one; the rows stay inside the database.

    Args:
        connection: in a transaction.
        new_id: the new one.
        conversation_id: the other one.
        user_id: only this user's rows; "" for everybody's.
        rows: how many.
    """
    values = {"conversation": conversation_id, "new": new_id, "user": user_id, "rows": rows}
    connection.execute(_FORK, values)
    if connection.execute(_HAS_PARTS, (conversation_id,)).fetchone() is not None:
        connection.execute(_FORK_PARTS, values)
    event = (uuid7(), new_id, "fork", Origin(conversation_id, rows).written(), time())
    connection.execute(
        "INSERT INTO events (event_id, conversation_id, type, content, timestamp)"
        " VALUES (?, ?, ?, ?, ?)",
        event,
    )


def origin_of(connection: sqlite3.Connection, conversation_id: str) -> Origin | None:
    """Where a conversation comes from; `None` if it is not a fork."""
    row = connection.execute(_ORIGIN, (conversation_id,)).fetchone()
    if row is None:
        return None
    EVENTS.check(row, f"'fork' of conversation {conversation_id!r}")
    return Origin.of(row[0], conversation_id)


def delete_conversation(
    connection: sqlite3.Connection, conversation_id: str, user_id: str | None = None
) -> int | None:
    """Remove everything of a conversation; return how many rows it had.

    If `user_id` is given and the conversation is another user's, nothing is removed, and `None` is returned.
    """
    if user_id is not None and owner_of(connection, conversation_id) not in (None, user_id):
        return None
    values = (conversation_id,)
    for table in ("events", "calls", "claims", "cogency_rs_parts"):
        if has_table(connection, table):
            connection.execute(f"DELETE FROM {table} WHERE conversation_id = ?", values)
    return connection.execute("DELETE FROM messages WHERE conversation_id = ?", values).rowcount


class Cursor(NamedTuple):
    """A place in a conversation.

    Attributes:
        file: the device and inode of the file, or `None` for a log in memory.
        schema: the number of the file's schema.
        revision: the conversation's revision.
        number: of its last row, of any user.
        id: of that row.
    """

    file: tuple[int, int] | None
    schema: int
    revision: int
    number: int
    id: str | None


class _End(NamedTuple):
    """The end of a conversation.

    Attributes:
        cursor: of its last row; `None` if there is no row, or no change of the rows would show.
        has_parts: whether any of its rows has parts.
    """

    cursor: Cursor | None
    has_parts: bool


_NOWHERE = json.dumps(None)
"""The cursor of a conversation that has no rows, or whose changes nothing would show: the page after it is whole."""

_REVISION = f"SELECT revision FROM {TABLE} WHERE conversation_id = :conversation"
_PARTS_EXIST = "EXISTS (SELECT 1 FROM cogency_rs_parts WHERE conversation_id = :conversation)"
# Another program may have written anything into a column.
_LAST = f"""
    SELECT ({_REVISION}), rowid, CAST(message_id AS TEXT), {_PARTS_EXIST} FROM messages
    WHERE conversation_id = :conversation ORDER BY rowid DESC LIMIT 1
"""
_LAST_UNWATCHED = f"SELECT NULL, NULL, NULL, {_PARTS_EXIST}"
_IS_THERE = """
    SELECT 1 FROM messages
    WHERE rowid = :number AND conversation_id = :conversation AND CAST(message_id AS TEXT) IS :id
"""
_ROWS = """
    SELECT type, content, timestamp, rowid, written_at FROM messages
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user)
"""
_WHOLE = f"{_ROWS} ORDER BY rowid"
_NEW = f"{_ROWS} AND rowid > :number ORDER BY rowid"
_NEWEST = f"{_ROWS} ORDER BY rowid DESC LIMIT :limit"
_PARTS = """
    SELECT messages.rowid, parts.type, parts.media_type, parts.data, parts.at
    FROM messages CROSS JOIN cogency_rs_parts AS parts
        ON parts.conversation_id = messages.conversation_id AND parts.message_id = messages.message_id
    WHERE messages.conversation_id = :conversation AND (:user = '' OR messages.user_id = :user)
        AND messages.rowid >= :first
    ORDER BY messages.rowid, parts.number
"""
_ROWS_BY_TIME = """
    SELECT type, content, timestamp, ROW_NUMBER() OVER (ORDER BY timestamp, rowid), NULL FROM messages
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user)
"""
_WHOLE_BY_TIME = f"{_ROWS_BY_TIME} ORDER BY timestamp, rowid"
_NEWEST_BY_TIME = f"{_ROWS_BY_TIME} ORDER BY timestamp DESC, rowid DESC LIMIT :limit"


def check_cursor(text: str | None) -> Cursor | None:
    """Read a cursor; `None` stands for the beginning.

    Raises:
        ConfigError: the text is not a cursor.
    """
    if text is None or text == _NOWHERE:
        return None
    try:
        read: Any = read_json(text)
        match read:
            case [
                [int(), int()] | None,
                int(schema),
                int(revision),
                int(number),
                str() | None as id,
            ]:
                file: Any = read[0]
                where = None if file is None else (int(file[0]), int(file[1]))
                return Cursor(where, schema, revision, number, id)
            case _:
                pass
    except (TypeError, ValueError):
        pass
    raise ConfigError(
        f"after={text!r} is not a cursor of this log; give the cursor of an earlier page, or None"
    )


def read_tail(
    connection: sqlite3.Connection, conversation_id: str, user_id: str, after: Cursor | None
) -> LogPage:
    """Read the rows after `after`; the whole conversation if it is `None` or the rows before it have changed."""
    values: dict[str, Any] = {"conversation": conversation_id, "user": user_id}
    with _one_moment(connection):
        layout = layout_of(connection)
        end = _end(connection, layout, values)
        now = end.cursor
        if after is None or now is None or not _is_after(connection, values, now, after):
            query = _WHOLE if layout.is_ordered else _WHOLE_BY_TIME
            rows = connection.execute(query, values).fetchall()
            return _page(connection, values, rows, end, is_whole=True)
        rows = []
        if now.number != after.number:
            values["number"] = after.number
            rows = connection.execute(_NEW, values).fetchall()
        return _page(connection, values, rows, end, is_whole=False)


def read_newest(
    connection: sqlite3.Connection, conversation_id: str, user_id: str, limit: int
) -> LogPage:
    """Read the newest rows, at most `limit`; the page is whole if there are no more."""
    values: dict[str, Any] = {"conversation": conversation_id, "user": user_id, "limit": limit + 1}
    with _one_moment(connection):
        layout = layout_of(connection)
        end = _end(connection, layout, values)
        query = _NEWEST if layout.is_ordered else _NEWEST_BY_TIME
        rows = connection.execute(query, values).fetchall()
        newest = rows[limit - 1 :: -1]
        return _page(connection, values, newest, end, is_whole=len(rows) <= limit)


def _end(connection: sqlite3.Connection, layout: Layout, values: dict[str, Any]) -> _End:
    if not layout.is_ordered:
        return _End(None, has_parts=False)
    query = _LAST if layout.is_watched else _LAST_UNWATCHED
    found = connection.execute(query, values).fetchone()
    if found is None:
        return _End(None, has_parts=False)
    revision, number, id, has_parts = found
    if revision is None:
        return _End(None, bool(has_parts))
    REVISIONS.check((revision,), repr(values["conversation"]))
    file = connection.file if isinstance(connection, Connection) else None
    return _End(Cursor(file, layout.schema, revision, number, id), bool(has_parts))


def _is_after(
    connection: sqlite3.Connection, values: dict[str, Any], now: Cursor, then: Cursor
) -> bool:
    """Whether rows were only added after the last one since `then`."""
    if now[:3] != then[:3]:
        return False
    if now == then:
        return True
    found = connection.execute(_IS_THERE, values | {"number": then.number, "id": then.id})
    return found.fetchone() is not None


def _page(
    connection: sqlite3.Connection,
    values: dict[str, Any],
    found: list[tuple[Any, ...]],
    end: _End,
    *,
    is_whole: bool,
) -> LogPage:
    rows = shown(found)
    if end.has_parts and rows:
        places = {row["position"]: row for row in rows}
        found_parts = connection.execute(_PARTS, values | {"first": rows[0]["position"]})
        for number, *part in PARTS.checked(found_parts, _of_row):
            if number in places:
                row = places[number]
                row["parts"] = (*row.get("parts", ()), Part(*part))
    cursor = _NOWHERE if end.cursor is None else json.dumps(end.cursor)
    return LogPage(rows, cursor, is_whole=is_whole)


def _of_row(part: Sequence[Any]) -> str:
    return f"of the message {part[0]}"


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Inside this context, everything is read as of one moment; a transaction may be open already."""
    connection.execute("SAVEPOINT one_moment")
    yield  # after a failure, the connection is closed or rolled back by those who own it
    connection.execute("RELEASE one_moment")
