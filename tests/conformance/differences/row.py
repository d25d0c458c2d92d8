"""A row of the table: one reason, and the cases that differ for this reason."""

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
    """One reason, and the cases that differ for this reason.

    Attributes:
        part: the part that differs.
        outcome: how our calls compare with the expected ones; `SAME` if only text differs.
        expected: what the sources of the cases expect.
        others: what the other parsers do, as far as they were tried on the cases.
        ours: what we do.
        why: the reason.
        cases: the ids of the cases that differ in both modes.
        strict: the ids of the cases that differ only in strict mode.
        lenient: the ids of the cases that differ only in lenient mode.
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
        """The ids of the cases that differ in this mode."""
        return self.cases + (self.strict if mode is Mode.STRICT else self.lenient)

    @property
    def every(self) -> tuple[str, ...]:
        return self.cases + self.strict + self.lenient


def ids(**of: str) -> tuple[str, ...]:
    """The ids of cases, from the part after the name of each dialect."""
    return tuple(f"{dialect}-{part}" for dialect, parts in of.items() for part in parts.split())


def calls(outcome: Outcome, name: str, **fields: str | tuple[str, ...]) -> Difference:
    return Difference(name, Part.CALLS, outcome, **fields)  # type: ignore[arg-type]


def text(name: str, **fields: str | tuple[str, ...]) -> Difference:
    return Difference(name, Part.TEXT, Outcome.SAME, **fields)  # type: ignore[arg-type]
