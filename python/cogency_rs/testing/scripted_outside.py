"""A computer whose clock, ids, name and chance a test holds in its hands."""

from __future__ import annotations

from random import Random

from ..outside import Outside

__all__ = ["ScriptedOutside"]


class ScriptedOutside(Outside):
    """What is outside of a program, as a test wants it; for `with outside(…):`.

    The same program in the same block makes the same ids at the same times, so a test can compare whole logs.

    Args:
        time: seconds since the epoch that the clock shows at first.
        worker: the name of the process, `"host:pid"`.
        seed: of what is drawn by lot.
        has_threads: whether storages work in threads of their own; without, a test has one order of events.

    Attributes:
        now: what the clock shows; set it to move the clock, backwards too.
        elapsed: what the clock that only rises shows, in seconds.
        gone: the names of the processes that have ended.
    """

    def __init__(
        self,
        time: float = 1_000_000_000.0,
        *,
        worker: str = "test:1",
        seed: int = 0,
        has_threads: bool = False,
    ) -> None:
        self.now = time
        self.elapsed = 0.0
        self.gone: set[str] = set()
        self.has_threads = has_threads
        self._worker = worker
        self._chance = Random(seed)
        self._ids = 0

    def pass_time(self, seconds: float) -> None:
        """Move both clocks forwards."""
        self.now += seconds
        self.elapsed += seconds

    def time(self) -> float:
        """Seconds since the epoch."""
        return self.now

    def monotonic(self) -> float:
        """Seconds that only rise."""
        return self.elapsed

    def new_id(self) -> str:
        """The next id: they count, and have the form of a UUIDv7."""
        self._ids += 1
        return f"00000000-0000-7000-8000-{self._ids:012x}"

    def worker(self) -> str:
        """The name of the process."""
        return self._worker

    def machine(self) -> str:
        """The name of its system."""
        return "test"

    def is_gone(self, worker: str, on: str) -> bool:
        """Whether a process is among those that have ended."""
        return worker in self.gone

    def random(self) -> float:
        """The next number of the seed."""
        return self._chance.random()
