"""Reads next to the writer: a few connections, each used by one thread at a time.

In WAL mode readers and the writer do not block each other, and a read sees everything that was
committed when it began, so also every save that was acknowledged before.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from ..outside import current
from .connection import Connection, connect, explain

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

__all__ = ["Readers"]

T = TypeVar("T")

_LIMIT = 4  # reads at the same time; more would only wait for the GIL


class Readers:
    """The reading connections of the database file at `path`; opened when needed, then kept."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # takes long to import

        self._threads = ThreadPoolExecutor(_LIMIT, "cogency-reader")
        self._idle: list[Connection] = []
        self._in_sqlite = threading.Semaphore(_LIMIT)  # held while a connection works

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` off the event loop and return its value.

        Raises:
            StorageError: the file cannot be opened or read.
        """
        if not current().has_threads:
            return self._run(work)
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self._run, work)
        )

    def disconnect(self) -> None:
        """Close the connections that are idle; the next read opens its own."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def close(self) -> None:
        """Close the connections for good; a busy one is closed when it is done."""
        self._closed = True
        self.disconnect()
        self._threads.shutdown(wait=False)

    # As with the writer, no connection is open while the program forks.

    def pause(self) -> None:
        """Before a fork: let the present reads end, then close the file."""
        for _ in range(_LIMIT):
            self._in_sqlite.acquire()
        self.disconnect()

    def resume(self) -> None:
        """After a fork, in the parent: go on."""
        self._in_sqlite.release(_LIMIT)

    def restart(self) -> None:
        """After a fork, in the child: begin with its own threads."""
        self._begin()

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._in_sqlite:
            connection = None
            try:
                connection = self._connect()
                value = work(connection)
            except Exception as error:
                if connection is not None:
                    connection.close()
                raise explain(error, self.path) from error
            self._idle.append(connection)
        if self._closed:
            self.disconnect()
        return value

    def _connect(self) -> Connection:
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_on(self.path):
                    return connection
                connection.close()
        return connect(self.path)
