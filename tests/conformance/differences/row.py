"""A row of the table: one reason, and the cases that differ for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..agreement import Outcome
from ..reading import Mode


class Part(Enum):
    """The part of a case that differs."""

    CALLS = "Calls"
    TEXT = "Text"


@dataclass(frozen=True)
class Difference:
    """One reason, and the cases that differ for it.

    Attributes:
        part: the part that differs.
        outcome: how our calls compare with the expected ones; the same if only text differs.
        expected: what the sources of the cases expect.
        others: what other parsers do that were tried on the cases.
        ours: what we do.
        why: the reason.
        cases: the ids of those that differ however closely they are read.
        strict: of those that differ only when they are read strictly.
        lenient: of those that differ only when they are read leniently.
    """

    name: str
    part: Part
    outcome: Outcome
    expected: str
    others: str
    ours: str
    why: str
    cases: tuple[str, ...] = ()
    strict: tuple[str, ...] = ()
    lenient: tuple[str, ...] = ()

    def of(self, mode: Mode) -> tuple[str, ...]:
        """The cases that differ when they are read in this way."""
        return self.cases + (self.strict if mode is Mode.STRICT else self.lenient)

    @property
    def every(self) -> tuple[str, ...]:
        return self.cases + self.strict + self.lenient


def ids(**of: str) -> tuple[str, ...]:
    """The ids of cases, from the part after the name of each dialect."""
    return tuple(f"{dialect}-{part}" for dialect, parts in of.items() for part in parts.split())


def calls(outcome: Outcome, name: str, **said: str | tuple[str, ...]) -> Difference:
    return Difference(name, Part.CALLS, outcome, **said)  # type: ignore[arg-type]


def text(name: str, **said: str | tuple[str, ...]) -> Difference:
    return Difference(name, Part.TEXT, Outcome.SAME, **said)  # type: ignore[arg-type]
