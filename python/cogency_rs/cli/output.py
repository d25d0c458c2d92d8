"""Writes text, so that nothing from elsewhere controls the terminal that shows it, now or after a pipe.

What rich draws goes through a `Screen`, which does the same. All other output is JSON, or a file that was asked for;
`tests/unit/test_cli_output.py` lists each place that writes.
"""

from __future__ import annotations

import sys
from typing import TextIO

from .text import visible

__all__ = ["say"]


def say(text: str, *, to: TextIO | None = None, end: str = "\n") -> None:
    """Write text at once, to standard output by default; a character that controls a terminal becomes its picture.

    Raises:
        OSError: it cannot be written.
    """
    stream = sys.stdout if to is None else to
    stream.write(visible(text) + end)
    stream.flush()
