"""The leases of claims in a SQLite file: one row for each conversation that was ever claimed.

The row stays when a lease is given back, so that the number never falls.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..calls.worker_process import is_gone, machine, worker
from ..errors import StorageError
from . import claims
from .schema import has_table

if TYPE_CHECKING:
    import asyncio
    import sqlite3

    from .database import Database

__all__ = ["FileLeases", "check_owner", "is_held"]

_SELECT = "SELECT number, owner, expires_at, worker, machine FROM claims WHERE conversation_id = ?"
_TAKE = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)"
_RENEW = "UPDATE claims SET expires_at = ? WHERE conversation_id = ? AND owner = ?"
_RELEASE = "UPDATE claims SET owner = NULL WHERE conversation_id = ? AND owner = ?"


class FileLeases:
    """The leases in the file of a database; see `Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, conversation_id: str, owner: str) -> asyncio.Future[int | str]:
        """Take the lease if it is free."""

        def take(connection: sqlite3.Connection) -> int | str:
            row = connection.execute(_SELECT, (conversation_id,)).fetchone()
            if (holder := _holder(row)) is not None:
                return holder
            number = 1 if row is None else row[0] + 1
            expires_at = time.time() + claims.LEASE
            values = (conversation_id, number, owner, expires_at, worker(), machine())
            connection.execute(_TAKE, values)
            return number

        return self._database.begin(take)

    async def holder(self, conversation_id: str) -> str | None:
        """The name of the process that has the lease."""
        return await self._database.read(
            lambda connection: _holder(connection.execute(_SELECT, (conversation_id,)).fetchone())
        )

    def renew(self, conversation_id: str, owner: str) -> asyncio.Future[bool]:
        """Let the lease last longer."""

        def renew(connection: sqlite3.Connection) -> bool:
            values = (time.time() + claims.LEASE, conversation_id, owner)
            return connection.execute(_RENEW, values).rowcount == 1

        return self._database.begin(renew)

    def release(self, conversation_id: str, owner: str) -> asyncio.Future[None]:
        """Give the lease back."""

        def release(connection: sqlite3.Connection) -> None:
            connection.execute(_RELEASE, (conversation_id, owner))

        return self._database.begin(release)


def _holder(row: tuple[int, str | None, float, str, str] | None) -> str | None:
    if row is None:
        return None
    _, owner, expires_at, name, on = row
    if owner is None or expires_at <= time.time() or is_gone(name, on):
        return None
    if name == worker() and on == machine():
        return None  # a leftover: in this process the caller is first in line
    return name


def is_held(connection: sqlite3.Connection, conversation_id: str) -> bool:
    """Whether another process has the lease of a conversation."""
    if not has_table(connection, "claims"):
        return False
    return _holder(connection.execute(_SELECT, (conversation_id,)).fetchone()) is not None


def check_owner(connection: sqlite3.Connection, conversation_id: str, owner: str) -> None:
    """Refuse to write under a lease that the owner has lost.

    Raises:
        StorageError: the owner no longer has the lease.
    """
    row = connection.execute(_SELECT, (conversation_id,)).fetchone()
    if row is None or row[1] != owner:
        since = f"; process {row[3]} has it" if row is not None and row[1] is not None else ""
        raise StorageError(
            f"the claim on conversation {conversation_id!r} was lost, since process {worker()} did not renew it "
            f"in time or the conversation was deleted{since}; nothing of this call was written, so end this run"
        )
