"""What is read from a PostgreSQL log, and the changes that are one query: rows, calls, and the list of conversations.

A cursor names the last row of a conversation by its number, which is its position, and the state of the rows up to it:
the revision, and the state of the triggers that keep it (`schema.py`). While the state is the same, rows were only
added with larger numbers. The id of the last row tells whether a restored backup has another one with its number. A
page costs a few searches in indexes, and the rows that are returned.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...calls.record import ENDS, CallRecord
from ...errors import ConfigError
from ...guards.json import read_json
from ...outside import is_gone, machine, time, uuid7, worker
from ..log import Conversation, LogPage, Part
from ..rows import Origin, call_of, shown
from .connection import Address, Connection, pack, unpack
from .schema import TRIGGERS

_CALLS = """
    SELECT call_id, batch, position, name, server, status, attempt, started_at, completed_at, worker, decision, result,
        settling, provider_id, digest
    FROM {tables}.calls
    WHERE conversation_id = $1 AND ($2 = '' OR user_id = $2){doubt}
    ORDER BY number, batch COLLATE "C", position  -- those without a row come last
"""
_IN_DOUBT = f" AND status NOT IN {tuple(sorted(ENDS))}"
_UNSETTLED = """
    SELECT CASE WHEN lease_owner IS NOT NULL AND lease_expires_at > clock_timestamp() THEN lease_worker END,
        lease_machine, c.conversation_id, c.user_id, call_id, batch, position, name, server, status, attempt,
        started_at, completed_at, worker, decision, result, settling, provider_id,
        digest
    FROM {tables}.calls AS c LEFT JOIN {tables}.conversations AS head ON head.conversation_id = c.conversation_id
    WHERE status IN ('open', 'delegated', 'unknown', 'waiting') AND ($1 = '' OR c.user_id = $1)
    ORDER BY c.conversation_id COLLATE "C", c.number, batch COLLATE "C", position
"""
_CONVERSATIONS = """
    WITH listed AS (
        SELECT conversation_id, user_id, count(*) AS rows, min(timestamp) AS first, max(timestamp) AS last
        FROM {tables}.messages WHERE $1 = '' OR user_id = $1
        GROUP BY conversation_id, user_id
        ORDER BY max(timestamp) DESC, conversation_id COLLATE "C" DESC LIMIT $2
    )
    SELECT conversation_id, user_id, rows, first, last, (
        SELECT content FROM {tables}.messages AS asked
        WHERE asked.conversation_id = listed.conversation_id AND asked.user_id = listed.user_id AND type = 'user'
        ORDER BY number LIMIT 1
    )
    FROM listed ORDER BY last DESC, conversation_id COLLATE "C" DESC
"""


async def read_calls(
    connection: Connection,
    address: Address,
    conversation_id: str,
    user_id: str,
    *,
    only_in_doubt: bool = False,
) -> list[CallRecord]:
    """The calls of a conversation, in the order of their rows."""
    query = _CALLS.format(tables=address.tables, doubt=_IN_DOUBT if only_in_doubt else "")
    rows = await connection.fetch(query, pack(conversation_id), pack(user_id))
    return [call_of([_read(value) for value in row]) for row in rows]


async def read_unsettled_calls(
    connection: Connection, address: Address, user_id: str
) -> list[tuple[str, str, CallRecord]]:
    """The calls of all conversations that are waiting, may have begun, or are unknown, with conversation and user.

    Leaves out those whose conversation another process has. Costs time linear in all calls.
    """
    query = _UNSETTLED.format(tables=address.tables)
    found: list[tuple[str, str, CallRecord]] = []
    for holder, on, *row in await connection.fetch(query, pack(user_id)):
        is_ours = (holder, on) == (worker(), machine())
        if holder is None or is_ours or is_gone(holder, on):
            id, user, *call = (_read(value) for value in row)
            found.append((id, user, call_of(call)))
    return found


async def list_conversations(
    connection: Connection, address: Address, user_id: str = "", limit: int | None = None
) -> list[Conversation]:
    """List conversations, one entry for each user of each, the one with the latest row first."""
    query = _CONVERSATIONS.format(tables=address.tables)
    rows = await connection.fetch(query, pack(user_id), limit)
    return [Conversation(*(_read(value) for value in row)) for row in rows]


# Read off the primary key, without a look at other rows.
_OWNER = "SELECT user_id FROM {tables}.messages WHERE conversation_id = $1 ORDER BY number LIMIT 1"
_DELETE = f"""
    SELECT CASE WHEN $2::text IS NULL OR coalesce(({_OWNER}), $2) = $2 THEN {{tables}}.forget($1) END
"""


async def read_owner(connection: Connection, address: Address, conversation_id: str) -> str | None:
    """The user of a conversation's first row; `None` if it has no row."""
    owner = await connection.fetchval(_OWNER.format(tables=address.tables), pack(conversation_id))
    return None if owner is None else unpack(owner)


# The trigger on inserted rows makes the head.
_FORK = """
    WITH taken AS (
        SELECT user_id, type, content, timestamp, written_at, row_number() OVER (ORDER BY number) AS place,
            message_id AS old_id, gen_random_uuid()::text AS new_id
        FROM {tables}.messages WHERE conversation_id = $1 AND ($3 = '' OR user_id = $3)
        ORDER BY number LIMIT $4
    ), parts AS (
        INSERT INTO {tables}.parts (conversation_id, message_id, number, type, media_type, data, at)
        SELECT $2, taken.new_id, number, parts.type, media_type, data, at
        FROM {tables}.parts AS parts JOIN taken ON taken.old_id = parts.message_id
        WHERE parts.conversation_id = $1
    ), noted AS (
        INSERT INTO {tables}.events (event_id, conversation_id, type, content, timestamp)
        VALUES ($5, $2, 'fork', $6, $7)
    )
    INSERT INTO {tables}.messages (conversation_id, number, message_id, user_id, type, content, timestamp, written_at)
    SELECT $2, place, new_id, user_id, type, content, timestamp, written_at FROM taken
"""
_ORIGIN = """
    SELECT content FROM {tables}.events WHERE conversation_id = $1 AND type = 'fork' ORDER BY timestamp LIMIT 1
"""


async def fork_conversation(
    connection: Connection,
    address: Address,
    new_id: str,
    conversation_id: str,
    user_id: str,
    rows: int,
) -> None:
    """Begin a conversation with the first rows of another one; the rows stay inside the database."""
    origin = pack(Origin(conversation_id, rows).written())
    names = (pack(conversation_id), pack(new_id), pack(user_id))
    query = _FORK.format(tables=address.tables)
    await connection.execute(query, *names, rows, uuid7(), origin, time())


async def read_origin(
    connection: Connection, address: Address, conversation_id: str
) -> Origin | None:
    """Where a conversation comes from; `None` if it is not a fork."""
    found = await connection.fetchval(_ORIGIN.format(tables=address.tables), pack(conversation_id))
    return None if found is None else Origin.of(unpack(found), conversation_id)


async def delete_conversation(
    connection: Connection, address: Address, conversation_id: str, user_id: str | None
) -> int | None:
    """Remove everything of a conversation; return how many rows it had.

    If `user_id` is given and the conversation is another user's, nothing is removed, and `None` is returned.
    """
    query = _DELETE.format(tables=address.tables)
    user = None if user_id is None else pack(user_id)
    deleted: int | None = await connection.fetchval(query, pack(conversation_id), user)
    return deleted


def _read(value: Any) -> Any:
    return unpack(value) if isinstance(value, str) else value


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
