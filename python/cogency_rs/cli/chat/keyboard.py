"""Reads typed questions, and typed answers to the program's own questions.

At a terminal somebody types; see `typist`. Without one each line of standard input is a question. It is written out, so
that the output reads as a conversation.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

from rich.text import Text

from ..exits import UnusableError
from ..page import KINDS, Page
from ..text import visible

__all__ = ["PROMPT", "Keyboard", "keyboard"]

PROMPT = "> "


class Keyboard(Protocol):
    """Somebody who types."""

    def question(self) -> str | None:
        """Read a question, or a command; `None` when there will be no more.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        ...

    def answer(self, asked: str, text: str = "") -> str | None:
        """Read the answer to a question of the program's own, which may begin with a text; see `question`."""
        ...

    def more(self, asked: str) -> str | None:
        """Ask a person who reads something long before it goes on; an empty answer goes on. See `question`."""
        ...

    def offered(self, asked: str) -> str | None:
        """Ask a person about something that they did not ask for; `None` without a person. See `question`."""
        ...


def keyboard(page: Page, history: Path | None = None) -> Keyboard:
    """Return a keyboard for standard input: a terminal, or lines.

    Args:
        page: where lines are written out.
        history: the file that keeps what is typed at a terminal.

    Raises:
        UnusableError: standard input is closed.
    """
    if sys.stdin is None:
        raise UnusableError(
            "standard input is closed; `cogency-rs ask` takes a question as an argument"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _Lines(page)
    from .typist import Typist  # it takes a tenth of a second to import what it needs

    return Typist(PROMPT, history)


class _Lines:
    """Lines of standard input."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def question(self) -> str | None:
        line = self._next()
        if line is not None:
            self._page.line()
            self._page.line(Text(PROMPT, KINDS["user"]).append(visible(line)))
        return line

    def answer(self, asked: str, text: str = "") -> str | None:
        self._page.line(Text(f"  {asked}", "bold yellow"))
        line = self._next()
        if line is not None:
            self._page.line("  " + visible(line))
        return line

    def more(self, asked: str) -> str | None:
        return ""  # nobody reads meanwhile

    def offered(self, asked: str) -> str | None:
        return None  # a line means the same, whatever is unfinished

    @staticmethod
    def _next() -> str | None:
        sys.stdout.flush()
        line = sys.stdin.readline()
        return line.strip() if line else None
