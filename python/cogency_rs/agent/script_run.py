"""A run in a script, on its own event loop, whose frames are in no traceback: they say nothing of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["run_in_script"]

T = TypeVar("T")


def run_in_script(run: Coroutine[Any, Any, T]) -> T:
    """Run to the end, and return the result. Ctrl-C cancels the run, and raises `KeyboardInterrupt` alone."""
    try:
        return asyncio.run(run)
    except BaseException as error:
        is_ctrl_c = isinstance(error, KeyboardInterrupt)
        if is_ctrl_c and isinstance(error.__context__, asyncio.CancelledError):
            error.__suppress_context__ = True  # where the run was waiting
        if (here := error.__traceback__) is not None:
            here.tb_next = _after_the_loop(here.tb_next)
        raise


def _after_the_loop(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is not the event loop's own."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("asyncio."):
        trace = trace.tb_next
    return trace
