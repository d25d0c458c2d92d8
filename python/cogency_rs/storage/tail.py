"""The rows of a conversation that are new since a cursor, and whether the rows before it have changed.

A cursor names the last row of the conversation by its number, which is its position, and the state of the rows up to
it: the file, the number of its schema, and the conversation's revision (`revisions.py`). While the state is the same
and that row is there, rows were only added after it. Where no revisions are kept, every page is whole.

A file that this version has not upgraded, since it can only be read, or since nothing of ours has written to it yet, is
read by time, as it was before; the positions are then the places of the rows, and every page is whole.

The cost is that of a few searches in indexes, and of the rows that are returned.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError
from ..guards.json import read_json
from .connection import Connection
from .layout import Layout, layout_of
from .log import LogPage, Part
from .revisions import TABLE
from .stored_rows import MESSAGES, PARTS, REVISIONS, time_of

if TYPE_CHECKING:
    import sqlite3

__all__ = ["check_cursor", "read_newest", "read_tail", "shown"]


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
_HAS_PARTS = "EXISTS (SELECT 1 FROM cogency_rs_parts WHERE conversation_id = :conversation)"
# Another program may have written anything into a column.
_LAST = f"""
    SELECT ({_REVISION}), rowid, CAST(message_id AS TEXT), {_HAS_PARTS} FROM messages
    WHERE conversation_id = :conversation ORDER BY rowid DESC LIMIT 1
"""
_LAST_UNWATCHED = f"SELECT NULL, NULL, NULL, {_HAS_PARTS}"
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


def shown(found: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows as a page has them: of type, content, timestamp, position, and another time or `None`.

    Raises:
        StorageError: a cell of one of them has another type than its column.
    """
    rows = MESSAGES.checked(found, itemgetter(3))
    return [
        {"type": type, "content": content, "timestamp": time_of(timestamp), "position": position}
        if written_at is None
        else {
            "type": type,
            "content": content,
            "timestamp": time_of(timestamp),
            "position": position,
            "written_at": time_of(written_at),
        }
        for type, content, timestamp, position, written_at in rows
    ]


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Inside this context, everything is read as of one moment; a transaction may be open already."""
    connection.execute("SAVEPOINT one_moment")
    yield  # after a failure, the connection is closed or rolled back by those who own it
    connection.execute("RELEASE one_moment")
