"""The answer of `cogency-rs ask`, on standard output while it arrives."""

from __future__ import annotations

from .output import say

__all__ = ["Answer"]


class Answer:
    """Writes the text of a model to standard output, piece by piece.

    White space around the text is left out, and it ends with a line feed. Characters that control a terminal are
    replaced by their pictures, also where another program shows the text; `ask --json` has it exactly.

    Args:
        holds: whether text is kept until `finish`: text before calls is dropped when more text follows them, since it
            was not the answer. Otherwise each piece is written at once, with an empty line where calls were.

    Attributes:
        holds: see above.
    """

    def __init__(self, *, holds: bool) -> None:
        self.holds = holds
        self._held: list[str] = []
        self._calls_followed = False
        self._gap = ""  # white space that is written if more text follows
        self._has_begun = False
        self._in_line = False
        self._is_closed = False  # nothing more can be written

    def take(self, piece: str) -> None:
        """Take a piece of the text.

        Raises:
            OSError: it cannot be written.
        """
        if self._calls_followed and piece.strip():
            self._calls_followed = False
            self._part()
        if self.holds:
            self._held.append(piece)
        else:
            self._write(piece)

    def calls_follow(self) -> None:
        """Note that calls follow the text so far."""
        self._calls_followed = True

    def break_line(self) -> None:
        """End the line that was begun, because something else is written to the same terminal."""
        if self._in_line:
            self._put("\n")
            self._gap = self._gap.removeprefix("\n")

    def finish(self, whole: str | None = None) -> None:
        """End the text.

        Args:
            whole: a text that is not written yet; by default what was held back.

        Raises:
            OSError: it cannot be written.
        """
        if whole is not None:
            self._part()
            self._held.append(whole)
        self._write("".join(self._held))
        self._held.clear()
        self.break_line()

    def _part(self) -> None:
        """Begin another text: it replaces one that is held, and is parted from one that is written."""
        self._held.clear()
        self._gap = "\n\n" if self._in_line else "\n"

    def _write(self, piece: str) -> None:
        text = self._gap + piece
        kept = text.rstrip()
        self._gap = text[len(kept) :]
        if not self._has_begun:
            kept = kept.lstrip()
        self._put(kept)

    def _put(self, text: str) -> None:
        if not text or self._is_closed:
            return
        # Noted first: a signal may end the program as soon as the text is out.
        self._has_begun, self._in_line = True, not text.endswith("\n")
        try:
            say(text, end="")
        except OSError:
            self._is_closed = True
            raise
