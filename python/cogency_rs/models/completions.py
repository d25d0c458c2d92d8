"""The common part of OpenAI's two APIs for completions: with a chat, and with plain text."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

__all__ = ["SharedFields", "Template", "grammar_fields", "is_refusal_of", "joined"]

logger: logging.Logger = logging.getLogger(__name__)

Template = Callable[[Sequence[Mapping[str, Any]]], str]
"""Writes messages as the text of a prompt, up to where the model goes on."""

_MAY_BE_REFUSED = {
    ("stream_options",): ("stream_options", "include_usage", "continuous_usage_stats"),
    ("grammar", "structured_outputs", "ebnf"): ("grammar", "structured_outputs", "ebnf"),
    ("response_format",): ("response_format", "json_schema", "grammar"),
}
"""Fields of a request that not every server knows, each with words in a refusal that name it as the cause."""


def grammar_fields(grammar: str) -> dict[str, Any]:
    """A grammar where llama.cpp's server, vLLM and SGLang look for it, since each ignores the fields of the others."""
    return {"grammar": grammar, "structured_outputs": {"grammar": grammar}, "ebnf": grammar}


def joined(
    body: Mapping[str, Any], of_service: Mapping[str, Any], *names: str
) -> dict[str, list[Any]]:
    """The lists of these names that both a request and the caller's settings have: a driver needs its own."""
    lists: dict[str, list[Any]] = {}
    for name in names:
        own, given = body.get(name), of_service.get(name)
        if own and given is not None:
            added = [given] if isinstance(given, str) else given
            lists[name] = [*own, *(each for each in added if each not in own)]
    return lists


class SharedFields:
    """The fields that both have: the usage, the form of the answer. One that was refused is left out afterwards.

    Args:
        counts_along: whether to ask for the usage in each chunk, which vLLM and SGLang can give, so that it is also
            known for an answer that is closed before its end.
    """

    def __init__(self, *, counts_along: bool = False) -> None:
        self._counts_along = counts_along
        self._refused: set[str] = set()

    def complete(self, body: Mapping[str, Any], of_service: Mapping[str, Any]) -> dict[str, Any]:
        """See `Endpoint`."""
        usage = {"include_usage": True}
        if self._counts_along:
            usage["continuous_usage_stats"] = True
        whole = {"stream_options": usage, **body}
        sent = {name: value for name, value in whole.items() if name not in self._refused}
        return {**sent, **of_service, **joined(sent, of_service, "stop", "tools")}

    def learns_from(
        self, error: Exception, sent: Mapping[str, Any], of_service: Mapping[str, Any]
    ) -> bool:
        """See `Endpoint`."""
        refused = _refused_fields(error, sent.keys() - of_service.keys())
        if not refused:
            return False
        if "stream_options" in refused and self._counts_along:
            self._counts_along = False
        else:
            self._refused.update(refused)
        if "grammar" in refused:
            logger.warning(
                "The server refused a grammar, and is sent none from now on: nothing constrains the model %s, "
                "and its calls are read as it writes them",
                sent.get("model"),
            )
        return True


def _refused_fields(error: Exception, sent: Set[str]) -> Sequence[str]:
    """The fields for which a server refused a request, if it is some of these."""
    return next(
        (
            names
            for names, words in _MAY_BE_REFUSED.items()
            if not sent.isdisjoint(names) and is_refusal_of(error, words)
        ),
        (),
    )


def is_refusal_of(error: Exception, words: Iterable[str]) -> bool:
    """Whether a service refused a request with a message that has one of these words."""
    message = f"{error} {getattr(error, 'body', '')}"
    status = getattr(error, "status_code", None)
    return status in (400, 422) and any(word in message for word in words)
