"""What the package takes from the computer: time, ids, this process's name, chance, threads, open databases.

All of it goes through one value, so that a test can hand in another (`cogency_rs.testing.outside`); nothing else in the
package reads a clock that ends up in a log or decides anything, makes an id or a name of a process, or draws lots.
`asyncio`'s own clock is the loop's, and a test brings its own loop. The core asks for the time here too, while a test
has handed one in.

Without them, another program may take the database for closed, and remove its newest rows.

Invariant: within a process every id is greater than all before it, even if many are made within one millisecond or the
clock is set back.
"""

from __future__ import annotations

import os
import re
import threading
import time as clock
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ._core import forget_random_numbers, hand_in_clock, uuid7 as new_uuid7

if TYPE_CHECKING:
    import sqlite3


class Outside:
    """The computer as it is. A test makes a subclass.

    Attributes:
        has_threads: whether storages and tools that block work in threads of their own. Without, they work at once in
            the caller's, so that a test can repeat to the last event what happened.
    """

    has_threads: bool = True

    def time(self) -> float:
        """Seconds since the epoch. They order nothing, and may jump."""
        return clock.time()

    def monotonic(self) -> float:
        """Seconds that only rise, for how long something took."""
        return clock.monotonic()

    def new_id(self) -> str:
        """An id that nobody else has or will have."""
        return new_uuid7()

    def worker(self) -> str:
        """The name of this process, `"host:pid"`."""
        return _worker()

    def machine(self) -> str:
        """The name of the system in which a process number means one process; `""` if it cannot be named."""
        return _machine()

    def is_gone(self, worker: str, on: str) -> bool:
        """Whether a process has ended, as far as this machine can know.

        Args:
            worker: what `worker()` returned there.
            on: what `machine()` returned there.
        """
        if not on or on != self.machine():
            return False
        try:
            os.kill(int(worker.rpartition(":")[2]), 0)
        except ProcessLookupError:
            return True
        except (OSError, ValueError, OverflowError):
            pass  # it belongs to another user, or is not a process number
        return False

    def random(self) -> float:
        """A number from 0 up to 1, for what only has to differ from one process to the next, such as pauses."""
        import random  # here, since most programs never draw lots

        return random.random()


_COMPUTER = Outside()
_current: ContextVar[Outside] = ContextVar("cogency_rs_outside", default=_COMPUTER)
_handed_in = 0
"""How many blocks have handed something in; as long as any has, the core asks for the time here."""


def current() -> Outside:
    """What is outside of the present code: the computer, unless a test has handed in something else."""
    return _current.get()


@contextmanager
def handed_in(outside: Outside) -> Generator[Outside]:
    """Let the code in this block, and the tasks that are made in it, see this in the place of the computer."""
    global _handed_in
    token = _current.set(outside)
    _handed_in += 1
    hand_in_clock(time)
    try:
        yield outside
    finally:
        _current.reset(token)
        _handed_in -= 1
        if not _handed_in:
            hand_in_clock(None)


def hand_in(outside: Outside, context: Context) -> None:
    """Let what runs in a context see this, for simulations with contexts of their own; inside of a `handed_in`."""
    context.run(_current.set, outside)


def time() -> float:
    """See `Outside.time`."""
    return _current.get().time()


def monotonic() -> float:
    """See `Outside.monotonic`."""
    return _current.get().monotonic()


def uuid7() -> str:
    """See `Outside.new_id`."""
    return _current.get().new_id()


def random() -> float:
    """See `Outside.random`."""
    return _current.get().random()


def worker() -> str:
    """See `Outside.worker`."""
    return _current.get().worker()


def machine() -> str:
    """See `Outside.machine`."""
    return _current.get().machine()


def is_gone(worker: str, on: str) -> bool:
    """See `Outside.is_gone`."""
    return _current.get().is_gone(worker, on)


@cache
def _worker() -> str:
    return f"{_host()}:{os.getpid()}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_worker.cache_clear)


@cache
def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform

    return platform.node()


@cache
def _machine() -> str:
    """Host names do not tell containers apart. On Linux the boot id and the namespace of process numbers do."""
    if not hasattr(os, "uname"):
        return ""  # on Windows `os.kill` would end the process that it asks for
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return _host()


_held: WeakKeyDictionary[sqlite3.Connection, str] = WeakKeyDictionary()
_lock = threading.Lock()


def hold(connection: sqlite3.Connection, path: str) -> None:
    """Note that a connection has the database at `path` open, for as long as it lives."""
    with _lock:
        _held[connection] = path


def is_held(status: os.stat_result) -> bool:
    """Whether a file belongs to a database that is open. Costs a few looks at the disk for each such database."""
    with _lock:
        paths = {*_held.values()}
    for path in paths:
        for name in (path, f"{path}-wal", f"{path}-shm"):
            with suppress(OSError):
                if os.path.samestat(status, Path(name).stat()):
                    return True
    return False


_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def is_uuid7(id: str) -> bool:
    """Whether an id is written like one of `uuid7`."""
    return _UUID7.fullmatch(id) is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_random_numbers)
