"""What the logs in SQL databases share: the methods of the protocol `Log` that are one query each.

The connections are used in other threads. A `Waiter` is a coroutine that waits for an answer from there.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

from ..calls.record import NEW, CallRecord
from ..errors import StorageError
from ..outside import uuid7
from .claims import Claim, Claims, Leases
from .cogency_tables import CogencyTables, MessageRow, or_now
from .log import Conversation, LogPage, Row, not_the_owner, parts_of
from .queries import (
    NeedsOfRun,
    Query,
    check_cursor,
    find,
    read_calls,
    read_conversations,
    read_newest,
    read_open_calls,
    read_origin,
    read_owner,
    read_tail,
)
from .rows import Origin, check_message, check_saved

T = TypeVar("T")


class Waiter:
    """One coroutine's wait for an answer from another thread.

    Attributes:
        future: what the coroutine awaits.
        value: the answer, unless there is an error.
        error: why there is no value, or `None`.
    """

    __slots__ = ("error", "future", "loop", "value")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.value: Any = None
        self.error: StorageError | None = None


class Leave:
    """A user who leaves, in the queue after their last write; `waiters` are woken when all before it is done."""

    __slots__ = ("user", "waiters")

    def __init__(self, user: object, *waiters: Waiter) -> None:
        self.user = user
        self.waiters = waiters


def wake(waiters: Iterable[Waiter]) -> None:
    """Wake all `waiters`, with one call per event loop."""
    loops: defaultdict[asyncio.AbstractEventLoop, list[Waiter]] = defaultdict(list)
    for waiter in waiters:
        loops[waiter.loop].append(waiter)
    for loop, group in loops.items():
        # A loop that was closed meanwhile raises; nobody waits there.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, group)


def _settle(waiters: list[Waiter]) -> None:
    for waiter in waiters:
        if waiter.future.done():  # cancelled
            continue
        if waiter.error is not None:
            waiter.future.set_exception(waiter.error)
        else:
            waiter.future.set_result(waiter.value)


def done(value: T) -> asyncio.Future[T]:
    """A future of the running loop that has its value already."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future


SavedMessage = tuple[str, str, str, str, str, float]
"""id, conversation_id, user_id, type, content, seconds since the epoch."""

SavedCall = tuple[str, str, str | None, CallRecord]
"""conversation_id, user_id, the id of the message that is its row, and the record."""

SavedPart = tuple[str, str, int, str, str, bytes, int]
"""conversation_id and id of its message, its number there, type, media type, data, and where it is in the content."""


@dataclass(frozen=True, slots=True)
class RowsToSave:
    """What is saved in one transaction.

    Attributes:
        messages: in order.
        calls: each replaces the stored call of the same batch and position, or is new.
        parts: of the messages.
        owners: the owners of the leases that must still be there, by conversation; `None` if there need be none.
    """

    messages: list[SavedMessage]
    calls: list[SavedCall] = field(default_factory=list[SavedCall])
    parts: list[SavedPart] = field(default_factory=list[SavedPart])
    owners: dict[str, str | None] = field(default_factory=dict[str, str | None])


class SqlLog(CogencyTables):
    """A log in a SQL database, by the queries of its kind."""

    _kind: ClassVar[str]
    _check_message = staticmethod(check_message)
    _check_saved = staticmethod(check_saved)
    _unsettled: ClassVar[Callable[..., Query[list[tuple[str, str, CallRecord]]]]]
    _delete: ClassVar[Callable[..., Query[int | None]]]
    _fork: ClassVar[Callable[..., Query[None]]]
    _database: Any  # a `SQLiteFile` or a `PostgresPool`
    _user: object
    _place: str
    _closed = False

    @abstractmethod
    async def _ask(self, query: Callable[..., Query[T]], *values: Any) -> T:
        """Carry out a query on what is committed. It may be made, and begun, more than once."""

    @abstractmethod
    def _save(self, saved: RowsToSave, value: T) -> asyncio.Future[T]:
        """Begin to save; the future has the value when it is done."""

    @abstractmethod
    def _leases(self, needs: NeedsOfRun | None) -> Leases:
        """The leases for one claim; who takes it reads what it needs."""

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
        saved = [(uuid7(), *row[:4], or_now(row[4])) for row in rows]
        self._check_open()
        ids = [row[0] for row in saved]
        return self._save(RowsToSave(saved), ids) if saved else done(ids)

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
                nothing was written. If a server went away during the save and did not come back in time, the message
                says that it is not known whether it was saved. Raised when the future is awaited.
        """
        self._check_saved(conversation_id, user_id, rows, calls)
        saved: list[SavedMessage] = []
        parts: list[SavedPart] = []
        for row in rows:
            type, content, timestamp = row[:3]
            saved.append((id := uuid7(), conversation_id, user_id, type, content, timestamp))
            parts += [
                (conversation_id, id, number, part.type, part.media_type, part.data, part.at)
                for number, part in enumerate(parts_of(row))
            ]
        called = iter([row[0] for row in saved if row[3] == "call"])
        # A call gets its row when it is saved, or if it began early, when it is open. The row then stays.
        recorded = [
            (conversation_id, user_id, next(called, None) if call.status in NEW else None, call)
            for call in calls
        ]
        self._check_open()
        owner = self._database.claims.owner(conversation_id)
        if not saved and not recorded:
            return done(None)
        return self._save(RowsToSave(saved, recorded, parts, {conversation_id: owner}), None)

    async def unsettled_calls(self, user_id: str = "") -> list[tuple[str, str, CallRecord]]:
        """Read the calls that are `waiting`, `open` or `unknown`, of conversations that no run has claimed.

        In SQLite, the cost does not depend on other calls. In PostgreSQL it is linear in all calls: an index on their
        status would make settling every call more expensive.

        Args:
            user_id: only this user's; "" for everybody's.

        Returns:
            Conversation, user and record of each, by conversation, batch and position.
        """
        found = await self._ask(self._unsettled, user_id)
        claims = self._database.claims
        return [each for each in found if claims.first(each[0]) is None]

    def claim(self, conversation_id: str, *, wait: bool = True) -> Claim:
        """Have a conversation to oneself inside `async with`, among all programs on the file or database.

        When a process ends, others on the same machine can claim at once, and others elsewhere within 30 seconds, in
        PostgreSQL by the clock of the database. A process that was stopped for longer has lost the claim: its next
        `append` raises `StorageError`.

        Args:
            conversation_id: its id.
            wait: whether to wait while another run has it.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already.
            StorageError: the file or database cannot be written.
        """
        self._check_open()
        leases = self._leases(None)
        claims: Claims = self._database.claims
        return claims.claim(conversation_id, wait=wait, leases=leases)

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
            StorageError: the file or database cannot be written.
        """
        self._check_open()
        leases = self._leases(NeedsOfRun(user_id, resumes))
        claims: Claims = self._database.claims
        return claims.claim(conversation_id, wait=wait, leases=leases)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"this {self._kind} on {self._place} is closed; open a new one")

    async def _fetch(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return await self._ask(find, statement, *values)

    async def close(self) -> None:
        """Wait for this object's saves; the last object on a database closes its connections.

        Any further call but `close` raises `StorageError`.
        """
        self._closed = True
        await self._database.leave(self._user)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        """Read the rows that follow a cursor, or all, oldest first.

        Costs in proportion to the rows it returns.

        Args:
            conversation_id: its id.
            user_id: only this user's rows; "" for everybody's.
            after: the cursor of an earlier page of this conversation. If the rows before it have changed, whichever
                program changed them, the page is whole. It is always whole as long as only plain cogency has written
                to the file.

        Raises:
            ConfigError: `after` is not a cursor.
        """
        cursor = check_cursor(after)
        return await self._ask(read_tail, conversation_id, user_id, cursor)

    async def newest(self, conversation_id: str, *, user_id: str = "", limit: int) -> LogPage:
        """Read the newest rows, oldest first; the page is whole if the conversation has no more.

        Args:
            conversation_id: its id.
            user_id: only this user's rows; "" for everybody's.
            limit: at most this many, 1 or more.
        """
        return await self._ask(read_newest, conversation_id, user_id, limit)

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation, in the order of their batches and positions.

        There are none of turns that plain cogency ran, nor of old ones.
        """
        return await self._ask(read_calls, conversation_id, user_id)

    async def open_calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation that are not settled, in the order of their batches and positions."""
        return await self._ask(read_open_calls, conversation_id, user_id)

    async def owner(self, conversation_id: str) -> str | None:
        """The user of a conversation's first row, to whom it belongs; `None` if it has no row."""
        return await self._ask(read_owner, conversation_id)

    async def conversations(
        self, user_id: str = "", limit: int | None = None
    ) -> list[Conversation]:
        """List conversations, one entry for each user of each, the one with the latest row first.

        Costs in proportion to the rows of that user; for everybody's, to all rows.

        Args:
            user_id: only this user's; "" for everybody's.
            limit: at most this many; `None` for all.
        """
        return await self._ask(read_conversations, user_id, limit)

    async def origin(self, conversation_id: str) -> Origin | None:
        """Where a conversation comes from; `None` if it is not a fork."""
        return await self._ask(read_origin, conversation_id)

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> int:
        """Delete the rows, calls and events of a conversation; return how many rows it had.

        A run that holds a claim on it can append nothing more.

        Args:
            conversation_id: its id.
            user_id: the user it must belong to; `None` for any.

        Raises:
            OwnerError: it is another user's; nothing was deleted.
        """
        deleted = await self._change(
            partial(self._delete, conversation_id, user_id), conversation_id
        )
        if deleted is None:
            raise not_the_owner(conversation_id, user_id or "")
        return deleted

    async def fork(
        self, conversation_id: str, new_id: str, *, user_id: str = "", rows: int
    ) -> None:
        """Begin a conversation with the first rows of another one, in one transaction; `Agent.fork` checks them first.

        Args:
            conversation_id: the other one.
            new_id: the new one, which has nothing yet.
            user_id: only this user's rows; "" for everybody's.
            rows: how many.
        """
        await self._change(partial(self._fork, new_id, conversation_id, user_id, rows), new_id)
