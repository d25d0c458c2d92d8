"""The log in PostgreSQL.

The lease of a claim is a part of the head of its conversation (`schema.py`). Its times are the database's, so clocks of
programs may differ. Leases of many conversations are taken, renewed and given back together.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from ...calls.record import NEW, CallRecord
from ...errors import StorageError
from ...guards.arguments import check_count, check_text
from ...outside import is_gone, machine, uuid7, worker
from .. import claims
from ..claims import Claim
from ..cogency_tables import MessageRow, or_now
from ..log import Begun, Row, parts_of
from ..rows import check_message, check_saved
from ..sql_log import Queries, SqlLog, done
from .connection import Address, Connection, asyncpg, pack, read_dsn, unpack
from .pool import PostgresPool, pool_of
from .queries import (
    check_cursor,
    delete_conversation,
    fork_conversation,
    list_conversations,
    read_calls,
    read_newest,
    read_origin,
    read_owner,
    read_tail,
    read_unsettled_calls,
)
from .schema import FREE
from .writes import Append, SavedMessage, SavedPart, Single, Write, WriteStep

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


class Wanted(NamedTuple):
    """What a run that takes a lease must know; see `Begun`.

    Attributes:
        user_id: whose calls and rows; "" for everybody's.
        resumes: whether it needs all of them.
    """

    user_id: str
    resumes: bool


class _Take(_LeaseWrite):
    """Take a lease; the value is its number, with what is wanted, or the name of the process that has it."""

    __slots__ = ("wanted",)

    def __init__(self, conversation_id: str, owner: str, wanted: Wanted | None) -> None:
        super().__init__(conversation_id, owner)
        self.wanted = wanted

    async def carry_out(self, step: WriteStep, connection: Connection, address: Address) -> None:
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
                if write.wanted is not None:
                    owner = None if first_user is None else unpack(first_user)
                    begun = await _begun(
                        connection, address, unpack(id), owner, write.wanted, has_open=has_open
                    )
                    write.value = number, begun
            holders = await connection.fetch(
                _HOLDERS.format(tables=address.tables), list(left), author
            )
            gone = []
            for id, owner, holder, on in holders:
                if is_gone(holder, on):
                    gone.append(owner)
                else:
                    left.pop(id).value = holder


async def _begun(
    connection: Connection,
    address: Address,
    conversation_id: str,
    owner: str | None,
    wanted: Wanted,
    *,
    has_open: bool,
) -> Begun:
    """What a run must know that has just taken the lease."""
    user_id, resumes = wanted
    calls: list[CallRecord] = []
    if resumes or has_open:
        calls = await read_calls(
            connection, address, conversation_id, user_id, only_in_doubt=not resumes
        )
    page = None
    if resumes or calls:
        page = await read_tail(connection, address, conversation_id, user_id, None)
    return Begun(owner, calls, page)


class _Renew(_LeaseWrite):
    """Let a lease last longer; the value is whether the owner still had it."""

    __slots__ = ()

    async def carry_out(self, step: WriteStep, connection: Connection, address: Address) -> None:
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

    async def carry_out(self, step: WriteStep, connection: Connection, address: Address) -> None:
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
        wanted: what the run that takes a lease must know; `None` for nothing.
    """

    def __init__(self, database: PostgresPool, wanted: Wanted | None = None) -> None:
        self._database = database
        self._wanted = wanted

    def take(
        self, conversation_id: str, owner: str
    ) -> asyncio.Future[int | str | tuple[int, Begun]]:
        """Take the lease if it is free."""
        return self._database.begin(_Take(conversation_id, owner, self._wanted))

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
                return unpack(holder)
        return None

    def renew(self, conversation_id: str, owner: str) -> asyncio.Future[bool]:
        """Let the lease last longer."""
        return self._database.begin(_Renew(conversation_id, owner))

    def release(self, conversation_id: str, owner: str) -> asyncio.Future[None]:
        """Give the lease back."""
        return self._database.begin(_Release(conversation_id, owner))


# As in SQLite, only A to Z match in both cases, and a backslash is a character like any other.
_SEARCH = """
    SELECT content, timestamp, conversation_id FROM {t}messages AS m
    WHERE type = 'user' AND user_id = $1 AND ($2 = '' OR conversation_id <> $2)
      AND EXISTS (
          SELECT 1 FROM unnest($3::text[]) AS word
          WHERE lower(content COLLATE "C") LIKE '%' || word || '%' ESCAPE ''
      )
    ORDER BY (
          SELECT sum(length(content) - length(replace(lower(content COLLATE "C"), word, '')))
          FROM unnest($3::text[]) AS word
      ) DESC, timestamp DESC, conversation_id, number
    LIMIT $4
"""
_SQL = {
    "newest": "number DESC",
    "any_row": "conversation_id, number",
    "event": 'event_id COLLATE "C"',
    "is_in": "type = ANY($3)",
    "not_in": "type <> ALL($4)",
    "search": _SEARCH,
    "all": "NULL::bigint",
}


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
    _queries = Queries(
        check_cursor=check_cursor,
        tail=read_tail,
        newest=read_newest,
        calls=read_calls,
        open_calls=partial(read_calls, only_in_doubt=True),
        owner=read_owner,
        conversations=list_conversations,
        origin=read_origin,
        delete=delete_conversation,
        fork=fork_conversation,
    )
    _database: PostgresPool

    def __init__(self, dsn: str, *, connections: int = 4) -> None:
        check_text("dsn", dsn, what="an address such as postgresql://user@host/database")
        check_count("connections", connections, or_none=False)
        asyncpg()
        address = read_dsn(dsn)
        self.place = address.place
        self._sql = {**_SQL, "t": f"{address.tables}."}
        self._address = address
        self._user = user = object()
        self._database = pool_of(address, user, connections)
        weakref.finalize(self, PostgresPool.forget, self._database, user).atexit = False

    async def save_messages(self, rows: Sequence[MessageRow]) -> list[str]:
        """Save several messages in one transaction, all or none.

        Args:
            rows: conversation_id, user_id, type, content, timestamp of each, as for `save_message`.

        Returns:
            Their ids, in order.

        Raises:
            ConfigError: a type is not known; none of them was written.
            StorageError: a row could not be stored; none of them was written.
        """
        messages: list[SavedMessage] = []
        for conversation_id, user_id, type, content, timestamp in rows:
            check_message(conversation_id, user_id, type, content, timestamp)
            messages.append((uuid7(), conversation_id, user_id, type, content, or_now(timestamp)))
        if messages:
            await self._open().begin(Append(messages))
        return [row[0] for row in messages]

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
                nothing was written. If the server went away during the save and did not come back in time, the message
                says that it is not known whether it was saved. Raised when the future is awaited.
        """
        check_saved(conversation_id, user_id, rows, calls)
        messages: list[SavedMessage] = []
        parts: list[SavedPart] = []
        for row in rows:
            type, content, timestamp = row[:3]
            messages.append((id := uuid7(), conversation_id, user_id, type, content, timestamp))
            parts += [
                (conversation_id, id, number, part.type, part.media_type, part.data, part.at)
                for number, part in enumerate(parts_of(row))
            ]
        called = iter([row[0] for row in messages if row[3] == "call"])
        recorded = [
            (conversation_id, user_id, next(called, None) if call.status in NEW else None, call)
            for call in calls
        ]
        database = self._open()
        if not messages and not recorded:
            return done(None)
        owner = database.claims.owner(conversation_id)
        return database.begin(Append(messages, recorded, {conversation_id: owner}, parts))

    async def unsettled_calls(self, user_id: str = "") -> list[tuple[str, str, CallRecord]]:
        """Read the calls that are `waiting`, `open` or `unknown`, of conversations that no run has claimed.

        Costs time linear in all calls: an index on their status would make settling every call more expensive.

        Args:
            user_id: only this user's; "" for everybody's.

        Returns:
            Conversation, user and record of each, by conversation, batch and position.
        """
        found = await self._ask(read_unsettled_calls, user_id)
        claims = self._open().claims
        return [each for each in found if claims.first(each[0]) is None]

    def claim(self, conversation_id: str, *, wait: bool = True) -> Claim:
        """Have a conversation to oneself inside `async with`, among all programs on the database.

        When a process ends, others on the same machine can claim at once, and others elsewhere within 30 seconds by the
        database's clock. A process that was stopped for longer has lost the claim: its next `append` raises
        `StorageError`.

        Args:
            conversation_id: its id.
            wait: whether to wait while another run has it.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already.
            StorageError: the database cannot be written.
        """
        database = self._open()
        return database.claims.claim(conversation_id, wait=wait, leases=TableLeases(database))

    def begin(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        wait: bool = True,
        resumes: bool = False,
    ) -> Claim:
        """Claim a conversation, and read in the same trip what a run needs that begins in it.

        Args:
            conversation_id: its id.
            user_id: only this user's calls and rows; "" for everybody's.
            wait: whether to wait while another run has it.
            resumes: whether the run goes on where an earlier one stopped, and so needs all calls and rows.

        Returns:
            A claim whose `begun` has what was read.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already.
            StorageError: the database cannot be written.
        """
        database = self._open()
        leases = TableLeases(database, Wanted(user_id, resumes))
        return database.claims.claim(conversation_id, wait=wait, leases=leases)

    def _open(self) -> PostgresPool:
        if self._closed:
            raise StorageError(f"this PostgreSQL on {self.place} is closed; open a new one")
        return self._database

    async def _ask(self, query: Callable[..., Any], *values: Any) -> Any:
        return await self._open().read(lambda connection: query(connection, self._address, *values))

    async def _change(self, query: Callable[..., Any], conversation_id: str, *values: Any) -> Any:
        return await self._write(
            lambda connection: query(connection, self._address, conversation_id, *values),
            conversation_id,
        )

    async def _fetch(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        sql, bound = statement.format_map(self._sql), [_packed(value) for value in values]
        rows = await self._open().read(lambda connection: connection.fetch(sql, *bound))
        return [tuple(map(_unpacked, row)) for row in rows]

    async def _execute(self, statement: str, *values: Any) -> int:
        sql, bound = statement.format_map(self._sql), [_packed(value) for value in values]
        tag: str = await self._write(lambda connection: connection.execute(sql, *bound))
        return int(tag.rpartition(" ")[2])

    async def _write(
        self, work: Callable[[Connection], Awaitable[Any]], *conversations: str
    ) -> Any:
        return await self._open().begin(Single(work, conversations))


def _packed(value: Any) -> Any:
    return list(map(pack, cast("list[Any]", value))) if isinstance(value, list) else pack(value)


def _unpacked(value: Any) -> Any:
    return unpack(value) if isinstance(value, str) else value
