"""The log in one SQLite file: messages, calls, events and profiles.

All methods of the protocol `Log`, and of cogency 3.3.0's storage protocol with its arguments, results and file format.
`queries.py` has what is read, and `writer.py` makes writes safe and keeps reads off the event loop.

Rows come back in the order in which they were committed, by the number that SQLite gives each. A file that only plain
cogency has written is read by time, as cogency reads it, until we first write to it.

The leases of claims have a row for each conversation that was ever claimed. The row stays when a lease is given back,
so that the number never falls. A lease need not outlive a power failure, which ends the programs that hold one, so its
commit does not wait for the disk. The rows that are saved under it do. After a power failure, the number of a lease
under which nothing was saved may therefore come again.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, TypeAlias, TypeVar, cast

from ...calls.record import CallRecord
from ...errors import StorageError
from ...guards.arguments import check_choice, refused
from ...outside import is_gone, machine, monotonic, time, worker
from .. import claims
from ..log import Begun
from ..queries import NeedsOfRun, Query, find, read_begun, read_owner
from ..rows import CALL_COLUMNS, CLAIMS, END_OF_TIME, IS_OPEN, call_of, risen
from ..sql_log import RowsToSave, SavedCall, SavedMessage, SqlLog
from .connection import MEMORY
from .queries import delete_conversation, fork_conversation, run_query
from .schema import IS_UNKNOWN
from .writer import SQLiteFile, file_at

_Row: TypeAlias = tuple[int, str | None, float, str, str]
"""The columns of `_SELECT`."""

_SELECT = "SELECT number, owner, expires_at, worker, machine FROM claims WHERE conversation_id = ?"
_TAKE = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)"
_RENEW = "UPDATE claims SET expires_at = ? WHERE conversation_id = ? AND owner = ?"
_RELEASE = "UPDATE claims SET owner = NULL WHERE conversation_id = ? AND owner = ?"


class FileLeases:
    """The lease of one claim in the file of a database; see `Leases`.

    A holder whose clock is ahead may have ended without giving its lease back, and the lease then seems to last for
    years. So one that nobody renews for as long as a lease lasts, while the claim waits, is over.

    Args:
        database: the file's.
        needs: what the run that takes a lease reads in the same transaction; `None` for nothing.
    """

    def __init__(self, database: SQLiteFile, needs: NeedsOfRun | None = None) -> None:
        self._database = database
        self._needs = needs
        self._seen: _Row | None = None
        self._since = 0.0

    def _holder(self, row: _Row | None) -> str | None:
        """The name of the process that has the lease, unless it has been the same for too long."""
        if row != self._seen:
            self._seen, self._since = row, monotonic()
        return None if monotonic() - self._since > claims.LEASE else _holder(row)

    def take(
        self, conversation_id: str, owner: str
    ) -> asyncio.Future[int | str | tuple[int, Begun]]:
        """Take the lease if it is free."""
        needs = self._needs

        def take(connection: sqlite3.Connection) -> int | str | tuple[int, Begun]:
            row = _row(connection, conversation_id)
            if (holder := self._holder(row)) is not None:
                return holder
            number = 1 if row is None else row[0] + 1
            expires_at = time() + claims.LEASE
            values = (conversation_id, number, owner, expires_at, worker(), machine())
            connection.execute(_TAKE, values)
            if needs is None:
                return number
            user = run_query(connection, read_owner(conversation_id))
            return number, run_query(connection, read_begun(conversation_id, needs, user))

        return self._database.begin(take, outlives_power=False)

    async def holder(self, conversation_id: str) -> str | None:
        """The name of the process that has the lease."""
        return await self._database.read(
            lambda connection: self._holder(_row(connection, conversation_id))
        )

    def renew(self, conversation_id: str, owner: str) -> asyncio.Future[bool]:
        """Let the lease last longer."""

        def renew(connection: sqlite3.Connection) -> bool:
            values = (time() + claims.LEASE, conversation_id, owner)
            return connection.execute(_RENEW, values).rowcount == 1

        return self._database.begin(renew, outlives_power=False)

    def release(self, conversation_id: str, owner: str) -> asyncio.Future[None]:
        """Give the lease back."""

        def release(connection: sqlite3.Connection) -> None:
            connection.execute(_RELEASE, (conversation_id, owner))

        return self._database.begin(release, outlives_power=False)


def _row(connection: sqlite3.Connection, conversation_id: str) -> _Row | None:
    row: _Row | None = connection.execute(_SELECT, (conversation_id,)).fetchone()
    if row is not None:
        CLAIMS.check(row, f"of conversation {conversation_id!r}")
    return row


def _holder(row: _Row | None) -> str | None:
    if row is None:
        return None
    _, owner, expires_at, name, on = row
    if owner is None or expires_at <= time() or is_gone(name, on):
        return None
    if name == worker() and on == machine():
        return None  # a leftover: in this process the caller is first in line
    return name


def _check_lease(connection: sqlite3.Connection, conversation_id: str, owner: str) -> None:
    """Refuse to write under a lease that the owner has lost.

    Raises:
        StorageError: the owner no longer has the lease.
    """
    row = _row(connection, conversation_id)
    if row is None or row[1] != owner:
        since = f"; process {row[3]} has it" if row is not None and row[1] is not None else ""
        raise StorageError(
            f"the claim on conversation {conversation_id!r} was lost, since process {worker()} did not renew it "
            f"in time or the conversation was deleted{since}; nothing of this call was written, so end this run"
        )


T = TypeVar("T")

_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")  # SQLite's names of its levels 0 to 3

_INSERT_MESSAGE = (
    "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp, written_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_PART = """
    INSERT INTO cogency_rs_parts (conversation_id, message_id, number, type, media_type, data, at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_SAVE_CALL = f"""
    INSERT INTO calls (conversation_id, user_id, message_id, {CALL_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (conversation_id, batch, position) DO UPDATE SET
        message_id = COALESCE(message_id, excluded.message_id),
        status = excluded.status, attempt = excluded.attempt, started_at = excluded.started_at,
        completed_at = excluded.completed_at, worker = excluded.worker, decision = excluded.decision,
        result = excluded.result, settling = excluded.settling, digest = excluded.digest
"""
_LATEST = f"""
    SELECT timestamp FROM messages WHERE conversation_id = ? AND timestamp < {END_OF_TIME}
    ORDER BY timestamp DESC LIMIT 1
"""


_UNSETTLED = f"""
    SELECT conversation_id, COALESCE(user_id, ''), {CALL_COLUMNS} FROM {{table}}
    WHERE ($1 = '' OR user_id = $1) AND {{which}}
"""
_LEASE = (
    "SELECT number, owner, expires_at, worker, machine FROM {claims} WHERE conversation_id = $1"
)


def read_unsettled_calls(user_id: str) -> Query[list[tuple[str, str, CallRecord]]]:
    """The calls of all conversations that are waiting, may have begun, or are unknown, with conversation and user.

    Leaves out those whose conversation another process has. The cost does not depend on the others.
    """
    in_doubt = f"{IS_OPEN} AND status IN ('open', 'delegated', 'waiting')"
    found: list[tuple[str, str, CallRecord]] = []
    for table, which in (("{open}", in_doubt), ("{unknown}", IS_UNKNOWN)):
        rows = yield from find(_UNSETTLED.format(table=table, which=which), user_id)
        found += [(id, user, call_of(row)) for id, user, *row in rows]
    held: set[str] = set()
    for conversation_id in {id for id, *_ in found}:
        for lease in (yield from find(_LEASE, conversation_id)):
            CLAIMS.check(lease, f"of conversation {conversation_id!r}")
            if _holder(cast("_Row", lease)) is not None:
                held.add(conversation_id)
    unsettled = [each for each in found if each[0] not in held]
    return sorted(unsettled, key=lambda each: (each[0], each[2].batch, each[2].position))


class SQLite(SqlLog):
    """A log in a SQLite file, for any number of agents, event loops, threads and programs at once.

    A save returns when its row is committed; saves that wait together share one commit. Objects
    on the same file share one writing thread. The first call opens the file; it is closed by
    `close`, by dropping the last object on it, or at the end of the program. After a fork, parent
    and child can both use the object, each with its own connections.

    Every method raises `StorageError` when the file cannot be opened, read or written;
    `retryable` is true if another program held its lock for 5 seconds. Earlier saves stay
    readable, and the same object works again once the cause is gone.

    Args:
        db_path: the file; it and its directories are created if missing. ":memory:" keeps the log
            in memory, and ends with this object.
        synchronous: how much a commit waits for the disk, as in SQLite's `PRAGMA synchronous`.
            With "FULL", rows outlive a power failure; with "NORMAL" it may lose the newest ones,
            though a crash of the program never does. Objects on one file get the safest level that
            any of them asked for.

    Attributes:
        db_path: the absolute path as text, or ":memory:".
        is_durable: whether it outlives the program; false for ":memory:".

    Raises:
        ConfigError: `synchronous` is not one of "OFF", "NORMAL", "FULL", "EXTRA".
    """

    db_path: str
    is_durable: bool
    _kind = "SQLite"
    _unsettled = staticmethod(read_unsettled_calls)
    _delete = staticmethod(delete_conversation)
    _fork = staticmethod(fork_conversation)
    _database: SQLiteFile

    def __init__(
        self, db_path: str | os.PathLike[str] = ".cogency/store.db", *, synchronous: str = "FULL"
    ) -> None:
        check_choice("synchronous", synchronous, *_SYNCHRONOUS)
        if not isinstance(db_path, str | os.PathLike):
            raise refused("db_path", db_path, "the path of a file (a str or a PathLike)")
        self.db_path = MEMORY if db_path == MEMORY else os.path.realpath(db_path)
        self._place = self.db_path
        self.is_durable = self.db_path != MEMORY
        self._user = user = object()
        self._database = file_at(self.db_path, user, _SYNCHRONOUS.index(synchronous))
        weakref.finalize(self, SQLiteFile.forget, self._database, user).atexit = False

    def _save(self, saved: RowsToSave, value: T) -> asyncio.Future[T]:
        def save(connection: sqlite3.Connection) -> T:
            for conversation_id, owner in saved.owners.items():
                if owner is not None:
                    _check_lease(connection, conversation_id, owner)
            _insert_rows(connection, saved.messages)
            connection.executemany(_INSERT_PART, saved.parts)
            save_calls(connection, saved.calls)
            return value

        return self._database.begin(save)

    def _leases(self, needs: NeedsOfRun | None) -> FileLeases:
        return FileLeases(self._database, needs)

    async def _ask(self, query: Callable[..., Query[T]], *values: Any) -> T:
        self._check_open()
        return await self._database.read(lambda connection: run_query(connection, query(*values)))

    async def _change(self, query: Callable[[], Query[T]], *_: str) -> T:
        self._check_open()
        return await self._database.write(lambda connection: run_query(connection, query()))


def _insert_rows(connection: sqlite3.Connection, rows: Sequence[SavedMessage]) -> None:
    """Insert rows, in order, each with a timestamp above those of its conversation; see `rows.py`."""
    latest: dict[str, float] = {}
    risen_rows: list[tuple[Any, ...]] = []
    for row in rows:
        conversation_id, timestamp = row[1], row[5]
        before = latest.get(conversation_id)
        if before is None:
            found = connection.execute(_LATEST, (conversation_id,)).fetchone()
            before = -inf if found is None else found[0]
        stored = risen(timestamp, before)
        latest[conversation_id] = stored if stored < END_OF_TIME else before
        risen_rows.append((*row[:5], stored, None if stored == timestamp else timestamp))
    connection.executemany(_INSERT_MESSAGE, risen_rows)


def save_calls(connection: sqlite3.Connection, calls: Iterable[SavedCall]) -> None:
    """Save new calls, and settle those that are there; in a transaction."""
    connection.executemany(
        _SAVE_CALL,
        [(id, user_id, message_id, *call) for id, user_id, message_id, call in calls],
    )
