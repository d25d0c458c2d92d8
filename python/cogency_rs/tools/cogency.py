"""What cogency 3.3.0 does for tools of certain names. No other file of the package knows a tool by its name.

cogency's executor gives every tool some arguments besides the model's, and its own tool `shell` one more. Its prompt
has a paragraph about its own tool `recall`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

INJECTED = frozenset({"storage", "sandbox_dir", "access", "conversation_id", "user_id"})
"""The arguments that every tool is given."""

_FIELDS: Mapping[str, Mapping[str, str]] = {"shell": {"timeout": "shell_timeout"}}
"""The further arguments of a tool, each with the field of `Execution` that it comes from."""

_GUIDANCE: Mapping[str, str] = {
    "recall": "The tool `recall` finds what the user said in earlier conversations. Use it when the user refers to one."
}
"""What the system prompt says about a tool besides listing it."""


def injected_by(execution: Any, user_id: str, conversation_id: str) -> dict[str, Any]:
    """The arguments that a turn gives to every tool that is an object with `execute(**kwargs)`."""
    given = {
        "storage": execution.storage,
        "sandbox_dir": execution.sandbox_dir,
        "access": execution.access,
        "conversation_id": conversation_id,
    }
    if user_id:
        given["user_id"] = user_id
    return given


def injected_into(tool: str, given: dict[str, Any], execution: Any) -> dict[str, Any]:
    """The arguments that a turn gives to the tool of this name: `given`, and what only this tool gets."""
    fields = _FIELDS.get(tool)
    if fields is None:
        return given
    return {**given, **{name: getattr(execution, field) for name, field in fields.items()}}


def without_injected(
    given: Mapping[str, Any], tool: str, declared: Container[str]
) -> dict[str, Any]:
    """The model's arguments, out of all that cogency's executor gave to the tool of this name.

    Args:
        given: all of them.
        tool: the tool's name.
        declared: the arguments in the tool's own schema, which are always the model's.
    """
    injected = INJECTED.union(_FIELDS.get(tool, ()))
    return {
        name: value for name, value in given.items() if name in declared or name not in injected
    }


def guidance_for(tools: Iterable[str]) -> list[str]:
    """What the system prompt says about the tools of these names, in their order."""
    return [_GUIDANCE[name] for name in tools if name in _GUIDANCE]
