"""The cost of many turns at once: `python benches/load.py` measures each side in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from figures import Samples
from measure import Bench

PROGRAM = Path(__file__).resolve().parent.parent / "load.py"
TURNS = 1_000
MOST_ROUNDS = 3


async def load(bench: Bench, figure: str) -> Samples:
    """One of the figures that the program prints."""
    rounds = range(min(bench.rounds, MOST_ROUNDS))
    return {
        side: [_run(side, round_)[figure] for round_ in rounds]
        for side in ("ours", "cogency", "floor")
    }


@cache  # the rows share what was measured
def _run(side: str, round_: int) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", str(PROGRAM), side, "--turns", str(TURNS)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
