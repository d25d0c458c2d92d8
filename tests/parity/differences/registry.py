"""What a difference is: a named predicate with its examples, and the room in which the document lists it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Example:
    """An input and what each side makes of it, in the vocabulary of `examples`."""

    code: str
    theirs: Any
    ours: Any


@dataclass
class Difference:
    """One deliberate difference.

    Attributes:
        applies: the predicate.
        room: the part of the core whose input the predicate looks at, one of `ROOMS`.
        theirs: what cogency 3.3.0 does.
        ours: what cogency-rs does.
        why: the reason.
    """

    applies: Callable[..., bool]
    room: str
    theirs: str
    ours: str
    why: str
    examples: tuple[Example, ...]

    def __post_init__(self) -> None:
        self.name: str = self.applies.__name__
        self._promised: Callable[[Any], Any] = lambda given: given

    def __call__(self, *given: Any) -> bool:
        return self.applies(*given)

    def promises(self, rewrite: Callable[[Any], Any]) -> None:
        """Use `rewrite` to turn an input into the one that makes cogency do what we promise."""
        self._promised = rewrite

    def promised(self, given: Any) -> Any:
        return self._promised(given)


ALL: dict[str, Difference] = {}

PARSER, TOOLS, TURNS, PROMPT, TEXTS, LOG = ROOMS = (
    "Parser",
    "Tool calls",
    "Accumulator",
    "Next prompt",
    "Calls and results as text",
    "Log",
)


def difference(
    room: str, *examples: Example, theirs: str, ours: str, why: str
) -> Callable[[Callable[..., bool]], Difference]:
    def named(applies: Callable[..., bool]) -> Difference:
        made = Difference(applies, room, theirs, ours, why, examples)
        ALL[made.name] = made
        return made

    return named
