"""Reads one JSON object while it arrives, so that a broken object is noticed at the place where it breaks.

Invariant: no character is read twice before the object is whole, however the text is cut.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

__all__ = ["FieldText", "JsonFault", "ObjectReader", "line_and_column"]

MAX_DEPTH = 200
"""How many brackets may be open at once; the default of `Limits.max_depth`."""


@dataclass(frozen=True, slots=True)
class JsonFault:
    """Why a text is not a JSON object.

    Attributes:
        problem: what is wrong.
        at: the index of the character in the text, from 0.
        is_the_end: whether the only fault is that the text ended.
    """

    problem: str
    at: int
    is_the_end: bool = False


@dataclass(frozen=True, slots=True)
class FieldText:
    """The next piece of a string that is the value of a key of the object itself.

    Attributes:
        key: the key.
        text: the piece, with its escapes read; may be empty.
        is_whole: whether the string ends with this piece.
    """

    key: str
    text: str
    is_whole: bool = False


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """The line and column of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


class _Next(Enum):
    """The unit that may come next."""

    OBJECT = auto()  # before everything
    VALUE = auto()
    VALUE_OR_CLOSE = auto()
    KEY = auto()
    KEY_OR_CLOSE = auto()
    COLON = auto()
    COMMA_OR_CLOSE = auto()
    END = auto()


_EXPECTED = {
    _Next.OBJECT: "expected a JSON object",
    _Next.VALUE: "expected a JSON value",
    _Next.VALUE_OR_CLOSE: "expected a JSON value",
    _Next.KEY: "expected a key in double quotes",
    _Next.KEY_OR_CLOSE: "expected a key in double quotes",
    _Next.COLON: "expected ':' after the key",
    _Next.END: "expected nothing more after the JSON object",
}
_ENDED = "the text ended before the JSON was complete"

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\]*')
_WORD = re.compile(r"[-+.0-9A-Za-z]*")
_WORD_STARTS = "-0123456789tfn"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HEX = frozenset("0123456789abcdefABCDEF")


class ObjectReader:
    """Reads an object piece by piece.

    Like the core's reader it accepts raw line breaks in strings, which models write.

    Args:
        is_alone: whether only white space may follow the object; else the text after it is not read.

    Attributes:
        fault: what is wrong; nothing is read after a fault.
        is_whole: whether the object has been closed.
    """

    def __init__(self, *, is_alone: bool = True) -> None:
        self.fault: JsonFault | None = None
        self.is_whole = False
        self._is_alone = is_alone
        self._pieces: list[str] = []
        self._before = 0  # characters before the current piece
        self._next = _Next.OBJECT
        self._open: list[str] = []
        self._end = 0  # after the object
        self._word: str | None = None  # a number or a literal that may go on
        self._word_at = 0
        self._in_string = False
        self._is_key = False
        self._escape = ""  # an escape that may go on
        self._high = ""  # a high surrogate whose low one may follow
        self._key: list[str] = []
        self._field: str | None = (
            None  # the object's own key whose value comes next, or is being read
        )

    @property
    def text(self) -> str:
        """All text that was fed, up to the piece with the fault."""
        return "".join(self._pieces)

    @property
    def rest(self) -> str:
        """The text after the object in the piece that ended it; "" while the object is not whole."""
        return self.text[self._end :] if self.is_whole else ""

    @property
    def is_empty(self) -> bool:
        """Whether there was only white space."""
        return self._next is _Next.OBJECT and self.fault is None

    def feed(self, text: str) -> list[FieldText]:
        """Read the next piece; returns the pieces of strings under the object's own keys."""
        if self.fault is not None or (self.is_whole and not self._is_alone):
            return []
        self._pieces.append(text)
        pieces: list[FieldText] = []
        at = 0
        while at < len(text) and self.fault is None:
            if self._in_string:
                at = self._read_string(text, at, pieces)
            elif self._word is not None:
                at = self._read_word(text, at)
            else:
                found = _SPACE.match(text, at)
                at = found.end() if found else at
                if at < len(text):
                    at = self._read_mark(text[at], at)
                    if self.is_whole and not self._is_alone:
                        break
        self._before += len(text)
        return pieces

    def finish(self) -> JsonFault | None:
        """End the text; returns what is wrong with it, if anything is."""
        if self.fault is None and not self.is_whole:
            self.fault = JsonFault(_ENDED, self._before, is_the_end=True)
        return self.fault

    def value(self) -> dict[str, Any]:
        """The object, once it is whole.

        Raises:
            ValueError: an integer has more digits than Python reads.
        """
        value: dict[str, Any] = json.loads(self.text[: self._end], strict=False)
        return value

    def _wrong(self, problem: str, at: int) -> None:
        self.fault = JsonFault(problem, self._before + at)

    # Between units

    def _read_mark(self, mark: str, at: int) -> int:
        expected = self._next
        match mark, expected:
            case ("{", _Next.OBJECT | _Next.VALUE | _Next.VALUE_OR_CLOSE):
                self._push("}", _Next.KEY_OR_CLOSE, at)
            case ("[", _Next.VALUE | _Next.VALUE_OR_CLOSE):
                self._push("]", _Next.VALUE_OR_CLOSE, at)
            case ("}", _Next.KEY_OR_CLOSE):
                self._close(at)
            case ("]", _Next.VALUE_OR_CLOSE) if self._open[-1] == "]":
                self._close(at)
            case ("}" | "]", _Next.COMMA_OR_CLOSE) if self._open[-1] == mark:
                self._close(at)
            case (",", _Next.COMMA_OR_CLOSE):
                self._next = _Next.KEY if self._open[-1] == "}" else _Next.VALUE
            case (":", _Next.COLON):
                self._next = _Next.VALUE
            case ('"', _Next.KEY | _Next.KEY_OR_CLOSE):
                self._in_string = self._is_key = True
                self._key = []
            case ('"', _Next.VALUE | _Next.VALUE_OR_CLOSE):
                self._in_string, self._is_key = True, False
            case (_, _Next.VALUE | _Next.VALUE_OR_CLOSE) if mark in _WORD_STARTS:
                self._word, self._word_at = "", self._before + at
                return at
            case (_, _Next.COMMA_OR_CLOSE):
                close = self._open[-1]
                self._wrong(f"expected ',' or '{close}' after the value", at)
            case _:
                self._wrong(_EXPECTED[expected], at)
        return at + 1

    def _push(self, close: str, then: _Next, at: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._wrong(f"brackets are nested deeper than {MAX_DEPTH}", at)
            return
        self._open.append(close)
        self._next = then

    def _close(self, at: int) -> None:
        self._open.pop()
        self._end_value()
        if not self._open:
            self.is_whole = True
            self._end = self._before + at + 1

    def _end_value(self) -> None:
        self._next = _Next.COMMA_OR_CLOSE if self._open else _Next.END
        if len(self._open) <= 1:
            self._field = None

    # Numbers and literals

    def _read_word(self, text: str, at: int) -> int:
        found = _WORD.match(text, at)
        end = found.end() if found else at
        self._word = (self._word or "") + text[at:end]
        if end < len(text):  # it does not go on
            word, self._word = self._word, None
            if word in ("true", "false", "null") or _NUMBER.fullmatch(word):
                self._end_value()
            else:
                self._wrong(_EXPECTED[_Next.VALUE], self._word_at - self._before)
        return end

    # Strings

    def _read_string(self, text: str, at: int, pieces: list[FieldText]) -> int:
        """Read on in a string, up to its end or the end of the text."""
        read: list[str] = []
        is_whole = False
        while at < len(text):
            if self._escape:
                at = self._read_escape(text[at], at, read)
                if self.fault is not None:
                    break
                continue
            found = _PLAIN.match(text, at)
            end = found.end() if found else at
            if end > at:
                read.append(self._lone_half() + text[at:end])
            at = end
            if at == len(text):
                break
            at += 1
            if text[at - 1] == '"':
                read.append(self._lone_half())
                is_whole = True
                break
            self._escape = "\\"
        if self._is_key:
            self._key += read
        elif self._field is not None and len(self._open) == 1 and (is_whole or any(read)):
            pieces.append(FieldText(self._field, "".join(read), is_whole))
        if is_whole:
            self._end_string()
        return at

    def _end_string(self) -> None:
        self._in_string = False
        if not self._is_key:
            self._end_value()
            return
        self._next = _Next.COLON
        if len(self._open) == 1:
            self._field = "".join(self._key)

    def _read_escape(self, character: str, at: int, read: list[str]) -> int:
        if self._escape == "\\":
            if character == "u":
                self._escape = "\\u"
            elif character in _ESCAPES:
                read.append(self._lone_half() + _ESCAPES[character])
                self._escape = ""
            else:
                self._wrong("invalid escape in a string (a backslash is written \\\\)", at)
            return at + 1
        if character not in _HEX:
            self._wrong("expected four hexadecimal digits after \\u", at)
            return at + 1
        self._escape += character
        if len(self._escape) == len("\\u0000"):
            unit, self._escape = chr(int(self._escape.removeprefix("\\u"), base=16)), ""
            if self._high and "\udc00" <= unit <= "\udfff":
                pair = (self._high + unit).encode("utf-16-be", "surrogatepass")
                read.append(pair.decode("utf-16-be"))
                self._high = ""
            else:
                read.append(self._lone_half())
                if "\ud800" <= unit <= "\udbff":
                    self._high = unit
                else:
                    read.append(unit)
        return at + 1

    def _lone_half(self) -> str:
        """The high surrogate whose low one did not come."""
        half, self._high = self._high, ""
        return half
