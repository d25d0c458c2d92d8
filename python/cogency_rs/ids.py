"""Ids of rows: UUIDv7 as text, so that rows sorted by id are sorted by the time they were made.

Invariant: within a process every id is greater than all before it, even if many are made within one millisecond or the
clock is set back.
"""

from __future__ import annotations

import os
import threading
import time

__all__ = ["uuid7"]

_TAIL_BITS = 74  # 128 bits without 48 of milliseconds, the version and the variant (RFC 9562)
_FRESH = (
    1 << _TAIL_BITS - 1
) - 1  # the top bit of a fresh tail is 0: half the range is left for further ids
_STEP_BITS = 48  # of the random step between two ids of one millisecond: room for 2**25 ids
_STEP = (1 << _STEP_BITS) - 1

_LOWER = (1 << 62) - 1

_BYTES, _AT_ONCE = 16, 32

_lock = threading.Lock()
_last = 0  # milliseconds << _TAIL_BITS | tail, of the newest id
_random: list[
    int
] = []  # bytes of the system's generator, which costs more to ask than ids cost to make


def uuid7() -> str:
    """Make the next id, such as `"0192f3a4-5b6c-7d8e-9f01-23456789abcd"`. Any thread may call it."""
    global _last
    now = time.time_ns() // 1_000_000
    try:
        random = _random.pop()
    except IndexError:
        random = _more()
    fresh = now << _TAIL_BITS | random >> _STEP_BITS & _FRESH
    following = 1 + (random & _STEP)
    with _lock:  # the block calls nothing, so the garbage collector cannot run code here that waits for the lock
        following += _last
        _last = value = fresh if fresh > following else following  # noqa: FURB136
    # Written by hand, since the module `uuid` takes longer to import than the rest of the storage. The version stands
    # after the milliseconds, the variant 12 bits later.
    upper, lower = f"{value >> 62:015x}", f"{1 << 63 | value & _LOWER:x}"
    return f"{upper[:8]}-{upper[8:12]}-7{upper[12:]}-{lower[:4]}-{lower[4:]}"


def _more() -> int:
    """Ask the system for random numbers; returns one, and keeps the others."""
    data = os.urandom(_BYTES * _AT_ONCE)
    first, *others = (
        int.from_bytes(data[at : at + _BYTES], "big") for at in range(0, len(data), _BYTES)
    )
    _random.extend(others)
    return first


def _after_fork() -> None:
    # Another thread of the parent may have held the lock, which nothing would release in the child. And with the random
    # numbers that the parent has kept, the child would make the same ids.
    global _lock
    _lock = threading.Lock()
    _random.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
