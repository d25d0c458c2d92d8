"""A system prompt that the program writes itself, from the parts of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from .._core import Dialect, PromptParts
from ..context.assembly import written_dialect
from ..errors import ConfigError
from ..types import Dialects, ToolCall

__all__ = ["SystemPrompt", "own_prompt"]

SystemPrompt = Callable[[PromptParts], str]
"""Writes the system prompt from its parts: who the model is, how calls are written, instructions, and tools."""


def own_prompt(
    write: SystemPrompt,
    parts: PromptParts,
    dialect: Dialects,
    tools: Iterable[Any],
    answer_form: str,
) -> str:
    """The prompt that a program writes of these parts; the last line of the form of the answer is its schema.

    Raises:
        ConfigError: it is not a text, or it lacks what our prompt says and the reader relies on: the name of a tool, a
            mark or a key of a call, or the schema of the answer.
    """
    text: object = write(parts)
    if not isinstance(text, str):
        raise ConfigError(f"prompt must return the system prompt, a str, not {type(text).__name__}")
    whole = parts.text
    spoken = written_dialect(dialect)
    shown = [mark for mark in _marks(spoken) if mark in whole]
    for mark in shown or [key for key in _keys(spoken) if key in whole]:
        if mark not in text:
            raise ConfigError(
                f"the system prompt lacks {mark}, which is part of a call: without it no call is recognised. Put "
                "parts.calls and parts.tools into it"
            )
    missing = [tool.name for tool in tools if tool.name in whole and tool.name not in text]
    if missing:
        raise ConfigError(
            f"the system prompt lacks {', '.join(missing)}: a tool that it does not name is never called. Put "
            "parts.tools into it, or leave the tool out with @tool(visible=False)"
        )
    if answer_form.rpartition("\n")[2] not in text:
        raise ConfigError(
            "the system prompt lacks the schema of the answer: without it no answer has the type that output_type asks "
            "for. Put parts.instructions into it"
        )
    return text


def _marks(dialect: Dialect) -> list[str]:
    """The marks that open and close a call."""
    opening, closing = dialect.call_marks()
    return [*opening[:1], *closing[:1]]


def _keys(dialect: Dialect) -> list[str]:
    """The keys of a call that is an object."""
    return re.findall(r'"\w+"(?=:)', dialect.write_calls([ToolCall("x", {})]))
