"""The leases of claims in a SQLite file: one row for each conversation that was ever claimed.

The row stays when a lease is given back, so that the number never falls. A lease need not outlive a power failure,
which ends the programs that hold one, so its commit does not wait for the disk. The rows that are saved under it do.
After a power failure, the number of a lease under which nothing was saved may therefore come again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..errors import StorageError
from ..outside import is_gone, machine, monotonic, time, worker
from . import claims
from .schema import has_table
from .stored_rows import CLAIMS

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable

    from .database import Database
    from .log import Begun

__all__ = ["FileLeases", "check_owner", "is_held"]

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
        self, database: Database, read: Callable[[sqlite3.Connection], Begun] | None = None
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
