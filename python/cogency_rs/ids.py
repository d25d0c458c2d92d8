"""Ids of rows: UUIDv7 as text, so that rows sorted by id are sorted by the time they were made.

Invariant: within a process every id is greater than all before it, even if many are made within one millisecond or the
clock is set back.
"""

from __future__ import annotations

import os
import threading
import time

__all__ = ["uuid7"]

_TAIL_BITS = 74  # what 48 bits of milliseconds, the version and the variant leave of 128 (RFC 9562)
_STEP_BITS = 48  # of the random step between two ids of one millisecond: room for 2**25 ids

_lock = threading.Lock()
_last = 0  # milliseconds << _TAIL_BITS | tail, of the newest id


def uuid7() -> str:
    """Make the next id, such as `"0192f3a4-5b6c-7d8e-9f01-23456789abcd"`. Any thread may call it."""
    global _last
    now = time.time_ns() // 1_000_000
    # The top bit of a fresh tail is 0, so that half the range is left for further ids of this millisecond.
    random, step = divmod(int.from_bytes(os.urandom(16), "big"), 1 << _STEP_BITS)
    fresh = now << _TAIL_BITS | random % (1 << _TAIL_BITS - 1)
    with _lock:
        _last = value = max(fresh, _last + 1 + step)
    milliseconds, tail = divmod(value, 1 << _TAIL_BITS)
    high, low = divmod(tail, 1 << 62)
    # Written out here, since the module `uuid` takes longer to import than the rest of the storage.
    text = f"{milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _after_fork() -> None:
    # Another thread of the parent may have held the lock, and nothing would ever release it in the child.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
