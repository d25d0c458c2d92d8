"""Turns Markdown into text with styles while it arrives, for answers at a terminal.

Text that was returned is never taken back, so nothing flickers. A line is held back until its kind is known, a span
until it has ended, and a table until it is whole. Text that is not Markdown is unchanged, and Markdown loses only its
marks; underscores, links and HTML are kept, since they are often meant literally.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from rich.cells import cell_len
from rich.syntax import Syntax
from rich.text import Text

from ..wrap import Wrapper
from .spans import CODE, StyledText, styled_texts

__all__ = ["Markdown"]

CODE_INDENT = 2

_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_ROW = re.compile(r"[ \t]*\|")
_DIVIDER = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|?)+[ \t]*")
_WHOLE = re.compile(r"[ \t]*(?:`{3}|~{3}|\|)")
"""The beginnings of lines that must be read whole."""

_OPENING = re.compile(
    r"(?P<indent>[ \t]*)"
    r"(?:(?P<heading>#{1,6})[ \t]+|(?P<bullet>[-*])[ \t]+|(?P<number>(?:\d{1,9}[.)]|\+)[ \t]+)"
    r"|(?P<quote>>)[ \t]?)(?=\S)"
)
_MAY_OPEN = re.compile(r"[ \t]*(?:#{0,6}|[-*_][-*_ \t]*|\+|\d{0,9}[.)]?|>|`{0,2}|~{0,2})[ \t]*")
"""The start of a line that may still become an opening mark."""


@dataclass(frozen=True)
class _Marks:
    """The characters that replace marks."""

    bullet: str
    quote: str
    rule: str


_UNICODE, _ASCII = _Marks("• ", "│ ", "─"), _Marks("- ", "| ", "-")


class Markdown:
    """Reads a text that is cut anywhere.

    Args:
        width: columns of a line, with the margin.
        margin: columns left free; the caller writes those of the first line.
        ascii: whether only ASCII can be shown.
    """

    def __init__(self, width: int, margin: int = 0, *, ascii: bool = False) -> None:
        self._width, self._margin = width, margin
        self._marks = _ASCII if ascii else _UNICODE
        self._out = Text()
        self._line = ""  # the part of the line that is read and not written
        self._opened = False  # the line is known to be text, so it is written while it arrives
        self._before = ""  # the last written character of the line
        self._style: str | None = None  # of the line
        self._breaks = 0  # line breaks to write before the next text
        self._begun = False
        self._flow = _Flow(width, margin)
        self._is_plain = True  # lines go on in the flow unchanged
        self._code: _Code | None = None
        self._table: list[str] = []

    def feed(self, piece: str) -> Text:
        """Take a piece of the text; return what to write now."""
        *lines, rest = piece.split("\n")
        for line in lines:
            self._line += line
            self._end_line()
        self._line += rest
        if not self._opened and self._code is None:
            self._open(is_whole=False)
        if self._opened:
            self._write_texts(is_whole=False)
        return self._given()

    def finish(self) -> Text:
        """End the text; return what is still to write of it."""
        if self._line or self._opened:
            self._end_line()
        self._end_table()
        self._out.append(self._flow.finish())
        return self._given()

    def _given(self) -> Text:
        out, self._out = self._out, Text()
        return out

    # Lines

    def _end_line(self) -> None:
        """The line is whole."""
        if self._code is not None:
            self._take_code(self._code)
        elif self._opened:
            self._write_texts(is_whole=True)
            self._breaks += 1
        elif _ROW.match(self._line):
            self._table.append(self._line)
        else:
            self._end_table()
            self._take_line()
        self._line, self._opened, self._before, self._style = "", False, "", None

    def _take_line(self) -> None:
        """Write a whole line, no part of which is written yet."""
        if (fence := _FENCE.fullmatch(self._line)) is not None:
            words = fence["info"].split()
            self._code = _Code(fence["fence"], fence["indent"], words[0] if words else "")
            return
        if _RULE.fullmatch(self._line):
            self._start_block(Text(self._marks.rule * (self._width - self._margin), "dim"))
        elif self._line.strip():
            self._open(is_whole=True)
            self._write_texts(is_whole=True)
        self._breaks += 1

    def _open(self, *, is_whole: bool) -> None:
        """Find out how the line begins, if enough of it is there."""
        line = self._line
        if not is_whole and (_MAY_OPEN.fullmatch(line) or _WHOLE.match(line)):
            return
        self._end_table()
        self._opened = True
        opening = _OPENING.match(line)
        if opening is None:
            self._open_text()
            return
        self._line = line[opening.end() :]
        if opening["heading"]:
            self._style = "bold"
            self._start_block(Text(self._indent(opening["indent"])))
            return
        mark = opening["number"] or (self._marks.quote if opening["quote"] else self._marks.bullet)
        prefix = Text(self._indent(opening["indent"]))
        prefix.append(mark, "dim" if opening["quote"] else "bold")
        self._start_block(prefix)

    def _open_text(self) -> None:
        if self._is_plain:
            self._out.append(self._flow.feed("\n" * self._breaks, None))
            self._breaks, self._begun = 0, True
            return
        text = self._line.lstrip(" \t")
        indent = self._indent(self._line[: len(self._line) - len(text)])
        self._line = text
        self._start_block(Text(indent))
        self._is_plain = not indent

    def _indent(self, space: str) -> str:
        return space.expandtabs(4)[: (self._width - self._margin) // 2]

    def _start_block(self, prefix: Text) -> None:
        """Begin a line of its own, whose text is wrapped after its prefix."""
        self._start_line()
        self._out.append(prefix)
        self._flow = _Flow(self._width, self._margin + prefix.cell_len)
        self._is_plain = False

    def _start_line(self, indent: int = 0, most: int = 2) -> None:
        self._out.append(self._flow.finish())
        if self._begun:
            self._out.append("\n" * min(self._breaks, most) + " " * (self._margin + indent))
        else:
            self._out.append(" " * indent)
        self._breaks, self._begun = 0, True

    # Text

    def _write_texts(self, *, is_whole: bool) -> None:
        line = self._line
        texts, self._line = styled_texts(line, self._before, self._style, is_whole=is_whole)
        for styled in texts:
            self._out.append(self._flow.feed(styled.text, styled.style))
        self._before = line[: len(line) - len(self._line)][-1:] or self._before

    # Code

    def _take_code(self, code: _Code) -> None:
        line = self._line
        if code.ends_with(line):
            self._code = None
            self._is_plain = False
            self._flow = _Flow(self._width, self._margin)
            return
        if line.strip():
            # Code is not wrapped, so that it can be copied.
            self._start_line(CODE_INDENT, most=2 if not code.begun else self._breaks)
            code.begun = True
            self._out.append(code.highlighted(line))
        self._breaks += 1

    # Tables

    def _end_table(self) -> None:
        rows, self._table = self._table, []
        if not rows:
            return
        is_table = len(rows) > 1 and _DIVIDER.fullmatch(rows[1])
        for line in self._aligned(rows) if is_table else map(Text, rows):
            self._start_block(line)
            self._breaks += 1

    def _aligned(self, rows: list[str]) -> list[Text]:
        cells = [_cells(row) for row in (rows[0], *rows[2:])]
        columns = max(map(len, cells))
        widths = [
            max((row[column].cell_len for row in cells if column < len(row)), default=0)
            for column in range(columns)
        ]
        if sum(widths) + 2 * (columns - 1) > self._width - self._margin:
            return [Text(row.strip()) for row in rows]
        lines: list[Text] = []
        for row in cells:
            line = Text()
            for cell, width in zip(row, widths, strict=False):
                line.append(cell)
                line.append(" " * (width - cell.cell_len + 2))
            line.rstrip()
            lines.append(line)
        lines[0].stylize("bold")
        rule = "  ".join(self._marks.rule * width for width in widths)
        return [lines[0], Text(rule, "dim"), *lines[1:]]


def _cells(row: str) -> list[Text]:
    row = row.strip().removeprefix("|")
    parts = re.split(r"(?<!\\)\|", row.removesuffix("|"))
    return [
        Text.assemble(*_pairs(styled_texts(part.strip(), "", None, is_whole=True)[0]))
        for part in parts
    ]


def _pairs(texts: list[StyledText]) -> list[tuple[str, str]]:
    return [(styled.text, styled.style or "") for styled in texts]


_SPACE_OR_WORD = re.compile(r"\s+|\S+")


class _Flow:
    """Wraps text that has styles. Words come out of a `Wrapper` as they went in, so their styles wait in a queue."""

    def __init__(self, width: int, margin: int) -> None:
        self._wrapper = Wrapper(max(width, margin + cell_len("  ")), margin)
        self._styles: deque[tuple[int, str | None]] = deque()

    def feed(self, text: str, style: str | None) -> Text:
        """Take a piece of one style; return what to write now."""
        if count := sum(not char.isspace() for char in text):
            self._styles.append((count, style))
        return self._styled(self._wrapper.feed(text))

    def finish(self) -> Text:
        """End the word that was begun; return what is still to write of it."""
        return self._styled(self._wrapper.finish())

    def _styled(self, text: str) -> Text:
        out = Text()
        for part in _SPACE_OR_WORD.findall(text):
            word = "" if part.isspace() else part
            if not word:
                out.append(part)
            while word:
                count, style = self._styles.popleft()
                out.append(word[:count], style)
                if len(word) < count:
                    self._styles.appendleft((count - len(word), style))
                word = word[count:]
        return out


class _Code:
    """A block of code that is being read."""

    def __init__(self, fence: str, indent: str, language: str) -> None:
        self.begun = False
        self._fence, self._indent = fence, indent
        self._syntax = Syntax("", language or "text", theme="ansi_dark")
        self._style = CODE if self._syntax.lexer is None or language in ("", "text") else ""

    def ends_with(self, line: str) -> bool:
        """Whether a line is the closing fence."""
        text = line.strip()
        return len(text) >= len(self._fence) and not text.strip(self._fence[0])

    def highlighted(self, line: str) -> Text:
        """A line, in the colours of its language."""
        text = self._syntax.highlight(line.removeprefix(self._indent).expandtabs(4))
        text.rstrip()
        if self._style:
            text.stylize(self._style)
        return text
