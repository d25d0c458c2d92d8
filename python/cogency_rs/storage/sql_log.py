"""What the logs in SQL databases share: the methods of the protocol `Log` that are one query each.

The connections are used in other threads. A `Waiter` is a coroutine that waits for an answer from there.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from ..calls.record import CallRecord
from ..errors import StorageError
from .cogency_tables import CogencyTables
from .log import Conversation, LogPage, not_the_owner
from .rows import Origin

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


def answer(waiters: Iterable[Waiter]) -> None:
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


Query = Callable[..., T | Awaitable[T]]
"""A question to a database: called with a connection first, by `SqlLog._ask`."""


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of one kind of database. What they are given is what `SqlLog` says."""

    check_cursor: Callable[[str | None], Any]
    tail: Query[LogPage]
    newest: Query[LogPage]
    calls: Query[list[CallRecord]]
    open_calls: Query[list[CallRecord]]
    owner: Query[str | None]
    conversations: Query[list[Conversation]]
    origin: Query[Origin | None]
    delete: Query[int | None]
    fork: Query[None]


class SqlLog(CogencyTables):
    """A log in a SQL database, by the queries of its kind."""

    _queries: ClassVar[Queries]
    _database: Any  # a `SQLiteFile` or a `PostgresPool`
    _user: object
    _closed = False

    @abstractmethod
    async def _ask(self, query: Query[T], *values: Any) -> T:
        """Answer a query from what is committed."""

    @abstractmethod
    async def _change(self, query: Query[T], conversation_id: str, *values: Any) -> T:
        """Carry out a query that changes a conversation, in a transaction."""

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
        cursor = self._queries.check_cursor(after)
        return await self._ask(self._queries.tail, conversation_id, user_id, cursor)

    async def newest(self, conversation_id: str, *, user_id: str = "", limit: int) -> LogPage:
        """Read the newest rows, oldest first; the page is whole if the conversation has no more.

        Args:
            conversation_id: its id.
            user_id: only this user's rows; "" for everybody's.
            limit: at most this many, 1 or more.
        """
        return await self._ask(self._queries.newest, conversation_id, user_id, limit)

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation, in the order of their batches and positions.

        There are none of turns that plain cogency ran, nor of old ones.
        """
        return await self._ask(self._queries.calls, conversation_id, user_id)

    async def open_calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation that are not settled, in the order of their batches and positions."""
        return await self._ask(self._queries.open_calls, conversation_id, user_id)

    async def owner(self, conversation_id: str) -> str | None:
        """The user of a conversation's first row, to whom it belongs; `None` if it has no row."""
        return await self._ask(self._queries.owner, conversation_id)

    async def conversations(
        self, user_id: str = "", limit: int | None = None
    ) -> list[Conversation]:
        """List conversations, one entry for each user of each, the one with the latest row first.

        Costs in proportion to the rows of that user; for everybody's, to all rows.

        Args:
            user_id: only this user's; "" for everybody's.
            limit: at most this many; `None` for all.
        """
        return await self._ask(self._queries.conversations, user_id, limit)

    async def origin(self, conversation_id: str) -> Origin | None:
        """Where a conversation comes from; `None` if it is not a fork."""
        return await self._ask(self._queries.origin, conversation_id)

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> int:
        """Delete the rows, calls and events of a conversation; return how many rows it had.

        A run that holds a claim on it can append nothing more.

        Args:
            conversation_id: its id.
            user_id: the user it must belong to; `None` for any.

        Raises:
            OwnerError: it is another user's; nothing was deleted.
        """
        deleted = await self._change(self._queries.delete, conversation_id, user_id)
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
        await self._change(self._queries.fork, new_id, conversation_id, user_id, rows)
