"""Events as outlines that tests compare, and texts to read."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from support.outlines import Outline, parse, runs

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def text_runs(chunks: Iterable[str], mode: str) -> list[tuple[str, str]]:
    """The type of each run of events of one type, and their text, which is the same in both modes."""
    groups = itertools.groupby(parse(chunks, stream=mode), key=lambda event: event["type"])
    return [(kind, "".join(each.get("content", "") for each in group)) for kind, group in groups]


def outline(events: Iterable[dict]) -> list[Outline]:
    """Type and content of each event; of the report of a malformed block, only the first sentence."""
    return [
        MALFORMED
        if (event.get("content") or "").startswith(PREFIX)
        else (event["type"], event.get("content"))
        for event in events
    ]


def joined(outlines: Iterable[Outline]) -> list[Outline]:
    """Each run of `think` or `respond` text as one piece; an error stands alone."""
    return runs(outlines, alone=MALFORMED)


T = '[{"name": "t", "args": {}}]'
"""The body of a block with the smallest call."""


def body_with(value: str) -> str:
    return f'[{{"name": "t", "args": {{"a": {value}}}}}]'


# Limits: a block at the bound is read, a block beyond it is malformed.


def calls(count: int) -> str:
    return "[" + ", ".join([T[1:-1]] * count) + "]"


def nested(depth: int) -> str:
    """A body of `depth` opening brackets, one inside the other."""
    return body_with("[" * (depth - 3) + "]" * (depth - 3))
