"""OpenTelemetry's conventions for generative AI, version 0.1.0: names, attributes and messages.

The conventions are in development, and change. Their names are in this file alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..calls.tool_result import exception_of, status_of
from ..errors import LLMError, ToolError
from ..guards.secrets import CleanedError
from ..models import ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from ..tools.toolbox import server_of
from ..types import ToolResult

Attributes = dict[str, Any]

OPERATION = "gen_ai.operation.name"
CONVERSATION_ID = "gen_ai.conversation.id"
ERROR_TYPE = "error.type"
FINISH_REASONS = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"

RUN_STATUS = "cogency_rs.run.status"
STOP_REASON = "cogency_rs.run.stop_reason"
USAGE_IS_ESTIMATE = "cogency_rs.usage.is_estimate"
"""Names of ours, which the conventions lack: how a run ended, why it was stopped, whether tokens were estimated."""

OTHER = "_OTHER"
"""Stands for an error of unknown class, and for a tool that does not exist, since a model can make up many names."""

TOOL_ERROR = "tool_error"
"""The class of an MCP server's answer that is marked as an error."""

_PORTS = {"http": 80, "https": 443}

CALL_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)  # fmt: skip
AGENT_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
"""Bounds of the buckets of histograms."""

_SETTINGS = {
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "max_tokens": "gen_ai.request.max_tokens",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "temperature": "gen_ai.request.temperature",
    "top_k": "gen_ai.request.top_k",
    "top_p": "gen_ai.request.top_p",
}

_USAGE: Mapping[str, Callable[[Usage], int]] = {
    "gen_ai.usage.input_tokens": lambda usage: usage.read_tokens,
    "gen_ai.usage.output_tokens": lambda usage: usage.written_tokens,
}
_USAGE_WHERE_ANY: Mapping[str, Callable[[Usage], int]] = {
    "gen_ai.usage.cache_read.input_tokens": lambda usage: usage.cache_read_tokens,
    "gen_ai.usage.cache_write.input_tokens": lambda usage: usage.cache_write_tokens,
    "gen_ai.usage.reasoning.output_tokens": lambda usage: usage.reasoning_tokens,
}


def model_attributes(model: Any) -> Attributes:
    """The model's provider and name. A plain function has no name, but the provider is required."""
    provider, name = getattr(model, "provider", None), getattr(model, "name", None)
    attributes: Attributes = {
        "gen_ai.provider.name": provider if isinstance(provider, str) else "unknown"
    }
    if isinstance(name, str):
        attributes["gen_ai.request.model"] = name
    return attributes


def server_attributes(url: object) -> Attributes:
    """Host and port of a service, if it has an address; never its path, user or password."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # not an address
        return {}
    if not parts.hostname:
        return {}
    return {"server.address": parts.hostname} | ({"server.port": port} if port else {})


def request_attributes(request: ModelRequest) -> Attributes:
    """The settings of a request; those of the model itself are not known here."""
    attributes: Attributes = {"gen_ai.request.stream": True}
    for setting, attribute in _SETTINGS.items():
        value = request.settings.get(setting)
        if isinstance(value, int | float):
            attributes[attribute] = value
    if request.stop:
        attributes["gen_ai.request.stop_sequences"] = request.stop
    if request.output_schema is not None:
        attributes["gen_ai.output.type"] = "json"
    return attributes


def agent_attributes(name: str, conversation_id: str) -> Attributes:
    """The agent's name and the conversation."""
    return {"gen_ai.agent.name": name, CONVERSATION_ID: conversation_id}


def call_attributes(name: str, id: str, tool: Any, conversation_id: str) -> Attributes:
    """The call and its tool."""
    attributes: Attributes = {
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": id,
        "gen_ai.tool.type": "function",
    }
    description = getattr(tool, "description", None)
    if isinstance(description, str) and description:
        attributes["gen_ai.tool.description"] = description
    if conversation_id:
        attributes[CONVERSATION_ID] = conversation_id
    if server_of(tool) is not None:
        attributes |= _mcp_attributes(getattr(tool, "url", None))
    return attributes


def _mcp_attributes(url: str | None) -> Attributes:
    """The request to an MCP server. What only the SDK knows, such as the request's id, is in the SDK's span."""
    attributes: Attributes = {"mcp.method.name": "tools/call"}
    if url is None:
        return attributes | {"network.transport": "pipe"}
    http = {"network.transport": "tcp", "network.protocol.name": "http"}
    return attributes | http | server_attributes(url)


def usage_attributes(usage: Usage) -> Attributes:
    """How many tokens were used, and whether any of these numbers is an estimate."""
    attributes: Attributes = {name: count(usage) for name, count in _USAGE.items()}
    for name, count in _USAGE_WHERE_ANY.items():
        if tokens := count(usage):
            attributes[name] = tokens
    if usage.is_estimate:
        attributes[USAGE_IS_ESTIMATE] = True
    return attributes


def error_type(error: BaseException) -> str:
    """The class of an error; for an error of a model's service, the class in the service's SDK, which says more."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    cause = error.cause if isinstance(error, LLMError) else None
    return cause.kind if isinstance(cause, CleanedError) else type(cause or error).__qualname__


def result_error(result: ToolResult, tool: Any) -> str | None:
    """The class of a call's failure; `None` for a success. For an MCP server's refusal, the protocol's error code."""
    match status_of(result):
        case "success":
            return None
        case "failure":
            error = exception_of(result)
            is_remote = server_of(tool) is not None
            if error is None:
                return TOOL_ERROR if is_remote else OTHER
            return (_code_of(error) if is_remote else None) or error_type(error)
        case status:
            return status


def _code_of(error: BaseException) -> str | None:
    """The code of an error in the protocol of MCP."""
    code: object = getattr(error.cause, "code", None) if isinstance(error, ToolError) else None
    return str(code) if isinstance(code, int) else None


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
