"""Reads typed questions, and typed answers to the program's own questions.

At a terminal a line can be edited and recalled, if Python has `readline`. Pasted text is one question, however
many lines it has, and so are lines that end with a backslash. Without a terminal each line of standard input is a
question. It is written out, so that the output reads as a conversation.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, Protocol

from rich.text import Text

from ..exits import UnusableError
from ..page import KINDS, Page
from ..text import visible

try:
    import readline

    _readline: Any = readline
except ImportError:  # Windows has none
    _readline = None

try:
    import select
except ImportError:
    select = None  # type: ignore[assignment]

__all__ = ["Keyboard", "Typist", "keyboard"]

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


def keyboard(page: Page) -> Keyboard:
    """Return a keyboard for standard input: a terminal, or lines.

    Raises:
        UnusableError: it is closed.
    """
    if sys.stdin is None:
        raise UnusableError(
            "standard input is closed; `cogency-rs ask` takes a question as an argument"
        )
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return Typist() if is_terminal else _Lines(page)


class Typist:
    """Somebody at a terminal."""

    def __init__(self) -> None:
        if _readline is not None:
            _readline.set_auto_history(False)
            with suppress(Exception):  # an editor of another make
                _readline.parse_and_bind("set enable-bracketed-paste on")

    def question(self) -> str | None:
        """Read a question; see `Keyboard.question`."""
        line = self._line(_styled(f"\n{PROMPT}", KINDS["user"]))
        if line is None:
            return None
        lines = [line]
        while lines[-1].endswith("\\") or _more_is_there():
            lines[-1] = lines[-1].removesuffix("\\")
            line = self._line(_styled("… ", "dim"))
            if line is None:
                break
            lines.append(line)
        text = "\n".join(lines).strip()
        if text and _readline is not None:
            _readline.add_history(text)
        return text

    def answer(self, asked: str, text: str = "") -> str | None:
        """Read an answer; see `Keyboard.answer`."""
        if _readline is not None and text:
            _readline.set_startup_hook(lambda: _readline.insert_text(text))
        try:
            return self._line(_styled(f"  {asked} ", "bold yellow"))
        finally:
            if _readline is not None:
                _readline.set_startup_hook(None)

    def more(self, asked: str) -> str | None:
        """Ask before it goes on; see `Keyboard.more`."""
        return self.answer(asked)

    def offered(self, asked: str) -> str | None:
        """Offer something; see `Keyboard.offered`."""
        return self.answer(asked)

    @staticmethod
    def _line(prompt: str) -> str | None:
        try:
            return input(prompt).encode(errors="replace").decode()
        except EOFError:
            print()
            return None


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


def _styled(text: str, style: str) -> str:
    """A prompt in colour, with marks for `readline` around characters that take no room."""
    codes = {"bold cyan": "1;36", "bold yellow": "1;33", "dim": "2"}[style]
    space = text[: len(text) - len(text.lstrip())]
    start, end = f"\033[{codes}m", "\033[0m"
    if _readline is not None:
        start, end = f"\001{start}\002", f"\001{end}\002"
    return f"{space}{start}{text.strip()}{end} "


def _more_is_there() -> bool:
    """Whether more lines were pasted, for a terminal that does not mark pasted text."""
    if select is None:
        return False
    with suppress(OSError, ValueError):  # Windows asks this of sockets alone
        return bool(select.select([sys.stdin], [], [], 0)[0])
    return False
