"""A console of rich's that no text can control."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .text import visible

__all__ = ["Screen"]


class Screen(Console):
    """Draws text with its control characters as pictures; only what rich itself adds controls the terminal.

    Args:
        stderr: whether it is on standard error, and not on standard output.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, stderr=stderr)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Draw something: all that a console writes is drawn here."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            shown = text if control or text == "\n" else visible(text)
            yield segment if shown is text else Segment(shown, style)

    def on_broken_pipe(self) -> None:
        """Raise: an output that nobody reads is an error like any other."""
        raise BrokenPipeError("the output is closed")
