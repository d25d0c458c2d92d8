"""Group commit: one thread writes for everyone, and all that waits shares one commit.

A commit costs a flush to the disk, a row almost nothing. So callers put their writes into a
queue; the writer takes what is there, runs it as one transaction, and answers each caller after
the commit. While it commits, the next group gathers by itself: the busier the program, the
cheaper a row.

A group runs as if nothing could fail. If something does, everything is rolled back and the group is
halved until the failing write stands alone, so that only its own caller hears of it.

Invariant: each write is answered exactly once, and with success only after its COMMIT has returned.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import StorageError
from .connection import BUSY_TIMEOUT, MEMORY, ROW_ERRORS, Connection, connect, explain, is_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["QUEUE_LIMIT", "Writer"]

T = TypeVar("T")

QUEUE_LIMIT = 1024
"""Writes that wait in the queue at most, and that share one commit at most."""


class _Waiter:
    """Where one coroutine waits for an answer that comes from another thread."""

    __slots__ = ("error", "future", "loop", "value")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.value: Any = None
        self.error: StorageError | None = None


class _Write(_Waiter):
    """A write in the queue; `work` runs inside a transaction, perhaps more than once."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[sqlite3.Connection], Any]) -> None:
        super().__init__()
        self.work = work


class _Stop:
    """What ends the thread if nobody needs it any more; `waiters` hear when that is settled."""

    __slots__ = ("waiters",)

    def __init__(self, *waiters: _Waiter) -> None:
        self.waiters = waiters


class Writer:
    """The one writing connection of a database, and the thread that owns it.

    Both come with the first write and are gone after `stop`.

    Args:
        path: the database file, absolute, or ":memory:".
        retire: asked by the thread before it stops; `False` means that it is still needed.
        before_open: called before the file is opened, so that the readers too open it anew.
    """

    def __init__(
        self, path: str, *, retire: Callable[[], bool], before_open: Callable[[], None]
    ) -> None:
        self.path = path
        self.synchronous = 0
        self._retire = retire
        self._before_open = before_open
        self._connection: Connection | None = None
        self._stopped = False
        self._begin()

    def _begin(self) -> None:
        self._thread: threading.Thread | None = None
        # A SimpleQueue, because `stop` is also called by the garbage collector: anywhere, any time.
        self._queue: queue.SimpleQueue[_Write | _Stop] = queue.SimpleQueue()
        self._line: list[_Waiter] = []  # callers that found the queue full
        self._door = threading.Lock()  # guards entering the queue, the line, and the thread's start
        self._in_sqlite = threading.Lock()  # held while the connection works; a fork waits for it

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction on the writer's thread and return its value once committed.

        Waits while the queue is full. When the caller is cancelled, `work` has either no effect
        or its whole effect. It must not return a cursor: that would keep the file open, and its
        locks, when the connection is closed.

        Raises:
            StorageError: nothing was written.
        """
        return await self._enter(write := _Write(work), write)

    async def stop(self) -> None:
        """Return when the writes before this are done and, if unneeded, the file is closed."""
        if self._thread is not None:
            await self._enter(_Stop(waiter := _Waiter()), waiter)

    def stop_soon(self) -> None:
        """Ask for the same without waiting; safe in a finalizer."""
        self._queue.put(_Stop())

    def start(self) -> None:
        """Start the thread, if it does not run yet."""
        if self._thread is None:
            with self._door:
                self._start()

    def join(self) -> None:
        """Wait for the thread to end after `stop_soon`."""
        if self._thread is None:
            self._disconnect()  # inherited in memory over a fork, and never used since
        else:
            self._thread.join(BUSY_TIMEOUT)

    # A fork copies memory but no threads, and SQLite must not cross it with a call in progress or
    # a file open: both sides would then work with one set of locks. So the connection is closed
    # for the fork, and parent and child open their own with the next write.

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

    async def _enter(self, item: _Write | _Stop, waiter: _Waiter) -> Any:
        while (place := self._offer(item)) is not None:
            await place.future
        return await waiter.future

    def _offer(self, item: _Write | _Stop) -> _Waiter | None:
        """Put `item` into the queue; if that is full, return a place in the line instead."""
        with self._door:
            if self._stopped:
                raise StorageError(f"{self.path} was closed; open a new SQLite on it")
            self._start()
            if self._queue.qsize() < QUEUE_LIMIT:
                self._queue.put(item)
                return None
            self._line.append(place := _Waiter())
            return place

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="cogency-writer", daemon=True)
            thread.start()
            self._thread = thread

    # What follows runs in the writer's thread.

    def _run(self) -> None:
        leaving: list[_Waiter] = []
        while not (self._stopped and self._queue.empty()):
            writes, stop = self._take()
            with self._in_sqlite:
                self._commit(writes)
            _answer(writes)
            if stop is not None:
                leaving += stop.waiters
                if self._retire():
                    with self._door:
                        self._stopped = True
                else:
                    _answer(leaving)
                    leaving.clear()
            del writes, stop  # no row is held while waiting for the next
        with self._in_sqlite:
            self._disconnect()
        _answer(leaving)

    def _take(self) -> tuple[list[_Write], _Stop | None]:
        """Wait for something to do; take all that is there, up to a stop."""
        writes: list[_Write] = []
        stop = None
        item = self._queue.get()
        with contextlib.suppress(queue.Empty):
            while isinstance(item, _Write):
                writes.append(item)
                if len(writes) == QUEUE_LIMIT:
                    break
                item = self._queue.get_nowait()
            else:
                stop = item
        with self._door:
            line, self._line = self._line, []
        _answer(line)
        return writes, stop

    def _commit(self, writes: list[_Write]) -> None:
        """Run `writes` as one transaction, or as several, and note the outcome of each."""
        writes = [write for write in writes if not write.future.cancelled()]
        if not writes:
            return
        try:
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
        except Exception as error:
            self._abandon(writes, error)
            return
        try:
            for write in writes:
                write.value = write.work(connection)
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
            sound = isinstance(error, ROW_ERRORS) or self.path == MEMORY
        except sqlite3.Error:
            sound = False
        if not sound:
            self._disconnect()

    def _connect(self) -> Connection:
        if self._connection is not None and not self._connection.is_on(self.path):
            self._disconnect()
        if self._connection is None:
            # What SQLite knows of a file, such as that it is read-only, stays in this process until
            # its last connection is closed, also when it is no longer true.
            self._before_open()
            self._connection = connect(self.path)
        self._connection.set_synchronous(self.synchronous)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _answer(waiters: Iterable[_Waiter]) -> None:
    """Wake all `waiters`, with one call per event loop."""
    loops: defaultdict[asyncio.AbstractEventLoop, list[_Waiter]] = defaultdict(list)
    for waiter in waiters:
        loops[waiter.loop].append(waiter)
    for loop, group in loops.items():
        # A loop that was closed meanwhile refuses; nobody waits there any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, group)


def _settle(waiters: list[_Waiter]) -> None:
    for waiter in waiters:
        if waiter.future.done():  # cancelled
            continue
        if waiter.error is not None:
            waiter.future.set_exception(waiter.error)
        else:
            waiter.future.set_result(waiter.value)
