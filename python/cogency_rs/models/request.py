"""A request to a model, the pieces of its answer while it streams, and the protocol of models."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from .._core import Finish
from ..outside import uuid7
from .settings import limit_in

REDACTED = "redacted_thinking:"
"""The mark before the data of an encrypted block of reasoning, which is sent back; a signature has no colon."""


@dataclass(frozen=True)
class TextDelta:
    """The next piece of the answer's text. A plain `str` is the same."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """The next piece of the model's reasoning, which is not for the user.

    Attributes:
        text: the piece; may be empty.
        signature: opaque text that the provider wants back with this block of reasoning; comes once, at the end of the
            block.
    """

    text: str
    signature: str | None = None


@dataclass(frozen=True)
class ToolCallDelta:
    """The next piece of a tool call of the provider's own kind.

    Attributes:
        index: the call's place in the answer, from 0. `None` if the provider does not say: then a new `id` or a `name`
            begins a call, and anything else belongs to the last one.
        id: the provider's id of the call; comes once.
        name: the tool's name; comes once.
        arguments: the next piece of its arguments, JSON text.
    """

    index: int | None
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True)
class OpaqueDelta:
    """A field that only the service can read, and that it wants back with the answer: Google's signatures of calls.

    Attributes:
        name: the field's name: `extra_content`, `reasoning_details`.
        json: its value, JSON text, as the service wrote it; of a list that comes in pieces, one item.
        index: the `index` of the call that it is a field of; `None` if it is one of the answer itself.
    """

    name: str
    json: str
    index: int | None = None


@dataclass(frozen=True)
class ExtraDelta:
    """A field of the answer that has no delta of its own; comes to those who set `extra_fields` or `logprobs`.

    Attributes:
        path: where it is in the answer: `choices.logprobs`, `usage.cost`, `system_fingerprint`.
        json: its value, JSON text, as the service wrote it.
    """

    path: str
    json: str


@dataclass(frozen=True)
class Usage:
    """How many tokens were used.

    The parts do not overlap: tokens from a cache are not in `input_tokens`, and reasoning is not in `output_tokens`.

    Attributes:
        input_tokens: read by the model, and not from a cache.
        output_tokens: written by the model, without its reasoning.
        cache_read_tokens: read from the provider's cache.
        cache_write_tokens: written to the provider's cache.
        reasoning_tokens: written as reasoning, if the provider counts it apart.
        is_estimate: whether any number is an estimate made here, since the provider did not report it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    is_estimate: bool = False

    @property
    def total_tokens(self) -> int:
        """The sum of all parts."""
        return self.read_tokens + self.written_tokens

    @property
    def read_tokens(self) -> int:
        """Tokens that the model read, from a cache or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def written_tokens(self) -> int:
        """Tokens that the model wrote, with its reasoning."""
        return self.output_tokens + self.reasoning_tokens

    def __add__(self, other: Usage) -> Usage:
        if self is NO_USAGE:
            return other
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.is_estimate or other.is_estimate,
        )


NO_USAGE = Usage()
"""The usage before the first request."""

Delta = TextDelta | ReasoningDelta | ToolCallDelta | OpaqueDelta | ExtraDelta | Usage | Finish
"""A piece of a model's answer. If there are several `Usage`s in one answer, the last counts: providers report sums."""


@dataclass(frozen=True)
class ToolDeclaration:
    """A tool as it is declared to a provider.

    Attributes:
        name: the name that the model calls.
        description: what the tool does.
        parameters: the JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class SpecificTool:
    """The model must call this tool."""

    name: str


ToolChoice = Literal["auto", "required", "none"] | SpecificTool
"""Which tools a model must or may call: any or none, at least one, none, or this one."""

_NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class ModelRequest:
    """One request to a model.

    Attributes:
        messages: the conversation, oldest first: dicts of `role` (`system`, `user`, `assistant`, `tool`) and `content`,
            in the form of chat completions. An assistant's message may have `tool_calls` (`id`, `type` "function", and
            `function` with `name` and `arguments`, JSON text), `reasoning`, a list of `{"text", "signature"}`, and
            `returned`, what its service wants back: `order` of its parts, if they are not reasoning, text and calls,
            and opaque `fields` of the message and of each of its `calls`. A message of a `tool` has
            `tool_call_id`, `tool_execution_id` and `is_error`.
        tools: the tools declared to the provider; empty if the model writes its calls as text.
        tool_choice: which of them the model must or may call.
        parallel_tool_calls: whether one answer may hold several calls.
        stop: strings at which the provider must stop.
        output_schema: the JSON Schema of the answer, if the provider should enforce one; else `None`.
        grammar: a grammar in GBNF that the answer has to keep to; else `None`. A model that holds itself to none may
            ignore it.
        settings: the provider's own settings for this request; they override the model's.
        until: if given, nobody sees the answer while it comes: its text may be handed over in passages, as long as it
            is there once one of these strings is in it, once a call begins, and at the end. A model may ignore it.
        waited: seconds that have passed of the time that the request may take in all, `timeout={"total": …}`: it
            waited for the model's chat template.
        id: identifies the request; hooks keep it.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: tuple[ToolDeclaration, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    stop: tuple[str, ...] = ()
    output_schema: Mapping[str, Any] | None = None
    grammar: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: _NO_SETTINGS)
    until: tuple[str, ...] | None = None
    waited: float = 0.0
    id: str = field(default_factory=uuid7)


class Model(Protocol):
    """A model. A plain function from messages to an async iterable of text can be used instead.

    It may have `name`, `provider` and `base_url`, texts for traces; `structured_output`, true if it wants the schema of
    the answer in its requests; `keeps_messages`, true if it never changes the messages of a request: any other gets a
    copy of them; `calls_natively`, true if its service has its own tool calls for it; `dialect`, the `Dialect` that
    it was taught; and `takes_grammar`, true if it holds its answers to a request's `grammar`. An agent follows these
    unless told otherwise. And it may have `output_limit(request)`, which names the setting with which the user bounded
    the length of this answer, such as "max_tokens=100", or gives `None`: an answer that is cut there ends, and any
    other that is cut for its length is gone on with.
    """

    def stream(self, request: ModelRequest) -> AsyncIterable[str | Delta]:
        """Ask, and yield the answer while it arrives. Closing the iterator ends the request.

        Raises:
            LLMError: the service failed or refused; `rate_limited` and `auth_failed` say whether these are the reason.
        """
        ...


def limit_of(model: object, request: ModelRequest) -> str | None:
    """The setting with which the user bounded the length of an answer, such as "max_tokens=100"; `None` if none did."""
    asked: Any = getattr(model, "output_limit", None)
    if not callable(asked):
        return limit_in(request.settings)  # which hooks may set
    limit = asked(request)
    return limit if isinstance(limit, str) else None  # a mock has every attribute
