"""The HTTP client that the SDK reaches a server with: it notes what became of a call that got no answer.

The SDK tells a status of 401 and one of 504 in the same words, and ends the whole connection if one request fails.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
from mcp_types import INTERNAL_ERROR

from ..guards.json_text import read_json
from .answers import Answers, Fate, MessageSize, SentCall

__all__ = ["Http"]

_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
"""Errors after which nothing was sent."""


class Http(httpx2.AsyncClient):
    """A client whose failed calls are noted in `Answers`, and end nothing but themselves."""

    def __init__(self, answers: Answers, **options: Any) -> None:
        super().__init__(**options)
        self._answers = answers

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; for a call of a tool, an error of the network becomes an answer that says so."""
        id, call = self._call_of(request)
        if call is None:
            response = _bounded(await super().send(request, **options))
            try:
                if id is not None and _is_json(response):
                    await response.aread()
            except TooLongError as error:
                return _failed(id, str(error), request)
            return response
        try:
            response = _bounded(await super().send(request, **options))
            call.fate = await _fate_of(response, call)
        except _NOT_SENT as error:
            call.fate = Fate(_words_of(error), arrived=False, is_broken=True)
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            call.fate = Fate(f"the connection failed ({_words_of(error)})", True, is_broken=True)
        else:
            if call.fate is None or response.status_code >= 300:
                return response
            await response.aclose()
        return _failed(call.id, call.fate.why, request)

    def _call_of(self, request: httpx2.Request) -> tuple[Any, SentCall | None]:
        """The id of a request to the server, and the call of a tool that it is."""
        if request.method != "POST":
            return None, None
        try:
            sent: Any = read_json(request.content)
        except (httpx2.RequestNotRead, ValueError):
            return None, None
        match sent:
            case {"method": "tools/call", "id": id}:
                return id, self._answers.calls.get(id)
            case {"method": _, "id": id}:
                return id, None
            case _:
                return None, None


class TooLongError(httpx2.ReadError):
    """An answer is longer than a message may be."""


def _failed(id: Any, why: str, request: httpx2.Request) -> httpx2.Response:
    failed = {"code": INTERNAL_ERROR, "message": why}
    answer = {"jsonrpc": "2.0", "id": id, "error": failed}
    return httpx2.Response(502, json=answer, request=request)


def _bounded(response: httpx2.Response) -> httpx2.Response:
    """Bound how much of an answer is kept, as it is once it is decompressed. The SDK bounds the events of a stream."""
    if _kind_of(response).startswith("text/event-stream"):
        return response
    all_bytes: Any = response.aiter_bytes

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size = MessageSize()
        async for chunk in all_bytes(chunk_size):
            if excess := size.excess(chunk):
                await response.aclose()
                raise TooLongError(f"it sent an answer of {excess}", request=response.request)
            yield chunk

    vars(response)["aiter_bytes"] = aiter_bytes  # what all that reads an answer goes through
    return response


def _kind_of(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.lower()


def _is_json(response: httpx2.Response) -> bool:
    return _kind_of(response).startswith("application/json")


async def _fate_of(response: httpx2.Response, call: SentCall) -> Fate | None:
    """What became of a call with this answer; `None` if the answer says so itself.

    Raises:
        httpx2.TransportError, httpx2.DecodingError: the answer broke off.
    """
    status = response.status_code
    if status >= 400:
        return Fate(f"HTTP {status} {response.reason_phrase}".strip(), arrived=status >= 500)
    if status >= 300:
        return None  # the SDK follows it, or says where it points
    kind = _kind_of(response)
    if status == 202 or not kind.startswith(("application/json", "text/event-stream")):
        what = f"of type {kind}" if kind else f"HTTP {status} and nothing else"
        return Fate(f"its answer cannot be read: it is {what}", arrived=True)
    if kind.startswith("text/event-stream"):
        return None
    try:
        answer: Any = read_json(await response.aread())
    except httpx2.StreamError:
        return None
    except ValueError:
        return Fate("its answer cannot be read: it is not JSON", arrived=True)
    match answer:
        case {"result": _, "id": id} | {"error": _, "id": id} if str(id) == str(call.id):
            return None
        case {"error": {"message": str(words)}}:
            return Fate(f"its answer has the id of no call: {words}", arrived=True)
        case {"result": _} | {"error": _}:
            return Fate("its answer has the id of no call", arrived=True)
        case _:
            return None


def _words_of(error: Exception) -> str:
    if isinstance(error, TooLongError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
