"""Finds a shorter case that shows the same difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["shrunk"]

Case = dict[str, Any]


def shrunk(case: Case, differs: Callable[[Case], bool], seconds: float = 20) -> Case:
    """The shortest case that still differs and was found in so many seconds."""
    until = time.monotonic() + seconds
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for shorter in _shorter(case):
            if time.monotonic() > until:
                return case
            if differs(shorter):
                case, is_shorter = shorter, True
                break
    return case


def _shorter(case: Case) -> Iterator[Case]:
    for key in case.keys() & _SHORTENED:
        for less in _less(case[key]):
            yield _fitting({**case, key: less})
    for key in case.keys() & _LEFT_OUT:
        for name in case[key]:
            yield {**case, key: {other: each for other, each in case[key].items() if other != name}}


_SHORTENED = frozenset(
    {
        *(
            "text",
            "cuts",
            "answers",
            "pieces",
            "arguments",
            "rows",
            "saves",
            "question",
            "identity",
            "instructions",
        ),
        *("calls", "results", "args", "content", "reasoning", "texts", "source", "declared"),
    }
)
"""What may be shortened. Other texts are names: another one is another case."""

_LEFT_OUT = frozenset({"options", "limits", "history"})
"""Objects whose fields may be left out."""


def _less(value: Any) -> Iterator[Any]:
    """The same with less in it, the largest parts first."""
    match value:
        case [str() as kind, str() as content, *moment]:  # a row
            yield from ([kind, less, *moment] for less in _less(content))
        case str() | list():
            size = len(value)
            while size:
                for at in range(0, len(value), size):
                    yield value[:at] + value[at + size :]
                size //= 2
            if isinstance(value, list):
                for place, each in enumerate(value):
                    if not isinstance(each, str):
                        for less in _less(each):
                            yield [*value[:place], less, *value[place + 1 :]]
        case dict():
            for key in value.keys() & _SHORTENED:
                for less in _less(value[key]):
                    yield _fitting({**value, key: less})
        case _:
            return


def _fitting(case: Case) -> Case:
    """Cuts within the text that is left."""
    if "cuts" in case and "text" in case:
        return {**case, "cuts": [cut for cut in case["cuts"] if cut < len(case["text"])]}
    return case
