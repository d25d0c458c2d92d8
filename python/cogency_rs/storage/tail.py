"""The rows of a conversation that are new since a cursor, and whether the rows before it have changed.

A cursor names the last row of the conversation, and the state of the rows up to it: the file, the number of its schema,
and the conversation's revision (`revisions.py`). While the state is the same and that row is there, rows were only
added after it. Where no revisions are kept, in a file that only plain cogency has written, every page is whole.

The cost is that of a few searches in indexes, and of the rows that are returned.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError
from ..guards.json_text import read_json
from .connection import Connection
from .log import LogPage
from .revisions import revision_of

if TYPE_CHECKING:
    import sqlite3

__all__ = ["check_cursor", "read_newest", "read_tail"]


class Last(NamedTuple):
    """The last row of a conversation, of any user."""

    timestamp: float
    number: int
    id: str | None


class Cursor(NamedTuple):
    """A place in a conversation.

    Attributes:
        file: the device and inode of the file, or `None` for a log in memory.
        schema: the number of the file's schema.
        revision: the conversation's revision.
        last: its last row.
    """

    file: tuple[int, int] | None
    schema: int
    revision: int
    last: Last

    def written(self) -> str:
        """The cursor as text."""
        return json.dumps([self.file, self.schema, self.revision, self.last])


_NOWHERE = json.dumps(None)
"""The cursor of a conversation that has no rows, or whose changes nothing would show: the page after it is whole."""

# Another program may have written anything into a column.
_LAST = """
    SELECT timestamp, rowid, CAST(message_id AS TEXT) FROM messages WHERE conversation_id = ?
    ORDER BY timestamp DESC, rowid DESC LIMIT 1
"""
_IS_THERE = """
    SELECT 1 FROM messages
    WHERE rowid = :number AND conversation_id = :conversation AND timestamp = :timestamp
        AND CAST(message_id AS TEXT) IS :id
"""
_ROWS = """
    SELECT type, content, timestamp FROM messages
    WHERE conversation_id = :conversation AND (:user = '' OR user_id = :user)
"""
_WHOLE = f"{_ROWS} ORDER BY timestamp, rowid"
_NEWEST = f"{_ROWS} ORDER BY timestamp DESC, rowid DESC LIMIT :limit"
# Two searches: SQLite would search by the time alone for what is above both, and go through all rows of that time.
_OF_ITS_TIME = f"{_ROWS} AND timestamp = :timestamp AND rowid > :number ORDER BY rowid"
_LATER = f"{_ROWS} AND timestamp > :timestamp ORDER BY timestamp, rowid"


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
                [float(time), int(number), str() | None as id],
            ]:
                file: Any = read[0]
                where = None if file is None else (int(file[0]), int(file[1]))
                return Cursor(where, schema, revision, Last(time, number, id))
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
        now = _end(connection, conversation_id)
        if after is None or now is None or not _is_after(connection, values, now, after):
            return _page(connection.execute(_WHOLE, values).fetchall(), now, is_whole=True)
        rows: list[tuple[Any, ...]] = []
        if now.last != after.last:
            values |= after.last._asdict()
            rows += connection.execute(_OF_ITS_TIME, values)
            rows += connection.execute(_LATER, values)
        return _page(rows, now, is_whole=False)


def read_newest(
    connection: sqlite3.Connection, conversation_id: str, user_id: str, limit: int
) -> LogPage:
    """Read the newest rows, at most `limit`; the page is whole if there are no more."""
    values = {"conversation": conversation_id, "user": user_id, "limit": limit + 1}
    with _one_moment(connection):
        now = _end(connection, conversation_id)
        rows = connection.execute(_NEWEST, values).fetchall()
    return _page(rows[limit - 1 :: -1], now, is_whole=len(rows) <= limit)


def _end(connection: sqlite3.Connection, conversation_id: str) -> Cursor | None:
    """The cursor of the last row; `None` if there is no row, or no change of the rows would show."""
    revision = revision_of(connection, conversation_id)
    found = connection.execute(_LAST, (conversation_id,)).fetchone()
    if revision is None or found is None or not isinstance(found[0], float):
        return None
    [schema] = connection.execute("PRAGMA schema_version").fetchone()
    file = connection.file if isinstance(connection, Connection) else None
    return Cursor(file, int(schema), revision, Last(*found))


def _is_after(
    connection: sqlite3.Connection, values: dict[str, Any], now: Cursor, then: Cursor
) -> bool:
    """Whether rows were only added after the last one since `then`."""
    if now._replace(last=then.last) != then:
        return False
    if now.last == then.last:
        return True
    found = connection.execute(_IS_THERE, values | then.last._asdict())
    return found.fetchone() is not None


def _page(rows: list[tuple[Any, ...]], now: Cursor | None, *, is_whole: bool) -> LogPage:
    shown: list[dict[str, Any]] = [
        {"type": type, "content": content, "timestamp": timestamp}
        for type, content, timestamp in rows
    ]
    return LogPage(shown, _NOWHERE if now is None else now.written(), is_whole=is_whole)


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Inside this context, everything is read as of one moment; a transaction may be open already."""
    connection.execute("SAVEPOINT one_moment")
    yield  # after a failure, the connection is closed or rolled back by those who own it
    connection.execute("RELEASE one_moment")
