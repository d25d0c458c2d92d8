"""A server on 127.0.0.1 that answers as a service of models does, byte for byte as the test wants it.

    async with ModelServer([Reply([b"data: ...\\n\\n"])]) as server:
        ...  # a client of server.url; what it asked is in server.requests

Each request takes the next reply. What stands in the list of a reply is sent piece by piece, each as an HTTP chunk of
its own, so that the client reads it by itself. Nothing waits for a clock.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self

__all__ = ["HOLD", "Asked", "Ending", "ModelServer", "Reply", "sse"]


class Ending(Enum):
    """How a reply ends."""

    COMPLETE = "the end of the body"
    DROPPED = "the end of the connection, in the middle of the body"


class Hold(Enum):
    """Among the pieces of a reply: nothing more is sent until the client has gone."""

    HOLD = "hold"


HOLD = Hold.HOLD


def sse(data: Mapping[str, Any] | str, event: str | None = None) -> bytes:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {text}\n\n".encode()


@dataclass
class Reply:
    """What is sent to one request.

    Attributes:
        pieces: the body; a mapping is one as JSON.
        status: of HTTP.
        headers: beside the usual ones.
        ending: how it ends.
    """

    pieces: Sequence[bytes | Hold] | Mapping[str, Any] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = Ending.COMPLETE

    @property
    def body(self) -> Sequence[bytes | Hold]:
        if isinstance(self.pieces, Mapping):
            return [json.dumps(self.pieces).encode()]
        return self.pieces

    @property
    def head(self) -> bytes:
        kind = "application/json" if isinstance(self.pieces, Mapping) else "text/event-stream"
        headers = {"content-type": kind, "transfer-encoding": "chunked", **self.headers}
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()


@dataclass
class Asked:
    """A request as it was received."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ModelServer:
    """Serves replies, one a request, while its `async with` block runs; a request beyond them is a failure of the test.

    Attributes:
        requests: what was asked.
        url: where the server is, without a path.
    """

    def __init__(self, replies: Iterable[Reply] = (), *, port: int = 0) -> None:
        self.replies = list(replies)
        self.requests: list[Asked] = []
        self.url = ""
        self._port = port
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        assert kind is not None or not self.replies, (
            f"{len(self.replies)} replies were not asked for"
        )

    async def left(self) -> None:
        """Wait until the client has closed every connection."""
        async with asyncio.timeout(30):
            await asyncio.gather(*self._connections)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await _asked(reader)
                self.requests.append(asked)
                missing = Reply({"error": {"message": "the script has no reply"}}, 418)
                reply = self.replies.pop(0) if self.replies else missing
                if not await _send(reply, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; whether the connection goes on."""
    writer.write(reply.head)
    for piece in reply.body:
        if isinstance(piece, Hold):
            await reader.read()
            return False
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b"")
        await writer.drain()
    if reply.ending is Ending.DROPPED:
        writer.write(b"ff\r\nda")
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _asked(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request, *lines = head.splitlines()
    pairs = (line.split(":", 1) for line in lines if line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(request.split()[1], headers, json.loads(body or b"{}"))
