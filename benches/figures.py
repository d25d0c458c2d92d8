"""The rows of the table: the work, the unit of the figures, and the bound that ours must reach.

Less is always better here: a rate is kept in seconds, and only shown as a rate.
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
    """How figures are shown."""

    name: str
    bound: str
    """The words before a figure that must be reached."""

    def show(self, figure: float) -> str: ...


class Seconds:
    name, bound = "time", "at most"

    def show(self, figure: float) -> str:
        return _scaled(figure, (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Bytes:
    name, bound = "size", "at most"

    def show(self, figure: float) -> str:
        return _scaled(figure, (1e6, "MB"), (1e3, "KB"), (1.0, "B"))


class Times:
    name, bound = "ratio", "at most"

    def show(self, figure: float) -> str:
        return f"{digits(figure)}x"


@dataclass(frozen=True)
class Counted:
    """A number of things."""

    name: str
    bound = "at most"

    def show(self, figure: float) -> str:
        return f"{figure:,.0f}" if figure == round(figure) else digits(figure)


@dataclass(frozen=True)
class Rate:
    """Seconds, shown as how many are done in one second."""

    amount: float
    name: str
    bound = "at least"

    def show(self, figure: float) -> str:
        return f"{digits(self.amount / figure)} {self.name}"


def digits(figure: float) -> str:
    """A number with three significant digits, and never with an exponent."""
    magnitude = math.floor(math.log10(abs(figure))) if figure else 0
    return f"{figure:,.{max(0, 2 - magnitude)}f}"


def _scaled(figure: float, *scales: tuple[float, str]) -> str:
    scale, name = next((pair for pair in scales if figure >= pair[0]), scales[-1])
    return f"{digits(figure / scale)} {name}"


class Bound(Protocol):
    """A bound that our figure must reach."""

    def limit(self, medians: Mapping[Side, float]) -> float:
        """Our highest figure that reaches the bound, given the figures of the other sides."""

    def words(self, unit: Unit) -> str: ...


@dataclass(frozen=True)
class Share:
    """At most a multiple of another side's figure."""

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
        name: rows of one group share the part before the `/`.
        work: what every side does.
        floor: what the floor does; empty if there is none.
        measure: measures it.
        must: the bounds that our figure must reach.
        unit: the unit of the figures; time is in seconds, size in bytes.
    """

    name: str
    work: str
    floor: str
    measure: Callable[[Bench], Awaitable[Samples]]
    must: tuple[Bound, ...] = ()
    unit: Unit = Seconds()  # noqa: RUF009  it has no state


@dataclass(frozen=True)
class Figure:
    """The figures of one side: the median and the quartiles of its samples."""

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

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0
