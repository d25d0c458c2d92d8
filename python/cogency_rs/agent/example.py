"""A call as an example: of a tool that there is, so that no model takes another name from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..tools.signature import json_schema_of
from ..types import ToolCall

__all__ = ["example_call"]

_VALUES: Mapping[str, Any] = {
    "integer": 0,
    "number": 0,
    "boolean": True,
    "null": None,
    "array": [],
    "object": {},
}


def example_call(tools: Iterable[Any]) -> ToolCall | None:
    """A call of the first tool, with each argument that it requires; `None` without tools."""
    for tool in tools:
        schema = json_schema_of(tool) or {}
        properties = schema.get("properties", {})
        return ToolCall(
            tool.name, {name: _value(properties.get(name)) for name in schema.get("required", ())}
        )
    return None


def _value(schema: Any) -> Any:
    match schema:
        case {"enum": [first, *_]} | {"const": first}:
            return first
        case {"type": str(kind)}:
            return _VALUES.get(kind, "…")
        case _:
            return "…"
