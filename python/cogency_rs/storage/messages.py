"""Saves single messages in every storage of ours: as a list of one, with a time where none was given."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence

from ..outside import time

__all__ = ["MessageRow", "Messages", "or_now"]

MessageRow = tuple[str, str, str, str, float | None]
"""conversation_id, user_id, type, content, and seconds since the epoch or `None` for now."""


class Messages(ABC):
    """Saves messages and requests by the methods of a storage that save several messages, and events.

    A message is stored with its time, or with one just above the times of its conversation, if it is not above them.
    """

    @abstractmethod
    def save_messages(self, rows: Sequence[MessageRow]) -> Awaitable[list[str]]:
        """Save several messages in one transaction, all or none; their ids, in order."""

    @abstractmethod
    async def save_event(
        self, conversation_id: str, type: str, content: str, timestamp: float | None = None
    ) -> str:
        """Save an event with the conversation; return its id."""

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

        `user_id` is not stored: the conversation stands for it.
        """
        content = json.dumps({"messages": messages, "response": response})
        return await self.save_event(conversation_id, "request", content, timestamp)


def or_now(timestamp: float | None) -> float:
    """A time, or the present time if none is given."""
    return time() if timestamp is None else timestamp
