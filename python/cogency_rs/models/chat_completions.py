"""OpenAI's Chat Completions API, which most servers of models speak: a request as its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .completions import SharedFields, grammar_fields
from .connection import Operation
from .request import ModelRequest, SpecificTool, ToolDeclaration
from .schema_forms import closed, is_strict, of_object, with_items

__all__ = ["ChatCompletions"]

_OURS = frozenset({"is_error", "reasoning", "returned", "tool_execution_id"})
"""The fields of our messages that the API does not have."""


class ChatCompletions(SharedFields):
    """The endpoint `/chat/completions`.

    Args:
        reasoning_key: the field of an assistant's message in which its reasoning is sent back; `None` to leave it out.
        counts_along: see `SharedFields`.
    """

    operation = Operation(
        "completions", "/chat/completions", "chat.completions", ("model", "messages")
    )

    def __init__(self, reasoning_key: str | None = None, *, counts_along: bool = False) -> None:
        super().__init__(counts_along=counts_along)
        self._reasoning_key = reasoning_key

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request."""
        body: dict[str, Any] = {"messages": [self._message(each) for each in request.messages]}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = (
                {"type": "function", "function": {"name": request.tool_choice.name}}
                if isinstance(request.tool_choice, SpecificTool)
                else request.tool_choice
            )
            if not request.parallel_tool_calls:  # true is the default, and some refuse the setting
                body["parallel_tool_calls"] = False
        if request.stop:
            body["stop"] = list(request.stop)
        if request.output_schema is not None:
            body["response_format"] = _response_format(request.output_schema)
        if request.grammar is not None:
            body |= grammar_fields(request.grammar)
        return body

    def _message(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if _OURS.isdisjoint(message) and "tool_calls" not in message:  # most are
            return message
        sent = {key: value for key, value in message.items() if key not in _OURS}
        if sent.get("tool_calls") and sent.get("content") == "":
            sent["content"] = (
                None  # as OpenAI's own client sends it; some services refuse an empty text
            )
        if returned := message.get("returned"):
            _give_back(sent, returned)
        reasoning = "".join(part["text"] for part in message.get("reasoning") or ())
        if self._reasoning_key is not None and reasoning:
            sent[self._reasoning_key] = reasoning
        return sent


def _give_back(message: dict[str, Any], returned: Mapping[str, Any]) -> None:
    """Put opaque fields where they were, in a message of which only the dict itself may be changed."""
    for name, value in returned["fields"].items():
        message.setdefault(name, value)
    calls, fields = message.get("tool_calls") or (), returned["calls"]
    if len(calls) == len(fields):  # else a hook left some out
        message["tool_calls"] = [{**own, **call} for call, own in zip(calls, fields, strict=True)]


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": with_items(of_object(tool.parameters)),
    }
    return {"type": "function", "function": function}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    strict = closed(schema, requires_all=True)
    form = {"name": "answer", "schema": dict(schema), "strict": False}
    if is_strict(strict):
        form |= {"schema": strict, "strict": True}
    return {"type": "json_schema", "json_schema": form}
