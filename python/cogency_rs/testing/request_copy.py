"""Copies requests, so that tests can keep them, and describes them in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..models import ModelRequest

__all__ = ["copy_of", "in_words", "shortened"]


def copy_of(value: Any) -> Any:
    """A deep copy of a value of JSON: mappings become dicts, sequences lists."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        return {key: copy_of(item) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        return [copy_of(item) for item in cast("Sequence[Any]", value)]
    return value


def in_words(request: ModelRequest) -> str:
    """A request in a few words, by its last message."""
    if not request.messages:
        return "it has no messages"
    last = request.messages[-1]
    return f"its last message is {last.get('role')}: {shortened(repr(last.get('content')))}"


def shortened(text: str, size: int = 80) -> str:
    """A text, cut to `size` characters."""
    return text if len(text) <= size else f"{text[: size - 1]}…"
