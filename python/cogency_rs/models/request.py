"""What a model is asked."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from ..ids import uuid7
from .deltas import Delta

__all__ = ["Model", "ModelRequest", "SpecificTool", "ToolChoice", "ToolDeclaration"]


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as a provider is told of it.

    Attributes:
        name: what the model calls it.
        description: what it does.
        parameters: the JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SpecificTool:
    """The model must call this tool."""

    name: str


ToolChoice = Literal["auto", "required", "none"] | SpecificTool
"""Which tools a model may call: as it likes, at least one, none, or this one."""


@dataclass(frozen=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        messages: the conversation, oldest first: dicts of `role` (`system`, `user`, `assistant`, `tool`) and `content`,
            in the form of chat completions. An assistant's message may have `tool_calls` (`id`, `type` "function", and
            `function` with `name` and `arguments`, JSON text), and `reasoning`, a list of `{"text", "signature"}`. A
            message of a `tool` has `tool_call_id`, `tool_execution_id` and `is_error`.
        tools: those declared to the provider; none where the model writes its calls as text.
        tool_choice: which of them the model may call.
        parallel_tool_calls: whether one answer may hold several calls.
        stop: strings at which the provider is to stop.
        output_schema: the JSON Schema that the answer must meet, where the provider is asked for that; else `None`.
        settings: the provider's own settings for this request; they win over the model's.
        id: the request's own, the same before and after it is sent.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: tuple[ToolDeclaration, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    stop: tuple[str, ...] = ()
    output_schema: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    id: str = field(default_factory=uuid7)


class Model(Protocol):
    """Anything that answers. A plain function from messages to an async iterable of text is one, too.

    It may have `name`, `provider` and `base_url`, text, which traces name; and `structured_output`, true where it wants
    the schema of the answer in its requests.
    """

    def stream(self, request: ModelRequest) -> AsyncIterable[str | Delta]:
        """Ask, and give the answer while it arrives. Closing the iterator ends the request.

        Raises:
            LLMError: the service failed or refused; says whether it is the rate or the credentials.
        """
        ...
