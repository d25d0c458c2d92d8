"""Measures cogency-rs beside cogency 3.3.0 and beside the least the same work can cost.

python benches/compare.py [--only NAME]... [--rounds 9]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

import report
from figures import Row
from measure import Bench
from rows import ROWS


def chosen(names: list[str]) -> list[Row]:
    """The rows of these names, or of these groups; all when there are none."""
    unknown = [name for name in names if not any(belongs(row, name) for row in ROWS)]
    if unknown:
        known = ", ".join(row.name for row in ROWS)
        raise SystemExit(f"There is no row {', '.join(unknown)}. There are: {known}")
    return [row for row in ROWS if not names or any(belongs(row, name) for name in names)]


def belongs(row: Row, name: str) -> bool:
    return name in (row.name, row.name.partition("/")[0])


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", metavar="NAME", action="append", default=[])
    arguments.add_argument("--rounds", type=int, default=9)
    options = arguments.parse_args()
    print(report.line(report.HEADS))
    with tempfile.TemporaryDirectory() as folder:
        for row in chosen(options.only):
            place = Path(folder, row.name.replace("/", "-"))
            place.mkdir()
            samples = await row.measure(Bench(options.rounds, place, None))
            print(report.line(report.cells(report.record(row, samples))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
