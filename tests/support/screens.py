"""A screen that shows what a program writes to a terminal, one write after the other."""

from __future__ import annotations

import io
import re

from rich.console import Console

__all__ = ["Screen"]

_CONTROL = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|\r|\n")


class Screen(io.StringIO):
    """The file of a console at a terminal.

    It follows what rich writes: line feeds, the cursor that goes up, and lines that are erased.

    Args:
        columns: the width of the terminal.
        height: its height.

    Attributes:
        console: the console.
        lines: what is shown, and what has been, above; without colours.
        frames: `lines` after each write of the console.
    """

    def __init__(self, columns: int = 40, height: int = 20) -> None:
        super().__init__()
        self._height = height
        self.console = Console(
            file=self, force_terminal=True, width=columns, height=height, _environ={}
        )
        self.lines = [""]
        self.frames: list[list[str]] = []
        self._row = self._column = 0

    def write(self, text: str) -> int:
        """Show a text; what is written at once is seen at once."""
        place = 0
        for control in _CONTROL.finditer(text):
            self._put(text[place : control.start()])
            place = control.end()
            match control[2] or control[0]:
                case "\r":
                    self._column = 0
                case "\n":
                    self._row, self._column = self._row + 1, 0
                    if self._row == len(self.lines):
                        self.lines.append("")
                case "A":
                    self._row -= int(control[1] or 1)
                    assert self._row > len(self.lines) - 1 - self._height, "above the screen"
                case "K":
                    self.lines[self._row] = ""
                case _:  # a colour, or whether the cursor is shown
                    pass
        self._put(text[place:])
        if text:
            self.frames.append([*self.lines])
        return super().write(text)

    def _put(self, text: str) -> None:
        line = self.lines[self._row].ljust(self._column)
        self._column += len(text)
        self.lines[self._row] = line[: self._column - len(text)] + text + line[self._column :]
