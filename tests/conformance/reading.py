"""Reads a case with our parser, whole and in pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import takewhile
from random import Random
from typing import Any

from support.outlines import Outline, read, runs

from .cases import Case

SHORT = 300
"""A text of fewer characters is cut everywhere."""

Chunks = tuple[str, ...]


class Mode(Enum):
    """How closely a block must keep to its dialect."""

    STRICT = "strict"
    LENIENT = "lenient"


@dataclass(frozen=True)
class Reading:
    """The calls and texts that a parser reads in a text.

    Attributes:
        calls: the names and arguments, in order.
        content: the pieces of text for the user.
        before: the pieces of `content` before the first call.
        reasoning: the pieces of reasoning.
    """

    calls: list[dict[str, Any]]
    content: list[str]
    before: list[str]
    reasoning: list[str]


def outline(case: Case, chunks: Iterable[str], mode: Mode) -> list[Outline]:
    """The events of a text in these chunks, with each run of text as one."""
    return runs(
        read(
            chunks,
            dialect=case.dialect,
            tools=case.tools,
            begins_in_think=case.begins_in_think,
            lenient=mode is Mode.LENIENT,
            errors="event",
        )
    )


@cache
def whole(case: Case, mode: Mode) -> list[Outline]:
    return outline(case, [case.text], mode)


@cache
def reading(case: Case, mode: Mode) -> Reading:
    events = whole(case, mode)
    calls = [json.loads(content or "") for kind, content in events if kind == "call"]
    return Reading(
        calls=[{"name": call["name"], "args": call["args"]} for call in calls],
        content=pieces("respond", events),
        before=pieces("respond", takewhile(lambda event: event[0] != "call", events)),
        reasoning=pieces("think", events),
    )


def pieces(kind: str, events: Iterable[Outline]) -> list[str]:
    """The texts of a kind, without the whitespace at their ends; blank texts are left out."""
    texts = [(content or "").strip() for name, content in events if name == kind]
    return [text for text in texts if text]


# Ways to cut a text. The random ones are seeded with the case's id, so that a failure can be repeated.


def in_two(case: Case) -> Iterator[Chunks]:
    """Cut once, everywhere; a long text at random places."""
    places = range(1, len(case.text))
    if len(case.text) >= SHORT:
        places = sorted(Random(case.id).sample(places, SHORT // 4))
    for place in places:
        yield case.text[:place], case.text[place:]


def in_many(case: Case) -> Iterator[Chunks]:
    """One character at a time, and chunks of random sizes, from mostly single characters to mostly large ones."""
    yield tuple(case.text)
    random = Random(case.id)
    for size in (2, 4, 8, 16, 64) * 2:
        yield tuple(at_random(case.text, random, size))


def at_random(text: str, random: Random, size: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + random.randint(1, size)
        yield text[start:end]
        start = end


def as_recorded(case: Case) -> Iterator[Chunks]:
    """Cut where its source cut it, if the source says where."""
    if case.chunks:
        yield case.chunks


CUTS: dict[str, Callable[[Case], Iterator[Chunks]]] = {
    "in two": in_two,
    "in many": in_many,
    "as recorded": as_recorded,
}
