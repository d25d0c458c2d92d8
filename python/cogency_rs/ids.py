"""Ids of rows: UUIDv7 as text, so that rows sorted by id are sorted by the time they were made.

Invariant: within a process every id is greater than all before it, even if many are made within one millisecond or the
clock is set back.
"""

from __future__ import annotations

import os
import re

from ._core import forget_random_numbers
from .outside import uuid7

__all__ = ["is_uuid7", "uuid7"]

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def is_uuid7(id: str) -> bool:
    """Whether an id is written like one of `uuid7`."""
    return _UUID7.fullmatch(id) is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_random_numbers)
