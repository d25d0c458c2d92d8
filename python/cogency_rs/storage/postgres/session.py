"""The connections of one program to one database, and what happens when they break.

For `PATIENCE` seconds a lost connection is opened again, so that a server that restarts costs time and nothing else.
What was under way is then sent again: every read, every write that does no harm when done twice, and every write of
which the database knows whether it was done (`WriteStep.author`). A server that never answered is not waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

from ...outside import monotonic
from .driver import Connection, connect
from .faults import explain, is_of_one, is_passing, is_said
from .schema import prepare
from .writes import WriteStep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from .address import Address

__all__ = ["PATIENCE", "Session"]

T = TypeVar("T")

PATIENCE = 15.0
"""Seconds to wait for a server that went away."""

_DELAY, _LONGEST_DELAY = 0.05, 1.0

_FORGOTTEN = "30 days"
"""How long after a program's last append its row in `writers` is dropped."""


class Session:
    """One connection that writes, and a few that read. All of it runs on one event loop.

    Args:
        address: where the database is.
        authors: gives each step its `WriteStep.author`: the program's name, and numbers that never come twice.
        readers: how many connections may read at a time.
    """

    def __init__(self, address: Address, authors: Iterator[tuple[str, int]], readers: int) -> None:
        self._address = address
        self._authors = authors
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._places = asyncio.Semaphore(readers)
        self._preparing = asyncio.Lock()
        self._has_answered = False
        self._is_prepared = False

    async def write(self, step: WriteStep) -> None:
        """Carry out a step and set the values of its writes, or their errors. A bad write fails alone."""
        step.author = next(self._authors)
        try:
            await self._write(step)
        except _FailedError as failed:
            if len(step.writes) > 1 and is_of_one(failed.error):
                middle = len(step.writes) // 2
                await self.write(WriteStep(step.writes[:middle]))
                await self.write(WriteStep(step.writes[middle:]))
                return
            error = explain(failed.error, self._address, in_doubt=failed.in_doubt)
            for write in step.writes:
                write.error = error

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` on its own connection and return its value.

        Raises:
            StorageError: the database cannot be read.
        """
        async with self._places:
            try:
                return await self._patiently(lambda: self._read(work))
            except Exception as error:
                explained = explain(error, self._address)
            raise explained  # out of the block, so that its context is not the driver's error

    async def close(self) -> None:
        """Close the connections and end what they are doing."""
        connections = [*self._idle, *filter(None, [self._writer])]
        self._idle, self._writer = [], None
        for connection in connections:
            with contextlib.suppress(Exception):  # the connection is no longer needed
                await connection.close(timeout=1.0)

    async def _write(self, step: WriteStep) -> None:
        in_doubt = False  # whether an answer was lost, which may have been a success

        async def attempt() -> None:
            nonlocal in_doubt
            connection = await self._writing()
            try:
                await step.carry_out(connection, self._address)
            except BaseException as error:
                if _is_sound(connection, error):
                    raise
                self._writer = None
                connection.terminate()
                in_doubt = in_doubt or not is_said(error)
                if in_doubt and not step.is_repeatable:
                    raise _FailedError(error, in_doubt=True) from error
                raise

        try:
            await self._patiently(attempt)
        except _FailedError:
            raise
        except Exception as error:
            raise _FailedError(error, in_doubt=in_doubt) from error

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        deadline = monotonic() + PATIENCE
        delay = _DELAY
        while True:
            try:
                return await attempt()
            except Exception as error:
                if not (self._has_answered and is_passing(error)) or monotonic() + delay > deadline:
                    raise
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def _read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        connection = self._idle.pop() if self._idle else await self._connect()
        try:
            value = await work(connection)
        except BaseException as error:
            if _is_sound(connection, error):
                self._idle.append(connection)
            else:
                connection.terminate()
            raise
        self._idle.append(connection)
        return value

    async def _writing(self) -> Connection:
        if self._writer is None or self._writer.is_closed():
            self._writer = await self._connect()
            old = f"used_at < now() - interval '{_FORGOTTEN}'"
            await self._writer.execute(f"DELETE FROM {self._address.tables}.writers WHERE {old}")
        return self._writer

    async def _connect(self) -> Connection:
        connection = await connect(self._address)
        self._has_answered = True
        try:
            async with self._preparing:
                if not self._is_prepared:
                    await prepare(connection, self._address)
                    self._is_prepared = True
        except BaseException:
            connection.terminate()
            raise
        return connection


class _FailedError(Exception):
    """A step that failed for good.

    Attributes:
        error: why.
        in_doubt: whether the step may have been done nevertheless.
    """

    def __init__(self, error: BaseException, *, in_doubt: bool) -> None:
        super().__init__(str(error))
        self.error, self.in_doubt = error, in_doubt


def _is_sound(connection: Connection, error: BaseException) -> bool:
    """Whether a connection can be used after an error."""
    return isinstance(error, Exception) and is_said(error) and not connection.is_closed()
