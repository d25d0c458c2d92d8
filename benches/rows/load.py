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

PATIENCE = 10.0
"""A side that takes longer, in seconds, is not measured again."""


async def load(bench: Bench, figure: str) -> Samples:
    """One of the figures that the program prints."""
    return {side: [run[figure] for run in runs] for side, runs in _runs(bench.rounds).items()}


@cache  # the rows share one measurement
def _runs(rounds: int) -> dict[str, list[dict[str, float]]]:
    runs: dict[str, list[dict[str, float]]] = {"ours": [], "cogency": [], "floor": []}
    for _ in range(min(rounds, MOST_ROUNDS)):
        for side, before in runs.items():
            if sum(run["seconds"] for run in before) < PATIENCE:
                before.append(_run(side))
    return runs


def _run(side: str) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", str(PROGRAM), side, "--turns", str(TURNS)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
