"""Wraps text at words while it arrives in pieces, which rich cannot: it wraps text that is whole.

A word is written as soon as it arrives, piece by piece. Only near the right edge is it held back until it is whole, so
that nothing written has to be taken back and no word is split that fits on a line. Text that is whole is wrapped by the
same rules, so that a conversation looks the same while it goes on and afterwards.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Wrapper", "wrapped"]

_PART = re.compile(r"\n|[^\S\n]+|\S+")
_SPARE = 14
"""Columns left after the beginning of a word that let it be written before the word is whole."""


def wrapped(text: str, width: int, margin: int) -> str:
    """Wrap a text that is whole as `Wrapper` does; ten times quicker where each character takes one column."""
    if not text.isascii() or "\t" in text:
        wrapper = Wrapper(width, margin)
        return wrapper.feed(text) + wrapper.finish()
    columns, lines = width - margin, list[str]()
    for line in text.strip().split("\n"):
        words = line.strip()
        if words:
            indent = min(len(line) - len(line.lstrip()), columns // 2)
            lines += _wrapped_line(" " * indent + words, indent, columns)
        elif lines and lines[-1]:
            lines.append("")
    pad = " " * margin
    return "\n".join(pad + line if number and line else line for number, line in enumerate(lines))


def _wrapped_line(text: str, indent: int, columns: int) -> Iterator[str]:
    """Cut a line at the last space before its edge, or at the edge where there is none after the indentation."""
    start, words = 0, indent
    while len(text) - start > columns:
        edge = start + columns
        end = text.rfind(" ", words, edge + 1)
        if end < 0:
            yield text[start:edge]
            start = edge
        else:
            yield text[start:end].rstrip()
            start = end + 1
            while text[start] == " ":
                start += 1
        words = start
    yield text[start:]


class Wrapper:
    """Lines of text after a margin, which is already written in the first of them.

    Indentation stays, and one blank line of several; white space at the start and the end of the text is left out.

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
                self._widen(part)
            else:
                self._word += part
                if self._in_word or self._has_room():
                    out.append(self._write())
        return "".join(out)

    def _widen(self, space: str) -> None:
        """Add to the gap what of it can matter: two line feeds, and as many spaces as a line has columns."""
        if space == "\n":
            self._gap = "\n" * min(self._gap.count("\n") + 1, 2)
        else:
            self._gap = (self._gap + space.expandtabs(4))[: self._width + 2]

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
        columns = self._width - self._margin
        filled = self._column - self._margin
        first, *others = chop_cells("x" * filled + word, columns)
        lines = [first[filled:], *others]
        self._column = self._margin + cell_len(lines[-1])
        return ("\n" + " " * self._margin).join(lines)
