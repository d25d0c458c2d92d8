"""Messages, events and profiles in PostgreSQL, by the methods of cogency 3.3.0's storage."""

from __future__ import annotations

import asyncio
import json
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from ...ids import uuid7
from ...types import MessageMatch
from ..fields import METRIC_FIELDS, PROFILE_FIELDS, read_fields
from ..log import check_row_type
from ..messages import MessageRow, Messages, or_now
from .text import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from .address import Address
    from .driver import Connection
    from .writes import SavedMessage

__all__ = ["CogencyTables"]

T = TypeVar("T")

# As in SQLite, only A to Z match in both cases, and a backslash is a character like any other.
_SEARCH = """
    SELECT content, timestamp, conversation_id FROM {tables}.messages AS m
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


class CogencyTables(Messages):
    """Messages, events and profiles, by the methods of a subclass that read and write."""

    _address: Address

    @abstractmethod
    async def _read(self, work: Callable[[Connection], Awaitable[T]]) -> T: ...

    @abstractmethod
    async def _write(
        self, work: Callable[[Connection], Awaitable[Any]], *conversations: str
    ) -> Any: ...

    @abstractmethod
    def _save(self, messages: Sequence[SavedMessage]) -> asyncio.Future[None]: ...

    async def save_messages(self, rows: Sequence[MessageRow]) -> list[str]:
        """Save several messages in one transaction, all or none.

        Args:
            rows: conversation_id, user_id, type, content, timestamp of each, as for `save_message`.

        Returns:
            Their ids, in order.

        Raises:
            ConfigError: a type is not known; none of them was written.
            StorageError: a row could not be stored; none of them was written.
        """
        messages: list[SavedMessage] = []
        for conversation_id, user_id, type, content, timestamp in rows:
            check_row_type(type)
            messages.append((uuid7(), conversation_id, user_id, type, content, or_now(timestamp)))
        await self._save(messages)
        return [row[0] for row in messages]

    async def save_event(
        self, conversation_id: str, type: str, content: str, timestamp: float | None = None
    ) -> str:
        """Save an event with the conversation, such as a metric; return its id."""
        event_id = uuid7()
        values = (event_id, conversation_id, type, content)
        await self._execute(
            "INSERT INTO {tables}.events (event_id, conversation_id, type, content, timestamp)"
            " VALUES ($1, $2, $3, $4, $5)",
            *map(pack, values),
            or_now(timestamp),
        )
        return event_id

    async def save_profile(self, user_id: str, profile: dict[str, Any]) -> None:
        """Save a new version of a user's profile; older ones are kept.

        Raises:
            TypeError: JSON cannot hold a value of `profile`.
        """
        data = json.dumps(profile)
        await self._execute(
            "INSERT INTO {tables}.profiles (user_id, version, data, created_at, char_count)"
            " SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4 FROM {tables}.profiles WHERE user_id = $1",
            pack(user_id),
            data,
            time.time(),
            len(data),
        )

    async def delete_profile(self, user_id: str) -> int:
        """Delete all versions of a user's profile; return how many there were."""
        tag = await self._execute("DELETE FROM {tables}.profiles WHERE user_id = $1", pack(user_id))
        return int(tag.rpartition(" ")[2])

    async def load_messages(
        self,
        conversation_id: str,
        user_id: str,
        include: list[str] | None = None,
        exclude: list[str] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Load a conversation, oldest message first.

        Args:
            conversation_id: which one.
            user_id: only this user's messages; "" for everybody's.
            include: only these types, if any are given.
            exclude: not these types; ignored if `include` is given.
            limit: only this many, the newest.

        Returns:
            Dicts of `type`, `content`, `timestamp` (seconds since the epoch).
        """
        rows = await self._fetch(
            "SELECT type, content, timestamp FROM {tables}.messages"
            " WHERE conversation_id = $1 AND ($2 = '' OR user_id = $2)"
            " AND (type = ANY($3) OR $3 IS NULL) AND (type <> ALL($4) OR $4 IS NULL)"
            " ORDER BY timestamp DESC, number DESC LIMIT $5",
            pack(conversation_id),
            pack(user_id or ""),
            include or None,
            None if include else exclude or None,
            limit,
        )
        return [
            {"type": unpack(type), "content": unpack(content), "timestamp": timestamp}
            for type, content, timestamp in reversed(rows)
        ]

    async def load_messages_by_conversation_id(
        self, conversation_id: str, limit: int
    ) -> list[dict[str, Any]]:
        """Load the user's newest `limit` messages of a conversation, newest first.

        Returns:
            Dicts of `timestamp` (seconds since the epoch), `content`.
        """
        rows = await self._fetch(
            "SELECT timestamp, content FROM {tables}.messages WHERE conversation_id = $1 AND type = 'user'"
            " ORDER BY timestamp DESC, number DESC LIMIT $2",
            pack(conversation_id),
            limit,
        )
        return [{"timestamp": timestamp, "content": unpack(content)} for timestamp, content in rows]

    async def load_user_messages(
        self, user_id: str, since_timestamp: float = 0, limit: int | None = None
    ) -> list[str]:
        """Load what a user wrote after `since_timestamp`, oldest first; at most `limit` messages."""
        rows = await self._fetch(
            "SELECT content FROM {tables}.messages WHERE user_id = $1 AND type = 'user' AND timestamp > $2"
            " ORDER BY timestamp, conversation_id, number LIMIT $3",
            pack(user_id),
            since_timestamp,
            limit,
        )
        return [unpack(content) for (content,) in rows]

    async def count_user_messages(self, user_id: str, since_timestamp: float = 0) -> int:
        """Count what `load_user_messages` would load without a limit."""
        [(count,)] = await self._fetch(
            "SELECT count(*) FROM {tables}.messages WHERE user_id = $1 AND type = 'user' AND timestamp > $2",
            pack(user_id),
            since_timestamp,
        )
        return int(count)

    async def load_profile(self, user_id: str) -> dict[str, Any]:
        """Load the newest version of a user's profile; `{}` if there is none.

        Returns:
            The keys `who`, `style`, `focus`, `interests`, `misc` (text) and `_meta` (dict) as far as they
            are set; other keys are left out.

        Raises:
            ParseError: one of these has another type.
            ValueError: the stored text is not JSON.
        """
        rows = await self._fetch(
            "SELECT data FROM {tables}.profiles WHERE user_id = $1 ORDER BY version DESC LIMIT 1",
            pack(user_id),
        )
        return read_fields(unpack(rows[0][0]), PROFILE_FIELDS) if rows else {}

    async def load_latest_metric(self, conversation_id: str) -> dict[str, Any] | None:
        """Load the newest event "metric" of a conversation; `None` if there is none or it is empty.

        Returns:
            The keys `step` and `total` (dicts) as far as they are set; other keys are left out.

        Raises:
            ParseError: one of these has another type.
            ValueError: the stored text is not JSON.
        """
        rows = await self._fetch(
            "SELECT content FROM {tables}.events WHERE conversation_id = $1 AND type = 'metric'"
            ' ORDER BY timestamp DESC, event_id COLLATE "C" DESC LIMIT 1',
            pack(conversation_id),
        )
        return read_fields(unpack(rows[0][0]), METRIC_FIELDS) if rows and rows[0][0] else None

    async def search_messages(
        self, query: str, user_id: str, exclude_conversation_id: str | None, limit: int = 3
    ) -> list[MessageMatch]:
        """Find a user's messages that contain any word of `query`; A to Z match in both cases.

        Args:
            query: words separated by blanks; without a word, nothing is found. `%` stands for any text and
                `_` for any character.
            user_id: whose messages.
            exclude_conversation_id: leaves this conversation out, if given.
            limit: at most this many matches.

        Returns:
            Content, timestamp and conversation; first the messages in which the words take the most
            characters, then the newest.
        """
        keywords = [pack(word) for word in query.lower().split()]
        if not keywords:
            return []
        elsewhere = pack(exclude_conversation_id or "")
        rows = await self._fetch(_SEARCH, pack(user_id), elsewhere, keywords, limit)
        return [
            MessageMatch(unpack(content), timestamp, unpack(conversation_id))
            for content, timestamp, conversation_id in rows
        ]

    async def _fetch(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        statement = query.format(tables=self._address.tables)
        return await self._read(lambda connection: connection.fetch(statement, *values))

    async def _execute(self, query: str, *values: Any) -> str:
        statement = query.format(tables=self._address.tables)
        tag: str = await self._write(lambda connection: connection.execute(statement, *values))
        return tag
