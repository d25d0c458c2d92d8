"""How far long work is: one line on a terminal's standard error, gone when the work is done.

Nothing is written where standard error is no terminal, nor for work that is done in less than `PATIENCE`.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Self

from .text import one_line

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PATIENCE", "Progress"]

PATIENCE = 0.5
"""Seconds before the first line."""

_EVERY = 0.1


class Progress:
    """Shows how far a piece of work is, while the block runs.

    Args:
        what: the work, such as "reading store.db".
        total: how much there is to do, or 0 if that is not known.
        visible: whether there is anybody to see it; by default, whether standard error is a terminal.
    """

    def __init__(self, what: str, *, total: int = 0, visible: bool | None = None) -> None:
        self._what, self._total = one_line(what), total
        self._visible = sys.stderr.isatty() if visible is None else visible
        self._began = time.monotonic()
        self._next = self._began + PATIENCE
        self._written = 0

    def at(self, done: int = 0) -> None:
        """Say that the work goes on, and how much of it is done."""
        if not self._visible or (now := time.monotonic()) < self._next:
            return
        self._next = now + _EVERY
        line = f"{self._what}: {now - self._began:.0f} s"
        if self._total:
            line += f", {min(done / self._total, 1):.0%}"
        self._write(line[: shutil.get_terminal_size().columns - 1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._written:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r{line:<{self._written}}")
        sys.stderr.flush()
        self._written = len(line)
