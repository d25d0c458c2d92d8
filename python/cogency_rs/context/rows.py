"""Folds rows, few on the event loop and many in a worker thread; gives calls ids in a form that needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from .._core import Folding, FoldOptions

if TYPE_CHECKING:
    from ..calls.record import CallRecord

__all__ = ["FEW_ROWS", "extend", "give_ids"]

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
