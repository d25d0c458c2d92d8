"""Reads a log that another program may be using at this moment, and leaves its rows as they are.

The tables are cogency 3.3.0's, and ours if the log has them. Only SQLite opens the file: a process that opens and
closes it in any other way loses all its locks on it, those of a log that it has open too. How SQLite may open it
without writing next to it depends on its state:

- A database in rollback mode is opened read-only.
- A database in WAL mode that a program has open, or had open when it died, has a file `-shm`. It is opened read-only,
  too: readers then find the newest committed rows, and take part in the locks.
- One that was copied with rows in its `-wal` has no `-shm`. Reading it makes one.
- One that no program has open, and whose rows are all in the main file, is read as an immutable file. That takes no
  locks, so reading is repeated if the file was changed meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..errors import StorageError
from ..storage.log import Conversation
from ..storage.queries import Query, find, read_calls_by_row, read_conversations
from ..storage.sqlite.connection import code_of, is_lock
from ..storage.sqlite.queries import run_query
from ..storage.sqlite.schema import check_version, has_table
from .exits import UnusableError
from .progress import Progress
from .stored import Doubtful, Lease, Row, choose_user, saved_at, shown_time
from .text import quoted

__all__ = ["Conversation", "Row", "conversations", "read_rows", "rows", "state"]

T = TypeVar("T")

_PATIENCE = 5.0
"""Seconds to wait for a lock, or for a file that is not being changed."""

_HEADER = 100
"""Bytes that every SQLite database begins with."""

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
    """Read a conversation, in the order in which its rows were committed.

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
    WHERE conversation_id = $1 AND COALESCE(user_id, '') = $2
    ORDER BY {oldest}
"""
_COLUMNS = {"message_id", "conversation_id", "user_id", "type", "content", "timestamp"}


def _conversations(connection: sqlite3.Connection) -> list[Conversation]:
    return [
        replace(found, first=shown_time(found.first), last=shown_time(found.last))
        for found in reversed(run_query(connection, read_conversations()))
    ]


def _rows(
    connection: sqlite3.Connection, path: Path, conversation_id: str, user_id: str | None
) -> list[Row]:
    conversation_id = conversation_id.encode(
        errors="replace"
    ).decode()  # as the shell gave it: any bytes
    users = [str(user) for (user,) in connection.execute(_USERS, (conversation_id,))]
    user = choose_user(path, users, conversation_id, user_id, listed_by=quoted(path))
    return run_query(connection, read_rows(conversation_id, user))


def read_rows(conversation_id: str, user_id: str) -> Query[list[Row]]:
    """Read a user's conversation, in the order in which its rows were committed, by a query of a log that is open."""
    found = yield from find(_ROWS, conversation_id, user_id)
    calls = yield from read_calls_by_row(conversation_id)
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


class _Way(NamedTuple):
    """How the state of a file allows it to be opened.

    Attributes:
        options: SQLite's.
        version: of an immutable file; must be the same after reading.
    """

    options: str
    version: tuple[int, ...] | None = None


def _read(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    file = Path(os.path.realpath(path))
    deadline = time.monotonic() + _PATIENCE
    while True:
        way = _way(file, path)
        try:
            with _connection(file, path, way.options) as connection:
                _check_schema(connection, path)
                check_version(connection, str(path))
                found = work(connection)
        except sqlite3.Error as error:
            if _way(file, path) == way:
                raise _explained(error, path) from error
        except Exception:
            if _way(file, path) == way:
                raise
        else:
            if way.version is None or _way(file, path) == way:
                return found
        if time.monotonic() > deadline:
            raise StorageError(f"{path} keeps changing; try again")
        time.sleep(0.02)


def _way(file: Path, path: Path) -> _Way:
    """See the top of this file.

    Raises:
        UnusableError: the file cannot be a database.
    """
    such_as = "name the file of a log, such as .cogency/store.db"
    try:
        found = file.stat()
    except FileNotFoundError:
        raise UnusableError(f"{path} does not exist; {such_as}") from None
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}); {such_as}") from error
    if stat.S_ISDIR(found.st_mode):
        raise UnusableError(f"{path} is a folder; {such_as}")
    if not stat.S_ISREG(found.st_mode):
        raise UnusableError(f"{path} is not a regular file; {such_as}")
    if found.st_size == 0:
        raise UnusableError(f"{path} is empty: nothing was logged to it; name another file")
    if found.st_size < _HEADER:
        raise UnusableError(f"{path} is not a SQLite database; name the file of a log")
    wal, shm = (file.with_name(file.name + suffix) for suffix in ("-wal", "-shm"))
    if wal.exists() and shm.exists():
        return _Way("mode=ro&readonly_shm=1")
    if _size(wal) > 0 or not _is_in_wal_mode(file):
        return _Way("mode=ro")
    version = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return _Way("immutable=1", version)


def _is_in_wal_mode(file: Path) -> bool:
    """Whether SQLite can open the file only with the shared memory of WAL mode, which needs locks."""
    try:
        with contextlib.closing(_opened(file, "mode=ro&nolock=1")) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        return code_of(error) == sqlite3.SQLITE_CANTOPEN
    return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _opened(file: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{file.as_uri()}?{options}", uri=True, timeout=_PATIENCE, isolation_level=None
    )


_decoded = methodcaller("decode", "utf-8", "replace")


@contextlib.contextmanager
def _connection(file: Path, path: Path, options: str) -> Generator[sqlite3.Connection, None, None]:
    connection = _opened(file, options)
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
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; copy it, with its -wal, to a folder that you may write in",
    sqlite3.SQLITE_CORRUPT: "is damaged; name another file, or restore it from a backup",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; name the file of a log",
    sqlite3.SQLITE_READONLY: "was left in the middle of a transaction; open it once with the program that writes it",
}


def _explained(error: sqlite3.Error, path: Path) -> BaseException:
    """The error that a failure of SQLite means for a reader."""
    code = code_of(error)
    if code == sqlite3.SQLITE_INTERRUPT:
        return KeyboardInterrupt()
    if is_lock(error):
        return StorageError(f"{path} is locked by another program; try again when it is done")
    fault = _FAULTS.get(code, "cannot be read; name another file")
    return UnusableError(f"{path} {fault} ({error})")
