"""What every storage of ours does alike with single messages: each is one of several, and each is of some time."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence

__all__ = ["MessageRow", "Messages", "or_now"]

MessageRow = tuple[str, str, str, str, float | None]
"""conversation_id, user_id, type, content, and seconds since the epoch or `None` for now."""


class Messages(ABC):
    """Messages and requests, above what saves several messages, and events."""

    @abstractmethod
    def save_messages(self, rows: Sequence[MessageRow]) -> Awaitable[list[str]]:
        """Save several messages in one transaction, all or none; their ids, in order."""

    @abstractmethod
    async def save_event(
        self, conversation_id: str, type: str, content: str, timestamp: float | None = None
    ) -> str:
        """Save an event beside the conversation; return its id."""

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
        """Save what was sent to a model and what it answered, as an event "request"; return its id.

        There is no place for `user_id`: the conversation stands for it.
        """
        content = json.dumps({"messages": messages, "response": response})
        return await self.save_event(conversation_id, "request", content, timestamp)


def or_now(timestamp: float | None) -> float:
    """A time, or the present one where none is given."""
    return time.time() if timestamp is None else timestamp
