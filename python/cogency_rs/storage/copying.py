"""Copies a log: every conversation with its rows, calls and events, and every profile, from one storage to another.

A conversation is copied in one transaction, read back from its new place, and compared. An interrupted copy can be run
again: a conversation that is there with the same digest is skipped. One that has grown since gets its new rows. One
that is there with other rows is left alone and reported.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ..errors import StorageError
from .queries import Query, Statement, find
from .rows import CALL_COLUMNS, call_of

T = TypeVar("T")
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class StoredConversation:
    """Everything of a conversation.

    Attributes:
        messages: message_id, user_id, type, content, timestamp, written_at of each, by position.
        calls: user_id, message_id, call_id, batch, position, name, server, status, attempt, started_at, completed_at,
            worker, decision, result, settling, provider_id, digest of each, by batch and position.
        events: event_id, type, content, timestamp of each, by id.
        parts: message_id, number, type, media_type, data, at of each, by message and number.
    """

    messages: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    calls: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    events: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    parts: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def digest(self) -> str:
        """The same for equal conversations, and for no others."""
        parts = [[*part[:4], bytes(part[4]).hex(), part[5]] for part in self.parts]
        text = json.dumps([self.messages, self.calls, self.events, parts])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def begins_with(self, other: StoredConversation) -> bool:
        """Whether `other` can have grown into this one; calls may have been settled meanwhile."""
        return (
            self.messages[: len(other.messages)] == other.messages
            and {call[3:5] for call in other.calls} <= {call[3:5] for call in self.calls}
            and {event[0] for event in other.events} <= {event[0] for event in self.events}
            and {part[:2] for part in other.parts} <= {part[:2] for part in self.parts}
        )


class Archive(Protocol):
    """A storage that can be copied whole. Every method raises `StorageError`."""

    def conversation_ids(self) -> AsyncIterator[str]:
        """Every conversation that has a row, a call or an event, in its own order."""
        ...

    async def count(self) -> int:
        """How many conversations there are."""
        ...

    async def load(self, conversation_id: str) -> StoredConversation:
        """Everything of one conversation, as of one moment."""
        ...

    async def store(
        self, conversation_id: str, whole: StoredConversation, *, rows_there: int
    ) -> None:
        """Save a conversation in one transaction; its first `rows_there` rows are there already.

        Raises:
            StorageError: it does not have `rows_there` rows there; nothing was written.
        """
        ...

    async def profiles(self) -> list[tuple[Any, ...]]:
        """user_id, version, data, created_at, char_count of every profile, by user and version."""
        ...

    async def store_profiles(self, profiles: list[tuple[Any, ...]]) -> None:
        """Save those profiles that are not there yet."""
        ...

    async def close(self) -> None:
        """Close the connection or file."""
        ...


@dataclass
class CopyResult:
    """The outcome of a copy.

    Attributes:
        conversations: how many were copied or got new rows.
        skipped: how many were there already and equal.
        rows: how many rows were copied.
        different: the conversations that are there with other rows, and were left alone.
        profiles: how many versions of profiles there are.
    """

    conversations: int = 0
    skipped: int = 0
    rows: int = 0
    different: list[str] = field(default_factory=list[str])
    profiles: int = 0


async def copy(
    source: Archive, target: Archive, *, tell: Callable[[int], object] = lambda done: None
) -> CopyResult:
    """Copy one log into another.

    Args:
        source: the log to copy.
        target: the log to copy into.
        tell: called after each conversation with the number that are done.

    Raises:
        StorageError: a log cannot be read or written, or a conversation is not the same when it is read back. What was
            copied before stays, and another copy goes on from there.
    """
    copied, done = CopyResult(), 0
    async for conversation_id in source.conversation_ids():
        whole, there = await source.load(conversation_id), await target.load(conversation_id)
        if whole.digest() == there.digest():
            copied.skipped += 1
        elif not whole.begins_with(there):
            copied.different.append(conversation_id)
        else:
            await target.store(conversation_id, whole, rows_there=len(there.messages))
            written = await target.load(conversation_id)
            if written.digest() != whole.digest():
                raise StorageError(
                    f"conversation {conversation_id!r} was copied, but reads back differently: "
                    f"{len(whole.messages)} rows became {len(written.messages)}; is another program writing it?",
                    retryable=True,
                )
            copied.conversations += 1
            copied.rows += len(whole.messages) - len(there.messages)
        tell(done := done + 1)
    profiles = await source.profiles()
    await target.store_profiles(profiles)
    left = {profile[:3] for profile in profiles} - {row[:3] for row in await target.profiles()}
    copied.different += sorted({f"profile of {user_id}" for user_id, _, _ in left})
    copied.profiles = len(profiles)
    return copied


PAGE = 1000
"""Ids that are read at a time."""

_NAMED = ("{t}messages", "{t}events", "{calls}")
"""The tables in which conversations are found."""

# Another program may have written anything into a column.
_MESSAGES = """
    SELECT CAST(message_id AS text), CAST(COALESCE(user_id, '') AS text), CAST(type AS text), CAST(content AS text),
        CAST(timestamp AS double precision), {written_at}
    FROM {t}messages WHERE conversation_id = $1 ORDER BY {oldest}
"""
_CALLS = f"""
    SELECT COALESCE(user_id, ''), message_id, {CALL_COLUMNS} FROM {{calls}}
    WHERE conversation_id = $1 ORDER BY {{by_row}}
"""
_EVENTS = """
    SELECT CAST(event_id AS text), CAST(type AS text), CAST(content AS text), CAST(timestamp AS double precision)
    FROM {t}events WHERE conversation_id = $1 ORDER BY event_id{c}
"""
_PARTS = """
    SELECT message_id, number, type, media_type, data, at FROM {parts} AS parts
    WHERE conversation_id = $1 ORDER BY message_id{c}, number
"""
_PROFILES = """
    SELECT user_id, version, data, created_at, char_count FROM {t}profiles ORDER BY user_id{c}, version
"""
_ADD_CALL = f"""
    INSERT INTO {{calls}} (conversation_id, user_id, message_id, {CALL_COLUMNS})
    VALUES ({", ".join(f"${number}" for number in range(1, 19))})
    ON CONFLICT (conversation_id, batch, position) DO UPDATE SET
        {", ".join(f"{name} = excluded.{name}" for name in f"user_id, message_id, {CALL_COLUMNS}".split(", "))}
"""
_ADD_EVENT = """
    INSERT INTO {t}events (conversation_id, event_id, type, content, timestamp) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
"""
_ADD_PART = """
    INSERT INTO {parts} (conversation_id, message_id, number, type, media_type, data, at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
"""
_ADD_PROFILE = """
    INSERT INTO {t}profiles (user_id, version, data, created_at, char_count) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
"""


class SqlArchive(ABC):
    """A log in a SQL database that is copied."""

    @abstractmethod
    async def _ask(self, query: Callable[..., Query[T]], *values: Any) -> T:
        """Carry out a query, as of one moment."""

    @abstractmethod
    async def _change(self, query: Callable[..., Query[T]], *values: Any) -> T:
        """Carry out a query in one transaction."""

    @abstractmethod
    def _add_messages(self, conversation_id: str, new: Rows, rows_there: int) -> Query[None]:
        """Save the messages of a conversation; see `store`."""

    def _number_calls(self, conversation_id: str) -> Query[None]:
        """Note the rows of the calls that were saved."""
        yield from ()

    @abstractmethod
    async def close(self) -> None:
        """Close the connection or file."""

    async def conversation_ids(self) -> AsyncIterator[str]:
        """Every conversation that has a row, a call or an event."""
        after, operator = "", ">="  # an id may be empty
        while ids := await self._ask(find, _ids(operator), after, PAGE):
            for (id,) in ids:
                yield str(id)
            after, operator = ids[-1][0], ">"

    async def count(self) -> int:
        """How many conversations there are."""
        each = " UNION ".join(f"SELECT conversation_id FROM {table}" for table in _NAMED)
        [(count,)] = await self._ask(find, f"SELECT count(*) FROM ({each}) AS ids")
        return int(count)

    async def load(self, conversation_id: str) -> StoredConversation:
        """Everything of one conversation, as of one moment."""
        return await self._ask(_load, conversation_id)

    async def store(
        self, conversation_id: str, whole: StoredConversation, *, rows_there: int
    ) -> None:
        """Save a conversation in one transaction; its first `rows_there` rows are there already."""

        def store() -> Query[None]:
            yield from self._add_messages(conversation_id, whole.messages[rows_there:], rows_there)
            for sql, rows in (
                (_ADD_CALL, whole.calls),
                (_ADD_EVENT, whole.events),
                (_ADD_PART, whole.parts),
            ):
                yield Statement(sql, many=[(conversation_id, *row) for row in rows])
            yield from self._number_calls(conversation_id)

        await self._change(store)

    async def profiles(self) -> Rows:
        """Every version of every profile."""
        return await self._ask(find, _PROFILES)

    async def store_profiles(self, profiles: Rows) -> None:
        """Save those profiles that are not there yet."""

        def store() -> Query[None]:
            yield Statement(_ADD_PROFILE, many=profiles)

        await self._change(store)


def _ids(operator: str) -> str:
    """The query for a page of ids: those that compare so with $1, at most $2."""
    each = " UNION ".join(
        f"SELECT * FROM (SELECT DISTINCT conversation_id AS id FROM {table}"
        f" WHERE conversation_id {operator} $1 ORDER BY 1 LIMIT $2) AS found"
        for table in _NAMED
    )
    return f"SELECT id FROM ({each}) AS ids ORDER BY 1 LIMIT $2"


def _load(conversation_id: str) -> Query[StoredConversation]:
    messages = yield from find(_MESSAGES, conversation_id)
    calls = yield from find(_CALLS, conversation_id)
    for _, _, *call in calls:
        call_of(call)
    events = yield from find(_EVENTS, conversation_id)
    return StoredConversation(messages, calls, events, (yield from find(_PARTS, conversation_id)))


def check_rows(conversation_id: str, count: int, rows_there: int) -> None:
    """Refuse to add rows to a conversation that does not have `rows_there` rows.

    Raises:
        StorageError: it has more or fewer.
    """
    if count != rows_there:
        raise StorageError(
            f"conversation {conversation_id!r} has {count} rows now and had {rows_there} a moment ago; "
            "let no other program write it while it is copied, and copy again",
            retryable=True,
        )
