"""OpenAI's Completions API, where the caller writes the prompt: for templates whose special tokens must be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..errors import ConfigError
from .completions import Requests
from .request import ModelRequest
from .served import ModelSettings

__all__ = ["PlainCompletions", "Template"]

Template = Callable[[Sequence[Mapping[str, Any]]], str]
"""Writes messages as the text of a prompt, up to where the model is to go on."""


class PlainCompletions:
    """The endpoint `/completions`.

    Args:
        template: writes the prompt.
        counts_along: see `Requests`.
    """

    api: Literal["completions", "messages"] = "completions"

    def __init__(self, template: Template, *, counts_along: bool = False) -> None:
        self._template = template
        self._requests = Requests(counts_along=counts_along)

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
        return body

    async def open(self, client: Any, body: Mapping[str, Any], settings: ModelSettings) -> Any:
        """Send it."""
        asked = {key: body[key] for key in ("model", "prompt")}
        beside = {key: value for key, value in body.items() if key not in asked}
        return await self._requests.open(client.completions.create, asked, beside, settings)
