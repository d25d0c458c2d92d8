"""The progress of long work: one line of rich's on a terminal's standard error, removed when the work is done.

Nothing is written if standard error is not a terminal, or if the work takes less than `PATIENCE`; then rich's progress
module is not even imported.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from .text import one_line

if TYPE_CHECKING:
    from rich import progress as bars

__all__ = ["PATIENCE", "Progress"]

PATIENCE = 0.5
"""Seconds before the line is shown."""

_EVERY = 0.1


class Progress:
    """Shows how far a piece of work is, while the block runs.

    Args:
        what: the work, such as "reading store.db".
        total: how much there is to do, or 0 if that is not known.
        visible: whether to show it; by default, whether standard error is a terminal.
    """

    def __init__(self, what: str, *, total: int = 0, visible: bool | None = None) -> None:
        self._what, self._total = one_line(what), total
        self._visible = sys.stderr.isatty() if visible is None else visible
        self._began = time.monotonic()
        self._next = self._began + PATIENCE
        self._shown: bars.Progress | None = None

    def at(self, done: int = 0) -> None:
        """Note that the work goes on, and how much of it is done."""
        if not self._visible or (now := time.monotonic()) < self._next:
            return
        self._next = now + _EVERY
        if self._shown is None:
            self._shown = _line(self._what, self._total, self._began)
        [task] = self._shown.task_ids
        self._shown.update(task, completed=done, refresh=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.stop()


def _line(what: str, total: int, began: float) -> bars.Progress:
    """A line that is drawn only when it is told to: no thread runs next to the work."""
    from rich import progress as bars

    from .screen import Screen

    shown = bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        *([bars.BarColumn(), bars.TaskProgressColumn()] if total else []),
        bars.TimeElapsedColumn(),
        console=Screen(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        get_time=time.monotonic,
    )
    shown.add_task(what, total=total or None)
    shown.tasks[0].start_time = began
    shown.start()
    return shown
