"""Parsers for vLLM and SGLang, which find them by the entry points of this package; here is what they share."""

from __future__ import annotations

import os
from typing import Any, Literal

from .._core import ChatReader, Dialect
from ..errors import CogencyError, ConfigError
from ..reader.served import declared_tools, field, served_dialect, served_names
from ..tools.registry import is_object

Deltas = list[dict[str, Any]]
Dialects = Dialect | tuple[Dialect, ...]
Server = Literal["vllm", "sglang"]

CALLS = "COGENCY_RS_CALLS"
"""The variable of the environment that says when calls of a stream are sent: `stream`, the default, or `whole`."""

PREFIX = "cogency"
"""`cogency` detects the dialect from the model's chat template; `cogency_<name>` names it."""


def parser_names(server: Server) -> list[str]:
    """The names under which a server gets our parsers: for each preset, and for each name of its own parsers."""
    presets = (name.replace("-", "_") for name in Dialect.presets())
    return [PREFIX, *sorted({f"{PREFIX}_{name}" for name in (*presets, *served_names(server))})]


def dialects_of(name: str, server: Server, tokenizer: Any) -> Dialects:
    """The dialects that a parser of this name reads."""
    if name != PREFIX:
        told = getattr(tokenizer, "response_template", None)
        return served_dialect(name.removeprefix(f"{PREFIX}_"), server, response_template=told)
    template: Any = getattr(tokenizer, "chat_template", None)
    if is_object(template):  # several, by name
        template = template.get("tool_use") or template.get("default")
    try:
        found = Dialect.detect(template) if isinstance(template, str) else None
    except ConfigError:  # it is not a template
        found = None
    return found.dialect if found else Dialect("hermes")


class BrokenCallError(CogencyError, ValueError):
    """A call of which a part was sent cannot be read; the servers end such an answer with an error for the client."""


def chat_reader(dialects: Dialects, request: Any, *, streams: bool = False) -> ChatReader:
    """The reader of one answer to a request. Reasoning was taken out of its text before, or begins with its mark.

    Raises:
        ConfigError: the environment has no such way to send calls.
    """
    tools = list(declared_tools(field(request, "tools")))
    chosen = field(request, "tool_choice")
    choice: Any = "none" if chosen == "none" else "auto"
    if isinstance(name := field(field(chosen, "function", chosen), "name"), str):
        is_there = any(tool["name"] == name for tool in tools)
        choice = {"name": name} if is_there else "none"
    calls: Any = os.environ.get(CALLS, "stream") if streams else "whole"
    return ChatReader(
        dialects, tools or None, tool_choice=choice, begins_in_think=False, calls=calls
    )


def reasoning_marks(dialects: Dialects) -> tuple[str, str]:
    """The marks around reasoning; those of most models if a dialect does not mark it."""
    dialect = _each(dialects)[0]
    fields = dialect.to_dict()
    for pair in fields.get("reasoning") or ():
        opening, _, closing = pair.partition("{}")
        return opening.strip(), closing.strip()
    if heads := fields.get("heads"):  # reasoning is a separate message
        return dialect.write_turn(reasoning="thought").partition("thought")[0], heads["close"][0]
    return "<think>", "</think>"


def marks(dialects: Dialects, field: str) -> list[str]:
    """The marks of a field of the dialects, such as `turn_end`."""
    return [mark for dialect in _each(dialects) for mark in dialect.to_dict().get(field) or ()]


def call_marks(dialects: Dialects) -> list[str]:
    """The marks that open calls in any of the dialects."""
    return [mark for dialect in _each(dialects) for mark in dialect.call_marks()[0]]


def _each(dialects: Dialects) -> tuple[Dialect, ...]:
    return dialects if isinstance(dialects, tuple) else (dialects,)


class AnswerText:
    """The text of an answer for parsers of calls: reasoning stays in it, between its marks."""

    def __init__(self, dialects: Dialects) -> None:
        self._marks = reasoning_marks(dialects)
        self._thinks = False

    def take(self, deltas: Deltas, *, is_last: bool) -> tuple[str, Deltas]:
        """The text of the next deltas, and their calls, or pieces of these.

        Raises:
            BrokenCallError: a call that has begun is not valid.
        """
        text, calls = list[str](), list[dict[str, Any]]()
        for delta in deltas:
            if error := delta.get("error"):
                raise BrokenCallError(error["message"])
            self._turn("reasoning_content" in delta, text)
            text.append(delta.get("reasoning_content") or delta.get("content") or "")
            calls += delta.get("tool_calls", ())
        if is_last:
            self._turn(False, text)
        return "".join(text), calls

    def _turn(self, thinks: bool, text: list[str]) -> None:
        if thinks != self._thinks:
            text.append(self._marks[0 if thinks else 1])
            self._thinks = thinks


class BeforeServersOwn:
    """A class of ours that comes before one of the server's in the classes that are made for it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
