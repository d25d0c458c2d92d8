"""Shows Markdown while it arrives: rich renders it, block by block.

A block, such as a paragraph, a list or a table, can change until the next one begins. So the lines of the last block
are redrawn as it grows, and all lines before them are written for good. Of a block that is higher than the terminal,
only the last lines are redrawn, and one that is long is parted at the end of a line, item or row.

Underscores, links, HTML and stars within words are kept as they are written, since answers about programs often mean
them literally; so are line breaks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

__all__ = ["GrowingMarkdown"]


class GrowingMarkdown:
    """A text that arrives in pieces, cut anywhere, as lines of a terminal.

    Args:
        console: where it is shown.
        width: columns of a line, with the margin.
        margin: columns left free in each line.

    Complexity:
        `lines` takes time in proportion to what has arrived since the last call, and up to twice `_LONG` more.
    """

    def __init__(self, console: Console, width: int, margin: int) -> None:
        self._console = console
        self._options = console.options.update(width=width - margin, height=None)
        self._margin = " " * margin
        self._text = ""  # from the end of the last block but one
        self._written = 0  # how many lines of the last block are written for good
        self._is_first = True  # the last block is the first
        self._number: int | None = None  # of its first item, if it is the rest of a list

    def feed(self, piece: str) -> None:
        """Take a piece of the text."""
        self._text += piece

    def lines(self, changing: int | None = None) -> tuple[list[Text], list[Text]]:
        """The lines to write for good now, and those after them, which can still change.

        Args:
            changing: how many lines can be redrawn; without it the text is over.
        """
        blocks = self._blocks(self._text if changing is None else _MAY_OPEN.sub("", self._text))
        if not blocks:
            return [], []
        settled: list[Text] = []
        for block in blocks[:-1]:
            settled += self._lines(block)[self._written :]
            self._written, self._is_first, self._number = 0, False, None
        last = blocks[-1]
        self._text = self._text[last.after :]
        if changing is not None and len(self._text) > _LONG:
            last = self._blocks(self._text)[0]
            if (parts := _parted(last, self._text)) is not None:
                complete, self._text, number = parts
                ended = self._lines(self._blocks(complete)[0])
                settled += ended[self._written :]
                # If the block is higher than the terminal, some lines of the rest are written already.
                self._written = max(self._written - len(ended), 0)
                self._is_first, self._number = False, number
                last = self._blocks(self._text)[0]
        growing = self._lines(last)[self._written :]
        count = len(growing) if changing is None else max(len(growing) - changing, 0)
        self._written += count
        return settled + growing[:count], growing[count:]

    def _blocks(self, text: str) -> list[_Block]:
        blocks = _blocks(text)
        if blocks and self._number is not None:
            blocks[0].tokens[0].attrSet("start", self._number)
        return blocks

    def _lines(self, block: _Block) -> list[Text]:
        """The lines of a block."""
        with self._console.use_theme(_THEME):
            rows = self._console.render_lines(_Rendered(block), self._options, pad=False)
        lines = [self._line(row) for row in rows]
        while lines and not lines[-1]:
            del lines[-1]
        first = next((number for number, line in enumerate(lines) if line), 0)
        gap = [Text()] if block.has_gap and not self._is_first else []
        return [*gap, *lines[first:]]

    def _line(self, row: list[Segment]) -> Text:
        line = Text(self._margin)
        for piece in row:
            text = piece.text.translate(_ASCII) if self._options.ascii_only else piece.text
            line.append(text, piece.style)
        line.rstrip()
        return line


@dataclass
class _Block:
    """A block, and all that is in it.

    Attributes:
        after: where the block before it ends in the text.
        has_gap: whether an empty line is between the two.
        tokens: what the parser found.
    """

    after: int
    has_gap: bool
    tokens: list[Token]


def _blocks(text: str) -> list[_Block]:
    lines = text.split("\n")
    ends = [0, *accumulate(len(line) + 1 for line in lines)]
    blocks: list[_Block] = []
    for token in _PARSER.parse(text):
        if token.level == 0 and token.nesting >= 0 and token.map is not None:
            begins = after = token.map[0]
            while after and not lines[after - 1].strip():
                after -= 1
            blocks.append(_Block(ends[after], after < begins, []))
        blocks[-1].tokens.append(token)
    return blocks


def _parted(block: _Block, text: str) -> tuple[str, str, int | None] | None:
    """A long block as what is complete of it, the rest, which begins as it does, and the number of its first item.

    `None` if it stays one.
    """
    first, *tokens = block.tokens
    lines = text.split("\n")
    begin, end = first.map or [0, 0]
    head, start = (
        0,
        min(len(lines) - 2, end - 1),
    )  # the last line but one: the last one may be growing
    number = None
    match first.type:
        case "fence":
            head = 1
            if lines[end - 1].strip() == first.markup:  # it is closed
                return None
        case "table_open":
            head = 2
            start = max(token.map[0] for token in tokens if token.type == "tr_open" and token.map)
        case "bullet_list_open" | "ordered_list_open" | "blockquote_open":
            starts = [token.map[0] for token in tokens if token.level == 1 and token.map]
            start = max(starts)
            if first.type == "ordered_list_open":
                number = int(first.attrGet("start") or 1) + len(starts) - 1
        case "paragraph_open" | "code_block":
            pass
        case _:
            return None
    if start <= begin + head:
        return None
    rest = [*lines[begin : begin + head], *lines[start:]]
    return "\n".join(lines[:start]) + "\n", "\n".join(rest), number


def _literal(state: StateInline, silent: bool) -> bool:
    """Keep underscores, and stars between letters or digits: `2*3*4`."""
    text, start = state.src, state.pos
    mark, end = text[start], start
    if (
        mark not in "_*"
    ):  # it is asked at each character: a run of another one is not to be counted from each
        return False
    while end < state.posMax and text[end] == mark:
        end += 1
    is_within = text[start - 1 : start].isalnum() and text[end : end + 1].isalnum()
    if mark != "_" and not (mark == "*" and is_within):
        return False
    if not silent:
        state.pending += text[start:end]
    state.pos = end
    return True


def _keep_breaks(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.disable(
        [
            "lheading",
            "reference",
            "html_block",
            "html_inline",
            "autolink",
            "link",
            "image",
            "entity",
        ]
    )
    parser.inline.ruler.before("emphasis", "literal", _literal)
    parser.core.ruler.push("keep_breaks", _keep_breaks)
    return parser


_LONG = 8 * 1024
"""The characters of a block from which on it is parted, so that it need not be drawn again as a whole."""

_PARSER = _parser()
_MAY_OPEN = re.compile(r"(?:^|(?<=\n))[ \t]*[-*_=+#>`~|\d.):]*[ \t]*\Z")
"""A last line that may still become the mark of a block, and is not shown before that is known."""


class _Heading(markdown.Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Code(markdown.CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _Table(markdown.TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Item(markdown.ListItem):
    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width < _ROOM:
            return console.render(self.elements, options)
        return super().render_bullet(console, options)

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        if options.max_width < _ROOM:
            return console.render(self.elements, options)
        return super().render_number(console, options, number, last_number)


class _Quote(markdown.BlockQuote):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width < _ROOM:
            return console.render(self.elements, options)
        return super().__rich_console__(console, options)


class _Rendered(markdown.Markdown):
    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "blockquote_open": _Quote,
        "list_item_open": _Item,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, block: _Block) -> None:
        super().__init__("", code_theme="ansi_dark")
        self.parsed = block.tokens


_THEME = Theme({f"markdown.h{level}": "bold" for level in range(1, 7)} | {"markdown.code": "cyan"})
_ROOM = 12
"""Columns that a list or a quotation needs to be indented: deep within others, it is not."""
_ASCII = str.maketrans("•▌", "-|")
