"""How a SQLite file answers the queries of a log (`../queries.py`), and the queries that are its own.

The state of a conversation's rows, which a cursor has, is the file, the number of its schema, and the conversation's
revision (`schema.py`). Where no revisions are kept, every page is whole.

A file that this version has not upgraded, since it can only be read, or since nothing of ours has written to it yet, is
read by time, as it was before; the positions are then the places of the rows, and every page is whole. What such a file
lacks is read as empty.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple, TypeVar, cast

from ...outside import time, uuid7
from ..queries import Query, Statement, read_owner
from ..rows import CALL_COLUMNS, Origin
from .connection import SQLiteConnection
from .schema import (
    IS_PROVIDERS,
    OPEN_CALLS,
    OWN_ID,
    REVISIONS_TABLE,
    UNKNOWN_CALLS,
    has_column,
    has_index,
    has_table,
    is_ordered,
    is_watched,
)

T = TypeVar("T")

_SEARCH = """
    SELECT content, timestamp, conversation_id
    FROM messages
    WHERE type = 'user'
      AND user_id = $1
      AND ($2 = '' OR conversation_id != $2)
      AND EXISTS (
          SELECT 1 FROM json_each($3) WHERE LOWER(content) LIKE '%' || value || '%'
      )
    ORDER BY (
          SELECT SUM(LENGTH(content) - LENGTH(REPLACE(LOWER(content), value, '')))
          FROM json_each($3)
      ) DESC, timestamp DESC, messages.rowid
    LIMIT $4
"""
_WORDS = {
    "t": "",
    "c": "",
    "number": "rowid",
    "oldest": "rowid",
    "newest": "rowid DESC",
    "after": "rowid > $2",
    "written_at": "written_at",
    "parts": "cogency_rs_parts",
    "calls": "calls",
    "open": "calls",
    "unknown": "calls",
    "claims": "claims",
    "by_row": (
        "COALESCE((SELECT rowid FROM messages WHERE messages.message_id = calls.message_id),"
        f" {2**63 - 1}), batch, position"
    ),
    "with": "CROSS JOIN",
    "all": "-1",
    "any_row": "rowid",
    "event": "rowid",
    "is_in": "type IN (SELECT value FROM json_each($3))",
    "not_in": "type NOT IN (SELECT value FROM json_each($4))",
    "search": _SEARCH,
}
_NO_CLAIMS = """
    (SELECT NULL AS conversation_id, NULL AS number, NULL AS owner, NULL AS expires_at, NULL AS worker, NULL AS machine
    LIMIT 0)
"""
_BY_TIME = {
    "number": "ROW_NUMBER() OVER (ORDER BY timestamp, rowid)",
    "oldest": "timestamp, rowid",
    "newest": "timestamp DESC, rowid DESC",
    "after": "TRUE",
    "written_at": "NULL",
    "parts": (
        "(SELECT NULL AS conversation_id, NULL AS message_id, NULL AS number, NULL AS type, NULL AS media_type,"
        " NULL AS data, NULL AS at LIMIT 0)"
    ),
    "by_row": "batch, position",
    "head": "SELECT 0, NULL, NULL, NULL, NULL, NULL, 0",
}
"""How a file is read that this version has not upgraded."""

# Another program may have written anything into a column.
_HEAD = """
    SELECT rowid, {state}, CAST(message_id AS TEXT), NULL, NULL, (
        SELECT CAST(message_id AS TEXT) FROM messages WHERE rowid = $2 AND conversation_id = $1
    ), EXISTS (SELECT 1 FROM cogency_rs_parts WHERE conversation_id = $1)
    FROM messages WHERE conversation_id = $1 ORDER BY rowid DESC LIMIT 1
"""


class _Layout(NamedTuple):
    """What a file has of ours, as far as a read depends on it.

    Attributes:
        schema: the number of the file's schema, which every change of a table, an index or a trigger raises.
        words: the words in statements.
    """

    schema: int
    words: dict[str, str]


def words_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The words in statements, for what a file has now. It is looked at again only if its schema has changed."""
    [schema] = connection.execute("PRAGMA schema_version").fetchone()
    known = cast("_Layout | None", getattr(connection, "layout", None))
    if known is not None and known.schema == schema:
        return known.words
    words = {**_WORDS, **_calls_there(connection)}
    if not has_table(connection, "claims"):
        words["claims"] = _NO_CLAIMS
    if not is_ordered(connection):
        words |= _BY_TIME
    else:
        state = "NULL"
        if is_watched(connection):
            file = getattr(connection, "file", None)
            state = f"(SELECT '{file}/{schema}/' || quote(revision) FROM {REVISIONS_TABLE} WHERE conversation_id = $1)"
        words["head"] = _HEAD.format(state=state)
    if isinstance(connection, SQLiteConnection):
        connection.layout = _Layout(int(schema), words)
    return words


def _calls_there(connection: sqlite3.Connection) -> dict[str, str]:
    """The table of calls, as far as this file has it.

    One that only an earlier version wrote lacks the newer columns. An id that may be a provider's is read as it will be
    stored once the file is upgraded.
    """
    columns = f"conversation_id, user_id, message_id, {CALL_COLUMNS}".split(", ")
    old: dict[str, str] = {}
    end = ""
    if not has_table(connection, "calls"):
        old, end = dict.fromkeys(columns, "NULL"), "LIMIT 0"
    else:
        for newer in ("decision", "result", "settling", "digest"):
            if not has_column(connection, "calls", newer):
                old[newer] = "NULL"
        if not has_column(connection, "calls", "provider_id"):
            old["provider_id"] = f"CASE WHEN {IS_PROVIDERS} THEN call_id END"
            old["call_id"] = f"CASE WHEN {IS_PROVIDERS} THEN {OWN_ID} ELSE call_id END"
        end = "FROM calls"
    if old:
        shown = ", ".join(f"{old.get(name, name)} AS {name}" for name in columns)
        table = f"(SELECT {shown} {end}) AS calls"
        return {"calls": table, "open": table, "unknown": table}
    # SQLite does not choose an index on its own.
    return {
        word: f"calls INDEXED BY {index}"
        for word, index in (("open", OPEN_CALLS), ("unknown", UNKNOWN_CALLS))
        if has_index(connection, index)
    }


def run_query(connection: sqlite3.Connection, query: Query[T]) -> T:
    """Carry out a query, as of one moment; a transaction may be open already."""
    connection.execute("SAVEPOINT one_moment")
    words = words_of(connection)
    try:
        statement = next(query)
        while True:
            statement = query.send(_rows(connection, words, statement))
    except StopIteration as end:
        value: T = end.value
    # After a failure, the connection is closed or rolled back by those who own it.
    connection.execute("RELEASE one_moment")
    return value


def _rows(
    connection: sqlite3.Connection, words: dict[str, str], statement: Statement
) -> list[tuple[Any, ...]]:
    sql, values, many = statement
    sql = sql.format_map(words)
    if many is not None:
        connection.executemany(sql, map(_bound, many))
        return []
    return connection.execute(sql, _bound(values)).fetchall()


def _bound(values: Any) -> dict[str, Any]:
    """The values of $1, $2, …; a list is one JSON array, so that a statement is the same for any number of them."""
    return {
        str(number): json.dumps(value) if isinstance(value, list) else value
        for number, value in enumerate(values, start=1)
    }


_FORK = """
    INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp, written_at)
    SELECT lower(hex(randomblob(16))), $2, user_id, type, content, timestamp, written_at FROM messages
    WHERE conversation_id = $1 AND ($3 = '' OR user_id = $3)
    ORDER BY rowid LIMIT $4
"""
_HAS_PARTS = "SELECT 1 FROM cogency_rs_parts WHERE conversation_id = $1 LIMIT 1"
_FORK_PARTS = """
    WITH old AS (
        SELECT message_id AS id, ROW_NUMBER() OVER (ORDER BY rowid) AS place FROM messages
        WHERE conversation_id = $1 AND ($3 = '' OR user_id = $3)
    ), new AS (
        SELECT message_id AS id, ROW_NUMBER() OVER (ORDER BY rowid) AS place FROM messages
        WHERE conversation_id = $2
    )
    INSERT INTO cogency_rs_parts (conversation_id, message_id, number, type, media_type, data, at)
    SELECT $2, new.id, number, type, media_type, data, at
    FROM cogency_rs_parts AS parts JOIN old ON old.id = parts.message_id JOIN new ON new.place = old.place
    WHERE parts.conversation_id = $1
"""
_NOTE_FORK = """
    INSERT INTO events (event_id, conversation_id, type, content, timestamp) VALUES ($1, $2, 'fork', $3, $4)
"""


def fork_conversation(new_id: str, conversation_id: str, user_id: str, rows: int) -> Query[None]:
    """Begin a conversation with the first rows of another one; the rows stay inside the database.

    Args:
        new_id: the new one.
        conversation_id: the other one.
        user_id: only this user's rows; "" for everybody's.
        rows: how many.
    """
    yield Statement(_FORK, (conversation_id, new_id, user_id, rows))
    if (yield Statement(_HAS_PARTS, (conversation_id,))):
        yield Statement(_FORK_PARTS, (conversation_id, new_id, user_id))
    written = Origin(conversation_id, rows).written()
    yield Statement(_NOTE_FORK, (uuid7(), new_id, written, time()))


def delete_conversation(conversation_id: str, user_id: str | None = None) -> Query[int | None]:
    """Remove everything of a conversation; return how many rows it had.

    If `user_id` is given and the conversation is another user's, nothing is removed, and `None` is returned.
    """
    if user_id is not None and (yield from read_owner(conversation_id)) not in (None, user_id):
        return None
    query = "SELECT COUNT(*) FROM messages WHERE conversation_id = $1"
    [(count,)] = yield Statement(query, (conversation_id,))
    for table in ("events", "calls", "claims", "cogency_rs_parts", "messages"):
        yield Statement(f"DELETE FROM {table} WHERE conversation_id = $1", (conversation_id,))
    return int(count)
