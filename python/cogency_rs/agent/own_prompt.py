"""A system prompt that the program writes itself, from the parts of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._core import Dialect, PromptParts
from ..context.assembly import written_dialect
from ..errors import ConfigError
from ..types import Dialects

__all__ = ["SystemPrompt", "own_prompt"]

SystemPrompt = Callable[[PromptParts], str]
"""Writes the system prompt from its parts: who the model is, how calls are written, instructions, and tools."""


def own_prompt(
    write: SystemPrompt, parts: PromptParts, dialect: Dialects, tools: Iterable[Any]
) -> str:
    """The prompt that a program writes of these parts.

    Raises:
        ConfigError: it is not a text, or it lacks what the parts say and the reader of calls relies on: the name of a
            tool, or the mark that opens a call.
    """
    text: object = write(parts)
    if not isinstance(text, str):
        raise ConfigError(f"prompt must return the system prompt, a str, not {type(text).__name__}")
    whole = parts.text
    for mark in _opening(written_dialect(dialect)):
        if mark in whole and mark not in text:
            raise ConfigError(
                f"the system prompt lacks {mark}, which marks a call: without it no call is recognised.  Put "
                "parts.calls and parts.tools into it"
            )
    missing = [tool.name for tool in tools if tool.name in whole and tool.name not in text]
    if missing:
        raise ConfigError(
            f"the system prompt lacks {', '.join(missing)}: a tool that it does not name is never called. Put "
            "parts.tools into it, or leave the tool out with @tool(visible=False)"
        )
    return text


def _opening(dialect: Dialect) -> list[str]:
    """The mark that opens a call, as the prompt shows it; none if calls have no mark."""
    fields = dialect.to_dict()
    heads = [body["head"]["open"] for body in fields["bodies"] if "head" in body]
    return [mark for mark in (*fields.get("open", ()), *heads) if mark][:1]
