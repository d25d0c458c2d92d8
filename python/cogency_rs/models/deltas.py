"""The pieces of a model's answer while it streams."""

from __future__ import annotations

from dataclasses import dataclass

from .._core import Finish

__all__ = [
    "Delta",
    "ExtraDelta",
    "Finish",
    "OpaqueDelta",
    "ReasoningDelta",
    "TextDelta",
    "ToolCallDelta",
    "Usage",
]

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
