"""The stored log to the next prompt: the async shell over the core's folding."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from . import _core
from ._core import to_messages
from .codec import tool_line
from .errors import StorageError

__all__ = ["MAX_CONVERSATION_LENGTH", "assemble", "system_prompt", "to_messages"]

MAX_CONVERSATION_LENGTH = 10_000
"""Events of a conversation that are loaded without a `history_window`; as in cogency 3.3.0."""

Messages = list[dict[str, Any]]
HistoryTransform = Callable[[Messages], Awaitable[Messages]]


def system_prompt(
    tools: Iterable[Any] | None = None, identity: str | None = None, instructions: str | None = None
) -> str:
    """Write the system prompt that teaches a model the protocol.

    Args:
        tools: the tools it may call; each with `name`, `description` and `schema`.
        identity: who it is; a neutral sentence when not given.
        instructions: what this user or task asks for in addition.
    """
    lines = [(tool.name, tool_line(tool)) for tool in tools or ()]
    return _core.system_prompt(lines, identity or None, instructions or None)


async def assemble(
    user_id: str,
    conversation_id: str,
    *,
    tools: Sequence[Any],
    storage: Any,
    history_window: int | None = None,
    history_transform: HistoryTransform | None = None,
    profile_enabled: bool = False,
    identity: str | None = None,
    instructions: str | None = None,
) -> Messages:
    """Build the messages of the next prompt from the stored log.

    Args:
        user_id: whose conversation; empty for everybody's.
        conversation_id: which one.
        tools: the tools the prompt lists.
        storage: the log; `load_messages` is called and, for the profile, `load_profile`.
        history_window: how many messages of history to send; `None` for all.
        history_transform: changes the history before it is sent, for example to compress it.
        profile_enabled: whether what is known of the user follows the system prompt.
        identity: see `system_prompt`.
        instructions: see `system_prompt`.

    Returns:
        Messages with `role` and `content`, the system prompt first.

    Raises:
        StorageError: the conversation has more than `MAX_CONVERSATION_LENGTH` events and no `history_window`.

    What the storage or the transform raises passes on unchanged. The cost is linear in the events loaded.
    """
    return await assemble_behind(
        lambda: system_prompt(tools, identity, instructions),
        partial(_profile, user_id, storage) if profile_enabled else None,
        user_id,
        conversation_id,
        storage=storage,
        history_window=history_window,
        history_transform=history_transform,
    )


async def assemble_behind(
    prompt: Callable[[], str],
    profile: Callable[[], Awaitable[str]] | None,
    user_id: str,
    conversation_id: str,
    *,
    storage: Any,
    history_window: int | None,
    history_transform: HistoryTransform | None,
) -> Messages:
    """Build the messages of the next prompt behind a system prompt that someone else writes."""
    system = [prompt()]
    if profile is not None and (known := await profile()):
        system.append(known)
    history = await _history(user_id, conversation_id, storage, history_window)
    if history and history_transform is not None:
        history = await history_transform(history)
    return [{"role": "system", "content": "\n\n".join(system)}, *history]


async def _profile(user_id: str, storage: Any) -> str:
    if not user_id:
        return ""
    try:
        profile = await storage.load_profile(user_id)
    except Exception as error:
        # Without a database there is nothing known of anybody.
        if "unable to open database file" in str(error):
            return ""
        raise RuntimeError(f"The profile of {user_id} could not be loaded: {error}") from error
    return f"USER PROFILE:\n{json.dumps(profile, indent=2)}" if profile else ""


async def _history(
    user_id: str, conversation_id: str, storage: Any, history_window: int | None
) -> Messages:
    # A message takes one or two events, so twice the window always fills it.
    limit = None if history_window is None else 2 * history_window
    events = await storage.load_messages(conversation_id, user_id, limit=limit)
    if history_window is None and len(events) > MAX_CONVERSATION_LENGTH:
        raise StorageError(
            f"Conversation {conversation_id} exceeds {MAX_CONVERSATION_LENGTH} events. "
            "Enable history_window to limit what is loaded."
        )
    messages = to_messages(events)
    return messages if history_window is None else messages[-history_window:]
