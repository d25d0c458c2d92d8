"""A server on 127.0.0.1 that answers as a model's service does, with exactly the bytes that a test gives it.

    async with ModelServer([Reply([sse({"choices": []}), HOLD])]) as server:
        ...  # a client of server.url; its requests are in server.requests

In a test without an event loop, `with ModelServer(...)` does the same; the server then runs in its own thread.
"""

from __future__ import annotations

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from ssl import SSLContext
from typing import Any, Literal, Self


class _Hold(Enum):
    HOLD = "hold"


HOLD = _Hold.HOLD
"""Goes after the pieces of a reply: nothing more is sent, and the client has to close the connection."""


@dataclass(frozen=True)
class Pause:
    """Goes between the pieces of a reply: the next one is sent this many seconds later."""

    seconds: float


Piece = bytes | Pause | Literal[_Hold.HOLD]


def sse(data: Mapping[str, Any] | str, event: str | None = None) -> bytes:
    """A server-sent event with this data, a text or an object that becomes JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {text}\n\n".encode()


@dataclass
class Reply:
    """The answer to one request.

    Attributes:
        pieces: the body: bytes, each sent as its own HTTP chunk, with `Pause` and `HOLD` between them; or an
            object that becomes JSON.
        status: the HTTP status.
        headers: headers besides the usual ones.
        ending: how it ends: with its body, or with its connection, in the middle of a chunk.
    """

    pieces: Sequence[Piece] | Mapping[str, Any] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    ending: Literal["complete", "dropped"] = "complete"

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Self:
        """A recorded body, such as `curl --no-buffer` saves, in pieces of one event each.

        Raises:
            OSError: the file cannot be read.
        """
        pieces: list[Piece] = []
        piece = b""
        for line in Path(path).read_bytes().splitlines(keepends=True):
            piece += line
            if not line.strip():
                pieces.append(piece)
                piece = b""
        return cls([*pieces, piece] if piece else pieces, **options)

    @property
    def body(self) -> Sequence[Piece]:
        """The pieces that are sent."""
        if isinstance(self.pieces, Mapping):
            return [json.dumps(self.pieces).encode()]
        return self.pieces

    @property
    def head(self) -> bytes:
        """The status line and the headers that are sent."""
        kind = "application/json" if isinstance(self.pieces, Mapping) else "text/event-stream"
        headers = {"content-type": kind, "transfer-encoding": "chunked", **self.headers}
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()


@dataclass
class ReceivedRequest:
    """A request that a server has received.

    Attributes:
        path: the requested path.
        headers: by their names in lower case.
        body: the JSON that was sent.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class LocalServer(ABC):
    """An HTTP server on 127.0.0.1, while its `async with` block runs.

    Args:
        port: where it listens; 0 for a free port.
        tls: makes it speak HTTPS: a context with its certificate.

    Attributes:
        url: its address, without a path.
    """

    def __init__(self, port: int = 0, tls: SSLContext | None = None) -> None:
        self.url = ""
        self._port = port
        self._tls = tls
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._port, ssl=self._tls
        )
        scheme = "https" if self._tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, which is closed afterwards."""

    async def closed(self) -> None:
        """Wait until the client has closed every connection."""
        await asyncio.gather(*self._connections)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


class ModelServer(LocalServer):
    """Serves replies, one for each request. A request beyond them, or an unused reply, fails the test.

    Args:
        replies: one for each request, in order.
        props: what it reports of itself at `/props`, as llama.cpp's server does, with the model's `chat_template`.
            Without it, there is no such page. Requests for it are not among the requests.
        port: where it listens; 0 for a free port.
        tls: makes it speak HTTPS: a context with its certificate.

    Attributes:
        replies: those not used yet.
        requests: the requests so far.
        connections: how many connections there have been.
        url: its address, without a path.
    """

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        props: Mapping[str, Any] | None = None,
        port: int = 0,
        tls: SSLContext | None = None,
    ) -> None:
        super().__init__(port, tls)
        self._props = (
            Reply({"error": {"message": "not found"}}, 404) if props is None else Reply(props)
        )
        self.replies: list[Reply] = [*replies]
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        self._left: list[Reply] = []

    async def __aexit__(self, *raised: object) -> None:
        await super().__aexit__(*raised)
        if raised[0] is None and self.replies:
            raise AssertionError(f"{len(self.replies)} replies were not asked for")

    def __enter__(self) -> Self:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._stopped = asyncio.Event()

        async def serve() -> None:
            try:
                async with self:
                    started.set_result(asyncio.get_running_loop())
                    await self._stopped.wait()
                    self._left, self.replies = self.replies, self._left  # said where the block ends
            except BaseException as error:
                if started.done():
                    raise
                started.set_exception(error)

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        self._thread.start()
        self._loop = started.result()
        return self

    def __exit__(self, *raised: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()
        self.replies = self._left
        if raised[0] is None and self.replies:
            raise AssertionError(f"{len(self.replies)} replies were not asked for")

    async def left(self) -> None:
        """Wait until the client has closed every connection; for 30 seconds at most."""
        async with asyncio.timeout(30):
            await self.closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        while True:
            request = await read_request(reader)
            if not await _send(self._reply_to(request), reader, writer):
                return

    def _reply_to(self, request: ReceivedRequest) -> Reply:
        if request.path == "/props":
            return self._props
        self.requests.append(request)
        missing = Reply({"error": {"message": "the script has no reply"}}, 418)
        return self.replies.pop(0) if self.replies else missing


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; returns whether the connection goes on."""
    writer.write(reply.head)
    for piece in reply.body:
        match piece:
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case bytes():
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b"")
                await writer.drain()
            case _:
                await reader.read()
                return False
    if reply.ending == "dropped":
        writer.write(b"ff\r\nda")
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest:
    """Read a request whose body, if any, is JSON.

    Raises:
        ConnectionError: it is not HTTP. A client that speaks TLS would wait for an answer, and is cut off.
    """
    first = await reader.readexactly(1)
    if not first.isalpha():
        raise ConnectionError("no HTTP")
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request, *lines = head.splitlines()
    pairs = (line.split(":", 1) for line in lines if line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return ReceivedRequest(request.split()[1], headers, json.loads(body or b"{}"))
