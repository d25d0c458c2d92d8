"""The spans of one line of Markdown: code, and text between stars."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CODE", "StyledText", "styled_texts"]

CODE = "cyan"

_LONGEST = 500  # characters of a span

_MARK = re.compile(r"`+|\*+")
_STARS = {1: "italic", 2: "bold", 3: "bold italic"}


@dataclass(frozen=True)
class StyledText:
    """Text of one style."""

    text: str
    style: str | None


def styled_texts(
    text: str, before: str, style: str | None, *, is_whole: bool
) -> tuple[list[StyledText], str]:
    """Read a line, or the part of it that has arrived.

    Args:
        text: the text from the place where reading stopped before.
        before: the character before it; empty at the beginning of the line.
        style: the style of text without a mark.
        is_whole: whether the line ends after the text.

    Returns:
        The texts that can be written, and the rest, which may still become a mark. How the line is cut never matters.
    """
    texts: list[StyledText] = []

    def take(end: int) -> None:
        nonlocal text, before
        if end:
            texts.append(StyledText(text[:end], style))
            before, text = text[end - 1], text[end:]

    while (mark := _MARK.search(text)) is not None:
        take(mark.start())
        size = len(mark[0])
        if size == len(text) and not is_whole:  # it may go on
            return texts, text
        closing = _closing(text, size, before)
        if closing is None:
            take(size)
            continue
        limit = size + _LONGEST
        found = closing.search(text, size, limit)
        is_known = is_whole or len(text) >= limit
        if not is_known and (found is None or found.end() == len(text)):
            return texts, text
        if found is None:
            take(size)
            continue
        texts += _inside(mark[0], text[size : found.start()], style)
        before, text = mark[0][0], text[found.end() :]
    take(len(text))
    return texts, text


def _closing(text: str, size: int, before: str) -> re.Pattern[str] | None:
    """A pattern for the end of the span that begins at the start of a text; `None` if none begins there."""
    if text[0] == "`":
        return re.compile(rf"(?<!`)`{{{size}}}(?!`)")
    begins = (
        not (before.isalnum() or before == "\\") and size < len(text) and not text[size].isspace()
    )
    if size not in _STARS or not begins:
        return None
    return re.compile(rf"(?<![\s*\\])\*{{{size}}}(?![\w*])")


def _inside(mark: str, content: str, style: str | None) -> list[StyledText]:
    if mark[0] == "`":
        if content.strip() and content[0] == content[-1] == " ":
            content = content[1:-1]
        return [StyledText(content, CODE)]
    inner = " ".join(filter(None, (style, _STARS[len(mark)])))
    return styled_texts(content, "", inner, is_whole=True)[0]
