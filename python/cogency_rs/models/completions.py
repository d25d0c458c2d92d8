"""The common part of OpenAI's two APIs for completions: with a chat, and with plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from .fields import field
from .served import ModelSettings

__all__ = ["Requests", "is_refusal_of"]

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
