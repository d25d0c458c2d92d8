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
import json
import os
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, TypeAlias

from ...calls.record import CallRecord
from ...errors import StorageError
from ...guards.arguments import check_choice, refused
from ...outside import is_gone, machine, monotonic, time, uuid7, worker
from .. import claims
from ..claims import Claim
from ..cogency_tables import MessageRow, or_now
from ..log import Begun, Row, parts_of
from ..rows import CLAIMS, END_OF_TIME, check_message, check_saved, risen
from ..sql_log import Queries, SqlLog, done
from .connection import MEMORY, layout_of
from .queries import (
    check_cursor,
    delete_conversation,
    fork_conversation,
    list_conversations,
    origin_of,
    owner_of,
    read_calls,
    read_newest,
    read_open_calls,
    read_tail,
    read_unsettled_calls,
    save_calls,
)
from .schema import has_table
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
        read: what the run that takes a lease must know, read in the same transaction; `None` for nothing.
    """

    def __init__(
        self, database: SQLiteFile, read: Callable[[sqlite3.Connection], Begun] | None = None
    ) -> None:
        self._database = database
        self._read = read
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
        read = self._read

        def take(connection: sqlite3.Connection) -> int | str | tuple[int, Begun]:
            row = _row(connection, conversation_id)
            if (holder := self._holder(row)) is not None:
                return holder
            number = 1 if row is None else row[0] + 1
            expires_at = time() + claims.LEASE
            values = (conversation_id, number, owner, expires_at, worker(), machine())
            connection.execute(_TAKE, values)
            return number if read is None else (number, read(connection))

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


def is_held(connection: sqlite3.Connection, conversation_id: str) -> bool:
    """Whether another process has the lease of a conversation."""
    if not has_table(connection, "claims"):
        return False
    return _holder(_row(connection, conversation_id)) is not None


def check_owner(connection: sqlite3.Connection, conversation_id: str, owner: str) -> None:
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


_BY_TIME = {"newest": "timestamp DESC, rowid DESC"}
"""How a file is read that this version has not upgraded."""

_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")  # SQLite's names of its levels 0 to 3

_INSERT_MESSAGE = (
    "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp, written_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_PART = """
    INSERT INTO cogency_rs_parts (conversation_id, message_id, number, type, media_type, data, at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_LATEST = f"""
    SELECT timestamp FROM messages WHERE conversation_id = ? AND timestamp < {END_OF_TIME}
    ORDER BY timestamp DESC LIMIT 1
"""
_SEARCH_MESSAGES = """
    SELECT content, timestamp, conversation_id
    FROM messages
    WHERE type = 'user'
      AND user_id = $1
      AND ($2 = '' OR conversation_id != $2)
      AND EXISTS (
          SELECT 1 FROM json_each($3) WHERE LOWER(content) LIKE '%' || value || '%'
      )
    ORDER BY (
          SELECT SUM(LENGTH(content) - LENGTH(REPLACE(LOWER(content), value, '')))
          FROM json_each($3)
      ) DESC, timestamp DESC, messages.rowid
    LIMIT $4
"""


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
            in memory for as long as this object lives.
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
    _check_message = staticmethod(check_message)
    _check_saved = staticmethod(check_saved)
    _queries = Queries(
        check_cursor=check_cursor,
        tail=read_tail,
        newest=read_newest,
        calls=read_calls,
        open_calls=read_open_calls,
        owner=owner_of,
        conversations=list_conversations,
        origin=origin_of,
        delete=delete_conversation,
        fork=fork_conversation,
    )
    _sql = MappingProxyType(
        {
            "t": "",
            "newest": "rowid DESC",
            "any_row": "rowid",
            "event": "rowid",
            "is_in": "type IN (SELECT value FROM json_each($3))",
            "not_in": "type NOT IN (SELECT value FROM json_each($4))",
            "search": _SEARCH_MESSAGES,
            "all": "-1",
        }
    )
    _database: SQLiteFile

    def __init__(
        self, db_path: str | os.PathLike[str] = ".cogency/store.db", *, synchronous: str = "FULL"
    ) -> None:
        check_choice("synchronous", synchronous, *_SYNCHRONOUS)
        if not isinstance(db_path, str | os.PathLike):
            raise refused("db_path", db_path, "the path of a file (a str or a PathLike)")
        self.db_path = MEMORY if db_path == MEMORY else os.path.realpath(db_path)
        self.is_durable = self.db_path != MEMORY
        self._user = user = object()
        self._database = file_at(self.db_path, user, _SYNCHRONOUS.index(synchronous))
        weakref.finalize(self, SQLiteFile.forget, self._database, user).atexit = False

    def save_messages(self, rows: Sequence[MessageRow]) -> asyncio.Future[list[str]]:
        """Save several messages in one transaction, all or none.

        Args:
            rows: conversation_id, user_id, type, content, timestamp of each, as for `save_message`.

        Returns:
            A future for their ids, in order. The save has begun, and needs no task to go on.

        Raises:
            ConfigError: a type is not known; none of them was written.
            StorageError: a row could not be stored; none of them was written. Raised when the future is awaited.
        """
        for row in rows:
            self._check_message(*row)
        stored = [(uuid7(), *row[:4], or_now(row[4])) for row in rows]
        ids = [row[0] for row in stored]
        if not stored:
            return done(ids)

        def insert(connection: sqlite3.Connection) -> list[str]:
            _insert_rows(connection, stored)
            return ids

        return self._open().begin(insert)

    def append(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> asyncio.Future[None]:
        """Save rows of a conversation and what is known of its calls in one transaction, all or nothing.

        Args:
            conversation_id: the conversation they belong to.
            user_id: whose conversation that is; may be empty.
            rows: type, content, timestamp of each, in order; and its parts, if it has any.
            calls: each replaces the stored call of the same batch and position, or is new. The `call` rows belong, in
                order, to those that are `open` and have no row yet; one that is `early` has no row.

        Returns:
            A future that is done when everything is saved. The save has begun, and needs no task to go on.

        Raises:
            ConfigError: a type is not known; nothing was written.
            StorageError: something could not be stored, or this process had a claim on the conversation and lost it;
                nothing was written. Raised when the future is awaited.
        """
        self._check_saved(conversation_id, user_id, rows, calls)
        stored = [
            (uuid7(), conversation_id, user_id, type, content, timestamp)
            for type, content, timestamp, *_ in rows
        ]
        parts = [
            (conversation_id, saved[0], number, part.type, part.media_type, part.data, part.at)
            for saved, row in zip(stored, rows, strict=True)
            for number, part in enumerate(parts_of(row))
        ]
        if not stored and not calls:
            return done(None)
        called = [row[0] for row in stored if row[3] == "call"]
        database = self._open()
        owner = database.claims.owner(conversation_id)

        def append(connection: sqlite3.Connection) -> None:
            if owner is not None:
                check_owner(connection, conversation_id, owner)
            if stored:
                _insert_rows(connection, stored)
            if parts:
                connection.executemany(_INSERT_PART, parts)
            if calls:
                save_calls(connection, conversation_id, user_id, calls, called)

        return database.begin(append)

    async def unsettled_calls(self, user_id: str = "") -> list[tuple[str, str, CallRecord]]:
        """Read the calls that are `waiting`, `open` or `unknown`, of conversations that no run has claimed.

        The cost does not depend on other calls.

        Args:
            user_id: only this user's; "" for everybody's.

        Returns:
            Conversation, user and record of each, by conversation, batch and position.
        """
        database = self._open()

        def read(connection: sqlite3.Connection) -> list[tuple[str, str, CallRecord]]:
            found = read_unsettled_calls(connection, user_id)
            held = {id for id in {id for id, *_ in found} if is_held(connection, id)}
            return [each for each in found if each[0] not in held]

        found = await database.read(read)
        return [each for each in found if database.claims.first(each[0]) is None]

    def claim(self, conversation_id: str, *, wait: bool = True) -> Claim:
        """Have a conversation to oneself inside `async with`, among all programs on the file.

        When a process ends, others on the same machine can claim at once, and others elsewhere within 30 seconds. A
        process that was stopped for longer has lost the claim: its next `append` raises `StorageError`.

        Args:
            conversation_id: its id.
            wait: whether to wait while another run has it.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already.
            StorageError: the file cannot be written.
        """
        database = self._open()
        return database.claims.claim(conversation_id, wait=wait, leases=FileLeases(database))

    def begin(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        wait: bool = True,
        resumes: bool = False,
    ) -> Claim:
        """Claim a conversation, and read in the same transaction what a run needs that begins in it.

        Args:
            conversation_id: its id.
            user_id: only this user's calls and rows; "" for everybody's.
            wait: whether to wait while another run has it.
            resumes: whether the run goes on where an earlier one stopped, and so needs all calls and rows.

        Returns:
            A claim whose `begun` has what was read.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already.
            StorageError: the file cannot be written.
        """
        database = self._open()

        def read(connection: sqlite3.Connection) -> Begun:
            read = read_calls if resumes else read_open_calls
            calls = read(connection, conversation_id, user_id)
            page = None
            if resumes or calls:
                page = read_tail(connection, conversation_id, user_id, None)
            return Begun(owner_of(connection, conversation_id), calls, page)

        leases = FileLeases(database, read)
        return database.claims.claim(conversation_id, wait=wait, leases=leases)

    async def _ask(self, query: Callable[..., Any], *values: Any) -> Any:
        return await self._open().read(lambda connection: query(connection, *values))

    async def _change(self, query: Callable[..., Any], conversation_id: str, *values: Any) -> Any:
        return await self._open().write(
            lambda connection: query(connection, conversation_id, *values)
        )

    def _open(self) -> SQLiteFile:
        if self._closed:
            raise StorageError(f"this SQLite on {self.db_path} is closed; open a new one")
        return self._database

    async def _fetch(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        bound = _bound(values)

        def fetch(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            words = self._sql if layout_of(connection).is_ordered else {**self._sql, **_BY_TIME}
            return connection.execute(statement.format_map(words), bound).fetchall()

        return await self._open().read(fetch)

    async def _execute(self, statement: str, *values: Any) -> int:
        sql, bound = statement.format_map(self._sql), _bound(values)
        return await self._open().write(lambda connection: connection.execute(sql, bound).rowcount)


_Saved = tuple[str, str, str, str, str, float]
"""id, conversation_id, user_id, type, content and time of a row."""


def _insert_rows(connection: sqlite3.Connection, rows: Sequence[_Saved]) -> None:
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


def _bound(values: Sequence[Any]) -> dict[str, Any]:
    """The values of $1, $2, …; a list is one JSON array, so that a statement is the same for any number of them."""
    return {
        str(number): json.dumps(value) if isinstance(value, list) else value
        for number, value in enumerate(values, start=1)
    }
