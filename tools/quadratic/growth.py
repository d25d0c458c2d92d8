"""Whether the cost of a text grows much faster than the text, told from three sizes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["growth"]

FLOOR = 0.008
"""Seconds of processor time below which a cost is noise."""

RATIO = 7
"""How many times as much four times the text may cost: 4 is linear, 16 quadratic."""

LINEAR = 5
"""How many times as much four times the text costs at most if nothing in it grows faster."""

SMALLEST = 1_000
"""Characters of the shortest text."""

LONG = 0.1
"""Seconds of a cost that is large enough to tell how it grows, whatever else is in it that does not grow."""

TOO_LONG = 0.5
"""Seconds after which four times the text is not tried."""

STEP = 2.3
"""How many times as much twice the text costs at least if the cost grows too fast and not in one step."""


def cost(work: Callable[[str], object], text: str) -> float:
    """Seconds of this thread's processor time. What the work raises is part of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        began = time.thread_time()
        with suppress(Exception):
            work(text)
        return time.thread_time() - began
    finally:
        if collects:
            gc.enable()


def growth(
    work: Callable[[str], object],
    text: Callable[[int], str],
    largest: int,
) -> list[tuple[int, float]] | None:
    """Three sizes and their costs, if the cost grows too fast from each to the next; else `None`.

    Args:
        work: what is measured.
        text: makes a text of so many characters.
        largest: the size from which the growth is looked at, at most; two larger ones may follow.
    """
    size = SMALLEST
    cost(work, text(size))  # imports, and what else is done once
    while (least := cost(work, text(size))) < FLOOR:
        if 4 * size > largest:
            return None
        size *= 4
    while True:
        measured = _grows(work, text, size, least)
        if isinstance(measured, list):
            return measured
        size *= 4
        is_clear = measured > LONG and measured <= LINEAR * least
        if size > largest or is_clear or measured > TOO_LONG:
            return None
        least = measured


def _grows(
    work: Callable[[str], object], text: Callable[[int], str], size: int, least: float
) -> list[tuple[int, float]] | float:
    """The three costs if they grow too fast; otherwise the cost of four times the text."""
    long = text(4 * size)
    more = cost(work, long)
    if (
        more > RATIO * least
    ):  # perhaps the first was fast by chance, or the second slow: the smaller ratio counts
        least = max(least, cost(work, text(size)))
        more = min(more, cost(work, long)) if more < LONG else more
    if more <= RATIO * least:
        return more
    if more > LONG:  # 16 times the text would take seconds
        half = cost(work, text(2 * size))
        is_steady = half > STEP * least and more > STEP * half
        return [(size, least), (2 * size, half), (4 * size, more)] if is_steady else more
    most = min(cost(work, text(16 * size)) for _ in range(2))
    return [(size, least), (4 * size, more), (16 * size, most)] if most > RATIO * more else more
