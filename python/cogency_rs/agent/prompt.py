"""What prompts are made of: parts, a prompt of the program's own, examples of calls, and text from outside.

Which model answers is not known there, so no text may hold a token of any known family of models. `Dialect.inert` says
how a token is broken up, and `Dialect.exact` how the arguments of calls get their exact text back.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from .._core import Dialect, PromptParts
from ..context.assembly import written_dialect
from ..errors import ConfigError
from ..tools.registry import is_object, json_schema_of
from ..types import Dialects, ToolCall

_JOINERS = ("\u2060", "\\u2060")


@cache
def any_model() -> Dialect:
    """A dialect with the tokens of all models, and no way to write calls."""
    tokens = Dialect("cogency").to_dict()["tokens"]
    return Dialect.from_dict({"name": "any", "calls": [], "tokens": tokens})


def inert_text(text: str) -> str:
    """`text` without a token of any model."""
    return any_model().inert(text)


def inert_value(value: Any) -> Any:
    """A value of JSON, with its strings as `inert_text` has them."""
    return _changed(value, any_model().inert)


def exact_args(args: dict[str, Any], written: str) -> dict[str, Any]:
    """The arguments as the model meant them; `written`, its call's text, may copy what it was shown."""
    if not any(joiner in written for joiner in _JOINERS):
        return args
    exact: dict[str, Any] = _changed(args, any_model().exact)
    return exact


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {_changed(key, change): _changed(field, change) for key, field in value.items()}
    if isinstance(value, list | tuple):
        items = cast("Iterable[Any]", value)
        return [_changed(item, change) for item in items]
    return value


_VALUES: Mapping[str, Any] = {
    "integer": 0,
    "number": 0,
    "boolean": True,
    "null": None,
    "array": [],
    "object": {},
}


def example_call(tools: Iterable[Any]) -> ToolCall | None:
    """A call of the first tool, with each argument that it requires; `None` without tools."""
    for tool in tools:
        schema = json_schema_of(tool) or {}
        properties = schema.get("properties", {})
        return ToolCall(
            tool.name, {name: _value(properties.get(name)) for name in schema.get("required", ())}
        )
    return None


def _value(schema: Any) -> Any:
    match schema:
        case {"enum": [first, *_]} | {"const": first}:
            return first
        case {"type": str(kind)}:
            return _VALUES.get(kind, "…")
        case _:
            return "…"


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


_T = TypeVar("_T")


MOST_KEPT = 64
"""How many values are kept; tools that are visible only in some runs lead to several."""


class Prompts:
    """What was made so far, by the values that it depends on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, write: Callable[[], _T]) -> _T:
        """The value of a key; `write` makes it if it is not kept. What has no hash is in no key that is kept."""
        try:
            kept: _T | None = self._kept.get(key)
        except TypeError:  # such as a function that is an object with a comparison
            return write()
        return self._keep(key, write()) if kept is None else kept

    async def get_awaited(self, key: Hashable, write: Callable[[], Awaitable[_T]]) -> _T:
        """The same, with a key that has a hash and a `write` that is awaited."""
        kept: _T | None = self._kept.get(key)
        return self._keep(key, await write()) if kept is None else kept

    def _keep(self, key: Hashable, made: _T) -> _T:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = made
        return made
