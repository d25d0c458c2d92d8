"""Folds rows, few on the event loop and many in a thread; ids of calls, and what a service wants back with them.

A run that goes on in another process, or answers a later question, so sends it back as the run that received it would.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from .._core import Folding, FoldOptions
from ..guards.json import read_json
from ..storage.log import Part

if TYPE_CHECKING:
    from ..calls.record import CallRecord


FEW_ROWS = 256
"""Up to this many rows are folded on the event loop; more are folded in a worker thread, this many at a time."""


async def extend(folding: Folding, rows: Sequence[Any]) -> None:
    """Fold further rows, oldest first."""
    if len(rows) > FEW_ROWS:
        await asyncio.to_thread(_extend_in_parts, folding, rows)
    else:
        folding.extend(rows)


def _extend_in_parts(folding: Folding, rows: Sequence[Any]) -> None:
    left = iter(rows)
    while part := list(islice(left, FEW_ROWS)):  # between two parts, the event loop may run
        folding.extend(part)


async def give_ids(
    folding: Folding,
    options: FoldOptions,
    records: Callable[[], Awaitable[Sequence[CallRecord] | None]],
) -> None:
    """Give calls that were saved without an id those of their records, which `records` loads only for such calls.

    A call without a record gets an id that is made of its number.
    """
    if options.form == "native" and folding.lacks_ids():
        folding.name_calls(await records() or ())


RETURNED = "returned"
"""The type of such a part."""


def part_of(
    reasoning: list[dict[str, str | None]], rest: dict[str, Any] | None, service: str
) -> tuple[Part, ...]:
    """The part to store; none for reasoning without signatures, which the log has as text.

    Args:
        reasoning: see `Returned`.
        rest: see `Returned`.
        service: names the service that wrote it, which alone can read it.
    """
    if rest is None and all(block["signature"] is None for block in reasoning):
        return ()
    stored = {"service": service, "reasoning": reasoning, "rest": rest}
    return (Part(RETURNED, "application/json", json.dumps(stored).encode(), 0),)


def read_returned(
    data: bytes, service: str
) -> tuple[list[dict[str, str | None]], dict[str, Any] | None] | None:
    """The reasoning and the rest; `None` if another service wrote it, or a program that stores something else.

    The core calls this while it folds rows.
    """
    try:
        stored: Any = read_json(data)
    except ValueError:
        return None
    match stored:
        case {"service": str(wrote), "reasoning": list(), "rest": rest} if wrote == service:
            reasoning = cast("list[Any]", stored["reasoning"])
            is_whole = all(map(_is_block, reasoning)) and (rest is None or _is_rest(rest))
            return (reasoning, rest) if is_whole else None
        case _:
            return None


def _is_block(block: object) -> bool:
    match block:
        case {"text": str(), "signature": str() | None}:
            return True
        case _:
            return False


def _is_rest(rest: Any) -> bool:
    match rest:
        case {"order": list(), "fields": dict(), "calls": list()}:
            calls = cast("list[Any]", rest["calls"])
            order = cast("list[Any]", rest["order"])
            return all(isinstance(each, dict) for each in calls) and all(map(_is_piece, order))
        case _:
            return False


def _is_piece(piece: object) -> bool:
    match piece:
        case [str(), str()]:
            return True
        case _:
            return False
