"""Anthropic's Messages API: a request as its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .anthropic_history import blocks_of, messages_of, system_of, tools_used
from .completions import is_refusal_of, joined
from .connection import Operation
from .request import ModelRequest, SpecificTool, ToolDeclaration
from .schema_forms import closed, of_object, without_bounds

__all__ = ["MAX_TOKENS", "Cache", "Messages"]

Cache = bool | Literal["5m", "1h"]
"""Whether the provider should keep what it has read, and for how long."""

MAX_TOKENS = 8192
"""How long an answer may be if the caller does not say: the API requires a length."""

_OF_FORM = ("output_config", "output_format", "structured output", "json_schema")
"""Words in a refusal that show that it is about the form of the answer."""

_REMEMBERED = 100
"""How many forms that were refused are not sent again; a model that takes none refuses each of them once."""

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


class Messages:
    """The endpoint `/v1/messages`.

    Args:
        cache: whether to mark the prefixes that a later question shares.
    """

    operation = Operation(
        "messages", "/v1/messages", "messages", ("model", "max_tokens", "messages")
    )

    def __init__(self, cache: Cache) -> None:
        self._mark: dict[str, Any] | None = None
        if cache:
            self._mark = {"type": "ephemeral"} | ({} if cache is True else {"ttl": cache})
        self._refused: list[Any] = []  # the forms of answers that were refused

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request."""
        messages = messages_of(request.messages)
        body: dict[str, Any] = {"messages": messages}
        if system := system_of(request.messages):
            body["system"] = system
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = _choice(request)
        elif used := tools_used(messages):
            # The API refuses calls of tools that it was not told of.
            body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in used]
            body["tool_choice"] = {"type": "none"}
        if stop := [text for text in request.stop if text.strip()]:
            # The API refuses stop sequences of nothing but white space; our parser stops at them as well.
            body["stop_sequences"] = stop
        if request.output_schema is not None:
            enforced = without_bounds(closed(request.output_schema, requires_all=False))
            form = {"type": "json_schema", "schema": enforced}
            body["output_config"] = {"format": form}
        if self._mark is not None:
            _mark_prefixes(body, self._mark)
        return body

    def complete(self, body: Mapping[str, Any], of_service: Mapping[str, Any]) -> dict[str, Any]:
        """See `Endpoint`."""
        merged = joined(body, of_service, "stop_sequences", "tools")
        whole = {"max_tokens": MAX_TOKENS, **body, **of_service, **merged}
        form: Mapping[str, Any] = body.get("output_config", {})
        if form.get("format") in self._refused:
            form = {}
        # The effort is the caller's setting.
        output = {**form, **of_service.get("output_config", {})}
        whole.pop("output_config", None)
        return {**whole, "output_config": output} if output else whole

    def learns_from(
        self, error: Exception, sent: Mapping[str, Any], of_service: Mapping[str, Any]
    ) -> bool:
        """See `Endpoint`."""
        config: Mapping[str, Any] = sent.get("output_config", {})
        given: Mapping[str, Any] = of_service.get("output_config", {})
        if "format" not in config or "format" in given or not is_refusal_of(error, _OF_FORM):
            return False
        self._refused.append(config["format"])
        del self._refused[:-_REMEMBERED]
        return True


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": of_object(tool.parameters),
    }


def _choice(request: ModelRequest) -> dict[str, Any]:
    choice: dict[str, Any] = (
        {"type": "tool", "name": request.tool_choice.name}
        if isinstance(request.tool_choice, SpecificTool)
        else {"type": _CHOICES[request.tool_choice]}
    )
    if not request.parallel_tool_calls and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _mark_prefixes(body: dict[str, Any], mark: dict[str, Any]) -> None:
    """Mark the ends of the parts that the next question repeats: tools, system, and the last two user turns.

    The API takes four marks. The mark before the last one finds what the previous question left in the cache.
    """
    messages: list[Mapping[str, Any]] = body["messages"]
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    last = [blocks_of(messages, place) for place in users[-2:]]
    for blocks in (body.get("tools"), body.get("system"), *last):
        if blocks:
            blocks[-1]["cache_control"] = mark
