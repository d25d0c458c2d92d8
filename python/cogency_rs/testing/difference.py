"""Finds the first place in which two JSON values differ, and describes it for people to read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, TypeAlias, cast

from .request_copy import shortened

__all__ = ["first_difference"]

_BEFORE, _AFTER = 20, 40
_NOTHING: Any = object()
_Object: TypeAlias = dict[str, Any]


def first_difference(recorded: Any, asked: Any, at: str) -> str | None:
    """Find the first place where a value differs from the recorded one.

    Args:
        recorded: the recorded value.
        asked: the present value.
        at: the name of the value.

    Returns:
        One line with the place and both values there, or of a long text the part around the place; `None` if the values
        are equal. O(n) in the size of both.
    """
    match recorded, asked:
        case (dict(), dict()):
            return _in_dicts(cast("_Object", recorded), cast("_Object", asked), at)
        case (list(), list()):
            return _in_lists(cast("list[Any]", recorded), cast("list[Any]", asked), at)
        case (str(), str()) if recorded != asked:
            return _in_texts(recorded, asked, at)
        case _ if json.dumps(recorded) != json.dumps(asked):
            return f"{at} was {_short(recorded)}, but is {_short(asked)}"
        case _:
            return None


def _in_lists(recorded: list[Any], asked: list[Any], at: str) -> str | None:
    pairs = zip_longest(recorded, asked, fillvalue=_NOTHING)
    return _first(_in_items(*pair, f"{at}[{index}]") for index, pair in enumerate(pairs))


def _in_dicts(recorded: _Object, asked: _Object, at: str) -> str | None:
    keys = {**recorded, **asked}
    return _first(
        _in_items(recorded.get(key, _NOTHING), asked.get(key, _NOTHING), f"{at}.{key}")
        for key in keys
    )


def _in_items(recorded: Any, asked: Any, at: str) -> str | None:
    if recorded is _NOTHING:
        return f"{at} was not there, but is {_short(asked)}"
    if asked is _NOTHING:
        return f"{at} was {_short(recorded)}, but is not there"
    return first_difference(recorded, asked, at)


def _in_texts(recorded: str, asked: str, at: str) -> str:
    place = next(
        place for place, (then, now) in enumerate(zip_longest(recorded, asked)) if then != now
    )
    then, now = (_around(text, place) for text in (recorded, asked))
    return f"{at} differs at character {place}: it was {then}, but is {now}"


def _around(text: str, place: int) -> str:
    start, end = max(0, place - _BEFORE), place + _AFTER
    shown = repr(text[start:end])
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"


def _short(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def _first(differences: Iterable[str | None]) -> str | None:
    return next((found for found in differences if found is not None), None)
