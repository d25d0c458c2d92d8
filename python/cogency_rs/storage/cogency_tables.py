"""Messages, events and profiles in a SQL database, by the methods of cogency 3.3.0's storage."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any, TypeVar, cast

from ..errors import CogencyError
from ..guards.json import read_json
from ..outside import time, uuid7
from ..types import MessageMatch
from .queries import Query, find
from .rows import ASKED, EVENTS, FOUND, LOADED, PROFILES, SAID, time_of

PROFILE_FIELDS: dict[str, type[Any]] = dict.fromkeys(
    ("who", "style", "focus", "interests", "misc"), str
) | {"_meta": dict}
METRIC_FIELDS: dict[str, type[Any]] = {"step": dict, "total": dict}


T = TypeVar("T")


class ParseError(CogencyError, ValueError):
    """A stored profile or metric does not have the shape that it should have. It is a `ValueError` too.

    Attributes:
        raw: the value as it was stored.
    """

    def __init__(self, message: str, raw: object = None) -> None:
        super().__init__(message)
        self.raw = raw


def read_fields(stored: str, fields: dict[str, type[Any]]) -> dict[str, Any]:
    """Read a stored JSON object; return those of `fields` that are set, each checked for its type."""
    value: Any = read_json(stored)
    if not isinstance(value, dict):
        raise ParseError(f"Expected dict, got {type(value).__name__}", value)
    raw = cast("dict[str, Any]", value)
    found = {name: raw[name] for name in fields if raw.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, fields[name]):
            expected, got = fields[name].__name__, type(value).__name__
            raise ParseError(f"Field '{name}' must be {expected}, got {got}", raw)
    return found


MessageRow = tuple[str, str, str, str, float | None]
"""conversation_id, user_id, type, content, and seconds since the epoch or `None` for now."""


def or_now(timestamp: float | None) -> float:
    """A time, or the present time if none is given."""
    return time() if timestamp is None else timestamp


_SMALL = {ord(capital): ord(capital.lower()) for capital in ascii_uppercase}
"""As both databases lower a text here: letters outside A to Z stay."""


_SAVE_EVENT = """
    INSERT INTO {t}events (event_id, conversation_id, type, content, timestamp) VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_PROFILE = """
    INSERT INTO {t}profiles (user_id, version, data, created_at, char_count)
    SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4 FROM {t}profiles WHERE user_id = $1
"""


def _delete_profile(user_id: str) -> Query[int]:
    [(count,)] = yield from find("SELECT count(*) FROM {t}profiles WHERE user_id = $1", user_id)
    yield from find("DELETE FROM {t}profiles WHERE user_id = $1", user_id)
    return int(count)


class CogencyTables(ABC):
    """Messages, events and profiles, in the database of a subclass.

    A message is stored with its time, or with one just above the times of its conversation, if it is not above them.

    The statements are the same in both databases but for the words in braces; see `queries.py`. These have further
    ones: `any_row`, what orders rows of one time across conversations; `event`, the same for events; `is_in` and
    `not_in`, whether a type is one of $3, and none of $4; and `search`, the whole statement.
    """

    @abstractmethod
    def save_messages(self, rows: Sequence[MessageRow]) -> Awaitable[list[str]]:
        """Save several messages in one transaction, all or none; their ids, in order."""

    @abstractmethod
    async def _fetch(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement finds. A value may be a list of texts."""

    @abstractmethod
    async def _change(self, query: Callable[[], Query[T]], *conversations: str) -> T:
        """Carry out a query that changes these conversations; it may be made, and begun, more than once."""

    async def save_message(
        self,
        conversation_id: str,
        user_id: str,
        type: str,
        content: str,
        timestamp: float | None = None,
    ) -> str:
        """Save one message and return its id.

        Args:
            conversation_id: the conversation it belongs to.
            user_id: whose conversation that is.
            type: the kind of event: "user", "respond", "call", "result", ...; see `ROW_TYPES`.
            content: its text.
            timestamp: seconds since the epoch; now, if not given.

        Raises:
            ConfigError: the type is not known.
            StorageError: the row could not be stored; nothing was written.
        """
        [message_id] = await self.save_messages(
            [(conversation_id, user_id, type, content, timestamp)]
        )
        return message_id

    async def save_request(
        self,
        conversation_id: str,
        user_id: str,
        messages: str,
        response: str | None = None,
        timestamp: float | None = None,
    ) -> str:
        """Save a request to a model and its answer, as an event "request"; return the event's id.

        `user_id` is not stored: the conversation has a user already.
        """
        content = json.dumps({"messages": messages, "response": response})
        return await self.save_event(conversation_id, "request", content, timestamp)

    async def save_event(
        self, conversation_id: str, type: str, content: str, timestamp: float | None = None
    ) -> str:
        """Save an event with the conversation, such as a metric; return its id."""
        event_id = uuid7()
        values = (event_id, conversation_id, type, content, or_now(timestamp))
        await self._change(partial(find, _SAVE_EVENT, *values))
        return event_id

    async def save_profile(self, user_id: str, profile: dict[str, Any]) -> None:
        """Save a new version of a user's profile; older ones are kept.

        Raises:
            TypeError: JSON cannot hold a value of `profile`.
        """
        data = json.dumps(profile)
        await self._change(partial(find, _SAVE_PROFILE, user_id, data, time(), len(data)))

    async def delete_profile(self, user_id: str) -> int:
        """Delete all versions of a user's profile; return how many there were."""
        return await self._change(partial(_delete_profile, user_id))

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
            conversation_id: its id.
            user_id: only this user's messages; "" for everybody's.
            include: only these types, if any are given.
            exclude: not these types; ignored if `include` is given.
            limit: only this many, the newest.

        Returns:
            Dicts of `type`, `content`, `timestamp` (seconds since the epoch).
        """
        rows = await self._fetch(
            "SELECT type, content, timestamp FROM {t}messages"
            " WHERE conversation_id = $1 AND ($2 = '' OR user_id = $2)"
            " AND ({is_in} OR $3 IS NULL) AND ({not_in} OR $4 IS NULL)"
            " ORDER BY {newest} LIMIT coalesce($5, {all})",
            conversation_id,
            user_id or "",
            include or None,
            None if include else exclude or None,
            limit,
        )
        LOADED.check_all(rows, f"before the last of conversation {conversation_id!r}")
        return [
            {"type": type, "content": content, "timestamp": time_of(timestamp)}
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
            "SELECT timestamp, content FROM {t}messages WHERE conversation_id = $1 AND type = 'user'"
            " ORDER BY {newest} LIMIT $2",
            conversation_id,
            limit,
        )
        ASKED.check_all(rows, f"before the last question of conversation {conversation_id!r}")
        return [{"timestamp": time_of(timestamp), "content": text} for timestamp, text in rows]

    async def load_user_messages(
        self, user_id: str, since_timestamp: float = 0, limit: int | None = None
    ) -> list[str]:
        """Load what a user wrote after `since_timestamp`, oldest first; at most `limit` messages."""
        rows = await self._fetch(
            "SELECT content FROM {t}messages WHERE user_id = $1 AND type = 'user' AND timestamp > $2"
            " ORDER BY timestamp, {any_row} LIMIT coalesce($3, {all})",
            user_id,
            since_timestamp,
            limit,
        )
        SAID.check_all(rows, f"after the first found of user {user_id!r}")
        return [content for (content,) in rows]

    async def count_user_messages(self, user_id: str, since_timestamp: float = 0) -> int:
        """Count what `load_user_messages` would load without a limit."""
        [(count,)] = await self._fetch(
            "SELECT count(*) FROM {t}messages WHERE user_id = $1 AND type = 'user' AND timestamp > $2",
            user_id,
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
            "SELECT data FROM {t}profiles WHERE user_id = $1 ORDER BY version DESC LIMIT 1", user_id
        )
        if not rows:
            return {}
        PROFILES.check(rows[0], f"of user {user_id!r}")
        return read_fields(rows[0][0], PROFILE_FIELDS)

    async def load_latest_metric(self, conversation_id: str) -> dict[str, Any] | None:
        """Load the newest event "metric" of a conversation; `None` if there is none or it is empty.

        Returns:
            The keys `step` and `total` (dicts) as far as they are set; other keys are left out.

        Raises:
            ParseError: one of these has another type.
            ValueError: the stored text is not JSON.
        """
        rows = await self._fetch(
            "SELECT content FROM {t}events WHERE conversation_id = $1 AND type = 'metric'"
            " ORDER BY timestamp DESC, {event} DESC LIMIT 1",
            conversation_id,
        )
        if not rows or rows[0][0] in ("", None):
            return None
        EVENTS.check(rows[0], f"'metric' of conversation {conversation_id!r}")
        return read_fields(rows[0][0], METRIC_FIELDS)

    async def search_messages(
        self, query: str, user_id: str, exclude_conversation_id: str | None, limit: int = 3
    ) -> list[MessageMatch]:
        """Find a user's messages that contain any word of `query`; A to Z match in both cases, other letters in one.

        Args:
            query: words separated by blanks; without a word, nothing is found. `%` matches any text and
                `_` for any character.
            user_id: whose messages.
            exclude_conversation_id: leaves this conversation out, if given.
            limit: at most this many matches.

        Returns:
            Content, timestamp and conversation; first the messages in which the words take the most
            characters, then the newest.
        """
        keywords = query.translate(_SMALL).split()
        if not keywords:
            return []
        elsewhere = exclude_conversation_id or ""
        rows = await self._fetch("{search}", user_id, elsewhere, keywords, limit)
        FOUND.check_all(rows, f"after the first found of user {user_id!r}")
        return [MessageMatch(content, time_of(at), id) for content, at, id in rows]
