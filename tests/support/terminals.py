"""Runs the command line at a pseudo-terminal, where a test types and sees what is shown."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.commands import PROGRAM, environment

__all__ = ["CTRL_C", "Terminal"]

CTRL_C = "\x03"

_PATIENCE = 5.0  # seconds after which a key is pressed again

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\r\x01\x02]")

_AT_THE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class Terminal:
    """Runs the command line at a pseudo-terminal, while the block lasts.

    Args:
        args: its arguments.
        cwd: the folder that it runs in.
        columns: the width of the terminal.
    """

    def __init__(self, *args: object, cwd: Path, columns: int = 100) -> None:
        self._args = [*PROGRAM[1:], *map(str, args)]
        self._cwd = cwd
        self._columns = columns
        self._data = b""
        self._read = 0

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, self._columns, 0, 0))
        self.program = subprocess.Popen(
            [sys.executable, "-c", _AT_THE_TERMINAL, *self._args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self._cwd,
            env=environment(TERM="xterm-256color", XDG_DATA_HOME=str(self._cwd / "data")),
            start_new_session=True,
        )
        os.close(theirs)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._ours, text.encode())

    def until(self, text: str, *, pressing: str = "") -> str:
        """Wait until a text is shown after the last one waited for; returns what was shown since that one.

        Args:
            text: the text.
            pressing: keys to type again if nothing comes: Python loses a Ctrl-C that comes just before it waits for
                keys.
        """
        while text not in self.shown[self._read :]:
            assert self._reads(pressing), f"{text!r} was never shown:\n{self.shown}"
        begun, self._read = self._read, self.shown.index(text, self._read) + len(text)
        return self.shown[begun : self._read]

    @property
    def attributes(self) -> list[Any]:
        """How the terminal is set, as by `stty`."""
        return termios.tcgetattr(self._ours)

    def ended(self, *, pressing: str = "") -> int:
        """Wait until the program has ended; returns its exit code."""
        while self._reads(pressing):
            pass
        return self.program.wait(timeout=60)

    @property
    def shown(self) -> str:
        """All that was shown, without colours and cursor movements."""
        return _CONTROLS.sub("", self._data.decode(errors="replace"))

    def _reads(self, pressing: str) -> bool:
        """Wait for more output; returns whether there was any."""
        try:
            while pressing and not select.select([self._ours], [], [], _PATIENCE)[0]:
                os.write(self._ours, pressing.encode())
            data = os.read(self._ours, 65536)
        except OSError:  # the other side is closed
            return False
        self._data += data
        return bool(data)
