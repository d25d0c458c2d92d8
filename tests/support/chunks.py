"""Texts in chunks, as a model's answer arrives."""

from __future__ import annotations


def cut(text: str, size: int = 4) -> list[str]:
    """The text in chunks of this many characters; the last one may be shorter."""
    return [text[start : start + size] for start in range(0, len(text), size)]
