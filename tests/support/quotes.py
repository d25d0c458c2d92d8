"""Which marks of a text are quoted, written from the rule in `docs/protocol.md`: line by line, over whole texts."""

from __future__ import annotations

import re

_QUOTES = "`\"'"
_RUN = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)


def is_mention(text: str, start: int, end: int, *, since: int | None = None) -> bool:
    """Whether the mark at `start:end` is between two equal quotes.

    What closes reasoning or results, which begin at `since`, is not if the first quote ends a quotation in them.
    """
    if start == 0 or text[start - 1] not in _QUOTES or text[end : end + 1] != text[start - 1]:
        return False
    return since is None or not _ends_quotation(text[since:start])


def _ends_quotation(text: str) -> bool:
    """Whether the quote that a stretch of reasoning or results ends with ends a quotation."""
    if not text or text[-1] not in _QUOTES:
        return False
    # Nothing is open at the start of a paragraph.
    paragraph = re.split(r"(?:^|\n)[ \t\r]*\n", text)[-1]
    open_run, ends = "", False
    for run in re.finditer("`+" if text[-1] == "`" else text[-1], paragraph):
        before = paragraph[: run.start()]
        after_word = re.search(r"[A-Za-z0-9.,!?)\]}>]\Z", before) is not None
        begins_line = before.rpartition("\n")[2].strip(" \t\r") == ""
        closes = run[0] == open_run
        ends = closes or after_word or (len(run[0]) >= 3 and begins_line)
        if closes:
            open_run = ""
        elif not open_run and not after_word:
            open_run = run[0]
    return ends


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
