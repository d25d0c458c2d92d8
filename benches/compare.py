"""Measures cogency-rs, cogency 3.3.0, and the least that the same work can cost.

python benches/compare.py [--only NAME]... [--rounds 9] [--json [FILE]] [--write [FOLDER]] [--wheel FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import chart
import report
from figures import Row
from measure import AbsentError, Bench
from rows import ROWS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    options = _options()
    rows = chosen(options.only)
    # The table is for people: it goes to stderr if JSON goes to stdout.
    table = sys.stderr if options.json == "-" else sys.stdout
    with tempfile.TemporaryDirectory() as folder:
        records = asyncio.run(measured(rows, options, Path(folder), table))
    environment = report.environment()
    if options.json:
        whole = {"environment": environment, "rows": records}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        sys.stdout.write(text) if options.json == "-" else replace(Path(options.json), text)
    if options.write:
        target, page = options.write / "benchmarks.md", report.Page.of(environment, records)
        if options.only and target.exists():
            known = report.Page.read(target.read_text())
            page = known.updated(page, [row.name for row in ROWS], ", ".join(options.only))
        else:
            replace(options.write / "benchmarks.svg", chart.draw(records))
        replace(target, report.document(page, "benchmarks.svg"))


async def measured(
    rows: Sequence[Row], options: argparse.Namespace, folder: Path, table: TextIO
) -> list[report.Record]:
    """Measure rows, and show each as soon as it is measured.

    All runs in one coroutine, so that an interrupt cancels it, and never comes while an event loop is being made.
    """
    records: list[report.Record] = []
    print(report.line(report.HEADS), file=table, flush=True)
    for row in rows:
        place = folder / str(len(records))
        place.mkdir()
        try:
            samples = await row.measure(Bench(options.rounds, place, options.wheel))
        except AbsentError as error:
            print(f"{row.name}: left out, since {error}", file=table, flush=True)
            continue
        records.append(report.record(row, samples))
        print(report.line(report.cells(records[-1])), file=table, flush=True)
    return records


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = arguments.add_argument
    add("--only", metavar="NAME", action="append", default=[], help="a row or a group; repeatable")
    add("--rounds", type=_count, default=9, help="samples of each side (9); slow sides have fewer")
    add("--json", metavar="FILE", nargs="?", const="-", help="all figures, to FILE or else stdout")
    add(
        "--write",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        const=DOCS,
        help="benchmarks.md and benchmarks.svg, into FOLDER or else docs; with --only, only those rows of the page",
    )
    add("--wheel", metavar="FILE", type=Path, help="the wheel to weigh; built when not given")
    return arguments.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def chosen(names: Sequence[str]) -> list[Row]:
    """The rows of these names or groups; all rows if no names are given."""
    known = {name: None for row in ROWS for name in (row.name.partition("/")[0], row.name)}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"There is no row {', '.join(unknown)}. There are: {', '.join(known)}")
    return [row for row in ROWS if not names or {row.name, row.name.partition("/")[0]} & {*names}]


def replace(path: Path, text: str) -> None:
    """Write a file whole, or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Interrupted; nothing was written.")
