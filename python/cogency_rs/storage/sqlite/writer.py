"""One SQLite file as this process uses it: one thread that writes for everyone, a few readers, and their users.

All `SQLite` objects on one file share one `SQLiteFile`, so that a process writes a file from one thread only, however
many agents, event loops and threads it has. The last one to leave closes it, and so does the end of the program.

All waiting writes share one commit. A commit costs a flush to the disk, unless it is one of leases alone, and a row
almost nothing. So callers put their writes into a queue; the writer takes what is there, runs it as one transaction,
and answers each caller after the commit. While it commits, the next group gathers: the busier the program, the cheaper
a row.

A group runs as if nothing could fail. If something does, everything is rolled back and the group is halved until the
failing write is alone, so that only its own caller hears of it.

Invariant: each write is answered exactly once, and with success only after its COMMIT has returned.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from ...errors import StorageError
from ...outside import Outside, current
from ..claims import Claims
from ..sql_log import Leave, Waiter, wake
from .connection import (
    BUSY_TIMEOUT,
    MEMORY,
    NORMAL,
    ROW_ERRORS,
    Readers,
    SQLiteConnection,
    connect_to_write,
    explain,
    is_lock,
)

T = TypeVar("T")

QUEUE_LIMIT = 1024
"""Writes in the queue, and in one transaction, at most; further callers wait in line."""


class _Write(Waiter):
    """A write in the queue; `work` runs inside a transaction, perhaps more than once.

    Attributes:
        outlives_power: whether it must be on the disk when it is answered.
        context: the caller's, in which it runs.
    """

    __slots__ = ("context", "outlives_power", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], Any], *, outlives_power: bool) -> None:
        super().__init__()
        self.work = work
        self.context = copy_context()
        self.outlives_power = outlives_power


class Writer:
    """The one writing connection of a database, and the thread that owns it.

    Both come with the first write and go with the last user.

    Args:
        path: the database file, absolute, or ":memory:".
        retire: called with the user who leaves; returns whether it was the last, so that the thread ends.
        before_open: called before the file is opened, so that the readers reopen it too.
    """

    def __init__(
        self, path: str, *, retire: Callable[[object], bool], before_open: Callable[[], None]
    ) -> None:
        self.path = path
        self.synchronous = 0
        self._retire = retire
        self._before_open = before_open
        self._connection: SQLiteConnection | None = None
        self._stopped = False
        self._begin()

    def _begin(self) -> None:
        self._thread: threading.Thread | None = None
        # A SimpleQueue, because the garbage collector may call `leave_soon` in the middle of a `put`.
        self._queue: queue.SimpleQueue[_Write | Leave] = queue.SimpleQueue()
        self._line: deque[_Write | Leave] = deque()  # entries whose callers found the queue full
        # Guards both ways in, and the thread's start. Reentrant: the garbage collector may close a coroutine, which
        # gives back its claim, while this thread has the lock.
        self._door = threading.RLock()
        self._in_sqlite = threading.Lock()  # held while the connection works; a fork waits for it

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction on the writer's thread and return its value once committed.

        Waits while the queue is full. When the caller is cancelled, `work` has either no effect
        or its whole effect. `work` must not return a cursor: it would keep the file open and locked
        after the connection is closed.

        Raises:
            StorageError: nothing was written.
        """
        return await self.begin(work)

    def begin(
        self, work: Callable[[sqlite3.Connection], T], *, outlives_power: bool = True
    ) -> asyncio.Future[T]:
        """Begin to do the same. Cancelling the future withdraws a write that the thread has not begun.

        Args:
            work: as above.
            outlives_power: whether the commit waits for the disk, as `synchronous` says. A commit of writes that need
                not outlive a power failure does not wait.
        """
        self._enter(write := _Write(work, outlives_power=outlives_power))
        return write.future

    async def leave(self, user: object) -> None:
        """Return when the writes before this are done and, after the last user, the file closed."""
        if self._thread is None and current().has_threads:
            self.leave_soon(user)
            return
        with contextlib.suppress(StorageError):  # it left before, as the last one
            self._enter(Leave(user, waiter := Waiter()))
            await waiter.future

    def leave_soon(self, user: object) -> None:
        """Do the same without waiting; safe in a finalizer."""
        self._queue.put(Leave(user))

    def start(self) -> None:
        """Start the thread, if it does not run yet."""
        if self._thread is None and current().has_threads:
            with self._door:
                self._start()

    def join(self) -> None:
        """Wait for the thread to end after the last `leave_soon`."""
        if self._thread is None:
            self._disconnect()  # inherited in memory over a fork, and never used since
        else:
            self._thread.join(BUSY_TIMEOUT)

    # A fork copies memory but no threads, and SQLite must not cross it with a call in progress or
    # a file open: parent and child would then share one set of locks. So the connection is closed
    # for the fork, and each opens its own with the next write.

    def pause(self) -> None:
        """Before a fork: let the present transaction end, then close the file."""
        self._in_sqlite.acquire()
        if self.path != MEMORY:
            self._disconnect()

    def resume(self) -> None:
        """After a fork, in the parent: go on."""
        self._in_sqlite.release()

    def restart(self) -> None:
        """After a fork, in the child: leave the parent's writes and waiters to the parent."""
        self._begin()

    def _enter(self, item: _Write | Leave) -> None:
        """Put `item` into the queue, or in line for it; its caller waits in either case."""
        with self._door:
            if self._stopped:
                raise StorageError(f"{self.path} was closed; open a new SQLite on it")
            if not current().has_threads:
                self._at_once(item)
                return
            self._start()
            if self._line or self._queue.qsize() >= QUEUE_LIMIT:
                self._line.append(item)
            else:
                self._queue.put(item)

    def _at_once(self, item: _Write | Leave) -> None:
        """Do in the caller's thread what the writer's would do; see `Outside.has_threads`."""
        with self._in_sqlite:
            if isinstance(item, _Write):
                self._commit([item])
                wake([item])
                return
            if self._retire(item.user):
                self._stopped = True
                self._disconnect()
        wake(item.waiters)

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="cogency-writer", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                raise StorageError(
                    f"the thread that writes {self.path} could not be started ({error}); end other threads of this "
                    "program, and try again",
                    cause=error,
                    retryable=True,
                ) from error
            self._thread = thread

    # What follows runs in the writer's thread.

    def _run(self) -> None:
        leaving: list[Waiter] = []
        while not (self._stopped and self._queue.empty()):
            writes, leave = self._take()
            with self._in_sqlite:
                self._commit(writes)
            wake(writes)
            if leave is not None:
                leaving += leave.waiters
                if self._retire(leave.user):
                    with self._door:
                        self._stopped = True
                else:
                    wake(leaving)
                    leaving.clear()
            del writes, leave  # keeps no row in memory while waiting for the next
        with self._in_sqlite:
            self._disconnect()
        wake(leaving)

    def _take(self) -> tuple[list[_Write], Leave | None]:
        """Wait for entries; take all that are there, up to a leave."""
        writes: list[_Write] = []
        leave = None
        item = self._queue.get()
        with contextlib.suppress(queue.Empty):
            while isinstance(item, _Write):
                writes.append(item)
                if len(writes) == QUEUE_LIMIT:
                    break
                item = self._queue.get_nowait()
            else:
                leave = item
        with self._door:
            while self._line and self._queue.qsize() < QUEUE_LIMIT:
                self._queue.put(self._line.popleft())
        return writes, leave

    def _commit(self, writes: list[_Write]) -> None:
        """Run `writes` as one transaction, or as several, and note the outcome of each."""
        writes = [write for write in writes if not write.future.cancelled()]
        if not writes:
            return
        try:
            connection = self._connect(outlives_power=any(each.outlives_power for each in writes))
            if connection.in_transaction:  # an earlier failure could not be rolled back
                connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
        except Exception as error:
            self._abandon(writes, error)
            return
        try:
            for write in writes:
                write.value = write.context.run(write.work, connection)
            connection.execute("COMMIT")
        except Exception as error:
            if len(writes) == 1 or is_lock(error):
                self._abandon(writes, error)
                return
            self._abandon([], error)
            middle = len(writes) // 2
            self._commit(writes[:middle])
            self._commit(writes[middle:])

    def _abandon(self, writes: list[_Write], error: Exception) -> None:
        """Undo the transaction that ended in `error`, and make that the outcome of `writes`."""
        for write in writes:
            write.error = explain(error, self.path)
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            sound = isinstance(error, (*ROW_ERRORS, StorageError))
        except sqlite3.Error:
            sound = False
        if not sound and self.path != MEMORY:  # a log in memory exists in this connection alone
            self._disconnect()

    def _connect(self, *, outlives_power: bool) -> SQLiteConnection:
        if self._connection is not None and not self._connection.is_on(self.path):
            self._disconnect()
        if self._connection is None:
            # What SQLite knows of a file, such as that it is read-only, may become wrong, and is kept
            # until the last connection of this process is closed.
            self._before_open()
            self._connection = connect_to_write(self.path)
        waits = outlives_power or not self._connection.is_wal
        self._connection.set_synchronous(
            self.synchronous if waits else min(self.synchronous, NORMAL)
        )
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class SQLiteFile:
    """The writer and the readers of the database at `path`; made by `file_at`.

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
        if self.path == MEMORY:  # only the writer's connection has it
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
_databases: weakref.WeakSet[SQLiteFile] = weakref.WeakSet()
_shared: weakref.WeakValueDictionary[tuple[str, Outside], SQLiteFile] = (
    weakref.WeakValueDictionary()
)


def file_at(path: str, user: object, synchronous: int) -> SQLiteFile:
    """Return the file at `path`, with `user` in it.

    Args:
        path: absolute, the same for all users of one file; every ":memory:" is a separate database.
        user: identifies the caller until `leave` or `forget`.
        synchronous: the level of `PRAGMA synchronous`, 0 (OFF) to 3 (EXTRA).
    """
    with _lock:
        here = current()  # what a test hands in is another process
        database = _shared.get((path, here))
        if database is None:
            database = SQLiteFile(path, here)
            _databases.add(database)
            if path != MEMORY:
                _shared[path, here] = database
        database.join(user, synchronous)
    return database


@atexit.register
def _close_all() -> None:
    for database in list(_databases):
        database.close_at_exit()


_paused: list[SQLiteFile] = []


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
