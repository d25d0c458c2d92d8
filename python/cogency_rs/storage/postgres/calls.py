"""The calls of a PostgreSQL log, and the list of its conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...calls.record import ENDS, CallRecord
from ...outside import is_gone, machine, time, uuid7, worker
from ..log import Conversation
from ..origin import Origin
from ..stored_rows import call_of
from .text import pack, unpack

if TYPE_CHECKING:
    from .address import Address
    from .driver import Connection

__all__ = [
    "delete_conversation",
    "fork_conversation",
    "list_conversations",
    "read_calls",
    "read_origin",
    "read_owner",
    "read_unsettled_calls",
]

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
