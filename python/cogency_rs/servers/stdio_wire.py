"""Standard input and output as the wire of a protocol, which nothing else in the process can write to or read from."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Wire:
    """Both directions, as lines of text in UTF-8."""

    reading: TextIO
    writing: TextIO


def take_stdio() -> Wire:
    """Take standard input and output for a protocol, before any code runs that may use them.

    From then on, file 0 is empty and file 1 is standard error: for `print`, for code in C, for child processes, and for
    what is written only at the end of the process. So they are not given back.
    """
    for standard in (0, 1, 2):  # one that is closed would be taken by the next file that is opened
        try:
            os.fstat(standard)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdout is not None:
        sys.stdout.flush()
    reading = open(os.dup(0), encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115
    writing = open(os.dup(1), "w", encoding="utf-8", newline="\n")  # noqa: PTH123, SIM115
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return Wire(reading, writing)
