"""Python values as JSON: a tool's return value, a parameter's default, a value in a message."""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from typing import Any

from .extra import pydantic

__all__ = [
    "WORDS",
    "is_json",
    "is_record",
    "json_value",
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


def json_value(value: Any) -> Any:
    """A value as JSON holds it: dataclasses and pydantic models as objects, members of an `Enum` as their value.

    A value that neither the standard library nor an installed pydantic can write stays as it is. The cost is linear.
    """
    if type(value) is str:  # as most results of tools
        return value
    match value:
        case Enum():
            return json_value(value.value)
        case None | str() | int() | float():
            return value
        case [*items]:
            return [json_value(item) for item in items]
        case {**fields}:
            return {
                key.value if isinstance(key, Enum) else key: json_value(item)
                for key, item in fields.items()
            }
        case _:
            pass
    if is_record(value):
        names = [each.name for each in dataclasses.fields(value)]
        return {name: json_value(getattr(value, name)) for name in names}
    return _dumped(value)


def _dumped(value: Any) -> Any:
    """The value as pydantic writes it, if it is installed and knows the value; else the value itself."""
    if (found := pydantic()) is None:
        return value
    try:
        return found.TypeAdapter(type(value)).dump_python(value, mode="json")
    except (found.PydanticUserError, ValueError, TypeError):
        return value


def is_json(value: Any) -> bool:
    """Whether JSON can hold a value."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def is_record(value: Any) -> bool:
    """Whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


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
