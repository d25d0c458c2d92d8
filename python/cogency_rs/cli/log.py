"""Reads a log that another program may be using at this moment, and leaves every file as it is.

The tables are cogency 3.3.0's, and ours if the log has them. How SQLite may open a file without writing next to it
depends on its state:

- A database in rollback mode is opened read-only.
- A database in WAL mode that a program has open, or had open when it died, has a file `-shm`. It is opened read-only,
  too: readers then find the newest committed rows, and take part in the locks.
- A database in WAL mode that no program has open has no `-shm`, and SQLite would have to make one. If all rows are in
  the main file, it is read as an immutable file; if not, a copy of it is read. Neither takes locks, so reading is
  repeated if the file was changed meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, TypeVar

from ..errors import StorageError
from ..storage.calls import read_calls_by_row
from ..storage.connection import is_lock
from ..storage.conversations import list_conversations
from ..storage.log import Conversation
from ..storage.schema import check_version, has_table
from .exits import UnusableError
from .progress import Progress
from .stored import Doubtful, Lease, Row, choose_user, saved_at, shown_time
from .text import quoted

try:
    import fcntl
except ImportError:  # on Windows a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

__all__ = ["Conversation", "Row", "conversations", "rows", "state"]

T = TypeVar("T")

_PATIENCE = 5.0
"""Seconds to wait for a lock, or for a file that is not being changed."""

_READERS_LOCK = 510, 0x4000_0002
"""Length and start of the bytes of a database file that SQLite's readers lock."""

_STEPS = 100_000
"""Instructions of SQLite between two checks of the clock and of Ctrl-C."""


def conversations(path: Path) -> list[Conversation]:
    """List the conversations of a log, the one with the latest row last.

    Raises:
        UnusableError: the file cannot be opened, or is not a log.
        StorageError: another program keeps it locked.
    """
    return _read(path, _conversations)


def rows(path: Path, conversation_id: str, user_id: str | None = None) -> list[Row]:
    """Read a conversation, in the order of its timestamps.

    Args:
        path: the log.
        conversation_id: its id.
        user_id: whose, if several users have a conversation of that id.

    Raises:
        UnusableError: as above; or there is no such conversation, or it is not clear whose is meant.
        StorageError: as above.
    """
    return _read(path, lambda connection: _rows(connection, path, conversation_id, user_id))


_USERS = "SELECT DISTINCT COALESCE(user_id, '') FROM messages WHERE conversation_id = ? ORDER BY 1"
_ROWS = """
    SELECT message_id, type, CAST(content AS TEXT), CAST(timestamp AS REAL)
    FROM messages
    WHERE conversation_id = ? AND COALESCE(user_id, '') = ?
    ORDER BY timestamp, rowid
"""
_COLUMNS = {"message_id", "conversation_id", "user_id", "type", "content", "timestamp"}


def _conversations(connection: sqlite3.Connection) -> list[Conversation]:
    return [
        replace(found, first=shown_time(found.first), last=shown_time(found.last))
        for found in reversed(list_conversations(connection))
    ]


def _rows(
    connection: sqlite3.Connection, path: Path, conversation_id: str, user_id: str | None
) -> list[Row]:
    conversation_id = conversation_id.encode(
        errors="replace"
    ).decode()  # as the shell gave it: any bytes
    users = [str(user) for (user,) in connection.execute(_USERS, (conversation_id,))]
    user = choose_user(path, users, conversation_id, user_id, listed_by=quoted(path))
    found = connection.execute(_ROWS, (conversation_id, user))
    calls = read_calls_by_row(connection, conversation_id)
    return [
        Row(str(type), content, shown_time(timestamp), saved_at(id), calls.get(id))
        for id, type, content, timestamp in found
    ]


def state(path: Path) -> tuple[list[Lease], list[Doubtful]]:
    """The claims that are held, and the calls that are in doubt.

    Raises:
        UnusableError: as above.
        StorageError: as above.
    """
    return _read(path, _works)


_LEASES = """
    SELECT conversation_id, number, worker, machine, expires_at - :now FROM claims
    WHERE owner IS NOT NULL AND expires_at > :now ORDER BY conversation_id
"""
_DOUBTFUL = """
    SELECT conversation_id, call_id, name, status, worker FROM calls
    WHERE status IN ('saved', 'open', 'ended', 'waiting', 'unknown') ORDER BY conversation_id, batch, position
"""


def _works(connection: sqlite3.Connection) -> tuple[list[Lease], list[Doubtful]]:
    leases, doubtful = list[Lease](), list[Doubtful]()
    if has_table(connection, "claims"):
        now = {"now": time.time()}
        leases = [Lease(*row) for row in connection.execute(_LEASES, now)]
    if has_table(connection, "calls"):
        doubtful = [Doubtful(*row) for row in connection.execute(_DOUBTFUL)]
    return leases, doubtful


# Opening.


class _Changed(Exception):  # noqa: N818
    """The file was changed or closed by another program while it was opened or read; look again."""


def _read(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with _connected(path) as connection:
                _check_schema(connection, path)
                check_version(connection, str(path))
                return work(connection)
        except _Changed:
            if time.monotonic() > deadline:
                raise StorageError(f"{path} keeps changing; try again") from None
            time.sleep(0.02)
        except sqlite3.Error as error:
            raise _explained(error, path) from error


@contextlib.contextmanager
def _connected(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open the database in the way that its state allows; see the top of this file."""
    real = Path(os.path.realpath(path))
    wal, shm = (real.with_name(real.name + suffix) for suffix in ("-wal", "-shm"))
    with _opened(real, path) as file:
        if not _is_in_wal_mode(file, path):
            with _connection(real, path, "mode=ro") as connection:
                yield connection
        elif wal.exists() and shm.exists():
            _hold(file)
            if not (wal.exists() and shm.exists()):
                raise _Changed
            with _connection(real, path, "mode=ro&readonly_shm=1") as connection:
                yield connection
        elif _size(wal) == 0:
            with _unchanged(real), _connection(real, path, "immutable=1") as connection:
                yield connection
        else:
            with TemporaryDirectory(prefix="cogency-rs-") as folder:
                copy = Path(folder, "log.db")
                with _unchanged(real, wal):
                    shutil.copyfile(real, copy)
                    shutil.copyfile(wal, copy.with_name("log.db-wal"))
                with _connection(copy, path, "mode=ro") as connection:
                    yield connection


@contextlib.contextmanager
def _opened(real: Path, path: Path) -> Generator[BinaryIO, None, None]:
    such_as = "name the file of a log, such as .cogency/store.db"
    try:
        kind = real.stat().st_mode
        if stat.S_ISDIR(kind):
            raise UnusableError(f"{path} is a folder; {such_as}")
        if not stat.S_ISREG(kind):
            raise UnusableError(f"{path} is not a regular file; {such_as}")
        file = real.open("rb")
    except FileNotFoundError:
        raise UnusableError(f"{path} does not exist; {such_as}") from None
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}); {such_as}") from error
    with file:
        yield file


def _is_in_wal_mode(file: BinaryIO, path: Path) -> bool:
    header = file.read(20)
    if not header:
        raise UnusableError(f"{path} is empty: nothing was logged to it; name another file")
    if len(header) < 20 or not header.startswith(b"SQLite format 3\0"):
        raise UnusableError(f"{path} is not a SQLite database; name the file of a log")
    return header[18] == 2


def _hold(file: BinaryIO) -> None:
    """Take the lock of a reader, so that no program removes `-wal` and `-shm` when it closes the database.

    Otherwise SQLite would recreate them if they are removed between our check and its own.
    """
    if fcntl is None:
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, *_READERS_LOCK)
    except BlockingIOError:
        raise _Changed from None  # somebody is closing it right now
    except OSError:
        return  # a file system without locks


@contextlib.contextmanager
def _unchanged(*paths: Path) -> Generator[None, None, None]:
    """Raise `_Changed`, whatever else was raised, if a file was changed while the block ran."""
    before = [_state(path) for path in paths]
    try:
        yield
    except Exception:
        if [_state(path) for path in paths] != before:
            raise _Changed from None
        raise
    if [_state(path) for path in paths] != before:
        raise _Changed


def _state(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return ()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


_decoded = methodcaller("decode", "utf-8", "replace")


@contextlib.contextmanager
def _connection(file: Path, path: Path, options: str) -> Generator[sqlite3.Connection, None, None]:
    connection = sqlite3.connect(
        f"{file.as_uri()}?{options}", uri=True, timeout=_PATIENCE, isolation_level=None
    )
    connection.text_factory = _decoded
    with contextlib.closing(connection), Progress(f"reading {path}") as progress:
        connection.set_progress_handler(progress.at, _STEPS)
        connection.execute("BEGIN")  # all statements see the same rows
        yield connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(messages)")}
    if not columns >= _COLUMNS:
        lacking = f"has no {', '.join(sorted(_COLUMNS - columns))}" if columns else "is missing"
        raise UnusableError(
            f"{path} is not a log of cogency: its table messages {lacking}; name another file"
        )


_FAULTS = {
    sqlite3.SQLITE_CORRUPT: "is damaged; name another file, or restore it from a backup",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; name the file of a log",
    sqlite3.SQLITE_READONLY: "was left in the middle of a transaction; open it once with the program that writes it",
}


def _explained(error: sqlite3.Error, path: Path) -> BaseException:
    """The error that a failure of SQLite means for a reader."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return KeyboardInterrupt()
    if is_lock(error):
        return StorageError(f"{path} is locked by another program; try again when it is done")
    fault = _FAULTS.get(code, "cannot be read; name another file")
    return UnusableError(f"{path} {fault} ({error})")
