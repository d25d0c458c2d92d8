"""Row ids: UUIDv7 text, so that sorting ids sorts rows by the time they were made.

Invariant: within a process every id is greater than all before it, also when many are made within
one millisecond or the clock is set back.
"""

from __future__ import annotations

import os
import threading
import time

__all__ = ["uuid7"]

_TAIL_BITS = 74  # beside 48 bits of milliseconds, the version and the variant (RFC 9562)
_STEP_BITS = 48  # random distance between ids of one millisecond: room for 2**25 of them

_lock = threading.Lock()
_last = 0  # milliseconds << _TAIL_BITS | tail, of the newest id


def uuid7() -> str:
    """Make the next id, such as `"0192f3a4-5b6c-7d8e-9f01-23456789abcd"`, in any thread."""
    global _last
    now = time.time_ns() // 1_000_000
    # A fresh tail leaves its top bit clear: half the range stays free for the ids that follow.
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
    # Another thread of the parent may have held the lock; nobody would ever release it here.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
