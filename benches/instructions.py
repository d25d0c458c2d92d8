"""Counts the instructions that our side of each row runs: the same on any machine, however busy it is.

python benches/instructions.py [--only NAME]... [--floor] [--json FILE] [--against FILE]

Needs valgrind. Its tool callgrind counts the instructions of this program while a row's work runs. `--json` saves
the counts, and `--against` compares with saved ones, say of another checkout; `--floor` compares with the row's floor.
Rows that wait for a disk, a network or a clock are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compare import chosen
from counting import FOLDER, CountingBench, under_callgrind
from figures import Row, Samples
from measure import AbsentError

GROUPS = frozenset(
    (
        "parse-event",
        "parse-token",
        "parse-whole",
        "parse-json",
        "dialect-event",
        "dialect-token",
        "dialect-whole",
        "chat-reader",
        "execute",
        "around",
        "turn-memory",
        "turn-token",
        "agent-run",
        "to-messages",
        "assemble-next",
    )
)


def main() -> None:
    options = _options()
    if FOLDER not in os.environ:
        sys.exit(under_callgrind(sys.argv))
    past: dict[str, int] = json.loads(options.against.read_text()) if options.against else {}
    counts: dict[str, int] = {}
    rows = [row for row in chosen(options.only) if row.name.partition("/")[0] in GROUPS]
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            place = Path(folder) / str(len(counts))
            place.mkdir()
            try:
                samples = asyncio.run(_counted(row, place, ("ours", "floor")[: 1 + options.floor]))
            except AbsentError as error:
                print(f"{row.name}: left out, since {error}", flush=True)
                continue
            counts[row.name] = round(samples["ours"][0])
            floor = samples.get("floor")
            times = f"  {samples['ours'][0] / floor[0]:.2f}x of its floor" if floor else ""
            print(_line(row.name, counts[row.name], past.get(row.name)) + times, flush=True)
    if options.json:
        options.json.write_text(json.dumps(counts, indent=2) + "\n")


async def _counted(row: Row, place: Path, sides: Sequence[str]) -> Samples:
    return await row.measure(CountingBench(place, Path(os.environ[FOLDER]), sides))


def _line(name: str, count: int, past: int | None) -> str:
    change = "" if not past else f"  {(count - past) / past:+7.1%}"
    return f"{name:30} {count:15,}{change}"


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = arguments.add_argument
    add("--only", metavar="NAME", action="append", default=[], help="a row or a group; repeatable")
    add("--floor", action="store_true", help="count the row's floor, too, and compare with it")
    add("--json", metavar="FILE", type=Path, help="save the counts")
    add("--against", metavar="FILE", type=Path, help="counts to compare with")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
