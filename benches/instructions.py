"""Counts the instructions that our side of each row runs: the same on any machine, however busy it is.

python benches/instructions.py [--only NAME]... [--json FILE] [--against FILE]

Needs valgrind. Its tool callgrind counts the instructions of this program while a row's work runs. `--json` saves
the counts, and `--against` compares with saved ones, say of another checkout. Rows that wait for a disk, a network or a
clock are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from compare import chosen
from figures import Row, Samples
from measure import AbsentError, Bench, Work, run

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
FOLDER = "COGENCY_RS_CALLGRIND"

ENOUGH = 10_000_000
"""Instructions that a row runs at least, again and again. Python runs a line in another way the first few times, so a
short row that ran once would not be the same alone and after another one."""


class CountingBench(Bench):
    """Runs our side of a row until it is warm, and counts what it takes then.

    Args:
        folder: the folder for files; each row has its own.
        counts: the folder where callgrind writes.
    """

    def __init__(self, folder: Path, counts: Path) -> None:
        super().__init__(1, folder, None)
        self._counts = counts

    async def timed(
        self, *, before: Work | None = None, ours: Work, **others: Any
    ) -> dict[str, list[float]]:
        await self._count(before, ours, 1)  # the first time, things are imported, made and cached
        once = await self._count(before, ours, 1)
        rounds = 1 if before is not None else max(ENOUGH // once, 1)
        await self._count(before, ours, rounds)
        return {"ours": [await self._count(before, ours, rounds) / rounds]}

    async def _count(self, before: Work | None, ours: Work, rounds: int) -> int:
        """The instructions of so many rounds, without those of the dump that counts them."""
        if before is not None:
            await run(before)
        gc.collect()
        self._dump()
        for _ in range(rounds):
            await run(ours)
        self._dump()
        self._dump()
        *_, work, dump = self._totals()
        return work - dump

    def _dump(self) -> None:
        """Write the instructions since the last dump to the next file."""
        command = ["callgrind_control", "--dump", str(os.getpid())]
        subprocess.run(command, check=True, capture_output=True)

    def _totals(self) -> list[int]:
        """The instructions of each dump, which are read only now: reading takes instructions, too."""
        files = sorted(self._counts.glob("counts.*"), key=lambda file: int(file.suffix[1:]))
        return [_total(file) for file in files]


def _total(file: Path) -> int:
    [line] = [line for line in file.read_text().splitlines() if line.startswith("totals:")]
    file.unlink()
    return int(line.split()[1])


def main() -> None:
    options = _options()
    if FOLDER not in os.environ:
        sys.exit(_under_callgrind())
    past: dict[str, int] = json.loads(options.against.read_text()) if options.against else {}
    counts: dict[str, int] = {}
    rows = [row for row in chosen(options.only) if row.name.partition("/")[0] in GROUPS]
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            place = Path(folder) / str(len(counts))
            place.mkdir()
            try:
                samples = asyncio.run(_counted(row, place))
            except AbsentError as error:
                print(f"{row.name}: left out, since {error}", flush=True)
                continue
            counts[row.name] = round(samples["ours"][0])
            print(_line(row.name, counts[row.name], past.get(row.name)), flush=True)
    if options.json:
        options.json.write_text(json.dumps(counts, indent=2) + "\n")


async def _counted(row: Row, place: Path) -> Samples:
    return await row.measure(CountingBench(place, Path(os.environ[FOLDER])))


def _line(name: str, count: int, past: int | None) -> str:
    change = "" if not past else f"  {(count - past) / past:+7.1%}"
    return f"{name:30} {count:15,}{change}"


def _under_callgrind() -> int:
    """Run this program again under callgrind; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        callgrind = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/counts",
        ]
        command = [*callgrind, sys.executable, *sys.argv]
        return subprocess.call(command, env={**os.environ, FOLDER: folder, "PYTHONHASHSEED": "0"})


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = arguments.add_argument
    add("--only", metavar="NAME", action="append", default=[], help="a row or a group; repeatable")
    add("--json", metavar="FILE", type=Path, help="save the counts")
    add("--against", metavar="FILE", type=Path, help="counts to compare with")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
