"""The log: what a search finds."""

from __future__ import annotations

from .registry import LOG, Example, difference


@difference(
    LOG,
    Example("found(['École', 'école'], 'École')", theirs=["école"], ours=["École"]),
    theirs="`search_messages` makes every letter of the query small, and of the messages only A to Z: a word with "
    "another capital does not find itself.",
    ours="In both, only A to Z match in both cases; other letters match as they are written.",
    why="A message is found by its own words.",
)
def capital_beyond_z(query: str) -> bool:
    return any(letter.lower() != letter for letter in query if not letter.isascii())
