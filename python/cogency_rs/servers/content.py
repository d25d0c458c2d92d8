"""A server's answer to a call as a result: text stays text, values stay values, everything else is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ..calls.tool_result import failure
from ..guards.json_text import read_json
from ..types import ToolResult

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from ..guards.secrets import Secrets

__all__ = ["as_tool_result"]


def as_tool_result(answer: CallToolResult, tool: str, secrets: Secrets) -> ToolResult:
    """Make a result of a server's answer.

    Args:
        answer: what the server sent.
        tool: which tool was called.
        secrets: what the text of an error must not show. The content of a success is data, and stays exact.

    Returns:
        The result's content is the answer's text; or its structured content, if the text says nothing more; or an
        object with `text` and `structured`, if each says something of its own. An image, a recording or a file is named
        in the text, with its type and size.
    """
    text = "\n".join(filter(None, map(_text_of, answer.content)))
    if answer.is_error:
        return failure(secrets.hide(text or _said_nothing(answer, tool)))
    structured = answer.structured_content
    if structured is None:
        return ToolResult("Success", text)
    value = _bare(structured)
    texts = [part.text for part in answer.content if part.type == "text"]
    if _only_wraps(structured, text, answer):
        return ToolResult("Success", text)
    if len(texts) == len(answer.content) and _is_same(texts, text, structured, value):
        return ToolResult("Success", value)
    return ToolResult("Success", {"text": text, "structured": value})


def _said_nothing(answer: CallToolResult, tool: str) -> str:
    if answer.structured_content is not None:
        return json.dumps(answer.structured_content, ensure_ascii=False)
    return f"'{tool}' failed, and its server does not say why"


def _bare(structured: Any) -> Any:
    """The value inside `{"result": value}`, which is how a server wraps a value that is not an object."""
    match structured:
        case {"result": value, **others} if not others:
            return value
        case _:
            return structured


def _only_wraps(structured: Any, text: str, answer: CallToolResult) -> bool:
    """Whether the structured content is an object of one value, and that is the text, or a copy of all parts.

    The official server for files answers so.
    """
    values: list[Any] = [*structured.values()] if isinstance(structured, dict) else []
    if len(values) != 1:
        return False
    value: Any = values[0]
    if isinstance(value, str):
        return value.strip() == text.strip()
    parts = [part.model_dump(by_alias=True, exclude_none=True) for part in answer.content]
    return bool(value) and isinstance(value, list) and value == parts


def _is_same(texts: list[str], text: str, structured: Any, value: Any) -> bool:
    """Whether the text only repeats the structured content, as servers do for clients that read nothing but text."""
    if not texts or text == value or _has(value, text):
        return True
    read = [_read(each) for each in texts]
    whole = _read(text)
    return whole in (structured, value) or read in (structured, value) or texts == value


def _has(value: Any, text: str) -> bool:
    """Whether the text is one of an object's values."""
    if not isinstance(value, dict):
        return False
    values = cast("dict[str, Any]", value).values()
    return any(isinstance(each, str) and each.strip() == text.strip() for each in values)


def _read(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text


def _text_of(part: Any) -> str:
    """One part of an answer as text; a part that is not text is named."""
    match part.type:
        case "text":
            text: str = part.text
            return text
        case "image" | "audio":
            return f"[{part.type}: {part.mime_type}, {_size(part.data)}]"
        case "resource_link":
            kind = f", {part.mime_type}" if part.mime_type else ""
            return f"[resource: {part.name}, {part.uri}{kind}]"
        case "resource":
            resource = part.resource
            kind = f", {resource.mime_type}" if resource.mime_type else ""
            if (blob := getattr(resource, "blob", None)) is not None:
                return f"[resource: {resource.uri}{kind}, {_size(blob)}]"
            return f"[resource: {resource.uri}{kind}]\n{resource.text}"
        case kind:
            return f"[{kind}]"


def _size(encoded: str) -> str:
    """The size of base64 text once it is decoded."""
    count = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return f"{count} bytes" if count < 10_000 else f"{count / 1000:.0f} kB"
