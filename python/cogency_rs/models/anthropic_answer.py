"""Anthropic's stream of an answer, as deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .anthropic_history import REDACTED
from .deltas import Delta, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from .failures import IncompleteError
from .fields import field
from .served import finish_of

__all__ = ["MessageReader"]

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class MessageReader:
    """Reads the events of one answer. Blocks come one after the other, each with a start, deltas and a stop."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._thinking_tokens = 0
        self._calls = 0
        self._call_is_empty = False
        self._signature = ""
        self._reason: str | None = None
        self._refusal: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it is known why the answer ended."""
        return self._reason is not None

    def feed(self, chunk: Any) -> Iterator[Delta]:
        """Read the next event; kinds that are not known are left out."""
        match chunk.type:
            case "message_start":
                self._count(chunk.message.usage)
                yield self._usage(is_estimate=True)  # the answer's tokens are not counted yet
            case "content_block_start":
                yield from self._start(chunk.content_block)
            case "content_block_delta":
                yield from self._delta(chunk.delta)
            case "content_block_stop":
                yield from self._stop()
            case "message_delta":
                self._count(chunk.usage)
                self._reason = chunk.delta.stop_reason or self._reason
                self._refusal = _explanation(chunk.delta) or self._refusal
            case _:
                pass

    def _start(self, block: Any) -> Iterator[Delta]:
        match block.type:
            case "text":
                if block.text:
                    yield TextDelta(block.text)
            case "thinking":
                if block.thinking:
                    yield ReasoningDelta(block.thinking)
            case "redacted_thinking":
                self._signature = f"{REDACTED}{block.data}"
            case "tool_use":
                arguments = json.dumps(block.input) if block.input else ""
                yield ToolCallDelta(self._calls, block.id, block.name, arguments)
                self._calls += 1
                self._call_is_empty = not arguments
            case _:
                pass

    def _delta(self, delta: Any) -> Iterator[Delta]:
        match delta.type:
            case "text_delta":
                yield TextDelta(delta.text)
            case "thinking_delta":
                yield ReasoningDelta(delta.thinking)
            case "signature_delta":
                self._signature += delta.signature
            case "input_json_delta":
                if delta.partial_json:
                    self._call_is_empty = False
                    yield ToolCallDelta(self._calls - 1, arguments=delta.partial_json)
            case _:
                pass

    def _stop(self) -> Iterator[Delta]:
        if self._signature:
            yield ReasoningDelta("", self._signature)
            self._signature = ""
        if self._call_is_empty:
            yield ToolCallDelta(self._calls - 1, arguments="{}")
            self._call_is_empty = False

    def finish(self) -> Iterator[Delta]:
        """Return the usage and the `Finish`.

        Raises:
            IncompleteError: the stream ended before the message did.
        """
        if self._reason is None:
            raise IncompleteError("it ended without a stop_reason")
        yield self._usage()
        finish = finish_of(self._reason)
        yield Finish(finish.reason, details=self._refusal) if finish.kind == "refused" else finish

    def _count(self, usage: Any) -> None:
        """Take the counts; each of them is a sum from the beginning."""
        for name in _COUNTS:
            count = field(usage, name)
            if count is not None:
                self._counts[name] = count
        details = field(usage, "output_tokens_details")
        self._thinking_tokens = field(details, "thinking_tokens") or self._thinking_tokens

    def _usage(self, *, is_estimate: bool = False) -> Usage:
        return Usage(
            input_tokens=self._counts["input_tokens"],
            output_tokens=max(self._counts["output_tokens"] - self._thinking_tokens, 0),
            cache_read_tokens=self._counts["cache_read_input_tokens"],
            cache_write_tokens=self._counts["cache_creation_input_tokens"],
            reasoning_tokens=self._thinking_tokens,
            is_estimate=is_estimate,
        )


def _explanation(delta: Any) -> str:
    details = field(delta, "stop_details")
    parts = (field(details, name) for name in ("category", "explanation"))
    return ": ".join(part for part in parts if part)
