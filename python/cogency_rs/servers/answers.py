"""Which answer of a server belongs to which request, so that no call waits for one that was lost.

The SDK drops an answer that cannot be read, or whose id is not one that it waits for. Here every message of a
connection passes on its way in and out, and each answer that is lost ends a request: the one whose id it has; otherwise
all that are open, once as many answers were lost as requests are open.

The SDK tells a status of 401 and one of 504 in the same words, and ends the whole connection if one request fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    Tool,
)
from mcp_types.methods import SERVER_RESULTS, validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from .._core import ArgumentSchema
from ..guards.json import read_json
from ..tools.toolbox import leave_out

MOST_BYTES = 32 * 2**20
"""Bytes of one message, at most: a list of tools, or what a call returns."""

MOST_VALUES = 1_000_000
"""The most values in one. The SDK reads it on the event loop: a picture as one text, small values as 200 bytes each."""


class MessageSize:
    """How long a message is that arrives in pieces."""

    def __init__(self) -> None:
        self._bytes = self._values = 0

    def excess(self, piece: bytes | bytearray) -> str | None:
        """Add a piece; returns of what there is too much, if there is."""
        self._bytes += len(piece)
        self._values += sum(map(piece.count, b",[{"))
        if self._bytes > MOST_BYTES:
            return f"more than {MOST_BYTES // 2**20} MiB"
        return f"more than {MOST_VALUES:,} values" if self._values > MOST_VALUES else None


_LISTEN = "subscriptions/listen"
"""A request that stays open as long as its connection."""

_CHANGED = "notifications/tools/list_changed"

_UNUSED = frozenset(
    (
        _CHANGED,
        "notifications/message",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    )
)
"""Notifications that the SDK does not get: each would cost it a task, and a server may send any number."""

MOST_PARTS = 2000
"""Parts of one result, at most; each costs more than its bytes."""

_LONGEST_WHY = 300

_MOST_GIVEN_UP = 1000
"""Requests that were given up and whose late answers are expected; of more, the oldest are forgotten."""


@dataclass(frozen=True)
class Fate:
    """What became of a call that has no answer, or none that can be used.

    Attributes:
        why: what happened, as a part of a sentence.
        arrived: whether the server may have begun with the call.
        is_broken: whether the connection must not be used again.
    """

    why: str
    arrived: bool
    is_broken: bool = False


@dataclass
class SentCall:
    """A call of a tool, as its request and what came back.

    Attributes:
        id: of its request; `None` until that is sent.
        answer: the result as the server sent it, before the SDK checks it.
        fate: what became of it without an answer.
    """

    id: Any = None
    answer: Mapping[str, Any] | None = None
    fate: Fate | None = None


_sending: ContextVar[SentCall | None] = ContextVar("_sending", default=None)


@dataclass
class Answers:
    """The open requests of one connection.

    Attributes:
        server: the name of the server.
        calls: those of them that call a tool, by the ids of their requests.
        broken: why nothing that the server sends is read any longer, as a sentence; empty while it is.
        is_polite: whether the server is given time to end on its own.
        on_change: called when the server says that its list of tools has changed.
    """

    server: str
    calls: dict[Any, SentCall] = field(default_factory=dict[Any, SentCall])
    broken: str = ""
    is_polite: bool = False
    on_change: Callable[[], None] | None = None
    _open: dict[Any, str] = field(default_factory=dict[Any, str])
    _promised: dict[str, Any] = field(default_factory=dict[str, Any])
    _given_up: dict[Any, None] = field(default_factory=dict[Any, None])
    _highest: int = 0
    _lost: int = 0
    _version: str = LATEST_HANDSHAKE_VERSION

    @contextmanager
    def of(self, call: SentCall) -> Generator[None, None, None]:
        """`with answers.of(call):` notes what is sent, and what comes back, as this call's."""
        token = _sending.set(call)
        try:
            yield
        finally:
            _sending.reset(token)
            self.calls.pop(call.id, None)

    def sending(self, message: object) -> None:
        """Note a message that is about to be sent."""
        match message:
            case JSONRPCRequest(id=id, method=method):
                key = _key(id)
                self._highest = max(self._highest, key if isinstance(key, int) else 0)
                self._open[key] = method
                call = _sending.get()
                if call is not None and method == "tools/call":
                    self.calls.pop(call.id, None)
                    call.id, call.answer, call.fate = key, None, None
                    self.calls[key] = call
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": id}):
                self._closed(_key(id))
                self._given_up[_key(id)] = None
                if len(self._given_up) > _MOST_GIVEN_UP:
                    del self._given_up[next(iter(self._given_up))]
            case _:
                pass

    def has_taken(self, item: SessionMessage | Exception) -> bool:
        """Whether what came in is a notification that nobody else needs; a change of the tools has been noted then."""
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCNotification) or message.method not in _UNUSED:
            return False
        if message.method == _CHANGED and self.on_change is not None:
            self.on_change()
        return True

    def received(self, item: SessionMessage | Exception) -> list[SessionMessage | Exception]:
        """Take what came in, and say what the SDK gets in its place."""
        if isinstance(item, Exception):
            return [item, *self._unreadable(item)]
        message = item.message
        match message:
            case JSONRPCResponse(id=id) | JSONRPCError(id=id):
                key = _key(id)
            case _:
                return [] if self.has_taken(item) else [item]
        if key in self._open:
            if isinstance(message, JSONRPCResponse):
                if key in self.calls:
                    self.calls[key].answer = message.result
                self._look_at(self._open[key], message.result)
            self._closed(key)
            return [item, *self._ended()]
        if key in self._given_up:
            del self._given_up[key]
        elif not (isinstance(key, int) and 0 < key <= self._highest):
            why = "it sent an answer that belongs to no call"
            if isinstance(message, JSONRPCError):
                why = f"it sent an error that belongs to no call: {message.error.message}"
            self._lost += 1
            return [item, *self._ended(why)]
        return [item]

    def _look_at(self, method: str, result: dict[str, Any]) -> None:
        """Note which protocol is spoken, and take out what the SDK would refuse a whole list for, or is too much."""
        if method == "initialize" and isinstance(version := result.get("protocolVersion"), str):
            self._version = version
        parts: Any = result.get("content")
        if (
            method == "tools/call"
            and isinstance(parts, list)
            and len(cast("Any", parts)) > MOST_PARTS
        ):
            left_out = {"type": "text", "text": f"(only the first {MOST_PARTS:,} parts are shown)"}
            result["content"] = [*parts[:MOST_PARTS], left_out]
        listed: Any = result.get("tools")
        if method == "tools/list" and isinstance(listed, list):
            result["tools"] = [
                self._without_promise(tool)
                for tool in cast("list[Any]", listed)
                if self._is_readable(tool)
            ]

    def _without_promise(self, tool: dict[str, Any]) -> dict[str, Any]:
        """A tool without its output schema: the SDK would check results with patterns that may take for ever."""
        promised = tool.pop("outputSchema", None)
        self._promised[tool["name"]] = promised
        return tool

    def unkept(self, name: str, result: Mapping[str, Any]) -> str:
        """How the result of a tool differs from the tool's output schema; empty if it does not, or is an error."""
        promised = self._promised.get(name)
        if promised is None or result.get("isError"):
            return ""
        if "structuredContent" not in result:
            return "it has an output schema, but no structured content came"
        if not isinstance(promised, ArgumentSchema):
            promised = self._promised[name] = ArgumentSchema(promised, "json schema")
        faults = promised.faults(result["structuredContent"])
        if not faults:
            return ""
        why = "; ".join(fault.removeprefix("argument ") for fault in faults)
        return f"its structured content does not fit its output schema: {why}"[:_LONGEST_WHY]

    def _is_readable(self, tool: Any) -> bool:
        try:
            if ("tools/list", self._version) in SERVER_RESULTS:
                validate_server_result("tools/list", self._version, {"tools": [tool]})
            Tool.model_validate(tool, by_name=False)
        except (ValueError, RecursionError) as error:
            name: Any = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
            leave_out(str(name), self.server, _fault_of(error))
            return False
        return True

    def _unreadable(self, error: Exception) -> list[SessionMessage | Exception]:
        """What ends the requests whose answer is among the lines that cannot be read."""
        why = "its answer cannot be read"
        text: Any = _input_of(error)
        value: Any = text
        if isinstance(text, str):
            try:
                value = read_json(text)
            except ValueError:
                # A server may print anything between its messages, so only a piece of a message counts.
                if '"jsonrpc"' not in text or '"method"' in text:
                    return []
                self._lost += 1
                return self._ended(why)
        ended: list[SessionMessage | Exception] = []
        each: Any
        for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
            match each:
                case {"result": _, "id": id} | {"error": _, "id": id} if _key(id) in self._open:
                    ended.append(self._end(_key(id), why))
                case {"jsonrpc": _, "result": _} | {"jsonrpc": _, "error": _}:
                    if _key(each.get("id")) not in self._given_up:
                        self._lost += 1
                case _:
                    pass
        return [*ended, *self._ended(why)]

    def _ended(self, why: str = "its answer was lost") -> list[SessionMessage | Exception]:
        """What ends all open requests, if as many answers were lost."""
        waiting = [key for key, method in self._open.items() if method != _LISTEN]
        if self._lost < len(waiting):
            return []
        self._lost = 0
        return [self._end(key, why) for key in waiting]

    def _end(self, key: Any, why: str) -> SessionMessage:
        if (call := self.calls.get(key)) is not None:
            call.fate = Fate(why, arrived=True)
        self._closed(key)
        error = ErrorData(code=PARSE_ERROR, message=why)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=key, error=error))

    def _closed(self, key: Any) -> None:
        self._open.pop(key, None)


class Reading:
    """What the SDK reads from a server: messages pass through `Answers`.

    Args:
        stream: the transport's.
        answers: of the connection.
        on_end: called when the stream has ended, before those who wait for an answer learn of it.
    """

    def __init__(self, stream: Any, answers: Answers, on_end: Callable[[], None]) -> None:
        self._stream, self._answers, self._on_end = stream, answers, on_end
        self._next: deque[SessionMessage | Exception] = deque()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Reading:
        return self

    async def __anext__(self) -> Any:
        while not self._next:
            self._next += self._answers.received(await self._stream.__anext__())
        return self._next.popleft()

    async def __aenter__(self) -> Reading:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        self._on_end()
        return await self._stream.__aexit__(*raised)


class Writing:
    """What the SDK writes to: messages pass through `Answers`, in the task of the call that they are of.

    Args:
        stream: the transport's.
        answers: of the connection.
    """

    def __init__(self, stream: Any, answers: Answers) -> None:
        self._stream, self._answers = stream, answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def send(self, item: SessionMessage) -> None:
        """Note a message, and send it."""
        self._answers.sending(item.message)
        await self._stream.send(item)

    async def __aenter__(self) -> Writing:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._stream.__aexit__(*raised)


def _key(id: Any) -> Any:
    """An id as the SDK compares it: some servers answer 7 with "7"."""
    if isinstance(id, str) and id.isascii() and id.isdigit() and len(id) < 20:
        return int(id)
    return id if isinstance(id, str | int) else None


def _fault_of(error: Exception) -> str:
    """Why a tool cannot be read, from an error of pydantic: the first fault, and where it is."""
    errors: Any = getattr(error, "errors", None)
    try:
        [first, *_] = errors(include_url=False, include_input=False)
        where = ".".join(str(step) for step in first["loc"] if step not in ("tools", 0))
        return f"{where or 'it'}: {first['msg']}"
    except Exception:  # not an error of pydantic
        return str(error)


def _input_of(error: Exception) -> Any:
    """What could not be read: a line that is not JSON, or the value of one that is not a message."""
    errors: Any = getattr(error, "errors", None)
    try:
        found: list[Any] = [each["input"] for each in errors()]
    except Exception:  # not an error of pydantic
        return None
    for each in found:
        if isinstance(each, dict | list):
            return cast("Any", each)
    return found[0] if found else None


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
