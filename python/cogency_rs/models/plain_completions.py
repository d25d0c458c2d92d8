"""OpenAI's Completions API, where the caller writes the prompt: for templates whose special tokens must be kept."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from .completions import SharedFields, Template, grammar_fields
from .connection import Operation
from .request import ModelRequest

__all__ = ["PlainCompletions"]


class PlainCompletions(SharedFields):
    """The endpoint `/completions`.

    Args:
        template: writes the prompt.
        counts_along: see `SharedFields`.
    """

    operation = Operation("completions", "/completions", "completions", ("model", "prompt"))

    def __init__(self, template: Template, *, counts_along: bool = False) -> None:
        super().__init__(counts_along=counts_along)
        self._template = template

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request.

        Raises:
            ConfigError: the request declares tools or an output schema, which this API does not have.
        """
        if request.tools:
            raise ConfigError(
                "plain completions take no declared tools: list them in the prompt, as a dialect does, "
                'or use endpoint="chat"'
            )
        if request.output_schema is not None:
            raise ConfigError(
                'plain completions take no output_schema: use endpoint="chat", or the setting of your server for it'
            )
        body: dict[str, Any] = {"prompt": self._template(request.messages)}
        if request.stop:
            body["stop"] = list(request.stop)
        if request.grammar is not None:
            body |= grammar_fields(request.grammar)
        return body
