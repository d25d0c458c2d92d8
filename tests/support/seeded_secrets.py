"""Secrets that a test configures everywhere, and everything that comes out of what it does, in which none may be."""

from __future__ import annotations

import base64
import traceback
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

__all__ = ["Outcome", "Seeds"]


class Seeds:
    """Makes a secret for each place where one is configured."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, place: str) -> str:
        """The secret of a place."""
        return self._made.setdefault(place, f"s3ed+{place}/7f=")

    def in_url(self, place: str) -> str:
        """The same, as an address has it."""
        return quote(self(place), safe="")

    def echo(self, *unsent: str) -> str:
        """What a careless service says: every secret, as it is and as others write it.

        Args:
            unsent: the beginnings of the places whose secrets it is not sent.
        """
        sent = {place: text for place, text in self._made.items() if not place.startswith(unsent)}
        basic = [_basic(text) for place, text in sent.items() if place.endswith(" user")]
        return " ".join([*sent.values(), *(quote(each, safe="") for each in sent.values()), *basic])

    def found_in(self, text: str) -> list[str]:
        """The places of the secrets that a text shows, in any form, even without their ends."""
        found: list[str] = []
        for place, secret in self._made.items():
            forms = {secret[:-2], quote(secret, safe="")[:-4], _basic(secret)[:-6]}
            if any(form in text for form in forms):
                found.append(place)
        return found


def _basic(password: str) -> str:
    """The password as HTTP sends it."""
    return base64.b64encode(f"ada:{password}".encode()).decode()


class Outcome:
    """Everything that came out: texts, errors with their causes, values with their `repr`."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, *values: Any) -> None:
        """Take what came out."""
        for value in values:
            self.texts += _texts_of(value)

    def __str__(self) -> str:
        return "\n".join(self.texts)


def _texts_of(value: Any) -> Iterator[str]:
    yield str(value)
    yield repr(value)
    if isinstance(value, BaseException):
        yield "".join(traceback.format_exception(value))
        for error in (value.__cause__, value.__context__, getattr(value, "cause", None)):
            if isinstance(error, BaseException):
                yield from _texts_of(error)
