"""A server on 127.0.0.1 that answers as a model's service does, with exactly the bytes that a test gives it.

    async with ModelServer([Reply([b"data: ...\\n\\n"])]) as server:
        ...  # a client of server.url; its requests are in server.requests

Each request takes the next reply. Each piece of a reply is sent as an HTTP chunk of its own, so that the client reads
it alone. Nothing waits for a clock.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any

from scripted_server import Exchange, LocalServer, read_request

__all__ = ["HOLD", "Ending", "ModelServer", "Reply", "sse"]


class Ending(Enum):
    """How a reply ends."""

    COMPLETE = "the end of the body"
    DROPPED = "the end of the connection, in the middle of the body"


class Hold(Enum):
    """Stands after the pieces of a reply: nothing more is sent, and the client has to close the connection."""

    HOLD = "hold"


HOLD = Hold.HOLD


def sse(data: Mapping[str, Any] | str, event: str | None = None) -> bytes:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {text}\n\n".encode()


@dataclass
class Reply:
    """The answer to one request.

    Attributes:
        pieces: the body, in pieces; a mapping is sent as JSON.
        status: the HTTP status.
        headers: headers besides the usual ones.
        ending: how the answer ends.
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


class ModelServer(LocalServer):
    """Serves replies, one for each request, while its `async with` block runs; further requests fail the test.

    Attributes:
        requests: the requests so far.
        connections: how many connections there have been.
        url: the server's address, without a path.
    """

    def __init__(self, replies: Iterable[Reply] = (), *, port: int = 0) -> None:
        super().__init__(port)
        self.replies = list(replies)
        self.requests: list[Exchange] = []
        self.connections = 0

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, traceback)
        assert kind is not None or not self.replies, (
            f"{len(self.replies)} replies were not asked for"
        )

    async def left(self) -> None:
        """Wait until the client has closed every connection; for 30 seconds at most."""
        async with asyncio.timeout(30):
            await self.closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        while True:
            self.requests.append(await read_request(reader))
            missing = Reply({"error": {"message": "the script has no reply"}}, 418)
            reply = self.replies.pop(0) if self.replies else missing
            if not await _send(reply, reader, writer):
                return


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; returns whether the connection goes on."""
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
