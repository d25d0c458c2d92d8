"""One SQLite file: how it is opened, its tables, and what its failures mean.

The tables of cogency 3.3.0 are as they are there, so that both programs can work on one file, also
at the same time. Beside them stand two of ours, which it does not know. SQLite is Python's own: a
second copy of the library in one process would break the file locks of the first.
"""

from __future__ import annotations

import os
import sqlite3
import time

from ..errors import StorageError

__all__ = [
    "BUSY_TIMEOUT",
    "MEMORY",
    "ROW_ERRORS",
    "Connection",
    "connect",
    "connect_to_write",
    "explain",
    "has_column",
    "has_table",
    "is_lock",
]

MEMORY = ":memory:"

BUSY_TIMEOUT = 5.0
"""Seconds to wait for a lock that another program holds."""

_RETRY_DELAY = 0.01

_SCHEMA = """
BEGIN;
CREATE TABLE IF NOT EXISTS messages (
    message_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_messages_conversation ON messages(conversation_id, timestamp);
CREATE INDEX IF NOT EXISTS idx_messages_type ON messages(type);
CREATE INDEX IF NOT EXISTS idx_messages_user ON messages(user_id);
CREATE INDEX IF NOT EXISTS idx_messages_user_type ON messages(user_id, type, timestamp);
CREATE TABLE IF NOT EXISTS events (
    event_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_events_conversation ON events(conversation_id, timestamp);
CREATE TABLE IF NOT EXISTS profiles (
    user_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    created_at REAL NOT NULL,
    char_count INTEGER NOT NULL,
    PRIMARY KEY (user_id, version)
);
CREATE INDEX IF NOT EXISTS idx_profiles_user_latest ON profiles(user_id, version DESC);
CREATE INDEX IF NOT EXISTS idx_profiles_cleanup ON profiles(created_at);
COMMIT;
"""
_OUR_SCHEMA = """
BEGIN;
CREATE TABLE IF NOT EXISTS calls (
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    message_id TEXT,
    call_id TEXT NOT NULL,
    batch TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    server TEXT,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    started_at REAL,
    completed_at REAL,
    worker TEXT,
    decision TEXT,
    PRIMARY KEY (conversation_id, batch, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    conversation_id TEXT PRIMARY KEY NOT NULL,
    number INTEGER NOT NULL,
    owner TEXT,
    expires_at REAL NOT NULL,
    worker TEXT NOT NULL,
    machine TEXT NOT NULL
) WITHOUT ROWID;
COMMIT;
"""
# A message_id is that of the call's row. A call's id is not the key: some servers give the same one again.


class Connection(sqlite3.Connection):
    """An open connection that knows which file it was opened on.

    Attributes:
        file: device and inode number of that file, or `None` where there is none.
        synchronous: the level last set by `set_synchronous`, or `None`.
    """

    file: tuple[int, int] | None = None
    synchronous: int | None = None

    def is_on(self, path: str) -> bool:
        """Tell whether `path` still names this connection's file.

        A file that was deleted or replaced takes writes without complaint; nobody ever reads them.
        """
        return path == MEMORY or (self.file is not None and self.file == _identity(path))

    def set_synchronous(self, synchronous: int) -> None:
        """Set `PRAGMA synchronous` to the level 0 (OFF) to 3 (EXTRA)."""
        if self.synchronous != synchronous:
            self.execute(f"PRAGMA synchronous = {synchronous:d}")
            self.synchronous = synchronous


def connect(path: str) -> Connection:
    """Open `path` to read it; make its directory, the file and cogency's tables where they are missing.

    The connection is in autocommit mode, and any thread may use it, one at a time. Our tables may be
    missing: a file that plain cogency made can be read where it cannot be written.

    Raises:
        OSError: the directory cannot be made.
        sqlite3.Error: the file cannot be opened, is no database, or stays locked too long.
    """
    return _connect(path, _SCHEMA)


def connect_to_write(path: str) -> Connection:
    """Open `path` to read and write it; make our tables too."""
    connection = _connect(path, _SCHEMA + _OUR_SCHEMA)
    try:
        _add_missing_columns(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: str, schema: str) -> Connection:
    if path != MEMORY:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    connection = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
    )
    try:
        _prepare(connection, schema)
        connection.file = _identity(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: Connection, schema: str) -> None:
    """Switch to WAL and create what is missing; on a complete file this writes nothing."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            _use_wal(connection)
            connection.executescript(schema)
            return
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # When two programs create one file, SQLite refuses one of them without waiting.
            if not is_lock(error) or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_DELAY)


def _add_missing_columns(connection: Connection) -> None:
    """Bring a table that an earlier version of this package made up to date."""
    if has_column(connection, "calls", "decision"):
        return
    try:
        connection.execute("ALTER TABLE calls ADD COLUMN decision TEXT")
    except sqlite3.OperationalError:
        if not has_column(connection, "calls", "decision"):  # another program was not quicker
            raise


def _use_wal(connection: Connection) -> None:
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.OperationalError as error:
        # A file that cannot be written can still be read, in whatever mode it is.
        if _code(error) != sqlite3.SQLITE_READONLY:
            raise


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a file has a table of this name."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def has_column(connection: sqlite3.Connection, table: str, name: str) -> bool:
    """Whether a table of a file has a column of this name."""
    query = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
    return connection.execute(query, (table, name)).fetchone() is not None


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode number of the file at `path`, or `None` where there is none."""
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
"""What `sqlite3` raises about the values of one row, whatever the state of the file."""


def explain(error: Exception, path: str) -> StorageError:
    """Turn a failure on `path` into what a caller can act on."""
    if isinstance(error, StorageError):
        return error  # it has been said already
    if isinstance(error, ROW_ERRORS):
        message = f"{path} refused a value ({error}); nothing of this call was written"
    elif isinstance(error, OSError):
        directory = os.path.dirname(path)
        message = f"{directory} cannot be made a directory ({error.strerror}); choose another path"
    else:
        what, remedy = _CAUSES.get(_code(error), ("failed", "see the error itself"))
        message = f"{path} {what} ({error}); {remedy}"
    explained = StorageError(message, cause=error, retryable=is_lock(error))
    explained.__cause__ = error
    return explained


def is_lock(error: Exception) -> bool:
    """Tell whether somebody else's lock is the cause, so that the same call may succeed later."""
    return _CAUSES.get(_code(error)) is _CAUSES[sqlite3.SQLITE_BUSY]


def _code(error: Exception) -> int:
    """SQLite's primary result code, or 0 where the error is none of SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
