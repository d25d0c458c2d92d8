"""Text next to calls that only repeats their arguments: some providers echo them as the answer's text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ..._core import ObjectReader
from ...types import ToolCall

__all__ = ["Echo"]

_OPENING = re.compile(r"\s*(?:```[A-Za-z]*[ \t]*\n\s*)?(?=\{)")
_PERHAPS_OPENING = re.compile(r"\s*(?:``?|```[A-Za-z]*[ \t]*(?:\n\s*)?)?")
_PERHAPS_CLOSING = re.compile(r"\s*(?:`{1,3}\s*)?")

_LONGEST_FRAME = 200
"""The most characters of white space and fence, before and after the object, that an echo may have."""


class Echo:
    """Reads the text of an answer for as long as it may be an echo: one JSON object, perhaps in a Markdown fence.

    Attributes:
        is_possible: whether the text may still be an echo.
        has_text: whether there was any text.
    """

    def __init__(self) -> None:
        self.is_possible = True
        self.has_text = False
        self._object = ObjectReader(is_alone=False)
        self._frame = ""  # the text before the object; once the object is whole, the text after it
        self._has_begun = False

    def take(self, text: str) -> None:
        """See the next piece."""
        self.has_text = True
        if not self._has_begun:
            self._frame += text
            opening = _OPENING.match(self._frame)
            if opening is None:
                is_open = _PERHAPS_OPENING.fullmatch(self._frame) is not None
                self.is_possible = is_open and len(self._frame) <= _LONGEST_FRAME
                return
            self._has_begun = True
            text, self._frame = self._frame[opening.end() :], ""
        if not self._object.is_whole:
            self._object.feed(text)
            self.is_possible = self._object.fault is None
            text = self._object.rest
        if self._object.is_whole:
            self._frame += text
            is_closing = _PERHAPS_CLOSING.fullmatch(self._frame) is not None
            self.is_possible = is_closing and len(self._frame) <= _LONGEST_FRAME

    def is_of(self, calls: Iterable[ToolCall]) -> bool:
        """Whether the whole text is strictly equal to the arguments of one of the calls."""
        if not (self.is_possible and self._object.is_whole):
            return False
        try:
            written = _canonical(self._object.value())
        except ValueError:
            return False
        return any(_canonical(call.args) == written for call in calls)


def _canonical(value: Any) -> str:
    """Equal values give equal texts; `1`, `1.0`, `true` and `"1"` give different ones."""
    return json.dumps(value, sort_keys=True)
