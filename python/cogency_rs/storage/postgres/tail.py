"""The rows of a conversation that are new since a cursor, and whether the rows before it have changed.

A cursor names the last row of the conversation, and the state of the rows up to it: the latest time, the revision, and
the state of the triggers that keep it (`revisions.py`). While the state is the same, rows were only added with larger
numbers; they are the new ones if none has an older time. The id of the last row tells whether a restored backup has
another one with its number.

The cost is that of a few searches in indexes, and of the rows that are returned.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ConfigError
from ...guards.json_text import read_json
from ..log import LogPage
from .revisions import TRIGGERS
from .text import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .address import Address
    from .driver import Connection

__all__ = ["check_cursor", "read_newest", "read_tail"]


class Cursor(NamedTuple):
    """A place in a conversation.

    Attributes:
        number: the largest number of a row.
        latest: the latest time of a row.
        revision: the conversation's revision.
        triggers: the state of the triggers.
        id: the id of the row with that number; `None` if it was deleted.
    """

    number: int
    latest: float
    revision: str
    triggers: str
    id: str | None


_NOWHERE = json.dumps(None)
"""The cursor of a conversation that has no rows, or whose changes nothing would show: the page after it is whole."""

_START = Cursor(-(2**63), float("-inf"), "", "", None)
"""Before every row."""

_HEAD = f"""
    head AS MATERIALIZED (
        SELECT c.last, c.latest, c.revision::text AS revision, ({TRIGGERS}) AS triggers, (
            SELECT message_id FROM {{tables}}.messages WHERE conversation_id = $1 AND number = c.last
        ) AS id
        FROM {{tables}}.conversations AS c WHERE c.conversation_id = $1
    )
"""
# Each is one statement, so that the head and the rows are of the same moment.
_NEWER = f"""
    WITH {_HEAD}, known AS MATERIALIZED (
        SELECT message_id AS id FROM {{tables}}.messages WHERE conversation_id = $1 AND number = $2
    )
    SELECT head.last, head.latest, head.revision, head.triggers, head.id, known.id, m.timestamp < $4,
        m.type, m.content, m.timestamp
    FROM (SELECT) AS always LEFT JOIN head ON true LEFT JOIN known ON true LEFT JOIN {{tables}}.messages AS m
        ON m.conversation_id = $1 AND m.number > $2 AND ($3 = '' OR m.user_id = $3)
    ORDER BY m.timestamp, m.number
"""
_NEWEST = f"""
    WITH {_HEAD}, m AS MATERIALIZED (
        SELECT type, content, timestamp, number FROM {{tables}}.messages
        WHERE conversation_id = $1 AND ($2 = '' OR user_id = $2)
        ORDER BY timestamp DESC, number DESC LIMIT $3
    )
    SELECT head.last, head.latest, head.revision, head.triggers, head.id, m.type, m.content, m.timestamp
    FROM (SELECT) AS always LEFT JOIN head ON true LEFT JOIN m ON true
    ORDER BY m.timestamp, m.number
"""


def check_cursor(text: str | None) -> Cursor | None:
    """Read a cursor; `None` stands for the beginning.

    Raises:
        ConfigError: the text is not a cursor.
    """
    if text is None or text == _NOWHERE:
        return None
    try:
        match read_json(text):
            case [int(number), float(latest), str(revision), str(triggers), str() | None as id]:
                return Cursor(number, latest, revision, triggers, id)
            case _:
                pass
    except (TypeError, ValueError):
        pass
    raise ConfigError(
        f"after={text!r} is not a cursor of this log; give the cursor of an earlier page, or None"
    )


async def read_tail(
    connection: Connection,
    address: Address,
    conversation_id: str,
    user_id: str,
    after: Cursor | None,
) -> LogPage:
    """Read the rows after `after`; the whole conversation if it is `None` or the rows before it have changed."""
    if after is not None:
        page = await _page_after(connection, address, conversation_id, user_id, after)
        if page is not None:
            return page
    found = await _newer(connection, address, conversation_id, user_id, _START)
    return _page((row[7:] for row in found), _cursor(found[0]), is_whole=True)


async def _page_after(
    connection: Connection, address: Address, conversation_id: str, user_id: str, after: Cursor
) -> LogPage | None:
    """The rows after a cursor; `None` if those up to it have changed."""
    found = await _newer(connection, address, conversation_id, user_id, after)
    now, known_id = _cursor(found[0]), _unpacked(found[0][5])
    if now is None or now.number < after.number:
        return None
    if (now.revision, now.triggers, known_id) != (after.revision, after.triggers, after.id):
        return None
    if any(is_earlier for *_, is_earlier, _, _, _ in found):
        return None
    return _page((row[7:] for row in found), now, is_whole=False)


async def _newer(
    connection: Connection, address: Address, conversation_id: str, user_id: str, after: Cursor
) -> list[tuple[Any, ...]]:
    values = (pack(conversation_id), after.number, pack(user_id), after.latest)
    return await connection.fetch(_NEWER.format(tables=address.tables), *values)


async def read_newest(
    connection: Connection, address: Address, conversation_id: str, user_id: str, limit: int
) -> LogPage:
    """Read the newest rows, at most `limit`; the page is whole if there are no more."""
    query = _NEWEST.format(tables=address.tables)
    found = await connection.fetch(query, pack(conversation_id), pack(user_id), limit + 1)
    shown = (row[5:] for row in found[-limit:])
    return _page(shown, _cursor(found[0]), is_whole=len(found) <= limit)


def _cursor(row: tuple[Any, ...]) -> Cursor | None:
    """The cursor of the last row; `None` if there is none, or no change of the rows would show."""
    number, latest, revision, triggers, id = row[:5]
    if not number or triggers is None:
        return None
    return Cursor(number, latest, revision, triggers, _unpacked(id))


def _unpacked(id: str | None) -> str | None:
    return None if id is None else unpack(id)


def _page(rows: Iterable[tuple[Any, ...]], now: Cursor | None, *, is_whole: bool) -> LogPage:
    shown: list[dict[str, Any]] = [
        {"type": unpack(type), "content": unpack(content), "timestamp": timestamp}
        for type, content, timestamp in rows
        if type is not None  # the head alone
    ]
    return LogPage(shown, _NOWHERE if now is None else json.dumps(now), is_whole=is_whole)
