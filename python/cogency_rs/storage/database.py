"""One database as this process uses it: one writer, a few readers, and their users.

All `SQLite` objects on one file share one `Database`, so that a process writes a file from one
thread only, however many agents, event loops and threads it has. The last one to leave closes it,
and so does the end of the program.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

from ..outside import Outside, current
from .claims import Claims
from .connection import MEMORY
from .readers import Readers
from .writer import Writer

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable

__all__ = ["Database", "database_for"]

T = TypeVar("T")


class Database:
    """The writer and the readers of the database at `path`; made by `database_for`.

    Attributes:
        claims: which conversations in it this process has, and who waits for them.
    """

    def __init__(self, path: str, here: Outside) -> None:
        self.path = path
        self._here = here
        self._readers = Readers(path)
        self._writer = Writer(path, retire=self._retire, before_open=self._readers.disconnect)
        self._users: set[object] = set()
        self.claims = Claims()

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction and return its value once committed; see `Writer.write`."""
        return await self._writer.write(work)

    def begin(
        self, work: Callable[[sqlite3.Connection], T], *, outlives_power: bool = True
    ) -> asyncio.Future[T]:
        """Begin to do the same; see `Writer.begin`."""
        return self._writer.begin(work, outlives_power=outlives_power)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on what is committed and return its value; see `Readers.read`."""
        if self.path == MEMORY:  # it lives in the writer's connection alone
            return await self._writer.write(work)
        self._writer.start()  # the writer's thread closes the readers
        return await self._readers.read(work)

    def join(self, user: object, synchronous: int) -> None:
        """Let `user` in; the safest of all the levels that users ask for is in force."""
        self._users.add(user)
        self._writer.synchronous = max(self._writer.synchronous, synchronous)

    async def leave(self, user: object) -> None:
        """Return when the user's writes are done and, if it was the last, the file is closed."""
        await self._writer.leave(user)

    def forget(self, user: object) -> None:
        """Do the same without waiting; safe in a finalizer."""
        self._writer.leave_soon(user)

    def _retire(self, user: object) -> bool:
        """Let `user` go; closes the readers after the last user, and returns whether it was the last."""
        with _lock:
            self._users.discard(user)
            if self._users:
                return False
            if _shared.get((self.path, self._here)) is self:
                del _shared[self.path, self._here]
        self._readers.close()
        return True

    def close_at_exit(self) -> None:
        """End the thread and close the file, even if they are still in use."""
        self._users.clear()
        self._writer.leave_soon(None)
        self._writer.join()

    def pause(self) -> None:
        """Before a fork: let the calls into SQLite end, and close the file."""
        self._writer.pause()
        self._readers.pause()

    def resume(self) -> None:
        """After a fork, in the parent: go on where `pause` stopped."""
        self._writer.resume()
        self._readers.resume()

    def restart(self) -> None:
        """After a fork, in the child: start over, with the same users."""
        self._writer.restart()
        self._readers.restart()
        self.claims.restart()


_lock = threading.Lock()  # guards both collections, and who is in
_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_shared: weakref.WeakValueDictionary[tuple[str, Outside], Database] = weakref.WeakValueDictionary()


def database_for(path: str, user: object, synchronous: int) -> Database:
    """Return the database at `path`, with `user` in it.

    Args:
        path: absolute, the same for all users of one file; every ":memory:" is a separate database.
        user: stands for the caller until `leave` or `forget`.
        synchronous: the level of `PRAGMA synchronous`, 0 (OFF) to 3 (EXTRA).
    """
    with _lock:
        here = current()  # what a test hands in is another process
        database = _shared.get((path, here))
        if database is None:
            database = Database(path, here)
            _databases.add(database)
            if path != MEMORY:
                _shared[path, here] = database
        database.join(user, synchronous)
    return database


@atexit.register
def _close_all() -> None:
    for database in list(_databases):
        database.close_at_exit()


_paused: list[Database] = []


def _before_fork() -> None:
    _lock.acquire()
    _paused.extend(_databases)
    for database in _paused:
        database.pause()


def _after_fork_in_parent() -> None:
    for database in _paused:
        database.resume()
    _paused.clear()
    _lock.release()


def _after_fork_in_child() -> None:
    global _lock
    for database in _paused:
        database.restart()
    _paused.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
