"""What faults are made of: a name, and what puts it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

__all__ = ["FAULTS", "Mutation", "fault", "patched"]


@dataclass(frozen=True)
class Mutation:
    """A fault.

    Attributes:
        name: what is done wrong.
        put_in: puts it in, for as long as a block lasts.
    """

    name: str
    put_in: Callable[[], Any]


FAULTS: list[Mutation] = []


def fault(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        FAULTS.append(Mutation(name, contextmanager(function)))
        return function

    return add


@contextmanager
def patched(place: Any, name: str, new: Callable[[Any], Any]) -> Iterator[None]:
    """Put `new(old)` in place of a function of a module or class."""
    old = getattr(place, name)
    with patch.object(place, name, new(old)):
        yield
