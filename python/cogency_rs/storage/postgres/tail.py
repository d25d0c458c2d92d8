"""The rows of a conversation that are new since a cursor, and whether the rows before it have changed.

A cursor names the last row of the conversation by its number, which is its position, and the state of the rows up to
it: the revision, and the state of the triggers that keep it (`revisions.py`). While the state is the same, rows were
only added with larger numbers. The id of the last row tells whether a restored backup has another one with its number.

The cost is that of a few searches in indexes, and of the rows that are returned.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ConfigError
from ...guards.json import read_json
from ..log import LogPage, Part
from ..tail import shown
from .revisions import TRIGGERS
from .text import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .address import Address
    from .driver import Connection

__all__ = ["check_cursor", "read_newest", "read_tail"]


class Cursor(NamedTuple):
    """A place in a conversation.

    Attributes:
        number: the largest number of a row.
        revision: the conversation's revision.
        triggers: the state of the triggers.
        id: the id of the row with that number; `None` if it was deleted.
    """

    number: int
    revision: str
    triggers: str
    id: str | None


_NOWHERE = json.dumps(None)
"""The cursor of a conversation that has no rows, or whose changes nothing would show: the page after it is whole."""

_FIRST = -(2**63)
"""Below every number of a row."""

_HEAD = f"""
    head AS MATERIALIZED (
        SELECT c.last, c.revision::text AS revision, ({TRIGGERS}) AS triggers, (
            SELECT message_id FROM {{tables}}.messages WHERE conversation_id = $1 AND number = c.last
        ) AS id
        FROM {{tables}}.conversations AS c WHERE c.conversation_id = $1
    ), parts AS MATERIALIZED (
        SELECT EXISTS (SELECT 1 FROM {{tables}}.parts WHERE conversation_id = $1) AS exist
    )
"""
# Each is one statement, so that the head and the rows are of the same moment.
_NEWER = f"""
    WITH {_HEAD}, known AS MATERIALIZED (
        SELECT message_id AS id FROM {{tables}}.messages WHERE conversation_id = $1 AND number = $2
    )
    SELECT head.last, head.revision, head.triggers, head.id, parts.exist, known.id,
        m.type, m.content, m.timestamp, m.number, m.written_at
    FROM parts LEFT JOIN head ON true LEFT JOIN known ON true LEFT JOIN {{tables}}.messages AS m
        ON m.conversation_id = $1 AND m.number > $2 AND ($3 = '' OR m.user_id = $3)
    ORDER BY m.number
"""
_NEWEST = f"""
    WITH {_HEAD}, m AS MATERIALIZED (
        SELECT type, content, timestamp, number, written_at FROM {{tables}}.messages
        WHERE conversation_id = $1 AND ($2 = '' OR user_id = $2)
        ORDER BY number DESC LIMIT $3
    )
    SELECT head.last, head.revision, head.triggers, head.id, parts.exist, NULL,
        m.type, m.content, m.timestamp, m.number, m.written_at
    FROM parts LEFT JOIN head ON true LEFT JOIN m ON true
    ORDER BY m.number
"""
_PARTS = """
    SELECT m.number, parts.type, parts.media_type, parts.data, parts.at
    FROM {tables}.messages AS m JOIN {tables}.parts AS parts
        ON parts.conversation_id = m.conversation_id AND parts.message_id = m.message_id
    WHERE m.conversation_id = $1 AND m.number >= $2 AND ($3 = '' OR m.user_id = $3)
    ORDER BY m.number, parts.number
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
            case [int(number), str(revision), str(triggers), str() | None as id]:
                return Cursor(number, revision, triggers, id)
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
        found = await _newer(connection, address, conversation_id, user_id, after.number)
        now, known_id = _cursor(found[0]), _unpacked(found[0][5])
        is_after = now is not None and now.number >= after.number and now[1:3] == after[1:3]
        if is_after and known_id == after.id:
            return await _page(connection, address, conversation_id, user_id, found, is_whole=False)
    found = await _newer(connection, address, conversation_id, user_id, _FIRST)
    return await _page(connection, address, conversation_id, user_id, found, is_whole=True)


async def _newer(
    connection: Connection, address: Address, conversation_id: str, user_id: str, number: int
) -> list[tuple[Any, ...]]:
    values = (pack(conversation_id), number, pack(user_id))
    return await connection.fetch(_NEWER.format(tables=address.tables), *values)


async def read_newest(
    connection: Connection, address: Address, conversation_id: str, user_id: str, limit: int
) -> LogPage:
    """Read the newest rows, at most `limit`; the page is whole if there are no more."""
    query = _NEWEST.format(tables=address.tables)
    found = await connection.fetch(query, pack(conversation_id), pack(user_id), limit + 1)
    is_whole = len(found) <= limit
    return await _page(
        connection, address, conversation_id, user_id, found[-limit:], is_whole=is_whole
    )


def _cursor(row: tuple[Any, ...]) -> Cursor | None:
    """The cursor of the last row; `None` if there is none, or no change of the rows would show."""
    number, revision, triggers, id = row[:4]
    if not number or triggers is None:
        return None
    return Cursor(number, revision, triggers, _unpacked(id))


def _unpacked(id: str | None) -> str | None:
    return None if id is None else unpack(id)


async def _page(
    connection: Connection,
    address: Address,
    conversation_id: str,
    user_id: str,
    found: Sequence[tuple[Any, ...]],
    *,
    is_whole: bool,
) -> LogPage:
    now, has_parts = _cursor(found[0]), found[0][4]
    rows = shown(
        (unpack(type), unpack(content), timestamp, number, written_at)
        for *_, type, content, timestamp, number, written_at in found
        if type is not None  # the head alone
    )
    if has_parts and rows:
        places = {row["position"]: row for row in rows}
        values = (pack(conversation_id), rows[0]["position"], pack(user_id))
        query = _PARTS.format(tables=address.tables)
        for number, type, media_type, data, at in await connection.fetch(query, *values):
            if number in places:
                row, part = places[number], Part(unpack(type), unpack(media_type), data, at)
                row["parts"] = (*row.get("parts", ()), part)
    return LogPage(rows, _NOWHERE if now is None else json.dumps(now), is_whole=is_whole)
