"""Which marks of a text are quoted, written from the rule in `docs/protocol.md`: line by line, over whole texts."""

from __future__ import annotations

import re

_QUOTES = "`\"'"
_RUN = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)


def is_mention(text: str, start: int, end: int, *, closes: bool = False) -> bool:
    """Whether the mark at `start:end` is between two equal quotes.

    What closes reasoning or results (`closes`) does not, if the first quote rather ends a quotation.
    """
    if start == 0 or text[start - 1] not in _QUOTES or text[end : end + 1] != text[start - 1]:
        return False
    before = text[start - 2] if start > 1 else "\n"
    return not (closes and (before in ".,!?" or (before.isascii() and before.isalnum())))


class Fences:
    """Whether a mark after the text so far is in a fence."""

    def __init__(self) -> None:
        self.open = ""
        self._is_spent = False
        self._line = ""

    def read(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self._end()
            else:
                self._line += character

    @property
    def is_around(self) -> bool:
        return bool(self.open) and not self._is_spent and not self._closes()

    def mark(self) -> None:
        """A mark that counts: the line ends here, and can no longer open a fence."""
        if self._closes():
            self._close()
        self._line = ""

    def call(self) -> None:
        """A block of calls: the fence around it no longer quotes anything."""
        if not self.open:
            self.open = self._opens()
            self._is_spent = bool(self.open)
        elif self._closes():
            self._close()
        else:
            self._is_spent = True
        self._line = ""

    def _end(self) -> None:
        if not self.open:
            self.open = self._opens()
        elif self._closes():
            self._close()
        self._line = ""

    def _close(self) -> None:
        self.open, self._is_spent = "", False

    def _opens(self) -> str:
        run = _RUN.fullmatch(self._line)
        return run[1] if run and not (run[1][0] == "`" and "`" in run[2]) else ""

    def _closes(self) -> bool:
        run = _RUN.fullmatch(self._line)
        if not run or not self.open or run[2].strip(" \t\r"):
            return False
        return run[1].startswith(self.open)
