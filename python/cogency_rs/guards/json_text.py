"""JSON from outside: what a log, a server or a model has written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def whole_characters(text: str) -> str:
    """A text in which halves of surrogate pairs are joined; a lone one, which nothing can store or send, is U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class TooDeepError(ValueError):
    """JSON that is nested deeper than Python reads."""


def read_json(
    text: str | bytes, *, strict: bool = True, parse_constant: Callable[[str], Any] | None = None
) -> Any:
    """The value of a text; `strict` and `parse_constant` are those of `json.loads`.

    Raises:
        ValueError: it is not JSON, an integer in it has more digits than Python reads, or it is nested too deep, for
            which `json.loads` raises a `RecursionError` that nobody expects of a text.
    """
    try:
        return json.loads(text, strict=strict, parse_constant=parse_constant)
    except RecursionError:
        raise TooDeepError("it is nested deeper than Python reads") from None
