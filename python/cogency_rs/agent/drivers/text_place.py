"""Where a character is in a text, as a model is told."""

from __future__ import annotations

__all__ = ["line_and_column"]


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """The line and column of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
