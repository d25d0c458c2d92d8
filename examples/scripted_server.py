"""A model that answers from a script: an HTTP server on 127.0.0.1 that speaks OpenAI's APIs.

It has the Responses API and the Chat Completions API. Each request gets the next turn of the script, as server-sent
events or, if it does not ask for a stream, as one JSON object. Nothing waits for a clock: a turn stops at a `HOLD`
until `release()` is called, and ends as its `ending` says. Every answer says `Connection: close` and leaves closing to
the client, so `closed()` returns only if the client leaves no connection open.

    async with ScriptedServer([Turn("Hel", "lo", HOLD, " world<end>")]) as server:
        ...  # a client of server.base_url reads "Hello" and waits
        server.release()
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from cogency_rs.testing.server import LocalServer, ReceivedRequest, read_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

__all__ = [
    "HOLD",
    "Ending",
    "Exchange",
    "ScriptedServer",
    "Turn",
    "in_pieces",
]


class Ending(Enum):
    """How a streamed turn ends."""

    COMPLETE = "the provider's closing events, then the end of the body"
    TRUNCATED = "the end of the body, after the last chunk"
    DROPPED = "the end of the connection, in the middle of a chunk after the last one"


class Hold(Enum):
    """A pause between the chunks of a turn. The chunks after it wait for `ScriptedServer.release()`."""

    HOLD = "hold"


HOLD = Hold.HOLD


class Turn:
    """The model's answer to one request, in the chunks in which it is sent."""

    def __init__(self, *chunks: str | Hold, ending: Ending = Ending.COMPLETE) -> None:
        self.chunks = chunks
        self.ending = ending


def in_pieces(text: str, size: int = 4) -> list[str]:
    """Cut a text as a model streams it, a few characters at a time."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@dataclass
class Exchange(ReceivedRequest):
    """A request, and how much of its answer has been sent.

    Attributes:
        sent: the chunks of the turn that have been sent.
    """

    sent: list[str] = field(default_factory=list)


class ScriptedServer(LocalServer):
    """Serves the turns of a script, one for each request, while its `async with` block runs.

    Args:
        turns: the script; further requests are refused.
        pause: seconds between two chunks, for a person who is watching.

    Attributes:
        exchanges: the requests so far.
    """

    def __init__(self, turns: Iterable[Turn], *, pause: float = 0) -> None:
        super().__init__()
        self.exchanges: list[Exchange] = []
        self._turns = iter(turns)
        self._pause = pause
        self._releases = asyncio.Semaphore(0)

    @property
    def base_url(self) -> str:
        """The address of the API."""
        return f"{self.url}/v1"

    def release(self) -> None:
        """Let one held turn go on."""
        self._releases.release()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and stop when the client closes the connection."""
        exchange = Exchange(**vars(await read_request(reader)))
        self.exchanges.append(exchange)
        answer = asyncio.ensure_future(self._answer(exchange, writer))
        closing = asyncio.ensure_future(_until_closed(reader))
        try:
            await asyncio.wait([answer, closing], return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                await answer
                await closing
        finally:
            answer.cancel()
            closing.cancel()
            await asyncio.gather(answer, closing, return_exceptions=True)

    async def _answer(self, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
        api = APIS.get(exchange.path)
        turn = next(self._turns, None) if api else None
        if api is None or turn is None:
            error = {"message": f"the script has no answer to {exchange.path}", "type": "script"}
            writer.write(_whole("400 Bad Request", {"error": error}))
        elif not exchange.body.get("stream"):
            text = "".join([chunk async for chunk in self._chunks(turn, exchange)])
            writer.write(_whole("200 OK", api(exchange).whole(text)))
        else:
            await self._stream(turn, exchange, api(exchange), writer)
        await writer.drain()

    async def _stream(
        self, turn: Turn, exchange: Exchange, events: Answer, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(
            _head("200 OK", "text/event-stream; charset=utf-8", "Transfer-Encoding: chunked")
        )
        writer.write(_http_chunk(events.opening()))
        async for chunk in self._chunks(turn, exchange):
            writer.write(_http_chunk(events.delta(chunk)))
            await writer.drain()
        if turn.ending is Ending.DROPPED:
            broken = _http_chunk(events.delta("never received in full"))
            writer.write(broken[: len(broken) // 2])
            writer.write_eof()
            return
        if turn.ending is Ending.COMPLETE:
            writer.write(_http_chunk(events.closing("".join(exchange.sent))))
        writer.write(_http_chunk(b""))

    async def _chunks(self, turn: Turn, exchange: Exchange) -> AsyncIterator[str]:
        for chunk in turn.chunks:
            if isinstance(chunk, Hold):
                await self._releases.acquire()
            else:
                await asyncio.sleep(self._pause)
                exchange.sent.append(chunk)
                yield chunk


class Answer(Protocol):
    """Writes one answer as an API does: whole, or as server-sent events around pieces of text."""

    def whole(self, text: str) -> dict[str, Any]: ...
    def opening(self) -> bytes: ...
    def delta(self, text: str) -> bytes: ...
    def closing(self, text: str) -> bytes: ...


class Response:
    """An answer of the Responses API: numbered events, with the text in those named `….delta`."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._number = 0

    def whole(self, text: str) -> dict[str, Any]:
        return _response(self._exchange, text, "completed")

    def opening(self) -> bytes:
        response = _response(self._exchange, "", "in_progress")
        return (
            self._event("response.created", response=response)
            + self._event("response.in_progress", response=response)
            + self._event(
                "response.output_item.added", output_index=0, item=_message("", "in_progress")
            )
            + self._event("response.content_part.added", **_PART, part=_text(""))
        )

    def delta(self, text: str) -> bytes:
        return self._event("response.output_text.delta", **_PART, delta=text, logprobs=[])

    def closing(self, text: str) -> bytes:
        response = _response(self._exchange, text, "completed")
        item = _message(text, "completed")
        return (
            self._event("response.output_text.done", **_PART, text=text, logprobs=[])
            + self._event("response.content_part.done", **_PART, part=_text(text))
            + self._event("response.output_item.done", output_index=0, item=item)
            + self._event("response.completed", response=response)
        )

    def _event(self, type: str, **fields: Any) -> bytes:
        data = {"type": type, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {type}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


class ChatCompletion:
    """An answer of the Chat Completions API: chunks with a `delta` each, and `[DONE]` at the end."""

    def __init__(self, exchange: Exchange) -> None:
        self._shared = {
            "id": "chatcmpl_scripted",
            "created": 0,
            "model": exchange.body.get("model"),
        }

    def whole(self, text: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {**self._shared, "object": "chat.completion", "choices": [choice]}

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def delta(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def closing(self, text: str) -> bytes:
        return self._chunk({}, finish_reason="stop") + b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        chunk = {**self._shared, "object": "chat.completion.chunk", "choices": [choice]}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


APIS: dict[str, Callable[[Exchange], Answer]] = {
    "/v1/responses": Response,
    "/v1/chat/completions": ChatCompletion,
}

_PART = {"item_id": "msg_scripted", "output_index": 0, "content_index": 0}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(text: str, status: str) -> dict[str, Any]:
    content = [_text(text)] if text else []
    message = {"id": "msg_scripted", "type": "message", "role": "assistant"}
    return {**message, "status": status, "content": content}


def _response(exchange: Exchange, text: str, status: str) -> dict[str, Any]:
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": 0,
        "model": exchange.body.get("model"),
        "status": status,
        "output": [_message(text, status)] if text else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


async def _until_closed(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(1024):
            pass


def _head(status: str, content_type: str, length: str) -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{length}\r\nConnection: close\r\n\r\n"
    ).encode()


def _whole(status: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    return _head(status, "application/json", f"Content-Length: {len(data)}") + data


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
