"""Wraps text at words while it arrives in pieces.

A word is written as soon as it comes, piece by piece. Only near the right edge is it held back
until it is whole, so that nothing written has to be taken back and words are not torn apart.
"""

from __future__ import annotations

import re

from rich.cells import cell_len

__all__ = ["Wrapper"]

_PART = re.compile(r"\n|[^\S\n]+|\S+")
_SPARE = 14
"""Columns left behind the beginning of a word that let it be written before the word is whole."""


class Wrapper:
    """The text of one paragraph block, behind a margin that is already written in its first line.

    Blank lines and indentation stay; white space at the start and the end of the text goes.

    Args:
        width: columns of a line, margin and all.
        margin: columns of the margin.

    Complexity:
        Linear in the text, however it is cut; what is held is at most a line.
    """

    def __init__(self, width: int, margin: int) -> None:
        self._width = width
        self._margin = margin
        self._column = margin
        self._gap = ""  # white space that is written when a word follows
        self._word = ""  # the part of the current word that is not written yet
        self._in_word = False  # part of the current word is written
        self._empty = True

    def feed(self, piece: str) -> str:
        """Take a piece of the text; return what to write now."""
        out: list[str] = []
        for part in _PART.findall(piece):
            if part.isspace():
                out.append(self.finish())
                self._gap += part.expandtabs(4)
            else:
                self._word += part
                if self._in_word or self._has_room():
                    out.append(self._write())
        return "".join(out)

    def finish(self) -> str:
        """End the word that was begun; return what is still to write of it."""
        rest = self._write() if self._word else ""
        self._in_word = False
        return rest

    def _has_room(self) -> bool:
        start, _ = self._start()
        size = cell_len(self._word)
        return start + size + _SPARE <= self._width or size > self._width - self._margin

    def _start(self) -> tuple[int, str]:
        """The column in which the next word would start on this line, and the gap before it."""
        if self._empty:
            return self._margin, ""
        *lines, gap = self._gap.split("\n")
        if not lines:
            return self._column + len(gap), gap
        gap = gap[: (self._width - self._margin) // 2]
        return self._margin + len(gap), "\n" * min(len(lines), 2) + " " * self._margin + gap

    def _write(self) -> str:
        """Write what there is of the word, and the gap before it if it begins."""
        word, self._word = self._word, ""
        gap = ""
        if not self._in_word:
            start, gap = self._start()
            if start + cell_len(word) > self._width and not self._empty and "\n" not in gap:
                start, gap = self._margin, "\n" + " " * self._margin
            self._column, self._gap, self._in_word, self._empty = start, "", True, False
        return gap + self._placed(word)

    def _placed(self, word: str) -> str:
        """Part of a word, torn apart where a line ends."""
        size = cell_len(word)
        if self._column + size <= self._width:
            self._column += size
            return word
        out: list[str] = []
        for char in word:
            size = cell_len(char)
            if self._column + size > self._width:
                out.append("\n" + " " * self._margin)
                self._column = self._margin
            out.append(char)
            self._column += size
        return "".join(out)
