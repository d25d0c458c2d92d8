"""Reads a docstring in Google's, NumPy's or Sphinx's convention: its text, and what it says of each argument."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

__all__ = ["Docstring", "read_docstring"]

_ENTRIES = frozenset({"args", "arguments", "parameters", "other parameters", "attributes"})
"""Sections with an entry for each name."""

_SECTIONS = _ENTRIES | {
    "example",
    "examples",
    "methods",
    "note",
    "notes",
    "raises",
    "receives",
    "references",
    "returns",
    "see also",
    "todo",
    "warning",
    "warnings",
    "warns",
    "yields",
}

# Google's: `Args:`, and an indented entry `name (type): text`.
_HEADER = re.compile(r"(\w[\w ]*):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
# NumPy's: `Parameters` over a line of hyphens, and `name, other : type` over an indented text.
_UNDERLINE = re.compile(r"-{3,}\s*")
_NAMES = re.compile(r"\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*(?=\s*(?::\s|:$|$))")
# Sphinx's: `:param type name: text` for each argument, and other fields such as `:returns:`.
_FIELD = re.compile(r":(\w+)(?:\s+([^:]*?))?:(?:\s+(.*))?")
_PARAMS = frozenset(
    {"param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "var", "ivar", "cvar"}
)
_FIELDS = _PARAMS | {
    "kwparam",
    "meta",
    "raise",
    "raises",
    "return",
    "returns",
    "rtype",
    "type",
    "vartype",
    "yield",
    "yields",
    "ytype",
}


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
    """Read a docstring. What is in no convention is text. The cost is linear."""
    read = _Reading()
    lines = inspect.cleandoc(docstring or "").splitlines()
    for line, next_line in zip(lines, [*lines[1:], ""], strict=False):
        read.take(line, next_line)
    return Docstring("\n".join(read.text).strip(), read.entries)


class _Reading:
    """A docstring that is read line by line.

    Attributes:
        text: the lines before the first section.
        entries: the text of each name so far.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.entries: dict[str, str] = {}
        self._section = ""  # "" for text
        self._is_underlined = self._is_field = False
        self._indent: int | None = None  # of the section's entries
        self._names: list[str] = []  # of the entry that goes on

    def take(self, line: str, next_line: str) -> None:
        """Read a line, of which one must know the next."""
        bare = line.strip()
        is_underlined = line.lower() in _SECTIONS and _UNDERLINE.fullmatch(next_line) is not None
        header = _HEADER.fullmatch(line)
        sphinx = _FIELD.match(line)
        if is_underlined or (header is not None and header[1].lower() in _SECTIONS):
            self._begin(header[1] if header else line, is_underlined=is_underlined)
        elif sphinx is not None and sphinx[1] in _FIELDS:
            self._begin("parameters" if sphinx[1] in _PARAMS else "returns", is_field=True)
            if sphinx[1] in _PARAMS and sphinx[2]:
                self._enter([sphinx[2].split()[-1]], sphinx[3] or "")
        elif not self._section or (self._is_field and bare and not line[0].isspace()):
            self._section = ""
            self.text.append(line)
        elif self._section in _ENTRIES and bare and not _UNDERLINE.fullmatch(line):
            self._read_entry(bare, len(line) - len(line.lstrip()))

    def _begin(self, section: str, *, is_underlined: bool = False, is_field: bool = False) -> None:
        self._section, self._is_underlined, self._is_field = (
            section.lower(),
            is_underlined,
            is_field,
        )
        self._indent, self._names = 0 if is_field else None, []

    def _read_entry(self, bare: str, depth: int) -> None:
        if self._indent is None:
            self._indent = depth
        if depth > self._indent:
            for name in self._names:
                self.entries[name] = f"{self.entries[name]} {bare}".strip()
        elif depth == self._indent and self._is_underlined:
            if (names := _NAMES.match(bare)) is not None:
                self._enter(names[0].split(","), "")
        elif depth == self._indent and (entry := _ENTRY.fullmatch(bare)) is not None:
            self._enter([entry[1]], entry[2])

    def _enter(self, names: list[str], text: str) -> None:
        self._names = [name.strip().lstrip("*") for name in names]
        self.entries.update(dict.fromkeys(self._names, text.strip()))
