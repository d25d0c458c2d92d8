"""Which conversations a SQLite log holds, and how one is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..outside import time, uuid7
from .layout import layout_of
from .log import Conversation
from .origin import Origin
from .schema import has_table
from .stored_rows import EVENTS, LISTED, OWNERS

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "delete_conversation",
    "fork_conversation",
    "list_conversations",
    "order_of",
    "origin_of",
    "owner_of",
]

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
