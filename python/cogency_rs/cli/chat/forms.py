"""Forms in which text is shown while it arrives."""

from __future__ import annotations

from typing import Protocol

from rich.text import Text

from ..wrap import Wrapper

__all__ = ["Form", "Wrapped"]


class Form(Protocol):
    """Turns a text that arrives in pieces into text to write. Nothing that was written is taken back."""

    def feed(self, piece: str) -> Text:
        """Take a piece of the text; return what to write now."""
        ...

    def finish(self) -> Text:
        """End the text; return what is still to write of it."""
        ...


class Wrapped:
    """Text as it is, in one style.

    Args:
        width: columns of a line, with the margin.
        margin: columns left free; the caller writes those of the first line.
        style: the style of the whole text.
    """

    def __init__(self, width: int, margin: int, style: str = "") -> None:
        self._wrapper, self._style = Wrapper(width, margin), style

    def feed(self, piece: str) -> Text:
        """Take a piece; see `Form.feed`."""
        return Text(self._wrapper.feed(piece), self._style)

    def finish(self) -> Text:
        """End the text; see `Form.finish`."""
        return Text(self._wrapper.finish(), self._style)
