"""The rows of a conversation that are new since a cursor, and whether the rows before it have changed.

A cursor holds how many rows the conversation had, the sum of their numbers, and the last of them. Count and sum are
read off an index; they tell whether any other row was added or removed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .log import LogPage

if TYPE_CHECKING:
    import sqlite3

__all__ = ["check_cursor", "read_tail"]

Cursor = tuple[int, float, float, int, str]
"""Count of rows, sum of their numbers; timestamp, number and id of the last one."""

_START: Cursor = (0, 0.0, float("-inf"), 0, "")

# One statement, so that the sums and the rows are of the same moment.
_NEWER = """
    WITH whole(count, sum) AS (
        SELECT COUNT(*), TOTAL(rowid) FROM messages WHERE conversation_id = :conversation
    )
    SELECT count, sum, timestamp, rowid, CAST(message_id AS TEXT), user_id, type, content
    FROM messages, whole
    WHERE conversation_id = :conversation AND timestamp >= :since
    ORDER BY timestamp, rowid
"""


def check_cursor(text: str | None) -> Cursor | None:
    """Read a cursor.

    Raises:
        ConfigError: the text is not a cursor.
    """
    if text is None:
        return None
    try:
        count, numbers, timestamp, number, id = json.loads(text)
        return int(count), float(numbers), float(timestamp), int(number), str(id)
    except (TypeError, ValueError):
        raise ConfigError(
            f"after={text!r} is not a cursor of this log; give the cursor of an earlier page, or None"
        ) from None


def read_tail(
    connection: sqlite3.Connection, conversation_id: str, user_id: str, after: Cursor | None
) -> LogPage:
    """Read the rows after `after`; the whole conversation if it is `None` or the rows before it have changed."""
    page = None if after is None else _page(connection, conversation_id, user_id, after)
    if page is None:
        page = _page(connection, conversation_id, user_id, _START)
    assert page is not None, "nothing stands before the start"
    return page


def _page(
    connection: sqlite3.Connection, conversation_id: str, user_id: str, after: Cursor
) -> LogPage | None:
    """The rows after a cursor; `None` if those up to it have changed."""
    count, numbers, *last = after
    values = {"conversation": conversation_id, "since": last[0]}
    rows = connection.execute(_NEWER, values).fetchall()
    newer = [row for row in rows if [*row[2:4]] > last[:2]]
    grown = (count + len(newer), numbers + sum(row[3] for row in newer))
    if count and (not any([*row[2:5]] == last for row in rows) or grown != rows[0][:2]):
        return None
    wanted: list[dict[str, Any]] = [
        {"type": type, "content": content, "timestamp": timestamp}
        for _, _, timestamp, _, _, user, type, content in newer
        if not user_id or user == user_id
    ]
    cursor = json.dumps([*grown, *(newer[-1][2:5] if newer else last)])
    return LogPage(wanted, cursor, is_whole=count == 0)
