"""Logs that several processes open at once, and claims on the conversation `c` in them."""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from cogency_rs import PostgreSQL, SQLite
from support.postgres_server import ask
from support.programs import started


def outside(run: Any) -> asyncio.Task[Any]:
    """Start a run that is not part of the present one."""
    return asyncio.get_running_loop().create_task(run, context=contextvars.Context())


async def claimed(log: Any, *, wait: bool = True) -> int:
    """Claim the conversation, and leave it again; returns the number of the claim."""
    async with log.claim("c", wait=wait) as claim:
        return claim.number


class Lease(NamedTuple):
    """What the tables hold of a claim; the owner is `None` when it was released."""

    number: int
    owner: str | None
    expires_at: Any


@dataclass(frozen=True)
class SharedLog:
    """A log in a place that every process can open.

    Attributes:
        kind: "SQLite" or "PostgreSQL".
        place: the path of the file, or the DSN.
    """

    kind: str
    place: str

    def opened(self) -> Any:
        if self.kind == "SQLite":
            return SQLite(self.place, synchronous="OFF")
        return PostgreSQL(self.place)

    def started(self, code: str, **options: Any) -> subprocess.Popen[str]:
        """Start a program that can open this log as `shared`."""
        return started(OPENS + code, self.kind, self.place, **options)

    async def lease(self) -> Lease:
        """The lease of the only conversation."""
        if self.kind == "SQLite":
            [found] = self._ask_file("SELECT number, owner, expires_at FROM claims")
        else:
            columns = "lease_number, lease_owner, lease_expires_at"
            [found] = await ask(self.place, f"SELECT {columns} FROM {{}}.conversations")
        return Lease(*found)

    async def expire(self) -> None:
        """Make the lease as old as if its time had passed."""
        if self.kind == "SQLite":
            self._ask_file("UPDATE claims SET expires_at = 0")
        else:
            await ask(self.place, "UPDATE {}.conversations SET lease_expires_at = now()")

    def _ask_file(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.place, isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()


OPENS = """
import asyncio, sys
from cogency_rs.errors import StorageError
from support.claims import SharedLog

shared = SharedLog(*sys.argv[1:])
"""

HOLDS = """
async def main():
    async with shared.opened() as log, log.claim("c"):
        print("claimed", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        try:
            await log.append("c", user_id="u", rows=[("user", "of the holder", 1.0)])
        except StorageError as error:
            print("lost", "claim" in str(error), error.retryable, flush=True)
        else:
            print("wrote", flush=True)

asyncio.run(main())
"""


class Holder:
    """Another process, which holds a claim until it is told to go on; `begins` is what it does first."""

    def __init__(self, shared: SharedLog, begins: str = "") -> None:
        self.process = shared.started(begins + HOLDS, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "claimed\n"

    def goes_on(self) -> str:
        """Let it write a row; returns what it says of that."""
        output, _ = self.process.communicate("\n", timeout=60)
        return output

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
