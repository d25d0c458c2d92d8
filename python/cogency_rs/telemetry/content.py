"""Messages, answers and tools as the JSON text that spans hold: messages with parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..models import ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta

__all__ = ["AnswerContent", "definitions", "in_json", "messages", "one_message"]


def in_json(value: Any) -> str:
    """JSON text of any value; a value that JSON cannot hold becomes its `repr`."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError):  # a key that is not text, or a value that holds itself
        return json.dumps(repr(value), ensure_ascii=False)


def messages(given: Iterable[Mapping[str, Any]]) -> str:
    """A prompt."""
    return in_json([{"role": each["role"], "parts": [*_parts(each)]} for each in given])


def one_message(role: str, content: Any) -> str:
    """One message whose content is a text or a value."""
    text = content if isinstance(content, str) else in_json(content)
    return in_json([{"role": role, "parts": [_text(text)]}])


def definitions(request: ModelRequest) -> str:
    """The tools that a request declares."""
    return in_json(
        [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            }
            for tool in request.tools
        ]
    )


class AnswerContent:
    """Puts an answer together while it streams."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []

    def take(self, delta: Any) -> None:
        """Add the next piece."""
        match delta:
            case str(text) | TextDelta(text):
                self._add("text", "content", text)
            case ReasoningDelta(text):
                self._add("reasoning", "content", text)
            case ToolCallDelta(_, id, name, arguments):
                if name is not None:
                    self._parts.append({"type": "tool_call", "id": id, "name": name})
                self._add("tool_call", "arguments", arguments)
            case _:
                pass

    def message(self, finish_reason: str | None) -> str:
        """The answer so far, as a message."""
        message = {"role": "assistant", "parts": self._parts}
        return in_json([{**message, "finish_reason": finish_reason or "unknown"}])

    def _add(self, kind: str, field: str, text: str) -> None:
        if not self._parts or self._parts[-1]["type"] != kind:
            self._parts.append({"type": kind})
        part = self._parts[-1]
        part[field] = part.get(field, "") + text


def _parts(message: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The parts of a message in the form of chat completions."""
    content = message.get("content")
    if message["role"] == "tool":
        id = message.get("tool_call_id")
        yield {"type": "tool_call_response", "id": id, "response": content}
        return
    for block in message.get("reasoning") or ():
        yield {"type": "reasoning", "content": block.get("text", "")}
    if content:
        yield _text(content if isinstance(content, str) else in_json(content))
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        yield {
            "type": "tool_call",
            "id": call.get("id"),
            "name": function.get("name"),
            "arguments": function.get("arguments"),
        }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}
