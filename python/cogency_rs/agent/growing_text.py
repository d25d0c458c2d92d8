"""Text that grows by many small pieces, as an answer does: a `bytearray` of what `encoded` makes of each.

A list of the pieces takes several times the memory of their text, and until Python 3.12 `io.StringIO` keeps one, too.
"""

from __future__ import annotations

__all__ = ["decoded", "encoded"]


def encoded(text: str) -> bytes:
    """A piece, as it is added; it may have lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decoded(written: bytearray) -> str:
    """The whole text."""
    return written.decode("utf-8", "surrogatepass")
