"""The rows of a conversation that are new since a cursor, and whether the rows before it have changed.

A cursor holds the number of the last row, the latest time up to it, and the revision of the conversation, which is
replaced when one of its rows is deleted or changed. Rows are numbered in the order of their commits, so the new rows
are those with a larger number.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ..log import LogPage
from .text import pack, unpack

if TYPE_CHECKING:
    from .address import Address
    from .driver import Connection

__all__ = ["check_cursor", "read_tail"]

Cursor = tuple[int, float, str]
"""Number of the last row, latest time, revision."""

_START: Cursor = (0, float("-inf"), "")

# One statement, so that the head and the rows are of the same moment.
_NEWER = """
    SELECT c.last, c.latest, c.revision::text, m.number, m.type, m.content, m.timestamp
    FROM {tables}.conversations AS c LEFT JOIN {tables}.messages AS m
        ON m.conversation_id = c.conversation_id AND m.number > $2 AND ($3 = '' OR m.user_id = $3)
    WHERE c.conversation_id = $1
    ORDER BY m.timestamp, m.number
"""


def check_cursor(text: str | None) -> Cursor | None:
    """Read a cursor.

    Raises:
        ConfigError: the text is not a cursor.
    """
    if text is None:
        return None
    try:
        number, latest, revision = json.loads(text)
        return int(number), float(latest), str(revision)
    except (TypeError, ValueError):
        raise ConfigError(
            f"after={text!r} is not a cursor of this log; give the cursor of an earlier page, or None"
        ) from None


async def read_tail(
    connection: Connection,
    address: Address,
    conversation_id: str,
    user_id: str,
    after: Cursor | None,
) -> LogPage:
    """Read the rows after `after`; the whole conversation if it is `None` or the rows before it have changed."""
    if after is not None and after[0]:
        page = await _page(connection, address, conversation_id, user_id, after)
        if page is not None:
            return page
    page = await _page(connection, address, conversation_id, user_id, _START)
    assert page is not None, "nothing stands before the start"
    return page


async def _page(
    connection: Connection, address: Address, conversation_id: str, user_id: str, after: Cursor
) -> LogPage | None:
    """The rows after a cursor; `None` if those up to it have changed."""
    number, latest, revision = after
    query = _NEWER.format(tables=address.tables)
    found = await connection.fetch(query, pack(conversation_id), number, pack(user_id))
    head = found[0][:3] if found else _START
    rows = [row[4:] for row in found if row[3] is not None]
    if number and (head[0] < number or head[2] != revision or any(row[2] < latest for row in rows)):
        return None
    return LogPage(
        [
            {"type": unpack(type), "content": unpack(content), "timestamp": timestamp}
            for type, content, timestamp in rows
        ],
        json.dumps(list(head)),
        is_whole=not number,
    )
