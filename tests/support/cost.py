"""What work costs, as a ratio: no load on the machine and no speed of it decides a test."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST = 0.05
"""Seconds of processor time that are measured at once: some machines count them in steps of a 64th."""


def cost(work: Callable[[], object]) -> float:
    """Seconds of processor time that some work takes: the least of three measurements."""
    least = math.inf
    for _ in range(3):
        began, runs, spent = time.process_time(), 0, 0.0
        while spent < LEAST:
            work()
            runs += 1
            spent = time.process_time() - began
        least = min(least, spent / runs)
    return least


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether work on this much costs about 16 times as much as work on a 16th of it, and not 256 times as much."""
    return cost(lambda: work(size)) < 64 * cost(lambda: work(size // 16))
