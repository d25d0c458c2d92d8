"""Tells an event loop what came over the network.

Requests run on their own thread, which does not know Python. Each event loop has one socket: a byte comes when
there is something to take. What came waits outside the loop until it is taken, so a wait that is cancelled loses
nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
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
    _of_loops[loop] = inbox
    await anext(inbox.until_the_end)
    return inbox


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
        self._listening: asyncio.Task[None] | None = None
        try:
            loop.add_reader(self._socket, self._read)
        except NotImplementedError:  # Windows' proactor waits for reads, not for sockets
            self._listening = loop.create_task(self._listen())

    def next_of(self, number: int) -> asyncio.Future[None]:
        """What is done once the exchange of this number has something to take."""
        future = self._waiting[number] = self._loop.create_future()
        return future

    def forget(self, number: int) -> None:
        """Nobody waits for this exchange any longer."""
        self._waiting.pop(number, None)

    def close(self) -> None:
        """Close the socket; nothing is woken after this."""
        _of_loops.pop(self._loop, None)
        if self._listening is not None:
            self._listening.cancel()
        elif not self._loop.is_closed():
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

    async def _listen(self) -> None:
        while await self._loop.sock_recv(self._socket, 64):
            self._wake()

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close()
