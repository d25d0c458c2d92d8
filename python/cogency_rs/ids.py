"""Ids of rows: UUIDv7 as text, so that rows sorted by id are sorted by the time they were made.

Invariant: within a process every id is greater than all before it, even if many are made within one millisecond or the
clock is set back.
"""

from __future__ import annotations

import os

from ._core import forget_random_numbers, uuid7

__all__ = ["uuid7"]

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_random_numbers)
