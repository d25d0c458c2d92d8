"""Whose a conversation is: it belongs to the user of its first row, and is carried on for this user only.

The empty user is one like any other: a program of one user leaves `user_id` out, and a conversation that was begun
without it is carried on without it.
"""

from __future__ import annotations

from typing import Any

from ..errors import OwnerError

__all__ = ["check_owner", "check_user", "not_the_owner"]


async def check_user(storage: Any, conversation_id: str, user_id: str) -> None:
    """Check that a user may carry on a conversation. Anybody may begin one that has no row.

    The answer holds as long as the caller has the claim on the conversation.

    Args:
        storage: a `Log`.
        conversation_id: its id.
        user_id: the user; "" for a program of one user.

    Raises:
        OwnerError: it is another user's.
        StorageError: the log cannot be read.
    """
    check_owner(await storage.owner(conversation_id), conversation_id, user_id)


def check_owner(owner: str | None, conversation_id: str, user_id: str) -> None:
    """Check the same, if the owner is known.

    Raises:
        OwnerError: it is another user's.
    """
    if owner is not None and owner != user_id:
        raise not_the_owner(conversation_id, user_id)


def not_the_owner(conversation_id: str, user_id: str) -> OwnerError:
    """The error for a user who names a conversation of another."""
    if user_id:
        text = f"conversation {conversation_id!r} was not begun by user {user_id!r}"
    else:
        text = f"conversation {conversation_id!r} was begun with a user_id, but none was given"
    return OwnerError(
        f"{text}: give the user_id that it was begun with, or another conversation_id",
        conversation_id=conversation_id,
        user_id=user_id,
    )
