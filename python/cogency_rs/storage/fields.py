"""Profiles and metrics as they are stored: JSON objects, of which known fields of known types are read."""

from __future__ import annotations

from typing import Any, cast

from ..errors import CogencyError
from ..guards.json import read_json

__all__ = ["METRIC_FIELDS", "PROFILE_FIELDS", "ParseError", "read_fields"]

PROFILE_FIELDS: dict[str, type[Any]] = dict.fromkeys(
    ("who", "style", "focus", "interests", "misc"), str
) | {"_meta": dict}
METRIC_FIELDS: dict[str, type[Any]] = {"step": dict, "total": dict}


class ParseError(CogencyError, ValueError):
    """A stored profile or metric does not have the shape that it should have. It is a `ValueError` too.

    Attributes:
        raw: the value as it was stored.
    """

    def __init__(self, message: str, raw: object = None) -> None:
        super().__init__(message)
        self.raw = raw


def read_fields(stored: str, fields: dict[str, type[Any]]) -> dict[str, Any]:
    """Read a stored JSON object; return those of `fields` that are set, each checked for its type."""
    value: Any = read_json(stored)
    if not isinstance(value, dict):
        raise ParseError(f"Expected dict, got {type(value).__name__}", value)
    raw = cast("dict[str, Any]", value)
    found = {name: raw[name] for name in fields if raw.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, fields[name]):
            expected, got = fields[name].__name__, type(value).__name__
            raise ParseError(f"Field '{name}' must be {expected}, got {got}", raw)
    return found
