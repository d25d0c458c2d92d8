"""When a process is killed: at a named point, by itself, or at any moment, by its parent."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass
from random import Random

__all__ = ["POINTS", "Kill", "Victim"]

POINTS = {
    "before an effect": 4,
    "after an effect": 4,
    "before a save": 9,
    "after a save": 9,
    "in a reconcile": 1,
}
"""The points that a program passes, and at which passing it is killed at most."""


@dataclass(frozen=True)
class Kill:
    """One kill.

    Attributes:
        point: at which point; "" for any moment.
        number: at which passing of the point, from 1.
        after: for any moment: which share of the time that a program takes has passed.
    """

    point: str
    number: int
    after: float

    @classmethod
    def drawn(cls, random: Random) -> Kill:
        """A kill at a named point, or in one case of three at any moment."""
        point = random.choice((*POINTS, "", "", ""))
        return cls(point, random.randint(1, POINTS.get(point, 1)), random.random())


class Victim:
    """Counts the points that this process passes, and kills it at one of them."""

    def __init__(self, kill: Kill | None) -> None:
        self._kill = kill
        self._passed: Counter[str] = Counter()

    def passes(self, point: str) -> None:
        """Note that the process passes a point; if a kill is due there, this does not return."""
        self._passed[point] += 1
        kill = self._kill
        if kill is not None and (kill.point, kill.number) == (point, self._passed[point]):
            os.kill(os.getpid(), signal.SIGKILL)
