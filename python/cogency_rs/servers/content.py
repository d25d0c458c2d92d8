"""A server's answer to a call as a result: text stays text, values stay values, everything else is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..calls.tool_result import failure
from ..errors import UnknownOutcome
from ..guards.json_text import read_json
from ..types import ToolResult

if TYPE_CHECKING:
    from ..guards.secrets import Secrets

__all__ = ["STATUS", "Answer", "as_tool_result"]

STATUS = "cogency-rs/status"
"""The key in an answer's `_meta` whose value, `"unknown"`, says that the outcome of the call is not known."""

LONGEST_PART = 10_000
"""Characters that are shown of a part whose kind MCP does not define."""


class Answer(NamedTuple):
    """A server's answer to a call.

    Attributes:
        result: as the server sent it, unchecked.
        broken: how it differs from what MCP or the server itself promises; empty if it does not.
    """

    result: Mapping[str, Any]
    broken: str = ""


def as_tool_result(answer: Answer, tool: str, secrets: Secrets) -> ToolResult:
    """Make a result of a server's answer, whatever it is: what was answered reaches the model.

    Args:
        answer: what the server sent.
        tool: which tool was called.
        secrets: what the text of an error must not show. The content of a success is data, and stays exact.

    Returns:
        The result's content is the answer's text; or its structured content, if the text says nothing more; or an
        object with `text` and `structured`, if each says something of its own. An image, a recording or a file is named
        in the text, with its type and size. An answer that is broken has a note as its outcome.
    """
    result = answer.result
    found: Any = result.get("content")
    parts: list[Any] = [] if found is None else [found]
    if isinstance(found, list):
        parts = cast("list[Any]", found)
    text = "\n".join(filter(None, map(_text_of, parts)))
    structured: Any = result.get("structuredContent")
    if result.get("isError"):
        words = secrets.hide(text or _said_nothing(structured, tool))
        meta: Any = result.get("_meta")
        is_unknown = isinstance(meta, dict) and cast("Any", meta).get(STATUS) == "unknown"
        return failure(words, UnknownOutcome(words), "unknown") if is_unknown else failure(words)
    outcome = "Success"
    if answer.broken:
        outcome = f"The server answered, but not as it promises: {secrets.hide(answer.broken)}"
    if structured is None:
        return ToolResult(outcome, text)
    value = _bare(structured)
    texts = [part["text"] for part in parts if _is_text(part)]
    if _only_wraps(structured, text, parts):
        return ToolResult(outcome, text)
    if len(texts) == len(parts) and _is_same(texts, text, structured, value):
        return ToolResult(outcome, value)
    return ToolResult(outcome, {"text": text, "structured": value})


def _said_nothing(structured: Any, tool: str) -> str:
    if structured is not None:
        return json.dumps(structured, ensure_ascii=False)
    return f"'{tool}' failed, and its server does not say why"


def _bare(structured: Any) -> Any:
    """The value inside `{"result": value}`, which is how a server wraps a value that is not an object."""
    match structured:
        case {"result": value, **others} if not others:
            return value
        case _:
            return structured


def _only_wraps(structured: Any, text: str, parts: list[Any]) -> bool:
    """Whether the structured content is an object of one value, and that is the text, or a copy of all parts.

    The official server for files answers so.
    """
    values: list[Any] = [*structured.values()] if isinstance(structured, dict) else []
    if len(values) != 1:
        return False
    value: Any = values[0]
    if isinstance(value, str):
        return value.strip() == text.strip()
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


def _is_text(part: Any) -> bool:
    match part:
        case {"type": "text", "text": str()}:
            return True
        case _:
            return False


def _text_of(part: Any) -> str:
    """One part of an answer as text; a part that is not text is named, and one of an unknown kind is shown."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return f"[{kind}: {part.get('mimeType')}, {_size(data)}]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[resource: {part.get('name')}, {uri}{_kind_of(part)}]"
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob), **others}}:
            return f"[resource: {uri}{_kind_of(others)}, {_size(blob)}]"
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text), **others}}:
            return f"[resource: {uri}{_kind_of(others)}]\n{text}"
        case _:
            shown = json.dumps(part, ensure_ascii=False)
            return shown if len(shown) <= LONGEST_PART else f"{shown[:LONGEST_PART]} …"


def _kind_of(resource: Mapping[Any, Any]) -> str:
    kind = resource.get("mimeType")
    return f", {kind}" if kind else ""


def _size(encoded: str) -> str:
    """The size of base64 text once it is decoded."""
    count = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return f"{count} bytes" if count < 10_000 else f"{count / 1000:.0f} kB"
