"""The soak's logs: where they are, and the check of their rows at the end.

The rows are read without this package, so that a fault of a storage cannot hide what it lost.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from scripted import CANCELLED, SCRIPTS, Row, expected_rows, scripts

from cogency_rs import PostgreSQL, SQLite

__all__ = ["InPostgreSQL", "InSQLite", "Log", "Place", "read_back", "value_of"]

Stored = tuple[str, list[tuple[str, str]]]
"""A conversation's id, and type and content of its rows, in order."""


class Place(ABC):
    """The place of the log; a context manager that removes the log at its end.

    Attributes:
        where: the place in a few words.
        begin: the mark before its figures in docs/reliability.md.
        end: the mark after them.
    """

    where: str
    begin: str
    end: str

    def __enter__(self) -> Self:
        """Make it ready."""
        return self

    def __exit__(self, *_: object) -> None:  # noqa: B027  # a file's folder is cleared by who made it
        """Remove the log."""

    @abstractmethod
    def open(self) -> Any:
        """The storage, an async context manager."""

    @abstractmethod
    def rows(self, conversations: list[str]) -> AsyncGenerator[Stored, None]:
        """The rows of each conversation."""


class InSQLite(Place):
    """A log in a file, which waits for the disk."""

    where = "on disk"
    begin = "<!-- soak: written by `make soak`, do not edit -->"
    end = "<!-- soak: end -->"

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> SQLite:
        """The storage."""
        return SQLite(self._path)

    async def rows(self, conversations: list[str]) -> AsyncGenerator[Stored, None]:
        """The rows of each conversation."""
        query = (
            "SELECT type, content FROM messages WHERE conversation_id = ? ORDER BY timestamp, rowid"
        )
        with closing(sqlite3.connect(self._path)) as connection:
            for conversation in conversations:
                yield conversation, connection.execute(query, (conversation,)).fetchall()


class InPostgreSQL(Place):
    """A log in a schema of its own.

    Args:
        dsn: the address of the database; "" for one on a server of its own, which waits for the disk.
    """

    where = "in PostgreSQL"
    begin = "<!-- soak: written by `make soak-postgres`, do not edit -->"
    end = "<!-- soak in PostgreSQL: end -->"

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._schema = f"soak_{secrets.token_hex(4)}"
        self._server: Any = None

    def __enter__(self) -> Self:
        """Start the server, if it is one of its own."""
        if not self._dsn:
            sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
            from support.postgres_server import NoServerError, Server  # the tests' server

            try:
                self._server = Server(fsync="on")
            except NoServerError as error:
                sys.exit(f"there is no PostgreSQL: {error}; name one, as --postgres DSN")
            self._dsn = self._server.address
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the server, or the schema from somebody else's."""
        if self._server is not None:
            self._server.remove()
        else:
            asyncio.run(self._drop())

    def open(self) -> PostgreSQL:
        """The storage."""
        mark = "&" if "?" in self._dsn else "?"
        return PostgreSQL(f"{self._dsn}{mark}schema={self._schema}")

    async def rows(self, conversations: list[str]) -> AsyncGenerator[Stored, None]:
        """The rows of each conversation."""
        query = (
            f"SELECT type, content FROM {self._schema}.messages WHERE conversation_id = $1"
            " ORDER BY timestamp, number"
        )
        connection = await self._connect()
        try:
            for conversation in conversations:
                found = await connection.fetch(query, conversation)
                yield conversation, [tuple(row) for row in found]
        finally:
            await connection.close()

    async def _drop(self) -> None:
        connection = await self._connect()
        try:
            await connection.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        finally:
            await connection.close()

    async def _connect(self) -> Any:
        import asyncpg

        return await asyncpg.connect(self._dsn)


@dataclass
class Log:
    """The rows of the log, compared with those that it must hold.

    Attributes:
        rows: how many rows there are.
        lost: how many rows are missing or wrong, and how many come after these.
        cancelled_calls: how many calls of the turns that were cut off have a result that says so.
    """

    rows: int = 0
    lost: int = 0
    cancelled_calls: int = 0


async def read_back(place: Place, safe: Counter[str]) -> Log:
    """Compare the log with the scripts: each conversation goes as far as its consumer knows, or a little further."""
    library = [scripts(seed) for seed in range(SCRIPTS)]
    log = Log()
    async with aclosing(place.rows([*safe])) as stored:
        async for conversation, found in stored:
            log.rows += len(found)
            log.lost += max(0, safe[conversation] - len(found))
            _compare(found, expected_rows(conversation, library), log)
    return log


def _compare(found: list[tuple[str, str]], expected: Iterator[Row], log: Log) -> None:
    calls = 0
    for number, ((kind, content), (wanted_kind, wanted)) in enumerate(
        zip(found, expected, strict=False)
    ):
        value = value_of(kind, content)
        is_last = number == len(found) - 1
        if kind == wanted_kind == "result" and is_last:
            for item, other in zip(value, wanted, strict=True):
                if item == {"tool": other["tool"], **CANCELLED}:
                    log.cancelled_calls += 1
                elif item != other:
                    log.lost += 1
        elif is_last and kind == wanted_kind and kind in {"think", "respond"}:
            # An answer that was cut off keeps its text so far, with a part of the mark after it.
            log.lost += not wanted.startswith(value.partition("<")[0].rstrip())
        elif (kind, value) != (wanted_kind, wanted):
            log.lost += len(found) - number
            return
        calls = calls + 1 if kind == "call" else 0
    log.lost += calls  # calls at the end, without results


def value_of(kind: str, content: str) -> Any:
    """The value of a row's content; for results, that of the array."""
    return json.loads(content) if kind == "result" else content
