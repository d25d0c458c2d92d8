"""Calls and results as text."""

from __future__ import annotations

import json
from typing import Any

from ..oracle import outcome
from .registry import TEXTS, Example, difference


@difference(
    TEXTS,
    Example(
        """raised(lambda: parse_tool_result('{"outcome": 1}'))""",
        theirs=("ParseError", "Field 'outcome' must be str, got int"),
        ours=("ValueError", "Field 'outcome' must be str, got int"),
    ),
    theirs="`parse_tool_result` raises `cogency.core.protocols.ParseError`, which is a `ValueError`, for an outcome or "
    "content of the wrong type.",
    ours="It raises `ValueError` with the same message.",
    why="There is no other use for a class of its own.",
)
def result_with_a_wrong_field(content: Any) -> bool:
    read = outcome(json.loads, content)
    results = read if isinstance(read, list) else [read]
    return any(
        isinstance(result.get(key), int | float | list | dict)
        for result in results
        if isinstance(result, dict)
        for key in ("outcome", "content")
    )
