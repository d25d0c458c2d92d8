"""Events as outlines that tests compare, and texts to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cogency_rs import Parser

if TYPE_CHECKING:
    from collections.abc import Iterable

Outline = tuple[str, str | None]

PREFIX = "Error: Malformed tool call syntax."
MALFORMED: Outline = ("respond", PREFIX)
EXECUTE: Outline = ("execute", None)
END: Outline = ("end", None)


def respond(content: str) -> Outline:
    return ("respond", content)


def think(content: str) -> Outline:
    return ("think", content)


def result(content: str) -> Outline:
    return ("result", content)


def call(name: str, args: dict) -> Outline:
    return ("call", json.dumps({"name": name, "args": args}))


def block(body: str) -> str:
    return f"<execute>{body}</execute>"


def read(chunks: Iterable[str], **options) -> list[dict]:
    parser = Parser(**options)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()


def outline(events: Iterable[dict]) -> list[Outline]:
    """Type and content of each event; a malformed block counts by its opening sentence alone."""
    return [
        MALFORMED
        if (event.get("content") or "").startswith(PREFIX)
        else (event["type"], event.get("content"))
        for event in events
    ]


def joined(outlines: Iterable[Outline]) -> list[Outline]:
    """Each run of `think` or `respond` text as one piece; an error stands alone."""
    runs: list[Outline] = []
    for kind, content in outlines:
        last = runs[-1] if runs else None
        if (
            kind in {"think", "respond"}
            and last
            and last[0] == kind
            and MALFORMED not in (last, (kind, content))
        ):
            runs[-1] = (kind, last[1] + content)
        else:
            runs.append((kind, content))
    return runs


T = '[{"name": "t", "args": {}}]'
"""The smallest call."""


def body_with(value: str) -> str:
    return f'[{{"name": "t", "args": {{"a": {value}}}}}]'


# Limits: a block at the bound is read, a block beyond it is malformed.


def calls(count: int) -> str:
    return "[" + ", ".join([T[1:-1]] * count) + "]"


def nested(depth: int) -> str:
    """A body of `depth` opening brackets, one inside the other."""
    return body_with("[" * (depth - 3) + "]" * (depth - 3))
