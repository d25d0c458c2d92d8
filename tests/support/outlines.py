"""Events without their times, to compare the results of parsing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cogency_rs import Parser

Outline = tuple[str, "str | None"]


def parse(chunks: Iterable[str], **options: Any) -> list[dict[str, Any]]:
    """All events of a text that comes in these chunks."""
    parser = Parser(**options)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()


def read(chunks: Iterable[str], **options: Any) -> list[Outline]:
    return [(event["type"], event.get("content")) for event in parse(chunks, **options)]


def timeless(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with everything but their times."""
    return [{key: value for key, value in event.items() if key != "timestamp"} for event in events]


def runs(outlines: Iterable[Outline], *, alone: Outline | None = None) -> list[Outline]:
    """The events, with neighbouring pieces of `think` or `respond` text joined; `alone` is joined to nothing."""
    whole: list[Outline] = []
    for kind, content in outlines:
        is_text = kind in {"think", "respond"} and whole and whole[-1][0] == kind
        if is_text and alone not in (whole[-1], (kind, content)):
            whole[-1] = (kind, whole[-1][1] + content)
        else:
            whole.append((kind, content))
    return whole
