"""PostgreSQL as the database of a world: a server whose clock shows the world's time.

The log is the package's own. Its statements call `clock_timestamp()` without naming a schema, and the connections of a
world look first in one where that function says what the world has set. A request is sent from a thread with an event
loop of its own and takes no time of the world, however long the server needs. It always answers: no lock of the server
waits for a program.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count, repeat
from typing import TYPE_CHECKING, Any

from cogency_rs.storage import Claims
from cogency_rs.storage.postgres.connection import Address, read_dsn
from cogency_rs.storage.postgres.log import PostgreSQL
from cogency_rs.storage.postgres.pool import PostgresSession
from cogency_rs.storage.postgres.writes import Write, WriteStep

from .database import Way

if TYPE_CHECKING:
    from cogency_rs.storage.postgres.connection import PostgresConnection

    from .machine import Machine

__all__ = ["Server", "ServerLog", "connected", "the_server"]

_CLOCK = """
    CREATE SCHEMA IF NOT EXISTS clock;
    CREATE OR REPLACE FUNCTION clock.clock_timestamp() RETURNS timestamptz STABLE
    LANGUAGE SQL AS $$ SELECT to_timestamp(current_setting('world.now')::float8) $$
"""


class Server:
    """A server to which worlds may connect, one after the other.

    Args:
        dsn: of a database in which nothing else is.
    """

    def __init__(self, dsn: str) -> None:
        self.dsn = f"{dsn}{'&' if '?' in dsn else '?'}search_path=clock,pg_catalog&schema=world"
        self.address: Address = read_dsn(self.dsn)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="world-server")
        self._thread.start()
        self._session = PostgresSession(self.address, zip(repeat("world"), count(1)), 1)
        self.wait(self._session.read(lambda connection: connection.execute(_CLOCK)))

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine of the server's thread returns; it is a part of the process that waits."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def empty(self) -> None:
        """Remove what the world before has written."""
        self.wait(self._session.read(self._empty))

    async def _empty(self, connection: PostgresConnection) -> None:
        found = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'world' AND tablename <> 'schema_version'"
        )
        names = ", ".join(f'"world"."{name}"' for (name,) in found)
        await connection.execute(f"TRUNCATE {names}")

    def close(self) -> None:
        """End the thread and its connections."""
        self.wait(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_servers: list[Server] = []


@contextmanager
def connected(dsn: str) -> Iterator[None]:
    """Let the worlds whose storage is "postgresql" have a server."""
    server = Server(dsn)
    _servers.append(server)
    try:
        yield
    finally:
        _servers.remove(server)
        server.close()


def the_server() -> Server:
    """The server of the worlds."""
    return _servers[-1]


class ServerDatabase:
    """What `PostgreSQL` uses of a server, as one process of a world has it."""

    def __init__(self, server: Server, machine: Machine, way: Way) -> None:
        self.address, self.writer = server.address, machine.new_id()
        self.claims = Claims()
        self._server, self._machine, self._way = server, machine, way
        self._session = PostgresSession(self.address, zip(repeat(self.writer), count(1)), 1)

    def begin(self, write: Write) -> asyncio.Future[Any]:
        return self._way.ask(lambda: self._write(write), writes=True)

    async def read(self, work: Callable[[PostgresConnection], Awaitable[Any]]) -> Any:
        now = self._now

        async def read(connection: PostgresConnection) -> Any:
            await connection.execute(now())
            return await work(connection)

        return await self._way.ask(
            lambda: self._server.wait(self._session.read(read)), writes=False
        )

    def _write(self, write: Write) -> Any:
        step = _TimedStep([write])
        step.now = self._now()
        self._server.wait(self._session.write(step))
        if write.error is not None:
            raise write.error
        return write.value

    def _now(self) -> str:
        return f"SET world.now = '{1e9 + self._machine.world.loop.time()}'"

    def close(self) -> None:
        self._server.wait(self._session.close())

    async def leave(self, user: object) -> None:
        self.close()

    def forget(self, user: object) -> None: ...


class _TimedStep(WriteStep):
    """A step that first tells the server what time it is."""

    now = ""

    async def carry_out(self, connection: PostgresConnection, address: Address) -> None:
        await connection.execute(self.now)
        await super().carry_out(connection, address)


class ServerLog(PostgreSQL):
    """`PostgreSQL` as one process of a world has it."""

    def __init__(self, machine: Machine, way: Way) -> None:
        server = the_server()
        super().__init__(server.dsn)
        self._database = ServerDatabase(server, machine, way)  # type: ignore[assignment]
