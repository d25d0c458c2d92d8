"""Reads values that an SDK made of JSON: objects for types that its version knows, dicts for newer ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["field"]


def field(value: object, name: str) -> Any:
    """The field `name` of an object or a dict; `None` if it has none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)
