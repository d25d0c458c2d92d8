"""Events without their times, to compare the results of parsing."""

from __future__ import annotations

from collections.abc import Iterable

from cogency_rs import Parser

Outline = tuple[str, "str | None"]


def read(chunks: Iterable[str], **options) -> list[Outline]:
    parser = Parser(**options)
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()
    return [(event["type"], event.get("content")) for event in events]


def runs(outlines: Iterable[Outline]) -> list[Outline]:
    """The events, with neighbouring pieces of `think` or `respond` text joined."""
    whole: list[Outline] = []
    for kind, content in outlines:
        if kind in {"think", "respond"} and whole and whole[-1][0] == kind:
            whole[-1] = (kind, whole[-1][1] + content)
        else:
            whole.append((kind, content))
    return whole
