"""What a row of the table is: the work, the figures of every side, and what ours must reach.

Less is always better here: a rate is kept as the time it comes from, and only shown as a rate.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from measure import Bench

Side = Literal["ours", "cogency", "floor"]
Samples = Mapping[Side, Sequence[float]]


class Unit(Protocol):
    """How a figure is shown."""

    bound: str
    """The words before a limit."""

    def show(self, figure: float) -> str: ...


class Seconds:
    bound = "at most"

    def show(self, figure: float) -> str:
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if figure >= scale:
                return f"{digits(figure / scale)} {name}"
        return f"{digits(figure * 1e9)} ns"


SECONDS = Seconds()


class Times:
    bound = "at most"

    def show(self, figure: float) -> str:
        return f"{digits(figure)}x"


@dataclass(frozen=True)
class Counted:
    """Whole things, such as chunks."""

    noun: str
    bound = "at most"

    def show(self, figure: float) -> str:
        return f"{figure:,.0f} {self.noun}{'' if figure == 1 else 's'}"


class Bytes:
    bound = "at most"

    def show(self, figure: float) -> str:
        for scale, name in ((1e6, "MB"), (1e3, "KB")):
            if figure >= scale:
                return f"{digits(figure / scale)} {name}"
        return f"{figure:.0f} B"


@dataclass(frozen=True)
class Rate:
    """Seconds, shown as how much was done in one."""

    amount: float
    noun: str
    bound = "at least"

    def show(self, figure: float) -> str:
        return f"{digits(self.amount / figure)} {self.noun}"


def digits(figure: float) -> str:
    """Three significant digits, never in exponents."""
    magnitude = math.floor(math.log10(abs(figure))) if figure else 0
    return f"{figure:,.{max(0, 2 - magnitude)}f}"


class Bound(Protocol):
    """What ours must reach."""

    def limit(self, medians: Mapping[Side, float]) -> float:
        """The highest figure that reaches it, given the other sides'."""

    def words(self, unit: Unit) -> str: ...


@dataclass(frozen=True)
class Share:
    """At most so many times the figure of another side."""

    most: float
    of: Side

    def limit(self, medians: Mapping[Side, float]) -> float:
        return self.most * medians[self.of]

    def words(self, unit: Unit) -> str:
        return f"at most {self.most:.3g}x {self.of}"


@dataclass(frozen=True)
class Absolute:
    """At most this figure."""

    most: float

    def limit(self, medians: Mapping[Side, float]) -> float:
        return self.most

    def words(self, unit: Unit) -> str:
        return f"{unit.bound} {unit.show(self.most)}"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: the rows of one group share the part before the first `/`.
        work: what every side does.
        floor: what the floor does.
        measure: measures it.
        must: what ours must reach.
    """

    name: str
    work: str
    floor: str
    measure: Callable[[Bench], Awaitable[Samples]]
    must: tuple[Bound, ...] = ()
    unit: Unit = SECONDS


@dataclass(frozen=True)
class Figure:
    """What one side took: median and quartiles of its samples."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Figure:
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0], 1)
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, low, high, len(samples))
