"""The processes that work on the log: this one's name, and whether another one still lives."""

from __future__ import annotations

import os
from functools import cache

__all__ = ["is_gone", "machine", "worker"]


@cache
def worker() -> str:
    """Name this process, `"host:pid"`."""
    return f"{_host()}:{os.getpid()}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=worker.cache_clear)


@cache
def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform

    return platform.node()


@cache
def machine() -> str:
    """Name the system in which a process number means one process; `""` if it cannot be named.

    Host names do not tell containers apart. On Linux the boot id and the namespace of process numbers do.
    """
    if not hasattr(os, "uname"):
        return ""  # on Windows `os.kill` would end the process that it asks for
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return _host()


def is_gone(worker: str, on: str) -> bool:
    """Whether a process named by `worker` has ended, as far as this machine can know.

    Args:
        worker: what `worker()` returned there.
        on: what `machine()` returned there.
    """
    if not on or on != machine():
        return False
    try:
        os.kill(int(worker.rpartition(":")[2]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        pass  # it belongs to another user, or is not a process number
    return False
