"""Reads a docstring in Google's convention: its text, and what it says of each argument."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

__all__ = ["Docstring", "read_docstring"]

_ENTRIES = frozenset({"args", "arguments", "parameters", "attributes"})
"""Sections with an entry for each name."""

_SECTIONS = _ENTRIES | {
    "example",
    "examples",
    "note",
    "notes",
    "raises",
    "returns",
    "see also",
    "todo",
    "warning",
    "warnings",
    "yields",
}

_HEADER = re.compile(r"(\w[\w ]*):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


@dataclass
class Docstring:
    """What a docstring says.

    Attributes:
        text: everything before the first section.
        entries: for each name in a section of arguments or attributes, its text on one line.
    """

    text: str = ""
    entries: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(docstring: str | None) -> Docstring:
    """Read a docstring. In another convention all of it is text. The cost is linear."""
    read = Docstring()
    lines = inspect.cleandoc(docstring or "").splitlines()
    section: str | None = None
    indent, name = 0, ""
    text: list[str] = []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is not None and header[1].lower() in _SECTIONS:
            section, indent = header[1].lower(), 0
        elif section is None:
            text.append(line)
        elif section in _ENTRIES and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            entry = _ENTRY.fullmatch(line.strip()) if depth == indent else None
            if entry is not None:
                name = entry[1]
                read.entries[name] = entry[2]
            elif depth > indent and name:
                read.entries[name] = f"{read.entries[name]} {line.strip()}".strip()
    read.text = "\n".join(text).strip()
    return read
