"""One PostgreSQL database as this process uses it: a thread whose event loop has the connections, and their users.

All `PostgreSQL` objects on one address share one `PostgresPool`, however many agents, event loops and threads there
are. Writes wait in a queue; the thread takes all that wait and writes them together. While it waits for the database,
the next group gathers: the busier the program, the cheaper a row. The last user to leave closes the connections, and so
does the end of the program.

For `PATIENCE` seconds a lost connection is opened again, so that a server that restarts costs time and nothing else.
What was under way is then sent again: every read, every write that does no harm when done twice, and every write of
which the database knows whether it was done (`WriteStep.author`). A server that never answered is not waited for.

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
from collections.abc import Awaitable, Callable, Iterator
from itertools import count, repeat
from typing import Any, TypeVar

from ...errors import StorageError
from ...outside import monotonic, uuid7
from ..claims import Claims
from ..sql_log import Leave, Waiter, wake
from .connection import (
    Address,
    PostgresConnection,
    connect,
    explain,
    is_of_one,
    is_passing,
    is_said,
)
from .schema import prepare
from .writes import Write, WriteStep, steps_of

T = TypeVar("T")

PATIENCE = 15.0
"""Seconds to wait for a server that went away."""

_DELAY, _LONGEST_DELAY = 0.05, 1.0

_FORGOTTEN = "30 days"
"""How long after a program's last append its row in `writers` is dropped."""


class PostgresSession:
    """One connection that writes, and a few that read. All of it runs on one event loop.

    Args:
        address: where the database is.
        authors: gives each step its `WriteStep.author`: the program's name, and numbers that never come twice.
        readers: how many connections may read at a time.
    """

    def __init__(self, address: Address, authors: Iterator[tuple[str, int]], readers: int) -> None:
        self._address = address
        self._authors = authors
        self._writer: PostgresConnection | None = None
        self._idle: list[PostgresConnection] = []
        self._places = asyncio.Semaphore(readers)
        self._preparing = asyncio.Lock()
        self._has_answered = False
        self._is_prepared = False

    async def write(self, step: WriteStep) -> None:
        """Carry out a step and set the values of its writes, or their errors. A bad write fails alone."""
        step.author = next(self._authors)
        try:
            await self._write(step)
        except _FailedError as failed:
            if len(step.writes) > 1 and is_of_one(failed.error):
                middle = len(step.writes) // 2
                await self.write(WriteStep(step.writes[:middle]))
                await self.write(WriteStep(step.writes[middle:]))
                return
            error = explain(failed.error, self._address, in_doubt=failed.in_doubt)
            for write in step.writes:
                write.error = error

    async def read(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        """Run `work` on its own connection and return its value.

        Raises:
            StorageError: the database cannot be read.
        """
        async with self._places:
            try:
                return await self._patiently(lambda: self._read(work))
            except Exception as error:
                explained = explain(error, self._address)
            raise explained  # out of the block, so that its context is not the driver's error

    async def close(self) -> None:
        """Close the connections and end what they are doing."""
        connections = [*self._idle, *filter(None, [self._writer])]
        self._idle, self._writer = [], None
        for connection in connections:
            with contextlib.suppress(Exception):  # the connection is no longer needed
                await connection.close(timeout=1.0)

    async def _write(self, step: WriteStep) -> None:
        in_doubt = False  # whether an answer was lost, which may have been a success

        async def attempt() -> None:
            nonlocal in_doubt
            connection = await self._writing()
            try:
                await step.carry_out(connection, self._address)
            except BaseException as error:
                if _is_sound(connection, error):
                    raise
                self._writer = None
                connection.terminate()
                in_doubt = in_doubt or not is_said(error)
                if in_doubt and not step.is_repeatable:
                    raise _FailedError(error, in_doubt=True) from error
                raise

        try:
            await self._patiently(attempt)
        except _FailedError:
            raise
        except Exception as error:
            raise _FailedError(error, in_doubt=in_doubt) from error

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        deadline = monotonic() + PATIENCE
        delay = _DELAY
        while True:
            try:
                return await attempt()
            except Exception as error:
                if not (self._has_answered and is_passing(error)) or monotonic() + delay > deadline:
                    raise
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def _read(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        connection = self._idle.pop() if self._idle else await self._connect()
        try:
            value = await work(connection)
        except BaseException as error:
            if _is_sound(connection, error):
                self._idle.append(connection)
            else:
                connection.terminate()
            raise
        self._idle.append(connection)
        return value

    async def _writing(self) -> PostgresConnection:
        if self._writer is None or self._writer.is_closed():
            self._writer = await self._connect()
            old = f"used_at < now() - interval '{_FORGOTTEN}'"
            await self._writer.execute(f"DELETE FROM {self._address.tables}.writers WHERE {old}")
        return self._writer

    async def _connect(self) -> PostgresConnection:
        connection = await connect(self._address)
        self._has_answered = True
        try:
            async with self._preparing:
                if not self._is_prepared:
                    await prepare(connection, self._address)
                    self._is_prepared = True
        except BaseException:
            connection.terminate()
            raise
        return connection


class _FailedError(Exception):
    """A step that failed for good.

    Attributes:
        error: why.
        in_doubt: whether the step may have been done nevertheless.
    """

    def __init__(self, error: BaseException, *, in_doubt: bool) -> None:
        super().__init__(str(error))
        self.error, self.in_doubt = error, in_doubt


def _is_sound(connection: PostgresConnection, error: BaseException) -> bool:
    """Whether a connection can be used after an error."""
    return isinstance(error, Exception) and is_said(error) and not connection.is_closed()


logger: logging.Logger = logging.getLogger(__name__)
GROUP_LIMIT = 1024
"""Writes that are taken from the queue at once, at most."""


class _Read(Waiter):
    """A read, and who waits for it."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[PostgresConnection], Awaitable[Any]]) -> None:
        super().__init__()
        self.work = work


class PostgresPool:
    """The connections to the database at `address`; made by `pool_of`.

    Attributes:
        address: where it is.
        claims: which conversations in it this process has, and who waits for them.
        readers: how many connections may read at a time.
        writer: identifies this program in the table of writers.
        authors: gives each step its `WriteStep.author`. For one thread after the other: a number that came before would
            count as done already.
        door: guards all ways in, and the thread's start. Reentrant: the garbage collector may close a coroutine, which
            gives back its claim, while this thread has the lock.
        thread: that which has the connections; `None` while none is needed.
        is_stopped: whether the last user has left.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.claims = Claims()
        self.readers = 1
        self.is_stopped = False
        self._users: set[object] = set()
        self._begin()

    def _begin(self) -> None:
        self.writer = uuid7()
        self.authors = zip(repeat(self.writer), count(1))
        self.thread: _PoolThread | None = None
        self.door = threading.RLock()

    async def read(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        """Run `work` on what is committed and return its value. It may be run again if the connection is lost.

        Raises:
            StorageError: the database cannot be read.
        """
        read = _Read(work)
        with self.door:
            self._running().begin_read(read)
        value: T = await read.future
        return value

    def begin(self, write: Write) -> asyncio.Future[Any]:
        """Begin to write. Cancelling the future withdraws a write that the thread has not begun.

        Returns:
            The value of the write, once it is committed; or `StorageError`.

        Raises:
            StorageError: the database was closed.
        """
        with self.door:
            self._running().enter(write)
        return write.future

    def join(self, user: object, readers: int) -> None:
        """Let `user` in; there are as many readers as any user asked for."""
        self._users.add(user)
        self.readers = max(self.readers, readers)

    async def leave(self, user: object) -> None:
        """Return when the writes before this are done and, after the last user, the connections closed."""
        waiter = Waiter()
        if self._leave(Leave(user, waiter)):
            await waiter.future

    def forget(self, user: object) -> None:
        """Do the same without waiting; safe in a finalizer."""
        self._leave(Leave(user))

    def _leave(self, leave: Leave) -> bool:
        """Put `leave` into the queue of the thread; false without a thread, when the user has left at once."""
        with self.door:
            if self.thread is None or self.is_stopped:
                self.retire(leave.user)
                return False
            self.thread.enter(leave)
            return True

    def retire(self, user: object) -> bool:
        """Let `user` go; tell whether it was the last one."""
        with _lock:
            self._users.discard(user)
            if self._users:
                return False
            if _shared.get(self.address.dsn + self.address.schema) is self:
                del _shared[self.address.dsn + self.address.schema]
        return True

    def close_at_exit(self) -> None:
        """End the thread when the writes under way are done, even if it is still in use."""
        self._users.clear()
        self.forget(None)
        if self.thread is not None:
            self.thread.join()

    def restart(self) -> None:
        """After a fork, in the child: start over, with the same users."""
        if self.thread is not None:
            _inherited.append(self.thread)
        self._begin()
        self.claims.restart()

    def _running(self) -> _PoolThread:
        """The thread; starts it first if it does not run."""
        if self.is_stopped:
            raise StorageError(f"the log on {self.address.place} was closed; open a new PostgreSQL")
        if self.thread is None:
            try:
                self.thread = _PoolThread(self)
            except (OSError, RuntimeError) as error:  # no descriptor, or no thread, is left
                raise StorageError(
                    f"the thread that writes the log on {self.address.place} could not be started ({error}); "
                    "end other threads or connections of this program, and try again",
                    cause=error,
                    retryable=True,
                ) from error
        return self.thread


class _PoolThread:
    """The thread whose event loop has the connections of a pool, and the calls that wait for it.

    Args:
        pool: whose it is.

    Raises:
        OSError: it cannot have an event loop.
        RuntimeError: it cannot be started.
    """

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._queue: deque[Write | Leave] = deque()
        self._session = PostgresSession(pool.address, pool.authors, pool.readers)
        self._reading: set[asyncio.Task[None]] = set()
        self._reads: set[_Read] = set()
        self._taken: list[Write] = []
        self._next_to_leave: Leave | None = None  # taken with these writes
        self._leaving: list[Waiter] = []
        self._thread = threading.Thread(target=self._run, name="cogency-postgres", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._loop.close()
            raise

    def begin_read(self, read: _Read) -> None:
        """Begin to read."""
        self._reads.add(read)
        self._loop.call_soon_threadsafe(self._begin_read, read)

    def enter(self, item: Write | Leave) -> None:
        """Put a write, or a leave, into the queue."""
        self._queue.append(item)
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(self._wake.set)

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join(2 * PATIENCE)

    # What follows runs in the thread.

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # a bug of ours: those who wait must get an error
            logger.exception("The thread that writes the log on %s ended", self._pool.address.place)
            self._give_up(error)
        finally:
            self._loop.close()
        wake(self._leaving)

    async def _serve(self) -> None:
        try:
            while not (self._pool.is_stopped and not self._queue):
                if not self._queue:
                    await self._wake.wait()
                self._wake.clear()
                leave = self._next_to_leave = self._take()
                await self._write(self._taken)
                self._taken = []  # keeps no row in memory while waiting for the next
                if leave is not None:
                    self._leaving += leave.waiters
                    if self._pool.retire(leave.user):
                        with self._pool.door:
                            self._pool.is_stopped = True
                    else:
                        wake(self._leaving)
                        self._leaving.clear()
                self._next_to_leave = leave = None
            await asyncio.sleep(0)  # lets reads begin that came before the leave
            while self._reading:
                await asyncio.wait(self._reading)
        finally:
            await self._session.close()

    def _give_up(self, error: BaseException) -> None:
        """Fail every call that waits, and let the next one start another thread."""
        pool = self._pool
        with pool.door:
            waiting: list[Waiter] = [*self._taken, *self._reads]
            waiting += [item for item in self._queue if isinstance(item, Write)]
            left = [] if self._next_to_leave is None else [self._next_to_leave]
            left += [item for item in self._queue if isinstance(item, Leave)]
            self._queue.clear()
            pool.thread = None
        for leave in left:
            self._leaving += leave.waiters
            pool.retire(leave.user)
        cause = pool.address.secrets.clean(error) if isinstance(error, Exception) else None
        words = type(error).__name__ if cause is None else repr(cause)
        for waiter in waiting:
            waiter.error = StorageError(
                f"the log failed: {words}; it is not known whether this call was carried out",
                cause=cause,
            )
        wake(waiting)

    def _take(self) -> Leave | None:
        """Take the waiting writes, up to a leave; returns the leave."""
        while self._queue and len(self._taken) < GROUP_LIMIT:
            item = self._queue.popleft()
            if isinstance(item, Leave):
                return item
            if not item.future.cancelled():
                self._taken.append(item)
        return None

    async def _write(self, writes: list[Write]) -> None:
        for step in steps_of(writes):
            try:
                await self._session.write(step)
            except Exception as error:  # a bug of ours: those who wait must get an error
                cause = self._pool.address.secrets.clean(error)
                for write in step.writes:
                    write.error = StorageError(f"the log failed: {cause!r}", cause=cause)
            wake(step.writes)

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
        wake([read])


_lock = threading.RLock()  # guards both collections, and who is in
_pools: weakref.WeakSet[PostgresPool] = weakref.WeakSet()
_shared: weakref.WeakValueDictionary[str, PostgresPool] = weakref.WeakValueDictionary()
_inherited: list[_PoolThread] = []
"""Threads of the parent process, kept since collecting them would close the parent's connections."""


def pool_of(address: Address, user: object, readers: int) -> PostgresPool:
    """Return the pool of `address`, with `user` in it.

    Args:
        address: where it is.
        user: identifies the caller until `leave` or `forget`.
        readers: how many connections may read at a time, at least.
    """
    with _lock:
        pool = _shared.get(address.dsn + address.schema)
        if pool is None:
            pool = PostgresPool(address)
            _pools.add(pool)
            _shared[address.dsn + address.schema] = pool
        pool.join(user, readers)
    return pool


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        pool.close_at_exit()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()
    for pool in list(_pools):
        pool.restart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
