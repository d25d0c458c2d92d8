"""One database as this process uses it: a thread whose event loop has the connections, and its users.

All `PostgreSQL` objects on one address share one `Database`, however many agents, event loops and threads there are.
Writes wait in a queue; the thread takes all that wait and writes them together. While it waits for the database, the
next group gathers: the busier the program, the cheaper a row. The last user to leave closes the connections, and so
does the end of the program.

Invariant: each write is answered exactly once, and with success only after the database has confirmed it. A thread that
cannot be started, or that ends in an error, fails every call that waits for it; the next call starts another.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import weakref
from collections import deque
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import StorageError
from ...outside import uuid7
from ..claims import Claims
from ..waiters import Waiter, answer
from .session import PATIENCE, Session
from .writes import Write, steps_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .address import Address
    from .driver import Connection

__all__ = ["Database", "database_for"]

logger: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

GROUP_LIMIT = 1024
"""Writes that are taken from the queue at once, at most."""


class _Leave(Waiter):
    """Stands in the queue after the last write of a user who leaves."""

    __slots__ = ("user",)

    def __init__(self, user: object) -> None:
        super().__init__()
        self.user = user


class _Gone:
    """The same, for a user who does not wait."""

    __slots__ = ("user",)

    def __init__(self, user: object) -> None:
        self.user = user


class _Read(Waiter):
    """A read, and who waits for it."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[Connection], Awaitable[Any]]) -> None:
        super().__init__()
        self.work = work


class Database:
    """The connections to the database at `address`; made by `database_for`.

    Attributes:
        address: where it is.
        writer: identifies this program in the table of writers.
        claims: which conversations in it this process has, and who waits for them.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.claims = Claims()
        self.readers = 1
        self._users: set[object] = set()
        self._stopped = False
        self._begin()

    def _begin(self) -> None:
        self.writer = uuid7()
        # For one thread after the other: a number that came before would count as done already.
        self._authors = zip(repeat(self.writer), count(1))
        self._thread: threading.Thread | None = None
        # Guards both ways in, and the thread's start. Reentrant: the garbage collector may close a coroutine, which
        # gives back its claim, while this thread has the lock.
        self._door = threading.RLock()
        self._queue: deque[Write | _Leave | _Gone] = deque()

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` on what is committed and return its value. It may be run again if the connection is lost.

        Raises:
            StorageError: the database cannot be read.
        """
        read = _Read(work)
        with self._door:
            self._start()
            self._reads.add(read)
            self._loop.call_soon_threadsafe(self._begin_read, read)
        value: T = await read.future
        return value

    def begin(self, write: Write) -> asyncio.Future[Any]:
        """Begin to write. Cancelling the future withdraws a write that the thread has not begun.

        Returns:
            The value of the write, once it is committed; or `StorageError`.

        Raises:
            StorageError: the database was closed.
        """
        with self._door:
            self._start()
            self._enter(write)
        return write.future

    def join(self, user: object, readers: int) -> None:
        """Let `user` in; there are as many readers as any user asked for."""
        self._users.add(user)
        self.readers = max(self.readers, readers)

    async def leave(self, user: object) -> None:
        """Return when the writes before this are done and, after the last user, the connections closed."""
        with self._door:
            if self._thread is None or self._stopped:
                self._retire(user)
                return
            self._enter(leave := _Leave(user))
        await leave.future

    def forget(self, user: object) -> None:
        """Do the same without waiting; safe in a finalizer."""
        with self._door:
            if self._thread is None or self._stopped:
                self._retire(user)
            else:
                self._enter(_Gone(user))

    def close_at_exit(self) -> None:
        """End the thread when the writes under way are done, even if it is still in use."""
        self._users.clear()
        self.forget(None)
        if self._thread is not None:
            self._thread.join(2 * PATIENCE)

    def restart(self) -> None:
        """After a fork, in the child: start over, with the same users."""
        if self._thread is not None:
            _inherited.append((self._loop, self._session))
        self._begin()
        self.claims.restart()

    def _start(self) -> None:
        if self._stopped:
            raise StorageError(f"the log on {self.address.place} was closed; open a new PostgreSQL")
        if self._thread is not None:
            return
        try:
            loop = asyncio.new_event_loop()
        except OSError as error:  # no descriptor is left
            raise self._not_started(error) from error
        self._loop, self._wake = loop, asyncio.Event()
        self._session = Session(self.address, self._authors, self.readers)
        self._reading: set[asyncio.Task[None]] = set()
        self._reads: set[_Read] = set()
        self._taken: list[Write] = []
        self._next_to_leave: _Leave | _Gone | None = None  # taken with these writes
        self._leaving: list[_Leave] = []
        thread = threading.Thread(target=self._run, name="cogency-postgres", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            loop.close()
            raise self._not_started(error) from error
        self._thread = thread

    def _not_started(self, error: Exception) -> StorageError:
        return StorageError(
            f"the thread that writes the log on {self.address.place} could not be started ({error}); "
            "end other threads or connections of this program, and try again",
            cause=error,
            retryable=True,
        )

    def _enter(self, item: Write | _Leave | _Gone) -> None:
        self._queue.append(item)
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(self._wake.set)

    def _retire(self, user: object) -> bool:
        """Let `user` go; tell whether it was the last one."""
        with _lock:
            self._users.discard(user)
            if self._users:
                return False
            if _shared.get(self.address.dsn + self.address.schema) is self:
                del _shared[self.address.dsn + self.address.schema]
        return True

    # What follows runs in the thread.

    def _run(self) -> None:
        loop, leaving = self._loop, self._leaving  # another thread may follow, with others
        try:
            loop.run_until_complete(self._serve())
        except BaseException as error:  # a bug of ours: those who wait must get an error
            logger.exception("The thread that writes the log on %s ended", self.address.place)
            self._give_up(error)
        finally:
            loop.close()
        answer(leaving)

    async def _serve(self) -> None:
        try:
            while not (self._stopped and not self._queue):
                if not self._queue:
                    await self._wake.wait()
                self._wake.clear()
                leave = self._next_to_leave = self._take()
                await self._write(self._taken)
                self._taken = []  # keeps no row in memory while waiting for the next
                if leave is not None:
                    self._leaving += [leave] if isinstance(leave, _Leave) else []
                    if self._retire(leave.user):
                        with self._door:
                            self._stopped = True
                    else:
                        answer(self._leaving)
                        self._leaving.clear()
                self._next_to_leave = leave = None
            await asyncio.sleep(0)  # lets reads begin that came before the leave
            while self._reading:
                await asyncio.wait(self._reading)
        finally:
            await self._session.close()

    def _give_up(self, error: BaseException) -> None:
        """Fail every call that waits, and let the next one start another thread."""
        with self._door:
            waiting: list[Waiter] = [*self._taken, *self._reads]
            waiting += [item for item in self._queue if isinstance(item, Write)]
            taken = [] if self._next_to_leave is None else [self._next_to_leave]
            left = taken + [item for item in self._queue if not isinstance(item, Write)]
            self._leaving += [leave for leave in left if isinstance(leave, _Leave)]
            self._queue.clear()
            self._thread = None
        for leave in left:
            self._retire(leave.user)
        cause = self.address.secrets.clean(error) if isinstance(error, Exception) else None
        words = type(error).__name__ if cause is None else repr(cause)
        for waiter in waiting:
            waiter.error = StorageError(
                f"the log failed: {words}; it is not known whether this call was carried out",
                cause=cause,
            )
        answer(waiting)

    def _take(self) -> _Leave | _Gone | None:
        """Take the waiting writes, up to a leave; returns the leave."""
        while self._queue and len(self._taken) < GROUP_LIMIT:
            item = self._queue.popleft()
            if not isinstance(item, Write):
                return item
            if not item.future.cancelled():
                self._taken.append(item)
        return None

    async def _write(self, writes: list[Write]) -> None:
        for step in steps_of(writes):
            try:
                await self._session.write(step)
            except Exception as error:  # a bug of ours: those who wait must get an error
                cause = self.address.secrets.clean(error)
                for write in step.writes:
                    write.error = StorageError(f"the log failed: {cause!r}", cause=cause)
            answer(step.writes)

    def _begin_read(self, read: _Read) -> None:
        task = self._loop.create_task(self._read(read))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, read: _Read) -> None:
        try:
            read.value = await self._session.read(read.work)
        except StorageError as error:
            read.error = error
        self._reads.discard(read)
        answer([read])


_lock = threading.RLock()  # guards both collections, and who is in
_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_shared: weakref.WeakValueDictionary[str, Database] = weakref.WeakValueDictionary()
_inherited: list[object] = []
"""Databases of the parent process, kept since collecting them would close the parent's connections."""


def database_for(address: Address, user: object, readers: int) -> Database:
    """Return the database at `address`, with `user` in it.

    Args:
        address: where it is.
        user: stands for the caller until `leave` or `forget`.
        readers: how many connections may read at a time, at least.
    """
    with _lock:
        database = _shared.get(address.dsn + address.schema)
        if database is None:
            database = Database(address)
            _databases.add(database)
            _shared[address.dsn + address.schema] = database
        database.join(user, readers)
    return database


@atexit.register
def _close_all() -> None:
    for database in list(_databases):
        database.close_at_exit()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()
    for database in list(_databases):
        database.restart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
