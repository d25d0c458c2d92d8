"""The log in PostgreSQL.

The lease of a claim is a part of the head of its conversation (`schema.py`). Its times are the database's, so clocks of
programs may differ. Leases of many conversations are taken, renewed and given back together.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from ...guards.arguments import check_count, check_text
from ...outside import is_gone, machine, worker
from .. import claims
from ..log import Begun
from ..queries import NeedsOfRun, Query, read_begun
from ..sql_log import RowsToSave, SqlLog
from .connection import Address, PostgresConnection, asyncpg, pack, read_dsn, unpack
from .pool import PostgresPool, pool_of
from .queries import delete_conversation, fork_conversation, read_unsettled_calls, run_query
from .schema import FREE
from .writes import AppendWrite, UnrepeatableWrite, Write, WriteStep

T = TypeVar("T")

_TAKE = "SELECT * FROM {tables}.take($1, $2, $3, $4, $5, $6, $7)"
_HOLDERS = f"""
    SELECT conversation_id, lease_owner, lease_worker, lease_machine FROM {{tables}}.conversations AS c
    WHERE conversation_id = ANY($1::text[]) AND NOT ({FREE}) AND c.lease_writer <> $2
"""
_RENEW = """
    UPDATE {tables}.conversations AS c SET lease_expires_at = clock_timestamp() + $3 * interval '1 second'
    FROM unnest($1::text[], $2::text[]) AS held(id, owner)
    WHERE c.conversation_id = held.id AND c.lease_owner = held.owner
    RETURNING c.lease_owner
"""
_RELEASE = """
    UPDATE {tables}.conversations AS c SET lease_owner = NULL
    FROM unnest($1::text[], $2::text[]) AS held(id, owner)
    WHERE c.conversation_id = held.id AND c.lease_owner = held.owner
"""


class _LeaseWrite(Write):
    """A write of one lease.

    Attributes:
        id: of the conversation, as it is stored.
        owner: of the lease that is wanted or held.
    """

    __slots__ = ("id", "owner")

    def __init__(self, conversation_id: str, owner: str) -> None:
        super().__init__({conversation_id: None})
        self.id, self.owner = pack(conversation_id), owner

    def fits(self, step: WriteStep) -> bool:
        """False if the step holds a write of the same conversation."""
        return step.owners.keys().isdisjoint(self.owners)


def _leases(step: WriteStep) -> list[_LeaseWrite]:
    found = [write for write in step.writes if isinstance(write, _LeaseWrite)]
    # In one order, so that two programs never wait for each other.
    return sorted(found, key=lambda write: write.id)


class _Take(_LeaseWrite):
    """Take a lease; the value is its number, with what is wanted, or the name of the process that has it."""

    __slots__ = ("needs",)

    def __init__(self, conversation_id: str, owner: str, needs: NeedsOfRun | None) -> None:
        super().__init__(conversation_id, owner)
        self.needs = needs

    async def carry_out(
        self, step: WriteStep, connection: PostgresConnection, address: Address
    ) -> None:
        """Take all leases that are free, or whose process has ended."""
        left = {write.id: write for write in _leases(step) if isinstance(write, _Take)}
        author, here = step.author[0], (worker(), machine())
        gone: list[str] = []
        while left:
            ids, owners = list(left), [write.owner for write in left.values()]
            take = _TAKE.format(tables=address.tables)
            for id, number, first_user, has_open in await connection.fetch(
                take, ids, owners, claims.LEASE, author, *here, gone
            ):
                write = left.pop(id)
                write.value = number
                if write.needs is not None:
                    owner = unpack(first_user)
                    begun = read_begun(unpack(id), write.needs, owner, has_open=has_open)
                    write.value = number, await run_query(connection, address, begun)
            holders = await connection.fetch(
                _HOLDERS.format(tables=address.tables), list(left), author
            )
            gone = []
            for id, owner, holder, on in holders:
                if is_gone(holder, on):
                    gone.append(owner)
                else:
                    left.pop(id).value = holder


class _Renew(_LeaseWrite):
    """Let a lease last longer; the value is whether the owner still had it."""

    __slots__ = ()

    async def carry_out(
        self, step: WriteStep, connection: PostgresConnection, address: Address
    ) -> None:
        """Renew all leases that their owners still have."""
        leases = _leases(step)
        renewed = await connection.fetch(
            _RENEW.format(tables=address.tables),
            [write.id for write in leases],
            [write.owner for write in leases],
            claims.LEASE,
        )
        owners = {owner for (owner,) in renewed}
        for write in leases:
            write.value = write.owner in owners


class _Release(_LeaseWrite):
    """Give a lease back."""

    __slots__ = ()

    async def carry_out(
        self, step: WriteStep, connection: PostgresConnection, address: Address
    ) -> None:
        """Give back all leases that their owners still have."""
        leases = _leases(step)
        await connection.fetch(
            _RELEASE.format(tables=address.tables),
            [write.id for write in leases],
            [write.owner for write in leases],
        )


class TableLeases:
    """The leases in the tables of a database; see `Leases`.

    Args:
        database: the database.
        needs: what the run that takes a lease must know; `None` for nothing.
    """

    def __init__(self, database: PostgresPool, needs: NeedsOfRun | None = None) -> None:
        self._database = database
        self._needs = needs

    def take(
        self, conversation_id: str, owner: str
    ) -> asyncio.Future[int | str | tuple[int, Begun]]:
        """Take the lease if it is free."""
        return self._database.begin(_Take(conversation_id, owner, self._needs))

    async def holder(self, conversation_id: str) -> str | None:
        """The name of the process that has the lease."""
        query = _HOLDERS.format(tables=self._database.address.tables)
        rows = await self._database.read(
            lambda connection: connection.fetch(
                query, [pack(conversation_id)], self._database.writer
            )
        )
        for _, _, holder, on in rows:
            if not is_gone(holder, on):
                name: str = unpack(holder)
                return name
        return None

    def renew(self, conversation_id: str, owner: str) -> asyncio.Future[bool]:
        """Let the lease last longer."""
        return self._database.begin(_Renew(conversation_id, owner))

    def release(self, conversation_id: str, owner: str) -> asyncio.Future[None]:
        """Give the lease back."""
        return self._database.begin(_Release(conversation_id, owner))


class PostgreSQL(SqlLog):
    """A log in a PostgreSQL database, for any number of agents, event loops, threads, programs and machines at once.

    A save returns when its row is committed; saves that wait together share one transaction, whatever their
    conversations. Objects on the same address share their connections, which belong to a thread: one that writes, and
    `connections` that read. The first call opens them, and makes the tables or brings them to this version. They are
    closed by `close`, by dropping the last object on the address, or at the end of the program. After a fork, parent
    and child can both use the object, each with its own connections.

    If the server goes away, calls wait up to 15 seconds for it, and no save is done twice. Every method raises
    `StorageError` when the database cannot be reached, read or written; `retryable` is true if the same call may
    succeed later. Earlier saves stay readable, and the same object works again once the cause is gone.

    Args:
        dsn: `postgresql://user:password@host:port/database`, in libpq's form; TLS with `?sslmode=verify-full`. Parts
            that are left out come from the environment (`PGHOST`, `PGPASSWORD`, ...). `?schema=NAME` names the schema
            of the tables; by default `cogency`.
        connections: how many may read at a time.

    Attributes:
        place: host, port and database, as messages name them.

    Raises:
        ConfigError: `dsn` is not an address, `connections` is less than 1, or asyncpg is not installed.
    """

    place: str
    _kind = "PostgreSQL"
    _unsettled = staticmethod(read_unsettled_calls)
    _delete = staticmethod(delete_conversation)
    _fork = staticmethod(fork_conversation)
    _database: PostgresPool

    def __init__(self, dsn: str, *, connections: int = 4) -> None:
        check_text("dsn", dsn, what="an address such as postgresql://user@host/database")
        check_count("connections", connections, or_none=False)
        asyncpg()
        address = read_dsn(dsn)
        self.place = self._place = address.place
        self._address = address
        self._user = user = object()
        self._database = pool_of(address, user, connections)
        weakref.finalize(self, PostgresPool.forget, self._database, user).atexit = False

    def _save(self, saved: RowsToSave, value: T) -> asyncio.Future[T]:
        return self._database.begin(AppendWrite(saved, value))

    def _leases(self, needs: NeedsOfRun | None) -> TableLeases:
        return TableLeases(self._database, needs)

    async def _ask(self, query: Callable[..., Query[T]], *values: Any) -> T:
        self._check_open()
        return await self._database.read(
            lambda connection: run_query(connection, self._address, query(*values))
        )

    async def _change(self, query: Callable[[], Query[T]], *conversations: str) -> T:
        self._check_open()
        value: T = await self._database.begin(
            UnrepeatableWrite(
                lambda connection: run_query(connection, self._address, query()), conversations
            )
        )
        return value
