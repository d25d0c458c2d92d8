"""Writes calls and results as text, and reads single ones back.

Signatures, texts and errors are those of cogency 3.3.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .._core import format_results
from ..errors import ToolParseError
from ..tools.signature import is_json_schema, is_object
from ..types import ToolCall, ToolResult

__all__ = [
    "format_call_agent",
    "format_result_agent",
    "format_results_array",
    "parse_tool_call",
    "parse_tool_result",
    "tool_instructions",
]

_TRIPLE_QUOTED = re.compile(r'"""([^"]*?)"""', re.DOTALL)


def tool_instructions(tools: Iterable[Any]) -> str:
    """List tools for a prompt: a line each, `name(required, optional?) - description`.

    A parameter of a flat schema is required unless it says `"required": False`; a parameter of a JSON Schema is
    required if the schema's `required` lists it.
    """
    return "TOOLS:\n" + "\n".join(tool_line(tool) for tool in tools)


def tool_line(tool: Any) -> str:
    """The line of one tool in `tool_instructions`."""
    schema: Any = getattr(tool, "schema", None) or {}
    parameters: Iterable[tuple[str, Any]]
    if is_json_schema(schema):
        required = {name for name in schema.get("required", ()) if isinstance(name, str)}
        parameters = [(name, name in required) for name in schema["properties"]]
    else:
        parameters = [(name, info.get("required", True)) for name, info in schema.items()]
    listed = (name if required else f"{name}?" for name, required in parameters)
    return f"{tool.name}({', '.join(listed)}) - {tool.description}"


def format_call_agent(call: ToolCall) -> str:
    """Write a call as the log holds it: JSON of `name`, `args` and, if the call has them, `id` and `server`."""
    written = {"name": call.name, "args": call.args}
    for key in ("id", "server"):  # cogency's own calls lack both
        if (value := getattr(call, key, None)) is not None:
            written[key] = value
    return json.dumps(written)


def format_result_agent(result: ToolResult) -> str:
    """Write a result as plain text: its outcome and, from the next line on, its content if it has any."""
    return f"{result.outcome}\n{result.content}" if result.content else result.outcome


def format_results_array(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
    """Write the results array that the model reads.

    Args:
        calls: the calls of a batch.
        results: their results, one for each, in the same order.

    Returns:
        A JSON array whose items have `tool`, `status` and `content`. The content of a success is the result's content,
        or its outcome if the content is `None` or `""`. A success with a content has `outcome` too, before `content`,
        unless the outcome is empty or only the word `Success`. The content of a failure is its message.

    Raises:
        ValueError: the numbers of calls and results differ, or a result holds `NaN` or an infinity, which JSON does
            not have; the message names the tool and the place.
        TypeError: a result holds any other value that JSON cannot hold.
    """
    pairs = list(zip(calls, results, strict=True))
    return format_results([call.name for call, _ in pairs], [result for _, result in pairs])


def parse_tool_call(json_str: str) -> ToolCall:
    """Read one call from text that may have other text around it.

    Text before the first `{` and after the last `}` is ignored, and strings may have triple quotes. `args` may be
    missing.

    Raises:
        ToolParseError: what is left is not JSON, or not a call; `original_json` is the text that was read.
    """
    text = json_str.strip()
    start, end = text.find("{"), text.rfind("}")
    if start != -1 and end != -1:
        text = text[start : end + 1]
    if '"""' in text:
        text = _TRIPLE_QUOTED.sub(r'"\1"', text)
    try:
        return _call(json.loads(text))
    except json.JSONDecodeError as error:
        raise ToolParseError(f"JSON parse failed: {error}", original_json=text) from error
    except Exception as error:
        raise ToolParseError(str(error), original_json=text) from error


def parse_tool_result(content: str) -> list[ToolResult]:
    """Read results from text: a JSON object with `outcome` and `content`, or an array of such objects.

    Any other text is one result, with the text as its outcome.

    Raises:
        ValueError: an `outcome` or `content` is not a string.
    """
    try:
        value: Any = json.loads(content)
    except (json.JSONDecodeError, TypeError):
        value = None
    match value:
        case _ if is_object(value):
            return [_result(value)]
        case [*items]:
            return [_result(item) for item in items if is_object(item)]
        case _:
            return [ToolResult(outcome=content, content="")]


def _call(value: Any) -> ToolCall:
    if not is_object(value):
        raise ValueError(f"Expected dict, got {type(value).__name__}")
    name: Any = value.get("name")
    args = value.get("args", {})
    _check_field("name", name, str)
    _check_field("args", args, dict)
    id, server = (value.get(key) for key in ("id", "server"))
    return ToolCall(
        name, args, id if isinstance(id, str) else None, server if isinstance(server, str) else None
    )


def _result(value: dict[str, Any]) -> ToolResult:
    fields = {key: value[key] for key in ("outcome", "content") if value.get(key) is not None}
    for key, field in fields.items():
        _check_field(key, field, str)
    return ToolResult(outcome=fields.get("outcome", ""), content=fields.get("content", ""))


def _check_field(key: str, value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise ValueError(f"Field '{key}' must be {wanted.__name__}, got {type(value).__name__}")
