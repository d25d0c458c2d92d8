"""What is outside of a simulated process: its clock, ids, name, chance and threads, through the package's door."""

from __future__ import annotations

import gc
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from cogency_rs.outside import Outside, hand_in, handed_in

from .loop import HERE

__all__ = ["enter", "opened"]


class _OfProcess(Outside):
    """What the process that code is part of sees; the world around the processes sees the computer."""

    has_threads = False

    def time(self) -> float:
        here: Any = HERE.get()
        return time.time() if here is None else float(here.now())

    def monotonic(self) -> float:
        here: Any = HERE.get()
        return time.monotonic() if here is None else float(here.monotonic())

    def new_id(self) -> str:
        here: Any = HERE.get()
        return super().new_id() if here is None else str(here.new_id())

    def worker(self) -> str:
        here: Any = HERE.get()
        return super().worker() if here is None else str(here.name)

    def machine(self) -> str:
        here: Any = HERE.get()
        return super().machine() if here is None else str(here.machine)

    def is_gone(self, worker: str, on: str) -> bool:
        here: Any = HERE.get()
        return super().is_gone(worker, on) if here is None else bool(here.sees_end_of(worker, on))

    def random(self) -> float:
        return 0.5


_DOOR = _OfProcess()


def enter(context: Context, host: Any) -> None:
    """Make what runs in a context a part of a process."""
    context.run(HERE.set, host)
    hand_in(_DOOR, context)


@contextmanager
def opened() -> Iterator[None]:
    """Let worlds run: what they have frozen is left alone, and their errors are not logged."""
    hook, is_on = sys.unraisablehook, gc.isenabled()
    logging.disable(logging.CRITICAL)  # every world has errors to log
    gc.collect()
    gc.disable()  # it would close what has stopped in the middle at any moment
    # What was frozen in the middle cannot be closed in order.
    sys.unraisablehook = lambda unraisable: None
    try:
        with handed_in(_DOOR):
            yield
    finally:
        gc.collect()
        sys.unraisablehook = hook
        logging.disable(logging.NOTSET)
        if is_on:
            gc.enable()
