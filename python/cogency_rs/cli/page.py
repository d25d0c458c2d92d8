"""Lines on a console, behind a margin that says what they are; written once, from top to bottom.

On a terminal they are coloured and at most `WIDEST` columns wide; anywhere else they are the same text without colour,
`PLAIN` columns wide.
"""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from .text import visible
from .wrap import Wrapper

__all__ = ["KINDS", "NARROWEST", "PLAIN", "STATES", "TEXTS", "WIDEST", "Page", "cut"]

NARROWEST, WIDEST, PLAIN = 40, 88, 80

KINDS = {
    "user": "bold cyan",
    "think": "dim",
    "respond": "bold green",
    "call": "bold magenta",
    "execute": "bold magenta",
    "result": "bold magenta",
    "end": "bold",
    "error": "bold red",
    "system": "bold",
    "assistant": "bold green",
}
"""The styles of what stands in the margin."""

TEXTS = {"think": "dim italic"}
"""The styles of text that is not plain, by what stands in the margin."""

STATES = {
    "started": "dim",
    "done": "green",
    "failed": "red",
    "success": "green",
    **dict.fromkeys(("failure", "blocked", "denied", "timeout", "cancelled", "unknown"), "red"),
}
"""The styles of how a call went."""


class Page:
    """Writes on a console.

    Args:
        console: where to; standard output when not given.

    Attributes:
        console: where to.
        width: columns of a line.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or _StandardOutput()
        columns = self.console.width if self.console.is_terminal else PLAIN
        self.width = min(max(columns, NARROWEST), WIDEST)

    def heading(self, title: str) -> None:
        """Write an empty line and a rule with a title."""
        self.line()
        rule = Rule(Text(cut(title, self.width - 4), "bold"), align="left", style="dim")
        self.console.print(rule, width=self.width)

    def line(self, text: Text | str = "") -> None:
        """Write a line as it is."""
        self.console.print(Text(text) if isinstance(text, str) else text, soft_wrap=True)

    def hanging(self, prefix: Text, text: str, style: str | None = None) -> None:
        """Write a text, wrapped, behind a prefix that stands in its first line."""
        margin = prefix.cell_len
        wrapper = Wrapper(max(self.width, margin + NARROWEST // 2), margin)
        self.begin(prefix)
        self.write(wrapper.feed(visible(text)) + wrapper.finish() + "\n", style)

    def begin(self, prefix: Text) -> None:
        """Write the beginning of a line."""
        self.console.print(prefix, end="", soft_wrap=True)

    def styled(self, text: Text) -> None:
        """Write a piece of text that has styles of its own, as it is."""
        self.console.print(text, end="", soft_wrap=True)

    def write(self, text: str, style: str | None = None) -> None:
        """Write a piece of text as it is."""
        self.console.out(text, style=style, highlight=False, end="")


class _StandardOutput(Console):
    """Standard output; that nobody reads it any more is an error like any other."""

    def __init__(self) -> None:
        super().__init__(highlight=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError("standard output is closed")


def cut(text: str, columns: int) -> str:
    """The beginning of a text, as much as fits in so many columns."""
    return text if Text(text).cell_len <= columns else set_cell_size(text, columns - 1) + "…"
