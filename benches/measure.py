"""Measures how long things take: all sides in turn, round after round, in one process.

So another program that uses the processor for a while slows every side alike, and the medians of the rounds are not
affected. Garbage is collected as in any program, but only the row's own: older objects are frozen.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any


class AbsentError(Exception):
    """This machine lacks something that a row needs; the message names it."""


Work = Callable[[], Awaitable[Any] | None]

SAMPLE = 0.02
"""Seconds that a sample takes at least; shorter work is repeated."""

PATIENCE = 4.0
"""Seconds that one side of one row may take, by default."""

MOST_CHANGED = 5
"""How often work is run in a sample if something must be done before each run, which disturbs the measurement."""


class Bench:
    """Measures rows.

    Args:
        rounds: samples of each side.
        folder: the folder for files; each row has its own.
        wheel: the built wheel, if there is one already.
    """

    def __init__(self, rounds: int, folder: Path, wheel: Path | None) -> None:
        self.rounds = rounds
        self.folder = folder
        self.wheel = wheel

    async def timed(
        self,
        *,
        before: Work | None = None,
        patience: float = PATIENCE,
        rounds: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
        **sides: Work,
    ) -> dict[str, list[float]]:
        """Measure the seconds each side takes.

        Args:
            before: called before every run, and not measured.
            patience: seconds that one side may take; slower sides have fewer rounds.
            rounds: the number of rounds, at most.
            clock: gives a time in seconds.
            sides: the work of each side.
        """
        samples: dict[str, list[float]] = {side: [] for side in sides}
        repeats: dict[str, int] = {}
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # no side has to scan the imported modules
        most = min(self.rounds, rounds or self.rounds)
        affordable: dict[str, int] = {}
        for side, work in sides.items():
            once = await _sample(work, 1, before, clock)
            affordable[side] = int(patience / once)
            if affordable[side] < 2:  # too slow to be done again, so the warm-up counts
                samples[side].append(once)
                affordable[side] = 0
                continue
            once = min(once, await _sample(work, 1, before, clock)) if once < SAMPLE else once
            repeats[side] = max(1, round(SAMPLE / once))
        for round_ in range(most):
            order = list(sides)
            first = round_ % len(order)
            for side in order[first:] + order[:first]:
                if round_ < affordable[side]:
                    samples[side].append(await _sample(sides[side], repeats[side], before, clock))
        return samples


async def _sample(
    work: Work, repeats: int, before: Work | None, clock: Callable[[], float]
) -> float:
    if before is None:
        return await _seconds(work, repeats, clock) / repeats
    repeats = min(repeats, MOST_CHANGED)
    total = 0.0
    for _ in range(repeats):
        await run(before)
        total += await _seconds(work, 1, clock)
    return total / repeats


async def _seconds(work: Work, repeats: int, clock: Callable[[], float]) -> float:
    gc.collect()
    begin = clock()
    for _ in range(repeats):
        waits = work()
        if waits is not None:
            await waits
    return clock() - begin


async def run(work: Work) -> None:
    """Do work once."""
    waits = work()
    if waits is not None:
        await waits
