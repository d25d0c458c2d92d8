"""The connections to one SQLite file: how it is opened, what its failures mean, and those that read.

SQLite is Python's own: a second copy of the library in one process would break the file locks of the first.

A few connections read next to the writer, each used by one thread at a time. In WAL mode readers and the writer do not
block each other, and a read sees everything that was committed when it began, so also every save that was acknowledged
before.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from ...errors import StorageError
from ...outside import current, hold
from .schema import COGENCYS, check_version, upgrade

MEMORY = ":memory:"

NORMAL = 1
"""The level of `PRAGMA synchronous` at which a commit to a WAL does not wait for the disk, which stays consistent."""

BUSY_TIMEOUT = 5.0
"""Seconds to wait for a lock that another program holds."""

_RETRY_DELAY = 0.01


class SQLiteConnection(sqlite3.Connection):
    """An open connection that knows which file it was opened on.

    Attributes:
        file: device and inode number of that file, or `None` for a log in memory.
        synchronous: the level last set by `set_synchronous`, or `None`.
        layout: what the file had when `words_of` was last asked, or `None`.
        is_wal: whether its journal is a WAL.
    """

    is_wal: bool = False

    file: tuple[int, int] | None = None
    synchronous: int | None = None
    layout: object = None

    def is_on(self, path: str) -> bool:
        """Tell whether `path` still names this connection's file.

        A file that was deleted or replaced still accepts writes, which nobody can ever read.
        """
        return path == MEMORY or (self.file is not None and self.file == _identity(path))

    def set_synchronous(self, synchronous: int) -> None:
        """Set `PRAGMA synchronous` to the level 0 (OFF) to 3 (EXTRA)."""
        if self.synchronous != synchronous:
            self.execute(f"PRAGMA synchronous = {synchronous:d}")
            self.synchronous = synchronous


def connect(path: str) -> SQLiteConnection:
    """Open `path` to read it; make its directory, the file and cogency's tables where they are missing.

    The connection is in autocommit mode, and any thread may use it, one at a time. Our tables may be
    missing: a file that plain cogency made can be read where it cannot be written.

    Raises:
        OSError: the directory cannot be made.
        sqlite3.Error: the file cannot be opened, is not a database, or stays locked too long.
        StorageError: a newer version of this package made its tables.
    """
    return _connect(path, check_version)


def connect_to_write(path: str) -> SQLiteConnection:
    """Open `path` to read and write it; make our tables too, or bring them to this version."""
    return _connect(path, upgrade)


def _connect(
    path: str, prepare_ours: Callable[[sqlite3.Connection, str], None]
) -> SQLiteConnection:
    if path != MEMORY:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    connection = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
        factory=SQLiteConnection,
    )
    try:
        if path != MEMORY:
            hold(connection, path)  # before its first lock
        _prepare(connection, path, prepare_ours)
        connection.file = _identity(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(
    connection: SQLiteConnection, path: str, prepare_ours: Callable[[sqlite3.Connection, str], None]
) -> None:
    """Switch to WAL and create what is missing; on a complete file this writes nothing."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            _use_wal(connection)
            connection.executescript(COGENCYS)
            prepare_ours(connection, path)
            return
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # When two programs create one file, SQLite refuses one of them without waiting.
            if not is_lock(error) or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_DELAY)


def _use_wal(connection: SQLiteConnection) -> None:
    try:
        [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.is_wal = mode == "wal"
    except sqlite3.OperationalError as error:
        # A file that cannot be written can still be read, whatever its journal mode.
        if code_of(error) != sqlite3.SQLITE_READONLY:
            raise


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode number of the file at `path`, or `None` if there is no file."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


_CAUSES = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another program",
        "try again, or end the program that holds a transaction open on it",
    ),
    sqlite3.SQLITE_FULL: ("has no room to grow", "free some disk space, then try again"),
    sqlite3.SQLITE_READONLY: (
        "cannot be written",
        "make the file and its directory writable, or choose another path",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "check that the path is a file in a directory this program may write to",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "restore it from a backup, or move it away to begin with an empty one",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a SQLite database",
        "choose another path, or move the file away to begin with an empty one",
    ),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "check the disk and its file system"),
}
_CAUSES[sqlite3.SQLITE_LOCKED] = _CAUSES[sqlite3.SQLITE_PROTOCOL] = _CAUSES[sqlite3.SQLITE_BUSY]

ROW_ERRORS = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.DataError,
    OverflowError,
    UnicodeError,
)
"""Errors of `sqlite3` about the values of one row, whatever the state of the file."""


def explain(error: Exception, path: str) -> StorageError:
    """Turn a failure on `path` into what a caller can act on."""
    if isinstance(error, StorageError):
        return error  # it is explained already
    if isinstance(error, ROW_ERRORS):
        message = f"{path} refused a value ({error}); nothing of this call was written"
    elif isinstance(error, OSError):
        directory = os.path.dirname(path)
        message = f"{directory} cannot be made a directory ({error.strerror}); choose another path"
    else:
        what, remedy = _CAUSES.get(code_of(error), ("failed", "see the error itself"))
        message = f"{path} {what} ({error}); {remedy}"
    explained = StorageError(message, cause=error, retryable=is_lock(error))
    explained.__cause__ = error
    return explained


def is_lock(error: Exception) -> bool:
    """Whether another program's lock is the cause, so that the same call may succeed later."""
    return _CAUSES.get(code_of(error)) is _CAUSES[sqlite3.SQLITE_BUSY]


def code_of(error: Exception) -> int:
    """SQLite's primary result code, or 0 if the error is not one of SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


T = TypeVar("T")

_LIMIT = 4  # reads at the same time; more would only wait for the GIL


class Readers:
    """The reading connections of the database file at `path`; opened when needed, then kept."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # takes long to import

        self._threads = ThreadPoolExecutor(_LIMIT, "cogency-reader")
        self._idle: list[SQLiteConnection] = []
        self._in_sqlite = threading.Semaphore(_LIMIT)  # held while a connection works

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` off the event loop and return its value.

        Raises:
            StorageError: the file cannot be opened or read.
        """
        if not current().has_threads:
            return self._run(work)
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self._run, work)
        )

    def disconnect(self) -> None:
        """Close the connections that are idle; the next read opens its own."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def close(self) -> None:
        """Close the connections for good; a busy one is closed when it is done."""
        self._closed = True
        self.disconnect()
        self._threads.shutdown(wait=False)

    # As with the writer, no connection is open while the program forks.

    def pause(self) -> None:
        """Before a fork: let the present reads end, then close the file."""
        for _ in range(_LIMIT):
            self._in_sqlite.acquire()
        self.disconnect()

    def resume(self) -> None:
        """After a fork, in the parent: go on."""
        self._in_sqlite.release(_LIMIT)

    def restart(self) -> None:
        """After a fork, in the child: begin with its own threads."""
        self._begin()

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._in_sqlite:
            connection = None
            try:
                connection = self._connect()
                value = work(connection)
            except Exception as error:
                if connection is not None:
                    connection.close()
                raise explain(error, self.path) from error
            self._idle.append(connection)
        if self._closed:
            self.disconnect()
        return value

    def _connect(self) -> SQLiteConnection:
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_on(self.path):
                    return connection
                connection.close()
        return connect(self.path)
