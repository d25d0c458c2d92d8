"""Files of open databases, which only SQLite may open: closing one in any other way drops this process's locks on it.

Without them, another program may take the database for closed, and remove its newest rows.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import sqlite3

__all__ = ["hold", "is_held"]

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
