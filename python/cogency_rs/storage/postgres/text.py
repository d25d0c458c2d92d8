"""Text in the form that PostgreSQL can store, which is without NUL.

A NUL is written as two characters that begin with U+0001, and so is U+0001 itself; any other text is stored as it is.
"""

from __future__ import annotations

from typing import Any

__all__ = ["pack", "unpack"]


def pack(value: Any) -> Any:
    """A text in the form in which it can be stored; any other value stays as it is."""
    if isinstance(value, str) and ("\0" in value or "\x01" in value):
        return value.replace("\x01", "\x011").replace("\0", "\x010")
    return value


def unpack(text: str) -> str:
    """Read what `pack` wrote."""
    if "\x01" in text:
        return text.replace("\x010", "\0").replace("\x011", "\x01")
    return text
