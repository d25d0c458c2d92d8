"""The databases of a world, and the way to them: requests are carried out in order, late, or not at all.

`SharedLog` is a log in memory that several simulated processes share, with leases; `FileLog` is `SQLite` on a real
file. Both are the package's own storages, behind the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from cogency_rs import Memory, SQLite
from cogency_rs.errors import StorageError
from cogency_rs.storage import Claims, claims as _claims
from cogency_rs.storage.log import Begun
from cogency_rs.storage.sqlite.connection import connect_to_write, explain

from .loop import WorldLoop

if TYPE_CHECKING:
    from cogency_rs.storage import CallRecord

    from .machine import Machine
    from .plan import Trouble

__all__ = ["FileDatabase", "FileLog", "SharedDatabase", "SharedLog", "Way", "given_log"]


class Way:
    """The way of one process to a database.

    Args:
        loop: the world's.
        owner: the process.
        random: draws how long requests take; `None` if they take no time.
        troubles: what goes wrong with which request.
    """

    def __init__(
        self,
        loop: WorldLoop,
        owner: Machine,
        random: Random | None,
        troubles: dict[int, Trouble],
    ) -> None:
        self._loop, self._owner, self._random = loop, owner, random
        self._troubles = troubles
        self._last = 0.0  # when the last request is carried out
        self.requests = 0
        self.is_calm = False
        self.is_void = False  # the world is over, and nothing more is written

    def ask(self, work: Callable[[], Any], *, writes: bool) -> asyncio.Future[Any]:
        """Begin a request; its future has what `work` returns or raises."""
        loop = self._loop
        future = loop.create_future()
        if self.is_void:
            future.set_exception(StorageError("the world is over"))
            return future
        self.requests += 1
        trouble = None if self.is_calm else self._troubles.get(self.requests)
        wait = back = 0.0
        if trouble is not None:
            self._owner.world.happened = True
            if trouble.kind == "refused":
                future.set_exception(StorageError("the database refuses", retryable=True))
                return future
            wait = trouble.seconds
        elif self._random is not None and not self.is_calm:
            chance = self._random.random()
            if chance < 0.3:
                wait, back = chance / 10, chance / 30
        now = loop.time()
        if not wait and not back and self._last <= now:
            _answer(future, work)
            return future
        is_lost = trouble is not None and trouble.kind == "lost"
        self._last = max(self._last, now + wait)
        # A request of a process that has died since may have left it, or not.
        leaves = self._random is None or self._random.random() < 0.5
        loop.outside(self._last, self._carry_out, future, work, back, is_lost, leaves)
        return future

    def _carry_out(
        self,
        future: asyncio.Future[Any],
        work: Callable[[], Any],
        back: float,
        is_lost: bool,
        leaves: bool,
    ) -> None:
        if self.is_void or (self._owner.is_dead and not leaves):
            return
        done = self._loop.create_future()
        _answer(done, lambda: self._owner.inside(work))
        if is_lost:
            done.exception()
            done = self._loop.create_future()
            done.set_exception(StorageError("the answer of the database was lost"))
        if back:
            self._loop.outside(self._loop.time() + back, _pass_on, done, future)
        else:
            _pass_on(done, future)


def _answer(future: asyncio.Future[Any], work: Callable[[], Any]) -> None:
    try:
        value = work()
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(value)


def _pass_on(done: asyncio.Future[Any], future: asyncio.Future[Any]) -> None:
    error = done.exception()
    if future.done():  # cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())


def _value(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as stopped:
        return stopped.value
    raise AssertionError("a log waits for something that is not the loop's")


class SharedDatabase:
    """The rows and leases that the processes of a world share, in memory.

    Args:
        loop: the world's, whose time is the database's.
    """

    def __init__(self, loop: WorldLoop) -> None:
        self.loop = loop
        self.log = Memory(max_bytes=None)
        self.leases: dict[str, tuple[int, str | None, float, str, str]] = {}

    def holder(self, conversation_id: str, asks: Machine) -> str | None:
        _, owner, until, name, on = self.leases.get(conversation_id, (0, None, 0.0, "", ""))
        if owner is None or until <= self.loop.time() or asks.sees_end_of(name, on):
            return None
        return None if name == asks.name else name

    def has(self, conversation_id: str, owner: str) -> bool:
        found = self.leases.get(conversation_id)
        return found is not None and found[1] == owner


class SharedLog:
    """A log in memory for several processes; see the guide for storages.

    Args:
        database: what they share.
        machine: the process that this one is of.
        way: its way to the database.
    """

    is_durable = True

    def __init__(self, database: SharedDatabase, machine: Machine, way: Way) -> None:
        self._database, self._machine, self._way = database, machine, way
        self._claims = Claims()

    def append(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        rows: Sequence[Any],
        calls: Sequence[CallRecord] = (),
    ) -> asyncio.Future[Any]:
        owner = self._claims.owner(conversation_id)

        def append() -> None:
            if owner is not None and not self._database.has(conversation_id, owner):
                raise StorageError(f"the claim on conversation {conversation_id!r} was lost")
            self._database.log.append(
                conversation_id, user_id=user_id, rows=rows, calls=calls
            ).result()

        return self._way.ask(append, writes=True)

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> Any:
        log = self._database.log
        return await self._read(lambda: log.read(conversation_id, user_id=user_id, after=after))

    async def newest(self, conversation_id: str, *, user_id: str = "", limit: int) -> Any:
        log = self._database.log
        return await self._read(lambda: log.newest(conversation_id, user_id=user_id, limit=limit))

    async def calls(self, conversation_id: str, *, user_id: str = "") -> Any:
        log = self._database.log
        return await self._read(lambda: log.calls(conversation_id, user_id=user_id))

    async def open_calls(self, conversation_id: str, *, user_id: str = "") -> Any:
        log = self._database.log
        return await self._read(lambda: log.open_calls(conversation_id, user_id=user_id))

    async def unsettled_calls(self, user_id: str = "") -> Any:
        found = await self._read(lambda: self._database.log.unsettled_calls(user_id))
        held = {
            id
            for id, *_ in found
            if self._claims.first(id) is not None
            or self._database.holder(id, self._machine) is not None
        }
        return [each for each in found if each[0] not in held]

    async def owner(self, conversation_id: str) -> Any:
        return await self._read(lambda: self._database.log.owner(conversation_id))

    async def fork(
        self, conversation_id: str, new_id: str, *, user_id: str = "", rows: int
    ) -> None:
        log = self._database.log
        await self._way.ask(
            lambda: _value(log.fork(conversation_id, new_id, user_id=user_id, rows=rows)),
            writes=True,
        )

    async def origin(self, conversation_id: str) -> Any:
        return await self._read(lambda: self._database.log.origin(conversation_id))

    async def _read(self, begin: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return await self._way.ask(lambda: _value(begin()), writes=False)

    def claim(self, conversation_id: str, *, wait: bool = True) -> AbstractAsyncContextManager[Any]:
        return self._claims.claim(conversation_id, wait=wait, leases=self)

    # The leases

    def take(self, conversation_id: str, owner: str) -> asyncio.Future[Any]:
        return self.take_and_read(conversation_id, owner, lambda number: number)

    def take_and_read(
        self, conversation_id: str, owner: str, read: Callable[[int], Any]
    ) -> asyncio.Future[Any]:
        """Take a lease; its future has what `read` returns for its number, or the holder's name."""
        leases, loop, machine = self._database.leases, self._database.loop, self._machine

        def take() -> Any:
            if (holder := self._database.holder(conversation_id, machine)) is not None:
                return holder
            number = leases.get(conversation_id, (0,))[0] + 1
            until = loop.time() + _claims.LEASE
            leases[conversation_id] = (number, owner, until, machine.name, machine.machine)
            return read(number)

        return self._way.ask(take, writes=True)

    async def holder(self, conversation_id: str) -> str | None:
        found: str | None = await self._way.ask(
            lambda: self._database.holder(conversation_id, self._machine), writes=False
        )
        return found

    def renew(self, conversation_id: str, owner: str) -> asyncio.Future[bool]:
        leases, loop = self._database.leases, self._database.loop

        def renew() -> bool:
            if not self._database.has(conversation_id, owner):
                return False
            number, _, _, name, on = leases[conversation_id]
            leases[conversation_id] = (number, owner, loop.time() + _claims.LEASE, name, on)
            return True

        return self._way.ask(renew, writes=True)

    def release(self, conversation_id: str, owner: str) -> asyncio.Future[None]:
        leases = self._database.leases

        def release() -> None:
            if self._database.has(conversation_id, owner):
                number, _, until, name, on = leases[conversation_id]
                leases[conversation_id] = (number, None, until, name, on)

        return self._way.ask(release, writes=True)


class ReadingLog(SharedLog):
    """A log that reads what a run must know with the run's lease, in one request."""

    def begin(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        wait: bool = True,
        resumes: bool = False,
    ) -> AbstractAsyncContextManager[Any]:
        log = self._database.log

        def begun() -> Begun:
            read = log.calls if resumes else log.open_calls
            calls = _value(read(conversation_id, user_id=user_id))
            page = _value(log.read(conversation_id, user_id=user_id)) if resumes or calls else None
            return Begun(_value(log.owner(conversation_id)), calls, page)

        leases = _Reading(self, begun)
        return self._claims.claim(conversation_id, wait=wait, leases=leases)


class _Reading:
    """The leases of a log, which read with a lease what the run that takes it must know."""

    def __init__(self, log: SharedLog, begun: Callable[[], Begun]) -> None:
        self._log, self._begun = log, begun
        self.holder, self.renew, self.release = log.holder, log.renew, log.release

    def take(self, conversation_id: str, owner: str) -> asyncio.Future[Any]:
        return self._log.take_and_read(
            conversation_id, owner, lambda number: (number, self._begun())
        )


class FileDatabase:
    """What `SQLite` uses of its file, in one thread: the door of its threads."""

    def __init__(self, path: Path, way: Way) -> None:
        self.path = str(path)
        self.claims = Claims()
        self._way = way
        self._connection = connect_to_write(self.path)
        self._connection.set_synchronous(0)

    def begin(
        self, work: Callable[[Any], Any], *, outlives_power: bool = True
    ) -> asyncio.Future[Any]:
        return self._way.ask(lambda: self._write(work), writes=True)

    async def write(self, work: Callable[[Any], Any]) -> Any:
        return await self.begin(work)

    async def read(self, work: Callable[[Any], Any]) -> Any:
        return await self._way.ask(lambda: self._read(work), writes=False)

    def _write(self, work: Callable[[Any], Any]) -> Any:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            value = work(connection)
            connection.execute("COMMIT")
        except Exception as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise explain(error, self.path) from error
        return value

    def _read(self, work: Callable[[Any], Any]) -> Any:
        try:
            return work(self._connection)
        except Exception as error:
            raise explain(error, self.path) from error

    def close(self) -> None:
        self._connection.close()

    async def leave(self, user: object) -> None:
        self.close()

    def forget(self, user: object) -> None: ...


class FileLog(SQLite):
    """`SQLite` as one process of a world has it."""

    def __init__(self, path: Path, machine: Machine, way: Way) -> None:
        super().__init__(path, synchronous="OFF")
        self._machine = machine
        self._database = FileDatabase(path, way)  # type: ignore[assignment]


_WRITES = ("fork", "delete_conversation")
_READS = (
    *("read", "newest", "calls", "open_calls", "unsettled_calls"),
    *("owner", "origin", "conversations"),
)


def given_log(log: Any, machine: Machine, way: Way) -> Any:
    """A log of somebody else's class, as one process of a world has it: its requests go the same way.

    What it does in threads of the loop is done at once. It must not wait for anything else.
    """
    kind: Any = type(log)

    def append(self: Any, conversation_id: str, **given: Any) -> asyncio.Future[Any]:
        return way.ask(lambda: _done(kind.append(self, conversation_id, **given)), writes=True)

    def asking(name: str) -> Any:
        async def ask(self: Any, *args: Any, **given: Any) -> Any:
            own = getattr(kind, name)
            return await way.ask(lambda: _done(own(self, *args, **given)), writes=name in _WRITES)

        return ask

    methods = {name: asking(name) for name in (*_READS, *_WRITES) if hasattr(kind, name)}
    log.__class__ = type(kind.__name__, (kind,), {**methods, "append": append})
    return log


def _done(given: Any) -> Any:
    return given.result() if isinstance(given, asyncio.Future) else _value(given)
