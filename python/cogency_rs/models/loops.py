"""Tells an event loop what came over the network.

Requests run on their own thread, which does not know Python. Each event loop has one socket: a byte comes when
there is something to take. What came waits outside the loop until it is taken, so a wait that is cancelled loses
nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from contextvars import Context
from typing import Any

from .._core import Inbox

__all__ = ["Arrival", "LoopInbox", "inbox_of_loop"]

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
        self._waiting: dict[int, Arrival] = {}
        self._arrived: deque[int] = deque()
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

    def arrival_of(self, number: int) -> Arrival:
        """Awaited until the exchange of this number has something to take, as often as it had nothing."""
        return Arrival(number, self._loop, self._waiting)

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
        try:
            self._socket.recv(64)
        except BlockingIOError:  # the byte comes after what it tells of
            return
        self._wake()

    def _wake(self) -> None:
        arrived = self._arrived
        arrived += self.inbox.take()
        try:
            while arrived:
                arrival = self._waiting.pop(arrived.popleft(), None)
                if arrival is not None:
                    arrival.tell()
        finally:
            if arrived:  # `KeyboardInterrupt` went through a task, and the loop may be run again
                self._loop.call_soon(self._wake)

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close()


class Arrival:
    """What a task awaits until its exchange has something to take. One task at a time.

    To the task it is a future. But a future schedules its task, which is one more turn of the loop for each delta, and
    costs more than reading it: from this one the task goes on where the loop learns what has come.
    """

    __slots__ = (
        "_asyncio_future_blocking",
        "_cancelled",
        "_loop",
        "_number",
        "_task",
        "_waiting",
    )

    def __init__(
        self, number: int, loop: asyncio.AbstractEventLoop, waiting: dict[int, Arrival]
    ) -> None:
        self._number = number
        self._loop = loop
        self._waiting = waiting
        self._asyncio_future_blocking = False
        self._cancelled: asyncio.CancelledError | None = None
        self._task: tuple[Callable[[Arrival], object], Context] | None = None

    def __await__(self) -> Generator[Any, None, None]:
        self._waiting[self._number] = self
        self._asyncio_future_blocking = True
        yield self

    def forget(self) -> None:
        """Nobody waits for this exchange any longer."""
        self._waiting.pop(self._number, None)

    def tell(self) -> None:
        """Let the task go on. The caller is not a task."""
        task, self._task = self._task, None
        if task is not None:
            go_on, context = task
            context.run(go_on, self)

    # What a task asks of a future: https://docs.python.org/3/library/asyncio-future.html#asyncio.isfuture

    def add_done_callback(self, callback: Callable[[Arrival], object], *, context: Context) -> None:
        """Note how the task goes on."""
        self._task = callback, context

    def cancel(self, msg: object = None) -> bool:
        """Let the task go on, with a `CancelledError`; false if it was let already."""
        task, self._task = self._task, None
        if task is None:
            return False
        self.forget()
        self._cancelled = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        go_on, context = task
        self._loop.call_soon(go_on, self, context=context)
        return True

    def result(self) -> None:
        """What the task goes on with."""
        cancelled, self._cancelled = self._cancelled, None
        if cancelled is not None:
            raise cancelled
