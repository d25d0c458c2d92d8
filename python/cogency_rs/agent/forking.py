"""A conversation that begins as a part of another one."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from ..guards.arguments import check_count, check_text
from .settings import AgentSettings

__all__ = ["Forking"]


class Forking:
    """The method of an agent that forks conversations."""

    __slots__ = ()

    _settings: AgentSettings

    async def fork(
        self,
        conversation_id: str,
        *,
        at: int | None = None,
        new_id: str | None = None,
        user_id: str = "",
    ) -> str:
        """Begin a conversation that has the first rows of another one, as if they had been said in it.

        Only what was said is copied: calls that are running, waiting or unknown stay with the other conversation alone.
        Calls at the end that have no results are left out, with the text that the model wrote
        before them. The other conversation may be running; it does not change. The log notes where the new one comes
        from.

        Args:
            conversation_id: the conversation to take the rows from.
            at: how many of its rows; all by default.
            new_id: the id of the new conversation; by default one is made.
            user_id: the id of the user of both.

        Returns:
            The id of the new conversation.

        Raises:
            ConfigError: there is no such conversation, `at` leaves nothing of it, the new one exists, or the log cannot
                fork conversations. Nothing was written.
            OwnerError: it is another user's conversation.
            BusyError: a run has the new conversation.
            StorageError: the log could not be read or written.
        """
        from ..ids import uuid7
        from ..storage.claims import ClaimOfRun
        from ..storage.users import check_user
        from .stored_state import rows_before_open_calls

        check_text("conversation_id", conversation_id)
        check_text("new_id", new_id, or_none=True)
        check_text("user_id", user_id)
        check_count("at", at)
        storage: Any = self._settings.storage
        given: object = storage
        if not hasattr(type(given), "fork"):
            raise ConfigError(f"{storage!r} cannot fork conversations: it has no method fork")
        await check_user(storage, conversation_id, user_id)
        rows = (await storage.read(conversation_id, user_id=user_id)).rows
        if not rows:
            raise ConfigError(
                f"the log has no conversation {conversation_id!r}, so it cannot be forked"
            )
        taken = rows_before_open_calls(rows[:at])
        if not taken:
            raise ConfigError(
                f"the first {at or len(rows)} rows of conversation {conversation_id!r} hold nothing but calls "
                "without results: fork it later"
            )
        new = new_id or uuid7()
        async with ClaimOfRun(storage.claim(new, wait=False)):
            if new == conversation_id or await storage.owner(new) is not None:
                raise ConfigError(
                    f"the conversation {new!r} already exists: give another new_id, or none"
                )
            await storage.fork(conversation_id, new, user_id=user_id, rows=taken)
        return new
