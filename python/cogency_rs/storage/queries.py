"""What is asked of a log in a SQL database, once for SQLite and PostgreSQL.

A query is a generator: it yields statements and is sent the rows that each finds, so it neither knows a connection nor
waits for one. Each database carries queries out in its own way (`run_query` in its `queries.py`).

The statements are the same but for the words in braces: `t`, what is before the name of a table; `c`, the order of
texts by their characters; `number`, the number of a row, which is its position; `oldest` and `newest`, the order of a
conversation's rows; `after`, which rows come after number $2; `written_at`, that column of a row; `parts` and `calls`,
these tables; `open`, the second with the index of calls that are not settled; `by_row`, the order of calls; `with`, the
join in which the messages come first; `head`, the end of conversation $1; and `all`, the value of LIMIT for no limit.

A cursor names the last row of a conversation by its number, and the state of the rows up to it, which `head` reads.
While the state is the same and that row is there, rows were only added after it. A page costs a few searches in
indexes, and the rows that are returned.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from ..calls.record import CallRecord
from ..errors import ConfigError
from ..guards.json import read_json
from .log import Begun, Conversation, LogPage, Part
from .rows import CALL_COLUMNS, EVENTS, IS_OPEN, LISTED, OWNERS, PARTS, Origin, call_of, shown

T = TypeVar("T")


class Statement(NamedTuple):
    """A statement of a query.

    Attributes:
        sql: with words in braces, and $1, $2 and so on for values.
        values: those; a list is a list of texts.
        many: the values of each time that it is carried out, if that is several times; `values` is empty then.
    """

    sql: str
    values: Sequence[Any] = ()
    many: Sequence[Sequence[Any]] | None = None


Query = Generator[Statement, list[tuple[Any, ...]], T]


def find(sql: str, *values: Any) -> Query[list[tuple[Any, ...]]]:
    """The rows that a single statement finds."""
    return (yield Statement(sql, values))


# Rows


class LogCursor(NamedTuple):
    """A place in a conversation.

    Attributes:
        number: of its last row, of any user.
        state: of the rows up to it; it changes when one of them does.
        id: of that row; `None` if it was deleted.
    """

    number: int
    state: str
    id: str | None


_NOWHERE = json.dumps(None)
"""The cursor of a conversation that has no rows, or whose changes nothing would show: the page after it is whole."""

_FIRST = -(2**63)
"""Below every number of a row."""

# One statement, so that the end and the rows are of one moment. The row of the end is the one with a last cell.
_ROWS = """
    SELECT * FROM ({head}) AS head UNION ALL SELECT * FROM (
        SELECT {number}, type, content, timestamp, {written_at}, NULL, CAST(NULL AS boolean) FROM {t}messages
        WHERE conversation_id = $1 AND ($3 = '' OR user_id = $3) AND {after} ORDER BY {order} LIMIT {limit}
    ) AS found
"""
NEWER = _ROWS.replace("{order}", "{oldest}").replace("{limit}", "{all}")
NEWEST = _ROWS.replace("{order}", "{newest}").replace("{limit}", "$4")
PARTS_OF_ROWS = """
    SELECT m.{number}, parts.type, parts.media_type, parts.data, parts.at
    FROM {t}messages AS m {with} {parts} AS parts
        ON parts.conversation_id = m.conversation_id AND parts.message_id = m.message_id
    WHERE m.conversation_id = $1 AND m.{number} >= $2 AND ($3 = '' OR m.user_id = $3)
    ORDER BY m.{number}, parts.number
"""


def check_cursor(text: str | None) -> LogCursor | None:
    """Read a cursor; `None` is the beginning.

    Raises:
        ConfigError: the text is not a cursor.
    """
    if text is None or text == _NOWHERE:
        return None
    try:
        match read_json(text):
            case [int(number), str(state), str() | None as id]:
                return LogCursor(number, state, id)
            case _:
                pass
    except (TypeError, ValueError):
        pass
    raise ConfigError(
        f"after={text!r} is not a cursor of this log; give the cursor of an earlier page, or None"
    )


class _RowsFound(NamedTuple):
    """Rows of a conversation, and its end.

    Attributes:
        rows: of number, type, content, timestamp, written_at each, oldest first.
        end: the cursor of the last row; `None` if there is none, or no change of the rows would show.
        known: the id of the row with the number that was asked for.
        has_parts: whether any row has parts.
    """

    rows: list[tuple[Any, ...]]
    end: LogCursor | None = None
    known: str | None = None
    has_parts: bool = False


def _rows(sql: str, *values: Any) -> Query[_RowsFound]:
    found = yield from find(sql, *values)
    rows = sorted((row[:5] for row in found if row[6] is None), key=itemgetter(0))
    for number, state, id, _, _, known, has_parts in found:
        if has_parts is not None:
            end = LogCursor(number, state, id) if number and state is not None else None
            return _RowsFound(rows, end, known, bool(has_parts))
    return _RowsFound(rows)


def read_tail(conversation_id: str, user_id: str, after: LogCursor | None) -> Query[LogPage]:
    """The rows after `after`; the whole conversation if it is `None` or the rows before it have changed."""
    if after is not None:
        found = yield from _rows(NEWER, conversation_id, after.number, user_id)
        end = found.end
        is_same = end is not None and end.state == after.state and end.number >= after.number
        if is_same and found.known == after.id:
            return (yield from _page(conversation_id, user_id, found, is_whole=False))
    found = yield from _rows(NEWER, conversation_id, _FIRST, user_id)
    return (yield from _page(conversation_id, user_id, found, is_whole=True))


def read_newest(conversation_id: str, user_id: str, limit: int) -> Query[LogPage]:
    """The newest rows, at most `limit`; the page is whole if there are no more."""
    found = yield from _rows(NEWEST, conversation_id, _FIRST, user_id, limit + 1)
    is_whole = len(found.rows) <= limit
    newest = found._replace(rows=found.rows[-limit:])
    return (yield from _page(conversation_id, user_id, newest, is_whole=is_whole))


def _page(
    conversation_id: str, user_id: str, found: _RowsFound, *, is_whole: bool
) -> Query[LogPage]:
    rows = shown(found.rows)
    if found.has_parts and rows:
        places = {row["position"]: row for row in rows}
        parts = yield from find(PARTS_OF_ROWS, conversation_id, rows[0]["position"], user_id)
        for number, *part in PARTS.checked(parts, _of_row):
            if number in places:
                row = places[number]
                row["parts"] = (*row.get("parts", ()), Part(*part))
    cursor = _NOWHERE if found.end is None else json.dumps(found.end)
    return LogPage(rows, cursor, is_whole=is_whole)


def _of_row(part: Sequence[Any]) -> str:
    return f"of the message {part[0]}"


# Calls


def read_calls(conversation_id: str, user_id: str) -> Query[list[CallRecord]]:
    """The calls of a conversation, in the order of their rows; those without a row come last."""
    return (yield from _calls("{calls}", "TRUE", conversation_id, user_id))


def read_open_calls(conversation_id: str, user_id: str) -> Query[list[CallRecord]]:
    """Those of the calls that are not settled."""
    return (yield from _calls("{open}", IS_OPEN, conversation_id, user_id))


def _calls(table: str, which: str, conversation_id: str, user_id: str) -> Query[list[CallRecord]]:
    rows = yield from find(
        f"SELECT {CALL_COLUMNS} FROM {table} WHERE conversation_id = $1 AND ($2 = '' OR user_id = $2) AND {which}"
        " ORDER BY {by_row}",
        conversation_id,
        user_id,
    )
    return [call_of(row) for row in rows]


def read_calls_by_row(conversation_id: str) -> Query[dict[str, CallRecord]]:
    """The calls of a conversation, by the id of their row."""
    sql = f"SELECT message_id, {CALL_COLUMNS} FROM {{calls}} WHERE conversation_id = $1"
    rows = yield from find(sql, conversation_id)
    return {id: call_of(row) for id, *row in rows if id is not None}


# Conversations

OWNER = """
    SELECT COALESCE(user_id, '') FROM {t}messages WHERE conversation_id = $1 ORDER BY {oldest} LIMIT 1
"""
"""Read off an index, without a look at other rows."""

# Another program may have written anything into a column.
_CONVERSATIONS = """
    WITH listed AS (
        SELECT conversation_id, COALESCE(user_id, '') AS of_user, COUNT(*) AS size,
            MIN(CAST(timestamp AS double precision)) AS earliest, MAX(CAST(timestamp AS double precision)) AS latest
        FROM {t}messages WHERE $1 = '' OR user_id = $1
        GROUP BY conversation_id, COALESCE(user_id, '')
        ORDER BY latest DESC, conversation_id{c} DESC LIMIT coalesce($2, {all})
    )
    SELECT conversation_id, of_user, size, earliest, latest, (
        SELECT CAST(content AS text) FROM {t}messages AS asked
        WHERE asked.conversation_id = listed.conversation_id AND type = 'user' AND COALESCE(asked.user_id, '') = of_user
        ORDER BY {oldest} LIMIT 1
    )
    FROM listed ORDER BY latest DESC, conversation_id{c} DESC
"""
_ORIGIN = """
    SELECT content FROM {t}events WHERE conversation_id = $1 AND type = 'fork' ORDER BY timestamp LIMIT 1
"""


def read_owner(conversation_id: str) -> Query[str | None]:
    """The user of a conversation's first row; `None` if it has no row."""
    for row in (yield from find(OWNER, conversation_id)):
        OWNERS.check(row, f"the first of conversation {conversation_id!r}")
        owner: str = row[0]
        return owner
    return None


def read_conversations(user_id: str = "", limit: int | None = None) -> Query[list[Conversation]]:
    """The conversations, one entry for each user of each, the one with the latest row first."""
    listed = yield from find(_CONVERSATIONS, user_id, limit)
    LISTED.check_all([row[:2] for row in listed], "of the list of conversations")
    return [Conversation(*row) for row in listed]


def read_origin(conversation_id: str) -> Query[Origin | None]:
    """Where a conversation comes from; `None` if it is not a fork."""
    for row in (yield from find(_ORIGIN, conversation_id)):
        EVENTS.check(row, f"'fork' of conversation {conversation_id!r}")
        return Origin.of(row[0], conversation_id)
    return None


class NeedsOfRun(NamedTuple):
    """What a run must know that takes the lease of a conversation; see `Begun`.

    Attributes:
        user_id: whose calls and rows; "" for everybody's.
        resumes: whether it needs all of them.
    """

    user_id: str
    resumes: bool


def read_begun(
    conversation_id: str, needs: NeedsOfRun, owner: str | None, *, has_open: bool = True
) -> Query[Begun]:
    """What a run must know of its conversation when it begins.

    Args:
        conversation_id: its id.
        needs: what that is.
        owner: the user of its first row.
        has_open: whether any of its calls may not be settled.
    """
    user_id, resumes = needs
    calls: list[CallRecord] = []
    if resumes:
        calls = yield from read_calls(conversation_id, user_id)
    elif has_open:
        calls = yield from read_open_calls(conversation_id, user_id)
    page = None
    if resumes or calls:
        page = yield from read_tail(conversation_id, user_id, None)
    return Begun(owner, calls, page)
