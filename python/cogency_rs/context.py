"""The stored log to the next prompt: the async shell over the core's folding."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ._core import system_prompt as write_system_prompt, to_messages
from .codec import tool_line
from .errors import StorageError
from .foldings import FoldOptions, fold, fold_conversation
from .signature import json_schema_of, signature

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
        tools: the tools it may call; each with `name`, `description` and `schema`. Those with a JSON Schema are
            listed with the types of their parameters.
        identity: who it is; a neutral sentence when not given.
        instructions: what this user or task asks for in addition.
    """
    lines = [(tool.name, _listed(tool)) for tool in tools or ()]
    return write_system_prompt(lines, identity or None, instructions or None)


def _listed(tool: Any) -> str:
    schema = json_schema_of(tool)
    return tool_line(tool) if schema is None else signature(tool, schema)


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
    escape_tags: bool = False,
) -> Messages:
    """Build the messages of the next prompt from the stored log.

    Args:
        user_id: whose conversation; empty for everybody's.
        conversation_id: which one.
        tools: the tools the prompt lists.
        storage: the log; a `Log` is asked for what is new, any other for `load_messages`. For the profile,
            `load_profile` is called.
        history_window: how many messages of history to send; `None` for all.
        history_transform: changes the history before it is sent, for example to compress it.
        profile_enabled: whether what is known of the user follows the system prompt.
        identity: see `system_prompt`.
        instructions: see `system_prompt`.
        escape_tags: keep what tools returned from closing its block for the model; see `to_messages`.

    Returns:
        Messages with `role` and `content`, the system prompt first. They are the caller's to change. Calls that
        have no results in the log, because whoever ran them died, are shown with a failure each:
        `Interrupted before completion`.

    Raises:
        StorageError: the conversation has more than `MAX_CONVERSATION_LENGTH` events and no `history_window`.

    What the storage or the transform raises passes on unchanged. The cost is linear in the events loaded; with a `Log`
    such as `SQLite`, and no `history_window`, in those that are new since the last time.
    """
    return await assemble_behind(
        lambda: system_prompt(tools, identity, instructions),
        partial(_profile, user_id, storage) if profile_enabled else None,
        user_id,
        conversation_id,
        storage=storage,
        history_window=history_window,
        history_transform=history_transform,
        escape_tags=escape_tags,
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
    escape_tags: bool = False,
) -> Messages:
    """Build the messages of the next prompt behind a system prompt that someone else writes."""
    system = [prompt()]
    if profile is not None and (known := await profile()):
        system.append(known)
    count, history = await _history(user_id, conversation_id, storage, history_window, escape_tags)
    if count and history_transform is not None:
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
    user_id: str, conversation_id: str, storage: Any, history_window: int | None, escape_tags: bool
) -> tuple[int, Messages]:
    """How many events were loaded, and their messages."""
    if history_window is None:
        count, messages = await _fold_all(user_id, conversation_id, storage, escape_tags)
        if count > MAX_CONVERSATION_LENGTH:
            raise StorageError(
                f"Conversation {conversation_id} exceeds {MAX_CONVERSATION_LENGTH} events. "
                "Enable history_window to limit what is loaded."
            )
        return count, messages
    # As many as cogency 3.3.0 loads: enough, unless a turn takes more than two rows for each message.
    events = await storage.load_messages(conversation_id, user_id, limit=2 * history_window)
    return len(events), (await fold(events, FoldOptions(escape_tags)))[-history_window:]


async def _fold_all(
    user_id: str, conversation_id: str, storage: Any, escape_tags: bool
) -> tuple[int, Messages]:
    """How many events a conversation has, and its messages."""
    return await fold_conversation(storage, conversation_id, user_id, FoldOptions(escape_tags))
