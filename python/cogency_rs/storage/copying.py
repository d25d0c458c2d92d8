"""Copies a log: every conversation with its rows, calls and events, and every profile, from one storage to another.

A conversation is copied in one transaction, read back from its new place, and compared. An interrupted copy can be run
again: a conversation that is there with the same digest is skipped. One that has grown since gets its new rows. One
that is there with other rows is left alone and reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import StorageError


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
class Copied:
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
) -> Copied:
    """Copy one log into another.

    Args:
        source: the log to copy.
        target: the log to copy into.
        tell: called after each conversation with the number that are done.

    Raises:
        StorageError: a log cannot be read or written, or a conversation is not the same when it is read back. What was
            copied before stays, and another copy goes on from there.
    """
    copied, done = Copied(), 0
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
