"""Tells an event loop what came over the network.

Requests run on their own thread, which does not know Python. Each event loop has one socket: a byte comes when
there is something to take. What came waits outside the loop until it is taken, so a wait that is cancelled loses
nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from .._core import Inbox

__all__ = ["LoopInbox", "inbox_of_loop"]

_of_loops: dict[asyncio.AbstractEventLoop, LoopInbox] = {}


async def inbox_of_loop() -> LoopInbox:
    """The inbox of the running loop. It is closed with the loop."""
    loop = asyncio.get_running_loop()
    known = _of_loops.get(loop)
    if known is not None:
        return known
    for other in [other for other in [*_of_loops] if other.is_closed()]:
        if (left := _of_loops.pop(other, None)) is not None:
            left.close()  # its loop was closed without an end to its generators
    inbox = LoopInbox(loop)
    try:
        await inbox.begin()
    except BaseException:
        inbox.close()
        raise
    if (first := _of_loops.get(loop)) is not None:  # that of a request which was sent meanwhile
        inbox.close()
        return first
    _of_loops[loop] = inbox
    return inbox


class _Bytes(asyncio.Protocol):
    """Calls a function when bytes come."""

    def __init__(self, woken: Callable[[], None]) -> None:
        self._woken = woken

    def data_received(self, data: bytes) -> None:
        self._woken()


class LoopInbox:
    """What one event loop waits for.

    Attributes:
        inbox: what the network writes to.
        until_the_end: closes the inbox when it is closed, which `asyncio.run` does before it closes the loop
            (`loop.shutdown_asyncgens`).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.inbox = Inbox()
        self.until_the_end = self._until_the_end()
        self._loop = loop
        self._socket = socket.socket(fileno=self.inbox.socket)
        self._socket.setblocking(False)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._transport: asyncio.Transport | None = None

    async def begin(self) -> None:
        """Wait for bytes from here on, until the loop ends."""
        await anext(self.until_the_end)
        try:
            self._loop.add_reader(self._socket, self._read)
        except NotImplementedError:  # Windows' proactor waits for reads, not for sockets
            # No task of ours would do: a program may wait for all tasks, or cancel them.
            connected = self._loop.create_connection(lambda: _Bytes(self._wake), sock=self._socket)
            self._transport, _ = await connected

    def next_of(self, number: int) -> asyncio.Future[None]:
        """What is done once the exchange of this number has something to take."""
        future = self._waiting[number] = self._loop.create_future()
        return future

    def forget(self, number: int) -> None:
        """Nobody waits for this exchange any longer."""
        self._waiting.pop(number, None)

    def close(self) -> None:
        """Close the socket; nothing is woken after this."""
        if _of_loops.get(self._loop) is self:
            del _of_loops[self._loop]
        if self._loop.is_closed():
            self._socket.close()
        elif self._transport is not None:
            self._transport.close()
        else:
            with suppress(NotImplementedError):
                self._loop.remove_reader(self._socket)
            self._socket.close()

    def _read(self) -> None:
        with suppress(BlockingIOError):
            self._socket.recv(64)
        self._wake()

    def _wake(self) -> None:
        for number in self.inbox.take():
            future = self._waiting.pop(number, None)
            if future is not None and not future.done():
                future.set_result(None)

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close()
