"""Builds the next prompt from the stored log: the async shell over the core's folding."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._core import Dialect, FoldOptions, PromptParts, prompt_parts as write_parts
from ..calls.record import CallRecord
from ..errors import ConfigError
from ..guards.arguments import check_dialect, check_instance, check_text
from ..guards.json import whole_characters
from ..tools.cogency import guidance_for
from ..types import Dialects
from .foldings import call_records, fold_conversation, newest_rows
from .history import CogencyHistory, History, HistoryTransform, Messages, Pin, Shown, TooLong


def system_prompt(
    tools: Iterable[Any] | None = None,
    identity: str | None = None,
    instructions: str | None = None,
    *,
    dialect: Dialects = "cogency",
) -> str:
    """Write the system prompt that teaches a model how to call tools.

    Args:
        tools: the tools that the model may call; each with `name`, `description` and `schema`. Those with a JSON Schema
            are listed with the types of their parameters.
        identity: who the model is; by default a neutral sentence.
        instructions: further instructions for this user or task.
        dialect: how the model writes its calls: a name of `Dialect.presets()`, a `Dialect`, or a tuple of these, of
            which the prompt teaches the first. Where the wording that its models were taught is known, it
            declares the tools, byte for byte.

    Returns:
        The prompt, with the tools in the given order. Equal arguments give equal prompts.

    Raises:
        ConfigError: there is no such dialect, or JSON cannot hold a tool's schema.
    """
    check_dialect(dialect)
    return prompt_parts(tools, identity, instructions, dialect).text


def prompt_parts(
    tools: Iterable[Any] | None, identity: str | None, instructions: str | None, dialect: Dialects
) -> PromptParts:
    """Write the parts of the system prompt; see `system_prompt`."""
    from ..tools.registry import listed_tools

    check_text("identity", identity, or_none=True)
    check_text("instructions", instructions, or_none=True)
    listed = [listed_tool(tool) for tool in listed_tools(tools or ())]
    paragraphs = guidance_for(name for name, *_ in listed)
    if instructions:
        paragraphs.append(instructions)
    said, asked = whole_characters(identity or ""), whole_characters("\n\n".join(paragraphs))
    return write_parts(listed, said or None, asked or None, dialect)


def listed_tool(tool: Any) -> tuple[str, str, str, Any]:
    """A tool's name, the line that lists it, its description, and the schema of its parameters.

    The core's `Dialect.declare` calls this, too, so that there is one line for each tool.
    """
    from ..protocol import tool_line
    from ..tools.registry import DeclaredTool, is_object, json_schema_of, signature

    if is_object(tool):
        tool = DeclaredTool.of(tool)
    schema = json_schema_of(tool)
    line = tool_line(tool) if schema is None else signature(tool, schema)
    declared: Any = getattr(tool, "schema", None) or {} if schema is None else schema
    return tool.name, line, tool.description or "", declared


async def assemble(
    user_id: str,
    conversation_id: str,
    *,
    tools: Sequence[Any],
    storage: Any,
    history: History | None = None,
    history_window: int | None = None,
    history_transform: HistoryTransform | None = None,
    profile_enabled: bool = False,
    identity: str | None = None,
    instructions: str | None = None,
    escape_tags: bool = False,
    dialect: Dialects = "cogency",
) -> Messages:
    """Build the messages of the next prompt from the stored log.

    Args:
        user_id: the id of a user, to show only this user's rows; empty for the rows of all users.
        conversation_id: the conversation's id.
        tools: the tools that the prompt lists.
        storage: the log. A `Log` is asked for the new rows by `read`, any other storage by `load_messages`; the profile
            is asked for by `load_profile`.
        history: how much of the conversation is shown, and in which form; `History()` when not given.
        history_window: cogency's name for `History(window=...)`.
        history_transform: cogency's name for `History(transform=...)`.
        profile_enabled: whether the user's profile follows the system prompt.
        identity: see `system_prompt`.
        instructions: see `system_prompt`.
        escape_tags: whether tags in results are escaped, so that none of them closes its block; see `to_messages`.
        dialect: how the model writes its calls and reads results; see `system_prompt` and `to_messages`.

    Returns:
        Messages with `role` and `content`, the system prompt first; the caller may change them. Calls that have no
        results in the log, because the program that ran them died, are shown as failed with
        `Interrupted before completion`; results without calls are left out. The report of a malformed block is shown
        as a user message, after the text that it is about, until a call, results or a question follows.

    Raises:
        ConfigError: `history` is given together with `history_window` or `history_transform`, or one of its values is
            wrong; or nothing is stored for these ids, but something is for the same ids swapped.

    A conversation of more than 10,000 events is shown from its end, if the history has no bound; see `History`.

    An exception of the storage or the transform is raised unchanged. The cost is linear in the events loaded. With a
    `Log` such as `SQLite`, no `window` or `max_tokens`, and up to 10,000 events, it is linear in the messages and in
    the events that are new since the last prompt.
    """
    history = _one_history(history, history_window, history_transform)
    conversation = StoredRows(storage, user_id, conversation_id)
    messages = await assemble_after(
        placed(prompt_parts(tools, identity, instructions, dialect)),
        partial(_profile, user_id, storage, dialect) if profile_enabled else None,
        conversation,
        history=history,
        options=FoldOptions(
            escape_tags=escape_tags,
            max_result_chars=history.max_result_chars,
            tool_result_chars=bounds_of(tools, history),
            dialect=dialect,
        ),
        check_empty=conversation.check_ids,
    )
    return [*map(dict, messages)]


def _one_history(
    history: History | None, window: int | None, transform: HistoryTransform | None
) -> History:
    if history is None:
        return History(window=window, transform=transform)
    if not (window is None and transform is None):
        raise ConfigError(
            "history_window and history_transform are part of history: give "
            "history=History(window=..., transform=...) alone"
        )
    check_instance("history", history, History)
    return history


def bounds_of(tools: Iterable[Any], history: History) -> dict[str, int]:
    """How much of the results of single tools is shown, by every way to write the tool's name."""
    from ..tools.toolbox import Toolbox

    given = history.tool_result_chars
    if not given:
        return {}
    ways = Toolbox.of(list(tools)).spellings()
    bounds = {id(tool): given[way] for way, tool in ways.items() if way in given}
    return {**given, **{way: bounds[id(tool)] for way, tool in ways.items() if id(tool) in bounds}}


@dataclass(frozen=True)
class StoredRows:
    """The rows of one conversation in a storage."""

    storage: Any
    user_id: str
    conversation_id: str

    async def newest(self, limit: int) -> Sequence[Any]:
        """At most so many rows, the newest ones."""
        return await newest_rows(self.storage, self.conversation_id, self.user_id, limit)

    async def folded(
        self,
        options: FoldOptions,
        *,
        merge_roles: bool = False,
        most: int | None = None,
        turns: int | None = None,
    ) -> Shown | TooLong:
        """The rows as messages, or how long they would be if that is more than `most`."""
        return await fold_conversation(
            self.storage,
            self.conversation_id,
            self.user_id,
            options,
            merge_roles=merge_roles,
            most=most,
            turns=turns,
        )

    async def records(self) -> Sequence[CallRecord] | None:
        """The records of its calls; `None` if the storage keeps none."""
        return await call_records(self.storage, self.conversation_id, self.user_id)

    async def check_ids(self) -> None:
        """Check that ids for which nothing is stored were not swapped.

        Raises:
            ConfigError: the log has rows for these ids swapped.
        """
        user_id, conversation_id = self.user_id, self.conversation_id
        if not user_id or user_id == conversation_id:
            return
        if await newest_rows(self.storage, user_id, conversation_id, 1):
            raise ConfigError(
                f"user_id {user_id!r} and conversation_id {conversation_id!r} are swapped: the log has nothing for "
                f"them, but it has a conversation {user_id!r}. Write assemble(user_id, conversation_id, ...)"
            )


Placed = tuple[Sequence[str], str]
"""A system prompt: the texts of its system messages, and what is before the text of the user's first message."""


def placed(prompt: str | PromptParts) -> Placed:
    """A system prompt whose parts are where the model's template has them."""
    return ([prompt], "") if isinstance(prompt, str) else prompt.placed()


async def assemble_after(
    prompt: Placed,
    profile: Callable[[], Awaitable[str]] | None,
    conversation: StoredRows,
    *,
    history: History | CogencyHistory,
    options: FoldOptions,
    check_empty: Callable[[], Awaitable[None]] | None = None,
    pin: Pin | None = None,
) -> Messages:
    """Build the messages of the next prompt, after a system prompt.

    The list is new. The dicts are those of the next prompts too, and must not be changed.

    Args:
        prompt: the system prompt.
        profile: gives the user's profile, which follows it; may give "".
        conversation: the rows.
        history: how much of them is shown, and in which form.
        options: how rows become messages.
        check_empty: called if there are no rows; raises if that is a mistake.
        pin: keeps the beginning of the history where it was in the run's first prompt.
    """
    system, asked = prompt
    if profile is not None and (known := await profile()):
        system = [*system[:-1], f"{system[-1]}\n\n{known}"]
    count, messages = await history.load(conversation, options, pin)
    if not count and check_empty is not None:
        await check_empty()
    return [*[{"role": "system", "content": text} for text in system], *_with(asked, messages)]


def _with(asked: str, messages: Messages) -> Messages:
    """The messages, with a text before that of the user's first one."""
    if not asked:
        return messages
    for place, message in enumerate(messages):
        if message["role"] == "user":
            first = {**message, "content": f"{asked}{message['content']}"}
            return [*messages[:place], first, *messages[place + 1 :]]
    return messages


def written_dialect(dialect: Dialects) -> Dialect:
    """The dialect that prompts are written in: the first of several."""
    first = dialect if isinstance(dialect, str | Dialect) else dialect[0]
    return Dialect(first) if isinstance(first, str) else first


async def _profile(user_id: str, storage: Any, dialect: Dialects) -> str:
    if not user_id:
        return ""
    try:
        profile = await storage.load_profile(user_id)
    except Exception as error:
        # Without a database there is no profile.
        if "unable to open database file" in str(error):
            return ""
        raise RuntimeError(f"The profile of {user_id} could not be loaded: {error}") from error
    text = written_dialect(dialect).inert(json.dumps(profile, indent=2))
    return f"USER PROFILE:\n{text}" if profile else ""
