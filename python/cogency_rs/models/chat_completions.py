"""OpenAI's Chat Completions API, which most servers of models speak: a request as its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .completions import SharedFields, grammar_fields
from .connection import Operation
from .request import ModelRequest, SpecificTool, ToolDeclaration

__all__ = ["ChatCompletions"]

_OURS = frozenset({"is_error", "reasoning", "tool_execution_id"})
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
        if _OURS.isdisjoint(message):  # most are
            return message
        sent = {key: value for key, value in message.items() if key not in _OURS}
        reasoning = "".join(part["text"] for part in message.get("reasoning") or ())
        if self._reasoning_key is not None and reasoning:
            sent[self._reasoning_key] = reasoning
        return sent


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    form = {"name": "answer", "schema": dict(schema), "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": form}


def _is_strict(schema: object) -> bool:
    """Whether a schema can be enforced: the API wants each object closed, and all of its members required."""
    if isinstance(schema, Mapping):
        node = cast("Mapping[str, Any]", schema)
        members: Any = node.get("properties")
        is_object = node.get("type") == "object" or isinstance(members, Mapping)
        if is_object and (
            node.get("additionalProperties") is not False
            or set(cast("Mapping[str, Any]", members or {})) != set(node.get("required") or ())
        ):
            return False
        return all(_is_strict(value) for value in node.values())
    if isinstance(schema, list):
        return all(_is_strict(value) for value in cast("list[object]", schema))
    return True
