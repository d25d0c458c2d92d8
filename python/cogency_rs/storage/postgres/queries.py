"""How a PostgreSQL database answers the queries of a log (`../queries.py`), and the queries that are its own.

The state of a conversation's rows, which a cursor has, is the revision in its head, and the state of the triggers that
keep it (`schema.py`). The id of the last row tells whether a restored backup has another one with its number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

from ...calls.record import CallRecord
from ...outside import is_gone, machine, time, uuid7, worker
from ..queries import OWNER, Query, Statement, find
from ..rows import CALL_COLUMNS, Origin, call_of
from .connection import Address, PostgresConnection, pack, unpack
from .schema import TRIGGERS

T = TypeVar("T")

# As in SQLite, only A to Z match in both cases, and a backslash is a character like any other.
_SEARCH = """
    SELECT content, timestamp, conversation_id FROM {t}messages AS m
    WHERE type = 'user' AND user_id = $1 AND ($2 = '' OR conversation_id <> $2)
      AND EXISTS (
          SELECT 1 FROM unnest($3::text[]) AS word
          WHERE lower(content COLLATE "C") LIKE '%' || word || '%' ESCAPE ''
      )
    ORDER BY (
          SELECT sum(length(content) - length(replace(lower(content COLLATE "C"), word, '')))
          FROM unnest($3::text[]) AS word
      ) DESC, timestamp DESC, conversation_id, number
    LIMIT $4
"""
_HEAD = f"""
    SELECT c.last, c.revision::text || '/' || ({TRIGGERS}), (
        SELECT message_id FROM {{tables}}.messages WHERE conversation_id = $1 AND number = c.last
    ), NULL::double precision, NULL::double precision, (
        SELECT message_id FROM {{tables}}.messages WHERE conversation_id = $1 AND number = $2
    ), EXISTS (SELECT 1 FROM {{tables}}.parts WHERE conversation_id = $1)
    FROM {{tables}}.conversations AS c WHERE c.conversation_id = $1
"""


@lru_cache(16)
def words_of(tables: str) -> dict[str, str]:
    """The words in statements.

    Args:
        tables: the schema of the tables, quoted.
    """
    return {
        "t": f"{tables}.",
        "c": ' COLLATE "C"',
        "number": "number",
        "oldest": "number",
        "newest": "number DESC",
        "after": "number > $2",
        "written_at": "written_at",
        "parts": f"{tables}.parts",
        "calls": f"{tables}.calls",
        "open": f"{tables}.calls",
        "by_row": 'number, batch COLLATE "C", position',
        "with": "JOIN",
        "head": _HEAD.format(tables=tables),
        "all": "NULL::bigint",
        "any_row": "conversation_id, number",
        "event": 'event_id COLLATE "C"',
        "is_in": "type = ANY($3)",
        "not_in": "type <> ALL($4)",
        "search": _SEARCH.format(t=f"{tables}."),
    }


async def run_query(connection: PostgresConnection, address: Address, query: Query[T]) -> T:
    """Carry out a query; each of its statements is a separate transaction, unless one is open."""
    try:
        statement = next(query)
        while True:
            statement = query.send(await _rows(connection, address, statement))
    except StopIteration as end:
        value: T = end.value
        return value


async def _rows(
    connection: PostgresConnection, address: Address, statement: Statement
) -> list[tuple[Any, ...]]:
    sql = statement.sql.format_map(words_of(address.tables))
    if statement.many is not None:
        await connection.executemany(sql, [_packed(values) for values in statement.many])
        return []
    rows = await connection.fetch(sql, *_packed(statement.values))
    return [tuple(map(unpack, row)) for row in rows]


def _packed(values: Any) -> list[Any]:
    return [
        list(map(pack, cast("list[Any]", value))) if isinstance(value, list) else pack(value)
        for value in values
    ]


_UNSETTLED = f"""
    SELECT CASE WHEN lease_owner IS NOT NULL AND lease_expires_at > clock_timestamp() THEN lease_worker END,
        lease_machine, c.conversation_id, c.user_id, {CALL_COLUMNS}
    FROM {{t}}calls AS c LEFT JOIN {{t}}conversations AS head ON head.conversation_id = c.conversation_id
    WHERE status IN ('open', 'delegated', 'unknown', 'waiting') AND ($1 = '' OR c.user_id = $1)
    ORDER BY c.conversation_id COLLATE "C", c.number, batch COLLATE "C", position
"""


def read_unsettled_calls(user_id: str) -> Query[list[tuple[str, str, CallRecord]]]:
    """The calls of all conversations that are waiting, may have begun, or are unknown, with conversation and user.

    Leaves out those whose conversation another process has. Costs time linear in all calls.
    """
    found: list[tuple[str, str, CallRecord]] = []
    for holder, on, id, user, *call in (yield from find(_UNSETTLED, user_id)):
        is_ours = (holder, on) == (worker(), machine())
        if holder is None or is_ours or is_gone(holder, on):
            found.append((id, user, call_of(call)))
    return found


# The trigger on inserted rows makes the head.
_FORK = """
    WITH taken AS (
        SELECT user_id, type, content, timestamp, written_at, row_number() OVER (ORDER BY number) AS place,
            message_id AS old_id, gen_random_uuid()::text AS new_id
        FROM {t}messages WHERE conversation_id = $1 AND ($3 = '' OR user_id = $3)
        ORDER BY number LIMIT $4
    ), parts AS (
        INSERT INTO {t}parts (conversation_id, message_id, number, type, media_type, data, at)
        SELECT $2, taken.new_id, number, parts.type, media_type, data, at
        FROM {t}parts AS parts JOIN taken ON taken.old_id = parts.message_id
        WHERE parts.conversation_id = $1
    ), noted AS (
        INSERT INTO {t}events (event_id, conversation_id, type, content, timestamp)
        VALUES ($5, $2, 'fork', $6, $7)
    )
    INSERT INTO {t}messages (conversation_id, number, message_id, user_id, type, content, timestamp, written_at)
    SELECT $2, place, new_id, user_id, type, content, timestamp, written_at FROM taken
"""


def fork_conversation(new_id: str, conversation_id: str, user_id: str, rows: int) -> Query[None]:
    """Begin a conversation with the first rows of another one; the rows stay inside the database."""
    origin = Origin(conversation_id, rows).written()
    yield from find(_FORK, conversation_id, new_id, user_id, rows, uuid7(), origin, time())


_DELETE = f"""
    SELECT CASE WHEN $2::text IS NULL OR coalesce(({OWNER}), $2) = $2 THEN {{t}}forget($1) END
"""


def delete_conversation(conversation_id: str, user_id: str | None) -> Query[int | None]:
    """Remove everything of a conversation; return how many rows it had.

    If `user_id` is given and the conversation is another user's, nothing is removed, and `None` is returned.
    """
    [(deleted,)] = yield from find(_DELETE, conversation_id, user_id)
    return cast("int | None", deleted)
