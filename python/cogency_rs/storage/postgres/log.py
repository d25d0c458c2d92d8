"""The log in PostgreSQL: the protocol `Log`. The methods that only cogency's storage has are in `cogency_tables.py`."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ...errors import StorageError
from ...guards.arguments import check_count, check_text
from ...ids import uuid7
from ..claims import Claim
from ..log import NEW, CallRecord, Conversation, LogPage, Origin, Row, check_row_type
from ..owners import not_the_owner
from ..waiters import done
from .address import read_dsn
from .calls import (
    delete_conversation,
    fork_conversation,
    list_conversations,
    read_calls,
    read_origin,
    read_owner,
    read_unsettled_calls,
)
from .cogency_tables import CogencyTables
from .database import Database, database_for
from .driver import Connection, asyncpg
from .leases import TableLeases
from .tail import check_cursor, read_newest, read_tail
from .writes import Append, SavedMessage, Single

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from types import TracebackType

__all__ = ["PostgreSQL"]

T = TypeVar("T")


class PostgreSQL(CogencyTables):
    """A log in a PostgreSQL database, for any number of agents, event loops, threads, programs and machines at once.

    A save returns when its row is committed; saves that wait together share one transaction, whatever their
    conversations. Objects on the same address share their connections, which belong to a thread: one that writes, and
    `connections` that read. The first call opens them, and makes the tables or brings them to this version. They are
    closed by `close`, by dropping the last object on the address, or at the end of the program. After a fork, parent
    and child can both use the object, each with connections of its own.

    If the server goes away, calls wait up to 15 seconds for it, and no save is done twice. Every method raises
    `StorageError` when the database cannot be reached, read or written; `retryable` is true if the same call may
    succeed later. Earlier saves stay readable, and the same object works again when the cause is gone.

    Args:
        dsn: `postgresql://user:password@host:port/database`, in libpq's form; TLS with `?sslmode=verify-full`. Parts
            that are left out come from the environment (`PGHOST`, `PGPASSWORD`, ...). `?schema=NAME` names the schema
            of the tables; `cogency` if not given.
        connections: how many may read at a time.

    Attributes:
        place: host, port and database, as messages name them.

    Raises:
        ConfigError: `dsn` is not an address, `connections` is less than 1, or asyncpg is not installed.
    """

    place: str

    def __init__(self, dsn: str, *, connections: int = 4) -> None:
        check_text("dsn", dsn, what="an address such as postgresql://user@host/database")
        check_count("connections", connections, or_none=False)
        asyncpg()
        address = read_dsn(dsn)
        self.place = address.place
        self._address = address
        self._user = user = object()
        self._database = database_for(address, user, connections)
        self._closed = False
        weakref.finalize(self, Database.forget, self._database, user).atexit = False

    async def close(self) -> None:
        """Wait for this object's saves; the last object on an address closes the connections.

        Any further call but `close` raises `StorageError`.
        """
        self._closed = True
        await self._database.leave(self._user)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

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
            rows: type, content, timestamp of each, in order.
            calls: each replaces the stored call of the same batch and position, or is new. The `call` rows belong, in
                order, to those that are `open` and have no row yet; one that is `early` has no row.

        Returns:
            A future that is done when everything is saved. The save has begun, and needs no task to go on.

        Raises:
            ConfigError: a type is not known; nothing was written.
            StorageError: something could not be stored, or this process had a claim on the conversation and lost it;
                nothing was written. If the server went away during the save and did not come back in time, the message
                says that it is not known whether it was saved. Raised when the future is awaited.
        """
        messages: list[SavedMessage] = []
        for type, content, timestamp in rows:
            check_row_type(type)
            messages.append((uuid7(), conversation_id, user_id, type, content, timestamp))
        called = iter([row[0] for row in messages if row[3] == "call"])
        recorded = [
            (conversation_id, user_id, next(called, None) if call.status in NEW else None, call)
            for call in calls
        ]
        database = self._open()
        if not messages and not recorded:
            return done(None)
        owner = database.claims.owner(conversation_id)
        return database.begin(Append(messages, recorded, {conversation_id: owner}))

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        """Read the rows that follow a cursor, or all, oldest first.

        Costs in proportion to the rows it returns.

        Args:
            conversation_id: which one.
            user_id: only this user's rows; "" for everybody's.
            after: the cursor of an earlier page of this conversation. If the rows before it have changed, whichever
                program changed them, the page is whole.

        Raises:
            ConfigError: `after` is not a cursor.
        """
        cursor = check_cursor(after)
        return await self._read(
            lambda connection: read_tail(
                connection, self._address, conversation_id, user_id, cursor
            )
        )

    async def newest(self, conversation_id: str, *, user_id: str = "", limit: int) -> LogPage:
        """Read the newest rows, oldest first; the page is whole if the conversation has no more.

        Args:
            conversation_id: which one.
            user_id: only this user's rows; "" for everybody's.
            limit: at most this many, 1 or more.
        """
        return await self._read(
            lambda connection: read_newest(
                connection, self._address, conversation_id, user_id, limit
            )
        )

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation, in the order of their batches and positions."""
        return await self._read(
            lambda connection: read_calls(connection, self._address, conversation_id, user_id)
        )

    async def open_calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation that are not settled, in the order of their batches and positions."""
        return await self._read(
            lambda connection: read_calls(
                connection, self._address, conversation_id, user_id, only_in_doubt=True
            )
        )

    async def unsettled_calls(self, user_id: str = "") -> list[tuple[str, str, CallRecord]]:
        """Read the calls that are `waiting`, `open` or `unknown`, of conversations that no run has claimed.

        Costs time linear in all calls: an index on their status would make every settling of a call dearer.

        Args:
            user_id: only this user's; "" for everybody's.

        Returns:
            Conversation, user and record of each, by conversation, batch and position.
        """
        found = await self._read(
            lambda connection: read_unsettled_calls(connection, self._address, user_id)
        )
        claims = self._open().claims
        return [each for each in found if claims.first(each[0]) is None]

    async def owner(self, conversation_id: str) -> str | None:
        """The user of a conversation's first row, to whom it belongs; `None` if it has no row."""
        return await self._read(
            lambda connection: read_owner(connection, self._address, conversation_id)
        )

    def claim(self, conversation_id: str, *, wait: bool = True) -> Claim:
        """Have a conversation to oneself inside `async with`, among all programs on the database.

        When a process ends, others on the same machine can claim at once, and others elsewhere within 30 seconds by the
        database's clock. A process that was stopped for longer has lost the claim: its next `append` raises
        `StorageError`.

        Args:
            conversation_id: which one.
            wait: whether to wait while another run has it.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already.
            StorageError: the database cannot be written.
        """
        database = self._open()
        return database.claims.claim(conversation_id, wait=wait, leases=TableLeases(database))

    async def conversations(
        self, user_id: str = "", limit: int | None = None
    ) -> list[Conversation]:
        """List conversations, one entry for each user of each, the one with the latest row first.

        Costs in proportion to the rows of that user; for everybody's, to all rows.

        Args:
            user_id: only this user's; "" for everybody's.
            limit: at most this many; `None` for all.
        """
        return await self._read(
            lambda connection: list_conversations(connection, self._address, user_id, limit)
        )

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> int:
        """Delete the rows, calls and events of a conversation; return how many rows it had.

        A run that holds a claim on it can append nothing more.

        Args:
            conversation_id: which one.
            user_id: whose it must be; `None` for anybody's.

        Raises:
            OwnerError: it is another user's; nothing was deleted.
        """
        deleted: int | None = await self._write(
            lambda connection: delete_conversation(
                connection, self._address, conversation_id, user_id
            ),
            conversation_id,
        )
        if deleted is None:
            raise not_the_owner(conversation_id, user_id or "")
        return deleted

    async def fork(
        self, conversation_id: str, new_id: str, *, user_id: str = "", rows: int
    ) -> None:
        """Begin a conversation with the first rows of another one, in one statement; `Agent.fork` checks them first.

        Args:
            conversation_id: the other one.
            new_id: the new one, which has nothing yet.
            user_id: only this user's rows; "" for everybody's.
            rows: how many.
        """
        await self._write(
            lambda connection: fork_conversation(
                connection, self._address, conversation_id, new_id, user_id, rows
            ),
            new_id,
        )

    async def origin(self, conversation_id: str) -> Origin | None:
        """Where a conversation comes from; `None` if it is not a fork."""
        return await self._read(
            lambda connection: read_origin(connection, self._address, conversation_id)
        )

    def _open(self) -> Database:
        if self._closed:
            raise StorageError(f"this PostgreSQL on {self.place} is closed; open a new one")
        return self._database

    async def _read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        return await self._open().read(work)

    async def _write(
        self, work: Callable[[Connection], Awaitable[Any]], *conversations: str
    ) -> Any:
        return await self._open().begin(Single(work, conversations))

    def _save(self, messages: Sequence[SavedMessage]) -> asyncio.Future[None]:
        database = self._open()
        return database.begin(Append(messages)) if messages else done(None)
