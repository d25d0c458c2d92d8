"""Counts instructions, which are the same on any machine, however busy it is.

Needs valgrind, whose tool callgrind counts them.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import Bench, Work, run

__all__ = ["FOLDER", "CountingBench", "callgrind", "total_of", "under_callgrind"]

FOLDER = "COGENCY_RS_CALLGRIND"

WARM = 30
"""How often a row's work is done before it is counted: what it needs is imported and kept then, and Python has seen its
lines often enough to run them in the quickest way."""

ENOUGH = 10_000_000
"""Instructions that are counted at least."""


class CountingBench(Bench):
    """Runs our side of a row until it is warm, and counts what it takes then; that of the floor too, if asked to.

    Args:
        folder: the folder for files; each row has its own.
        counts: the folder where callgrind writes.
        sides: the sides that are counted.
    """

    def __init__(self, folder: Path, counts: Path, sides: Sequence[str] = ("ours",)) -> None:
        super().__init__(1, folder, None)
        self._counts = counts
        self._sides = sides

    async def timed(self, *, before: Work | None = None, **works: Any) -> dict[str, list[float]]:
        sides = [side for side in self._sides if side in works]
        return {side: [await self._counted(before, works[side])] for side in sides}

    async def _counted(self, before: Work | None, work: Work) -> float:
        for _ in range(WARM if before is None else 1):
            if before is not None:
                await run(before)
            await run(work)
        _control("--instr=on")  # only now: what is not counted takes a fraction of the time
        once = await self._count(before, work, 1)
        rounds = 1 if before is not None else max(ENOUGH // once, 1)
        counted = await self._count(before, work, rounds)
        _control("--instr=off")
        return counted / rounds

    async def _count(self, before: Work | None, ours: Work, rounds: int) -> int:
        """The instructions of so many rounds, without those of the dump that counts them."""
        if before is not None:
            await run(before)
        gc.collect()
        _control("--dump")
        for _ in range(rounds):
            await run(ours)
        _control("--dump")
        _control("--dump")
        *_, work, dump = self._totals()
        return work - dump

    def _totals(self) -> list[int]:
        """The instructions of each dump, which are read only now: reading takes instructions, too."""
        files = sorted(self._counts.glob("counts.*"), key=lambda file: int(file.suffix[1:]))
        totals = [total_of(file) for file in files]
        for file in files:
            file.unlink()
        return totals


def _control(what: str) -> None:
    """Tell callgrind to count or not, or to write the instructions since the last dump to the next file."""
    command = ["callgrind_control", what, str(os.getpid())]
    subprocess.run(command, check=True, capture_output=True)


def total_of(file: Path) -> int:
    """The instructions in a file of callgrind's."""
    [line] = [line for line in file.read_text().splitlines() if line.startswith("totals:")]
    return int(line.split()[1])


def callgrind(file: Path) -> list[str]:
    """The command that counts all instructions of the program that follows, into a file."""
    return ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={file}"]


def under_callgrind(program: Sequence[str]) -> int:
    """Run a program of Python's under callgrind, which writes into the folder `FOLDER` names; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*callgrind(Path(folder) / "counts"), "--instr-atstart=no"]
        environment = {**os.environ, FOLDER: folder, "PYTHONHASHSEED": "0"}
        return subprocess.call([*command, sys.executable, *program], env=environment)
