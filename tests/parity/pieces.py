"""A model's text cut at the protocol's tags, with Python's `json` as the judge of a block.

Written from the protocol's rules and not from either parser, so that a test can say which rule a text touches.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cogency_rs.protocol import Limits
from support.quotes import Fences, is_mention

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT = Limits()

_OPENING = re.compile("<(think|execute|results|end)>")
STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
"""A whole string. It never goes back: to remember where it could takes a hundred bytes for each character."""
_CLOSE = "</execute>"
_BODY = re.compile(r"[\[{]|```")
_LENIENT = json.JSONDecoder(strict=False)


class Piece:
    """A run of text, or a tag with what belongs to it.

    Attributes:
        kind: `text`, `think`, `execute`, `results` or `end`; `rest` for the text after a batch, which is not read.
        body: the text between the tags, or the text itself; it may end in a part of an unfinished closing tag.
        closed: whether the closing tag is there; for text, whether a tag follows.
    """

    def __init__(self, kind: str, body: str, *, closed: bool = True) -> None:
        self.kind = kind
        self.body = body
        self.closed = closed

    def __str__(self) -> str:
        if self.kind in {"text", "rest"}:
            return self.body
        if self.kind == "end":
            return "<end>"
        return f"<{self.kind}>{self.body}" + (f"</{self.kind}>" if self.closed else "")

    def __repr__(self) -> str:
        return f"Piece({self.kind!r}, {self.body!r}, closed={self.closed})"

    def with_body(self, body: str, *, closed: bool = True) -> Piece:
        return Piece(self.kind, body, closed=closed)

    @cached_property
    def array(self) -> str:
        """The body without the part of a closing tag that it ends in."""
        parts = [] if self.closed else [_CLOSE[:size] for size in range(len(_CLOSE) - 1, 0, -1)]
        return self.body.removesuffix(next(filter(self.body.endswith, parts), ""))

    @cached_property
    def size(self) -> int:
        return _size(self.body)

    @cached_property
    def depth(self) -> int:
        """How many brackets are open at most, not counting those in strings."""
        deepest = depth = 0
        for bracket in re.findall(r"[\[\]{}]", STRING.sub('""', self.body)):
            depth += 1 if bracket in "[{" else -1
            deepest = max(deepest, depth)
        return deepest

    @cached_property
    def value(self) -> Any:
        """The JSON value of a complete block, or `None` if the body is not JSON."""
        return self._values[0] if self._values else None

    @cached_property
    def _values(self) -> list[Any]:
        if self.kind != "execute":
            return []
        with generous():
            try:
                return [json.loads(self.array.strip(), strict=False)]
            except ValueError:
                return []
            except RecursionError:
                return [[]]

    def calls(self, limits: Limits = DEFAULT) -> list[dict[str, Any]] | None:
        """The calls of a block that can run, within `limits`."""
        value = self.value
        if not isinstance(value, list) or not all(map(_is_call, value)):
            return None
        if self.depth > limits.max_depth or len(value) > limits.max_calls:
            return None
        return None if _size(self.array) > limits.max_block_bytes else value

    def is_malformed(self, limits: Limits = DEFAULT) -> bool:
        return self.kind == "execute" and self.calls(limits) is None

    def breaks_off(self, limits: Limits = DEFAULT) -> bool:
        """Whether the only fault of a block is that the text ends in it, or that its closing tag is missing."""
        if self.kind != "execute" or self.closed:
            return False
        if self._values:
            return not self.is_malformed(limits)
        return self.size <= limits.max_block_bytes and _is_beginning(self.body.lstrip())


def pieces(text: str, limits: Limits = DEFAULT, *, is_cut: bool = False) -> list[Piece]:
    """The pieces of a text, in order; joined they are the text.

    If the text was cut (`is_cut`), a string without an end is the fault of the cut.
    """
    found: list[Piece] = []
    fences = Fences()
    at = searched = read = 0
    while tag := _OPENING.search(text, searched):
        fences.read(text[read : tag.start()])
        read, searched = tag.start(), tag.end()
        if is_mention(text, *tag.span()) or not _is_tag(tag, limits):
            continue
        if fences.is_around and not _begins_call(tag):
            if tag[1] in {"think", "results"}:
                read, searched = _end_of_quoted(tag, fences)
            continue
        if tag.start() > at:
            found.append(Piece("text", text[at : tag.start()]))
        piece = _piece(tag, limits, is_cut)
        found.append(piece)
        at = searched = read = tag.start() + len(str(piece))
        if piece.kind == "execute":
            fences.call()
        else:
            fences.mark()
        if piece.kind == "execute" and not piece.is_malformed(limits):
            if at < len(text):
                found.append(Piece("rest", text[at:]))
            return found
    if at < len(text):
        found.append(Piece("text", text[at:], closed=False))
    return found


def _begins_call(tag: re.Match[str]) -> bool:
    """Whether a tag opens a block, and what follows may be the body of one."""
    return tag[1] == "execute" and _BODY.match(tag.string[tag.end() :].lstrip()) is not None


def _end_of_quoted(tag: re.Match[str], fences: Fences) -> tuple[int, int]:
    """Up to where a text is read, and where tags are searched again, after a tag in a fence that opens text."""
    text, read, searched = tag.string, tag.start(), tag.end()
    while True:
        close = text.find(f"</{tag[1]}>", searched)
        for at in range(read, len(text) if close == -1 else close):
            fences.read(text[at])
            if not fences.open:
                return at + 1, max(at + 1, searched)
        if close == -1:
            return len(text), len(text)
        read, searched = close, close + len(f"</{tag[1]}>")
        if not is_mention(text, read, searched, since=tag.end()):
            return read, searched


def _is_tag(tag: re.Match[str], limits: Limits) -> bool:
    """Whether a tag counts: `<results>` only if an array or its closing tag follows within the limit, others always."""
    after = tag.string[tag.end() :]
    array = after.lstrip()
    if tag[1] != "results":
        return True
    free = limits.max_block_bytes - _size(after.removesuffix(array))
    # The limit may cut a character that is not ASCII, so this reads bytes. Such a character may only be in a string,
    # where it does not matter which one it is.
    seen = array.encode("utf-8", "surrogatepass")[: max(0, free)].decode("latin-1")
    if not seen.startswith("["):
        return seen.startswith("</results>")
    with generous():
        try:
            _LENIENT.raw_decode(seen)
        except ValueError:
            return _is_beginning(seen)
        except RecursionError:
            return True
    return True


def _piece(tag: re.Match[str], limits: Limits, is_cut: bool) -> Piece:
    """The piece that an opening tag begins."""
    kind, text, start = tag[1], tag.string, tag.end()
    after = text[start:]
    if kind == "end":
        return Piece(kind, "")
    if kind == "execute":
        end = _end_of_block(after, limits, is_cut)
    else:
        close = f"</{kind}>"
        at = text.find(close, start)
        while at != -1 and is_mention(text, at, at + len(close), since=start):
            at = text.find(close, at + len(close))
        end = at - start if at != -1 else -1
    if end == -1:
        return Piece(kind, after, closed=False)
    return Piece(kind, after[:end])


def _end_of_block(text: str, limits: Limits, is_cut: bool) -> int:
    """The index in `text`, which follows the opening tag, of the block's closing tag; -1 if there is none."""
    start = len(text) - len(text.lstrip())
    with generous():
        try:
            _, end = _LENIENT.raw_decode(text, start)
        except ValueError:
            end = -1
        except RecursionError:
            return text.find(_CLOSE)
    if end != -1:
        tail = text[end:].lstrip()
        end = len(text) - len(tail)
        if tail.startswith(_CLOSE) and _size(text[:end]) <= limits.max_block_bytes:
            return end
        if _CLOSE.startswith(tail) and _size(text[:end]) <= limits.max_block_bytes:
            return -1
    elif _size(text) <= limits.max_block_bytes:
        is_open = _is_beginning if is_cut else _is_unfinished
        if is_open(text[start:]):
            return -1
    return text.find(_CLOSE)


def _is_unfinished(text: str) -> bool:
    """Whether `text` is the beginning of some JSON and does not end inside a string."""
    outside = STRING.sub('""', text)
    if '"' in outside.replace('""', ""):
        return False
    closing = "".join("}" if b == "{" else "]" for b in reversed(_open_brackets(outside)))
    # A word or a number may be cut anywhere.
    whole = re.sub(r"(?<![\w.+-])(-|-?[a-zA-Z]+|-?\d+(\.\d*)?([eE][+-]?\d*)?)\Z", _finished, text)
    for missing in ("", "0", ":0", '"":0'):
        with generous():
            try:
                json.loads(whole + missing + closing, strict=False)
            except (ValueError, RecursionError):
                continue
            return True
    return False


def _is_beginning(text: str) -> bool:
    """Whether `text` is the beginning of some JSON."""
    # The text may end inside a string, perhaps in the middle of an escape.
    string = re.sub(r"(?<!\\)((?:\\\\)*)\\(u[0-9a-fA-F]{0,3})?\Z", r"\1", text) + '"'
    return _is_unfinished(text) or _is_unfinished(string)


def _open_brackets(text: str) -> list[str]:
    stack: list[str] = []
    for bracket in re.findall(r"[\[\]{}]", text):
        if bracket in "[{":
            stack.append(bracket)
        elif stack:
            stack.pop()
    return stack


def _finished(token: re.Match[str]) -> str:
    begun_number = re.fullmatch(
        r"-|-?(0|[1-9]\d*)(\.|(\.\d+)?([eE][+-]?\d*)?)?", token[0], re.ASCII
    )
    words = ("null", "true", "false", "NaN", "Infinity", "-Infinity")
    begun = begun_number or any(word.startswith(token[0]) for word in words)
    return "0" if begun else token[0]


def _is_call(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("name"), str) and isinstance(value.get("args"), dict)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@contextmanager
def generous() -> Iterator[None]:
    """Let Python read deep nesting, and integers of any length."""
    depth, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    sys.setrecursionlimit(max(depth, 50_000))
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(digits)
