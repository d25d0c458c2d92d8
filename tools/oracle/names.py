"""What is asked of the package, by the places where versions of it have each name.

Where a name moves, its new place is added; the old one stays for older wheels.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

__all__ = ["PLACES", "MissingName", "find"]

PLACES: dict[str, tuple[str, ...]] = {
    "Accumulator": ("cogency_rs",),
    "Agent": ("cogency_rs",),
    "AnswerReader": ("cogency_rs._core",),
    "ChatReader": ("cogency_rs.reader", "cogency_rs._core"),
    "Dialect": ("cogency_rs",),
    "Execution": ("cogency_rs",),
    "Finish": ("cogency_rs.models", "cogency_rs._core"),
    "FoldOptions": ("cogency_rs._core",),
    "Folding": ("cogency_rs._core",),
    "History": ("cogency_rs",),
    "Limits": ("cogency_rs._core",),
    "Memory": ("cogency_rs",),
    "Parser": ("cogency_rs",),
    "ReasoningDelta": ("cogency_rs.models",),
    "RunLimits": ("cogency_rs",),
    "SQLite": ("cogency_rs",),
    "ScriptedModel": ("cogency_rs.testing",),
    "ToolCall": ("cogency_rs",),
    "ToolCallDelta": ("cogency_rs.models",),
    "ToolResult": ("cogency_rs",),
    "assemble": ("cogency_rs",),
    "hand_in": ("cogency_rs.outside",),
    "parse_tokens": ("cogency_rs",),
    "system_prompt": ("cogency_rs.context.assembly", "cogency_rs"),
    "tool": ("cogency_rs",),
}


class MissingName(LookupError):  # noqa: N818
    """A version of the package does not have a name at any of its places."""


@cache
def find(name: str) -> Any:
    """What has this name.

    Raises:
        MissingName: this version of the package does not have it.
    """
    for place in PLACES[name]:
        try:
            return getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
    raise MissingName(name)
