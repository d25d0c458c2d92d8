"""Writes lines on a console, each after a margin that names its kind; from top to bottom.

On a terminal they are coloured, and as wide as it is but for `NARROWEST` and `WIDEST`; anywhere else they are the same
text without colour, `PLAIN` columns wide.

The work of rich for every `Console.print` (it measures the terminal, wraps, takes styles apart) costs more than
everything else that `show` does for a row. So a page gives rich pieces that are wrapped already, many at a time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from .screen import Screen
from .text import visible
from .wrap import wrapped

__all__ = ["KINDS", "NARROWEST", "PLAIN", "STATES", "TEXTS", "WIDEST", "Page", "Piece", "cut"]

Piece = tuple[str, str]
"""Text without line breaks, and the name of its style; "" for none."""

NARROWEST, WIDEST, PLAIN = 20, 88, 80

_ROOM = 12
"""Columns that a text needs after a margin; with less, it begins on its own line."""

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
"""The styles of the words in the margin."""

TEXTS = {"think": "dim italic"}
"""The styles of text that is not plain, by the word in the margin."""

STATES = {
    "started": "dim",
    "done": "green",
    "failed": "red",
    "success": "green",
    **dict.fromkeys(("failure", "blocked", "denied", "timeout", "cancelled", "unknown"), "red"),
}
"""The styles of a call, by its status."""


class Page:
    """Writes on a console.

    Args:
        console: where to write; standard output by default.

    Attributes:
        console: the console.
        width: columns of a line.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Screen()
        columns = self.console.width if self.console.is_terminal else PLAIN
        self.width = min(max(columns, NARROWEST), WIDEST)
        self._collected: list[Segment] = []
        self._looks: dict[str, Style | None] = {}
        self._most = 0  # how many segments are collected before they are written

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """Write the output of the block in large parts, which is much quicker than piece by piece."""
        self._most, before = _TOGETHER, self._most
        try:
            yield
        finally:
            self._most = before
            self._put(())

    def heading(self, title: str) -> None:
        """Write an empty line, and a title with a rule after it."""
        title = cut(title, self.width - 4)
        mark = "─" if self.console.encoding.lower().startswith("utf") else "-"
        rule = mark * (self.width - cell_len(title) - 1)
        self.line()
        self.line([(title, "bold"), (" ", ""), (rule, "dim")])

    def line(self, text: Text | Iterable[Piece] | str = "") -> None:
        """Write a line as it is."""
        self._put([*self._segments(text), _NEW_LINE])

    def hanging(self, prefix: Text | Iterable[Piece], text: str, style: str | None = None) -> None:
        """Write a text, wrapped, after a prefix on its first line."""
        begun = self._segments(prefix)
        margin = Segment.get_line_length(begun)
        if margin and self.width - margin < _ROOM:
            begun, margin = self._on_its_own(begun), self.width // 5
        lines = self._styled(wrapped(visible(text), self.width, margin), style)
        self._put([*begun, *lines, _NEW_LINE])

    def begin(self, prefix: Text) -> None:
        """Write the beginning of a line."""
        self._put(self._segments(prefix))

    def write(self, text: str, style: str | None = None) -> None:
        """Write a piece of text as it is."""
        self._put(self._styled(text, style))

    def _on_its_own(self, prefix: list[Segment]) -> list[Segment]:
        """A prefix that leaves too little room: on its own line, if it says anything, before a smaller margin."""
        margin = Segment(" " * (self.width // 5))
        said = "".join(segment.text for segment in prefix).rstrip()
        if not said:
            return [margin]
        columns = min(cell_len(said), self.width)
        [line] = Segment.split_and_crop_lines(prefix, columns, pad=False, include_new_lines=False)
        return [*line, _NEW_LINE, margin]

    def _segments(self, text: Text | Iterable[Piece] | str) -> list[Segment]:
        if isinstance(text, str):
            return self._styled(text, None)
        if isinstance(text, Text):
            styled = text.copy()
            styled.expand_tabs()
            base = self.console.get_style(text.style)
            return list(Segment.apply_style(styled.render(self.console), base))
        return [Segment(part.expandtabs(), self._look(name)) for part, name in text]

    def _styled(self, text: str, style: str | None) -> list[Segment]:
        """Text in one style. The ends of its lines have no style, since a terminal would extend a background."""
        text = text.expandtabs()
        if not style:
            return [Segment(text)]
        first, *others = text.split("\n")
        look = self._look(style)
        segments = [Segment(first, look)]
        for other in others:
            segments += _NEW_LINE, Segment(other, look)
        return segments

    def _look(self, style: str) -> Style | None:
        if style not in self._looks:
            self._looks[style] = self.console.get_style(style) if style else None
        return self._looks[style]

    def _put(self, segments: Iterable[Segment]) -> None:
        self._collected += segments
        if self._collected and len(self._collected) >= self._most:
            collected, self._collected = self._collected, []
            self.console.print(Segments(collected), end="", soft_wrap=True)


_NEW_LINE = Segment("\n")
_TOGETHER = 1000
"""How many segments are written at once; about two hundred lines."""


def cut(text: str, columns: int) -> str:
    """The beginning of a text that fits in a number of columns."""
    return text if cell_len(text) <= columns else set_cell_size(text, max(columns - 1, 0)) + "…"
