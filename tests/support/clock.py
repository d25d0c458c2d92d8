"""Clocks that tests move, so that no loaded machine decides a time limit.

`in_exact_time` gives an event loop whose clock stands still while there is something to do. `let_pass` moves the clock
of an ordinary loop, where threads or processes are needed.

So a loop that spins, because something runs in each of its rounds, never ends a sleep: it is an error here.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


MOST_ROUNDS = 10_000
"""Rounds of the loop between two waits: many more than any test needs."""


class _Waits(selectors.DefaultSelector):
    """Counts the seconds that the loop would wait, and does not wait."""

    seconds = 0.0
    rounds = 0

    def select(self, timeout: float | None = None) -> Any:
        self.rounds += 1
        if timeout is None:  # only another thread can make something happen
            self.rounds = 0
            return super().select(None)
        if timeout > 0:
            self.rounds = 0
            self.seconds += timeout
        elif self.rounds > MOST_ROUNDS:
            raise AssertionError(f"the event loop spins: {MOST_ROUNDS:,} rounds without a wait")
        return super().select(0)


class _ExactLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waits = _Waits()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.seconds


def in_exact_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on a loop in which a sleep or a time limit takes exactly its seconds, and no real time.

    Only for tests without threads, processes and sockets: the loop does not wait for them.
    """

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        with asyncio.Runner(loop_factory=_ExactLoop) as runner:
            runner.run(test(**fixtures))

    return run


def let_pass(seconds: float) -> None:
    """Let these seconds pass at once for all that waits on the running loop: its sleeps and its time limits."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]
