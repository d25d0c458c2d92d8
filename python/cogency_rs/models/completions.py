"""What OpenAI's two APIs for completions, with a chat and with plain text, have alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .deltas import Delta, Usage
from .failures import IncompleteError, RefusedError
from .fields import field
from .served import ModelSettings, finish_of

__all__ = ["CompletionReader", "UsageAsked", "usage_of"]

_GIVEN_UP = frozenset({"abort", "error", "insufficient_system_resource", "network_error"})
"""Finish reasons of a server that could not go on."""


class UsageAsked:
    """Asks for the usage as well, until the server refuses that."""

    def __init__(self) -> None:
        self._is_refused = False

    async def open(
        self,
        create: Any,
        asked: Mapping[str, Any],
        body: Mapping[str, Any],
        settings: ModelSettings,
    ) -> Any:
        """Send a request by `create`, a method of the SDK: `asked` as its arguments, `body` beside them."""
        if not self._is_refused:
            options = {"stream_options": {"include_usage": True}}
            try:
                return await self._send(create, asked, {**options, **body}, settings)
            except Exception as error:
                if "stream_options" in settings.of_service or not _is_about_usage(error):
                    raise
            self._is_refused = True
        return await self._send(create, asked, body, settings)

    @staticmethod
    async def _send(
        create: Any, asked: Mapping[str, Any], body: Mapping[str, Any], settings: ModelSettings
    ) -> Any:
        # By way of `extra_body`, since servers know settings that the SDK does not.
        extra_body = {**body, **settings.of_service}
        return await create(**asked, stream=True, extra_body=extra_body, **settings.of_call)


def _is_about_usage(error: Exception) -> bool:
    said = f"{error} {getattr(error, 'body', '')}"
    is_refused = field(error, "status_code") in (400, 422)
    return is_refused and ("stream_options" in said or "include_usage" in said)


class CompletionReader:
    """Reads the chunks of one completion; what is in a choice, a subclass says."""

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._is_closed = False
        self._refusal = ""

    @property
    def is_complete(self) -> bool:
        """Whether it is known why the answer ended, or the usage, which stands behind all choices, has come."""
        return self._is_closed or (self._reason is not None and self._reason not in _GIVEN_UP)

    def feed(self, chunk: Any) -> Iterator[Delta]:
        """Read the next chunk. Choices other than the first are left out."""
        choices = field(chunk, "choices") or ()
        usage = field(chunk, "usage")
        if usage is not None:
            self._usage = usage_of(usage)
            self._is_closed = not choices
        for choice in choices:
            if not field(choice, "index"):
                yield from self.deltas(choice)
                self._reason = field(choice, "finish_reason") or self._reason

    @abstractmethod
    def deltas(self, choice: Any) -> Iterable[Delta]:
        """What a choice of a chunk adds."""

    def finish(self) -> Iterator[Delta]:
        """Give the usage and the `Finish`.

        Raises:
            RefusedError: the model refused, or the provider withheld what it wrote.
            IncompleteError: the stream is over, and nothing said that the answer is.
        """
        if self._usage is not None:
            yield self._usage
        if self._refusal:
            raise RefusedError(self._refusal)
        if self._reason == "content_filter":
            raise RefusedError("content_filter: the provider withheld what it wrote")
        if not self.is_complete:
            reason = self._reason or "it ended without a finish_reason"
            raise IncompleteError(reason)
        yield finish_of(self._reason)


def usage_of(usage: Any) -> Usage:
    """The usage of a completion. Its sums contain their parts: the prompt what was cached, the answer the reasoning."""
    prompt = _count(usage, "prompt_tokens")
    written = _count(usage, "completion_tokens")
    in_prompt = field(usage, "prompt_tokens_details")
    cache_read, cache_write = (
        _count(in_prompt, name) for name in ("cached_tokens", "cache_write_tokens")
    )
    reasoning = _count(field(usage, "completion_tokens_details"), "reasoning_tokens")
    # Some servers count reasoning beside the answer; their total tells.
    is_beside = 0 < reasoning <= _count(usage, "total_tokens") - prompt - written
    return Usage(
        input_tokens=max(prompt - cache_read - cache_write, 0),
        output_tokens=written if is_beside else max(written - reasoning, 0),
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        reasoning_tokens=reasoning,
    )


def _count(counts: Any, name: str) -> int:
    count = field(counts, name)
    return count if isinstance(count, int) else 0
