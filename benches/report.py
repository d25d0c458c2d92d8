"""Shows the figures in three ways: as a table in the terminal, as JSON and as a document."""

from __future__ import annotations

import datetime
import os
import platform
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from figures import Figure, Row, Samples, Times, digits
from measure import SAMPLE
from rows.parsing import SMALLER
from sides import VERSION

import cogency_rs

Record = dict[str, Any]
"""One row with its figures, as values of JSON."""

SIDES = ("ours", "cogency", "floor")


def environment() -> dict[str, str]:
    """Where and when the figures were measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cogency-rs": cogency_rs.__version__,
        "cogency": VERSION,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": sqlite3.sqlite_version,
        "platform": " ".join([platform.system(), platform.machine(), *platform.libc_ver()]),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def record(row: Row, samples: Samples) -> Record:
    """Make the record of a row."""
    figures = {side: Figure.of(samples[side]) for side in SIDES if side in samples}
    medians = {side: figure.median for side, figure in figures.items()}
    ours = medians["ours"]
    ratios = {side: ours / median for side, median in medians.items() if side != "ours" and median}
    limits = [(bound, bound.limit(medians)) for bound in row.must]
    return {
        "row": row.name,
        "work": row.work,
        "floor": row.floor,
        "unit": row.unit.name,
        "figures": {
            side: {
                "median": figure.median,
                "quartiles": [figure.low, figure.high],
                "samples": figure.samples,
                "shown": _shown(row, figure),
            }
            for side, figure in figures.items()
        },
        # The figure of this row is a ratio already, so it is not compared with another side's.
        "ratios": {}
        if isinstance(row.unit, Times)
        else {
            side: {"ratio": ratio, "shown": f"{digits(ratio)}x"} for side, ratio in ratios.items()
        },
        "must": [
            {"words": bound.words(row.unit), "limit": limit, "reached": ours <= limit}
            for bound, limit in limits
        ],
    }


def _shown(row: Row, figure: Figure) -> str:
    spread = f" ± {100 * figure.spread:.0f} %" if figure.samples > 1 and figure.spread else ""
    return row.unit.show(figure.median) + spread


HEADS = ("row", "ours", "cogency", "floor", "to cogency", "to floor", "must reach", "")


def cells(record: Record) -> list[str]:
    """The cells of the row in the tables, one for each of `HEADS`."""
    figures, ratios, must = record["figures"], record["ratios"], record["must"]
    return [
        record["row"],
        *(figures[side]["shown"] if side in figures else "" for side in SIDES),
        *(ratios[side]["shown"] if side in ratios else "" for side in SIDES[1:]),
        "; ".join(bound["words"] for bound in must),
        "; ".join("reached" if bound["reached"] else "not reached" for bound in must),
    ]


WIDTHS = (28, 20, 20, 20, 10, 8, 40, 0)


def line(texts: Sequence[str]) -> str:
    """One line of the table in the terminal."""
    aligned = [
        text.rjust(width) if 1 <= column <= 5 else text.ljust(width)
        for column, (text, width) in enumerate(zip(texts, WIDTHS, strict=True))
    ]
    return "  ".join(aligned).rstrip()


class Page(NamedTuple):
    """What `docs/benchmarks.md` says.

    Attributes:
        environment: where and when the figures were measured.
        figures: the cells of each row in the table of figures, by its name.
        works: the same, in the table of what the rows do.
    """

    environment: dict[str, str]
    figures: dict[str, list[str]]
    works: dict[str, list[str]]

    @classmethod
    def of(cls, environment: dict[str, str], records: Sequence[Record]) -> Page:
        """What is measured now."""
        return cls(
            environment,
            {record["row"]: cells(record) for record in records},
            {record["row"]: [record["row"], record["work"], record["floor"]] for record in records},
        )

    @classmethod
    def read(cls, text: str) -> Page:
        """What a page says that was written before."""
        tables = [
            [[cell.strip() for cell in line[1:-1].split("|")] for line in part.splitlines()[2:]]
            for part in text.split("\n\n")
            if part.startswith("| ")
        ]
        environment, figures, works = tables
        return cls(
            dict(tuple(row) for row in environment),
            {row[0]: row for row in figures},
            {row[0]: row for row in works},
        )

    def updated(self, new: Page, names: Iterable[str], now: str) -> Page:
        """This page with the rows of a new one in their place, and only rows of these names.

        Args:
            new: what is measured now.
            names: of all rows, in order.
            now: the name of what is measured, for its date.
        """
        figures, works = self.figures | new.figures, self.works | new.works
        known = [name for name in names if name in figures]
        return Page(
            {**self.environment, f"date of {now}": new.environment["date"]},
            {name: figures[name] for name in known},
            {name: works[name] for name in known},
        )


def document(page: Page, chart: str) -> str:
    """The whole of `docs/benchmarks.md`."""
    environment = page.environment
    measured = table(["measured", "on"], [[name, value] for name, value in environment.items()])
    reached = [
        each == "reached" for row in page.figures.values() for each in row[-1].split("; ") if each
    ]
    figures = table(list(HEADS), page.figures.values(), numbers=range(1, 6))
    works = table(["row", "every side does", "the floor does"], page.works.values())
    return f"""\
# Benchmarks

`make bench` measures cogency-rs, cogency {environment["cogency"]} and a floor, the least that the same work can
cost in Python, side by side, and writes this page. {sum(reached)} of {len(reached)} bounds are reached.

![The cost of each row as a share of cogency's, and what it must reach]({chart})

{measured}

## How it is measured

- The sides take turns in one process, round after round, so that whatever else the machine does slows
  all alike. The figures are medians; ± is half the distance between the quartiles. A figure without ± is
  a count, or of work so slow that it was done once.
- Short work is repeated until a sample takes {1000 * SAMPLE:.0f} ms. Each row begins with a run of every side
  that does not count.
- Garbage is collected as in any program, and what was there before the row, such as everything cogency
  imports, is left out of it for all sides.
- A ratio is ours over theirs: of two times, or of two counts or sizes. Below 1x ours costs less.
- In `scaling` each figure is itself a ratio, of processor time for 2 MiB over that for 1 MiB: 2 is linear,
  4 is quadratic. cogency is given texts {SMALLER} times shorter there: at full length it would take hours.
- In `load` each side has a process of its own. Nothing waits for a model or a network.

## Figures

{figures}

## What the rows do

{works}
"""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A Markdown table; columns of numbers are aligned right."""
    right = set(numbers)
    rules = ["---:" if column in right else "---" for column in range(len(heads))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, rules, *rows])
