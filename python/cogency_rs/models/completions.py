"""The common part of OpenAI's two APIs for completions: with a chat, and with plain text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from .deltas import Delta, Finish, Usage
from .failures import IncompleteError
from .fields import field
from .served import ModelSettings, finish_of

__all__ = ["CompletionReader", "Requests", "is_refusal_of", "usage_of"]

_MAY_BE_REFUSED = {
    "stream_options": ("stream_options", "include_usage", "continuous_usage_stats"),
    "response_format": ("response_format", "json_schema", "grammar"),
}
"""Fields of a request that not every server knows, each with words in a refusal that name it as the cause."""


class Requests:
    """Sends requests. A field that the server has refused is left out from then on: the usage, the form of the answer.

    Args:
        counts_along: whether to ask for the usage in each chunk, which vLLM and SGLang can give, so that it is also
            known for an answer that is closed before its end.
    """

    def __init__(self, *, counts_along: bool = False) -> None:
        self._counts_along = counts_along
        self._refused: set[str] = set()

    async def open(
        self,
        create: Any,
        asked: Mapping[str, Any],
        body: Mapping[str, Any],
        settings: ModelSettings,
    ) -> Any:
        """Send a request by `create`, a method of the SDK: `asked` as its arguments, `body` beside them."""
        while True:
            usage = {"include_usage": True}
            if self._counts_along:
                usage["continuous_usage_stats"] = True
            whole = {"stream_options": usage, **body}
            sent = {name: value for name, value in whole.items() if name not in self._refused}
            try:
                # Sent as `extra_body`, since servers know settings that the SDK does not.
                return await create(
                    **asked,
                    stream=True,
                    extra_body={**sent, **settings.of_service},
                    **settings.of_call,
                )
            except Exception as error:
                refused = _refused_field(error, sent.keys() - settings.of_service.keys())
                if refused is None:
                    raise
                if refused == "stream_options" and self._counts_along:
                    self._counts_along = False
                else:
                    self._refused.add(refused)


def _refused_field(error: Exception, sent: Set[str]) -> str | None:
    """The field for which a server refused a request, if it is one of these."""
    return next(
        (
            name
            for name, words in _MAY_BE_REFUSED.items()
            if name in sent and is_refusal_of(error, words)
        ),
        None,
    )


def is_refusal_of(error: Exception, words: Iterable[str]) -> bool:
    """Whether a service refused a request with a message that has one of these words."""
    message = f"{error} {getattr(error, 'body', '')}"
    return field(error, "status_code") in (400, 422) and any(word in message for word in words)


class CompletionReader:
    """Reads the chunks of one completion; a subclass reads the choices."""

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._is_closed = False
        self._refusal = ""

    @property
    def is_complete(self) -> bool:
        """Whether it is known why the answer ended, or the usage has come, which stands after all choices."""
        return self._is_closed or (
            self._reason is not None and Finish(self._reason).kind != "broken"
        )

    def feed(self, chunk: Any) -> Iterator[Delta]:
        """Read the next chunk. Choices other than the first are left out."""
        choices = field(chunk, "choices") or ()
        usage = field(chunk, "usage")
        if usage is not None:
            self._usage = usage_of(usage)
            self._is_closed = not choices
            if any(field(choice, "finish_reason") is None for choice in choices):
                yield self._usage  # first, because the answer may be closed at what the chunk adds
        for choice in choices:
            if not field(choice, "index"):
                yield from self.deltas(choice)
                self._reason = field(choice, "finish_reason") or self._reason

    @abstractmethod
    def deltas(self, choice: Any) -> Iterable[Delta]:
        """The deltas of a choice of a chunk."""

    def finish(self) -> Iterator[Delta]:
        """Return the usage and the `Finish`.

        Raises:
            IncompleteError: the stream ended, and nothing said that the answer was complete.
        """
        if self._usage is not None:
            yield self._usage
        if self._refusal:
            yield Finish("refusal", details=self._refusal)
            return
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
