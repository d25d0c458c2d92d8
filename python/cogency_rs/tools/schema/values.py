"""JSON values in a message: their type, and how JSON writes them."""

from __future__ import annotations

import json
from typing import Any

__all__ = [
    "WORDS",
    "is_json",
    "kind_of",
    "received",
]

WORDS = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
"""The names of JSON's types in messages."""

MOST_SHOWN = 60
"""Characters of a value that fit into a message."""


def is_json(value: Any) -> bool:
    """Whether JSON can hold a value."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def kind_of(value: Any) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def received(value: Any) -> str:
    """Describe a received value in a message: its type, and how JSON writes it."""
    shown = json.dumps(value, ensure_ascii=False) if is_json(value) else repr(value)
    shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
    return shown if value is None else f"{WORDS[kind_of(value)]}: {shown}"
