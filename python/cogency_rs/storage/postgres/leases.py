"""The leases of claims in a PostgreSQL log. A lease is a part of the head of its conversation.

Times are the database's, so clocks of programs may differ. Leases of many conversations are taken, renewed and given
back together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...outside import is_gone, machine, worker
from .. import claims
from ..log import Begun
from .calls import read_calls
from .schema import FREE
from .tail import read_tail
from .text import pack, unpack
from .writes import Write, WriteStep

if TYPE_CHECKING:
    import asyncio

    from ...calls.record import CallRecord
    from .address import Address
    from .database import Database
    from .driver import Connection

__all__ = ["TableLeases", "Wanted"]

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

    def __init__(self, database: Database, wanted: Wanted | None = None) -> None:
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
