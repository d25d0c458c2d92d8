"""Our own transport: requests over HTTP, sent and read outside the interpreter, whose answers wake the event loop.

Requests run on their own thread, which does not know Python. Each event loop has one socket: a byte comes when
there is something to take. What came waits outside the loop until it is taken, so a wait that is cancelled loses
nothing.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, cast

from .._core import Exchange, HttpClient, Inbox, __version__
from ..errors import ConfigError
from ..guards.arguments import refused
from ..guards.json import read_json, whole_characters
from ..guards.secrets import Found, Secrets, host_of, in_headers, in_url, key, proxies
from .connection import REPORTED, Question, Read, StatusError, TransportError
from .settings import RETRIES, Timeout, timeout_of

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


Key = str | Callable[[], Awaitable[str]]
"""A key, or an async function that returns one before each request."""

_USER_AGENT = f"cogency-rs/{__version__} Python/{'.'.join(map(str, sys.version_info[:3]))}"
_OFFERED = Timeout(5.0, 5.0, 10.0)
"""How long to wait for what no answer needs: the list of models, for an error's message, and the chat template."""


_LOCAL_NAMES = (".localhost", ".local", ".lan", ".internal")


def is_local(url: str) -> bool:
    """Whether a server is on this machine or in a private network, where it seldom asks for a key."""
    host = host_of(url)
    if ":" not in host and not host.replace(".", "").isdecimal():
        return bool(host) and ("." not in host or host.endswith(_LOCAL_NAMES))
    if host == "127.0.0.1":
        return True
    from ipaddress import ip_address  # here, since most services have a name

    try:
        address = ip_address(host)
    except ValueError:
        # A name without a dot is that of this machine, or one in a network of containers.
        return bool(host) and ("." not in host or host.endswith(_LOCAL_NAMES))
    return address.is_private or address.is_loopback


class HttpConnection:
    """A service that is reached over HTTP. Its connections are shared by all event loops.

    Args:
        url: its address.
        api_key: the key; `None` if it needs none.
        headers_of: returns the headers of a request with this key.
        models_path: where the list of its models is.
        proxy: the address of a proxy; by default the environment's; "" for none.
        verify: a PEM file of certificates to trust in place of the machine's.
        timeout: see `timeout_of`.

    Raises:
        ConfigError: the proxy, the file or the timeout is not one.
    """

    transport = "http"

    def __init__(
        self,
        url: str,
        api_key: Key | None,
        headers_of: Callable[[str | None], Mapping[str, str]],
        *,
        models_path: str,
        proxy: str | None,
        verify: str | PathLike[str] | None,
        timeout: Timeout,
    ) -> None:
        self.url = url.rstrip("/")
        self._api_key = api_key
        self._key = api_key if isinstance(api_key, str) else None  # the last one that was asked for
        self._headers_of = headers_of
        self._models_path = models_path
        self._proxy = proxy
        self._certificates = None if verify is None else _path_of(verify)
        self._in_addresses = [*in_url(self.url), *(in_url(proxy) if proxy else ())]
        self._hidden = Secrets()
        self._clients: dict[float, HttpClient] = {}
        _check_proxies(proxy)
        self._client(timeout.connect)

    def secrets(self) -> list[Found]:
        """The key, the address, and what is sent with each request."""
        headers = self._headers_of(self._key)
        return [*key("api_key", self._key), *self._in_addresses, *in_headers(headers)]

    def kind_of(self, error: Exception) -> str | None:
        """See `Connection`."""
        if not isinstance(error, TransportError):
            return None
        return "proxy" if error.kind == "unreachable" and self._has_proxy() else error.kind

    def _has_proxy(self) -> bool:
        """Whether requests go to a proxy first: where nothing listens, it is the proxy that does not."""
        if self._proxy is not None:
            return bool(self._proxy)
        # Here, since only an error needs them.
        from ipaddress import ip_address, ip_network
        from urllib import request
        from urllib.parse import urlsplit

        environment: Any = request  # type checkers know one of the functions on some systems only
        address, named = urlsplit(self.url), environment.getproxies_environment()
        host = address.hostname or ""
        for network in named.get("no", "").split(","):  # `urllib` knows names only
            with suppress(ValueError):
                if ip_address(host) in ip_network(network.strip(), strict=False):
                    return False
        is_named = address.scheme in named or "all" in named
        return is_named and not environment.proxy_bypass_environment(host, named)

    async def ask(self, question: Question) -> HttpAnswer:
        """Send a question, and again while it is not answered, that may help, and there is time in all."""
        sent = json_of({**question.body, "stream": True})
        timeout = timeout_of(question.settings.of_client)
        retries = question.settings.of_client.get("max_retries", RETRIES)
        clock = asyncio.get_running_loop().time
        began = clock() if question.asked is None else question.asked
        end = began + (float("inf") if timeout.total is None else timeout.total)
        attempt = question.attempt
        while True:
            if timeout.total is not None:
                timeout = replace(timeout, total=max(0.0, end - clock()))
            try:
                answer = await self._posted(question, sent, timeout)
                answer.attempt = attempt
                return answer
            except (StatusError, TransportError) as error:
                from .failures import seconds_before_retry  # here, since most requests are answered

                seconds = seconds_before_retry(error, attempt)
                if seconds is None or attempt >= retries or clock() + seconds >= end:
                    raise
            attempt += 1
            await asyncio.sleep(seconds)

    async def models(self) -> list[str]:
        """See `Connection`."""
        page = await self._page(self._address(self._models_path, {}))
        return [str(model["id"]) for model in page["data"] or ()]

    async def properties(self, total: float | None) -> Any:
        """What the server reports of itself at `/props`, next to its API, as llama.cpp's does.

        Args:
            total: seconds that a request may take in all, of which this takes half at most; `None` for no limit.

        Raises:
            StatusError: it reports nothing.
            TransportError: it did not answer.
            ValueError: it did not answer in JSON.
        """
        root = self.url.partition("?")[0].rstrip("/").removesuffix("/v1")
        return await self._page(f"{root}/props", total)

    async def aclose(self) -> None:
        """Close the connections that no answer uses."""
        self._clients.clear()

    async def _page(self, address: str, total: float | None = None) -> Any:
        """What is at an address, as JSON."""
        offered = _OFFERED.total if total is None else min(_OFFERED.total or total, total / 2)
        inbox = await inbox_of_loop()
        exchange = self._client(_OFFERED.connect).send(
            inbox.inbox,
            "GET",
            address,
            self._headers(await self._asked_key(), {}),
            b"",
            read_timeout=_OFFERED.read,
            total_timeout=offered,
        )
        answer = await _begun(HttpAnswer(inbox, exchange))
        try:
            return read_json((await answer.body()).decode())
        finally:
            await answer.aclose()

    async def _posted(self, question: Question, body: bytes, timeout: Timeout) -> HttpAnswer:
        """The answer to one request, once it has begun."""
        operation, of_call = question.operation, question.settings.of_call
        asked = await self._asked_key()
        question.secrets.extend(key("api_key", asked))
        inbox = await inbox_of_loop()
        exchange = self._client(timeout.connect).send(
            inbox.inbox,
            "POST",
            self._address(operation.path, of_call.get("extra_query", {})),
            self._headers(asked, of_call.get("extra_headers", {})),
            body,
            read_timeout=timeout.read,
            total_timeout=timeout.total,
            api=operation.api,
            secrets=question.secrets,
            extras=question.settings.extra_fields,
            until=question.until,
        )
        return await _begun(HttpAnswer(inbox, exchange))

    async def _asked_key(self) -> str | None:
        if callable(self._api_key):
            self._key = await self._api_key()
            self._hidden = Secrets(key("api_key", self._key))  # kept out of logs from here on
        return self._key

    def _headers(self, key: str | None, extra: Mapping[str, Any]) -> list[tuple[str, str]]:
        headers = {
            "accept": "text/event-stream, application/json",
            "content-type": "application/json",
            **self._headers_of(key),
        }
        for name, value in extra.items():
            headers.pop(name.lower(), None)
            if value is not None:
                headers[name.lower()] = str(value)
        return [*headers.items()]

    def _address(self, path: str, query: Mapping[str, Any]) -> str:
        address, _, given = self.url.partition("?")
        added = ""
        if query:
            from urllib.parse import urlencode

            added = urlencode(query, doseq=True)
        both = "&".join(filter(None, [given, added]))
        return f"{address.rstrip('/')}{path}" + (f"?{both}" if both else "")

    def _client(self, connect: float) -> HttpClient:
        if (known := self._clients.get(connect)) is not None:
            return known
        try:
            client = HttpClient(
                user_agent=_USER_AGENT,
                connect_timeout=connect,
                proxy=self._proxy,
                certificates=self._certificates,
            )
        except ValueError as error:
            which, words = error.args
            shown = Secrets(in_url(self._proxy)).hide(words) if self._proxy else words
        else:
            self._clients[connect] = client
            return client
        raise ConfigError(f"{which} cannot be used: {shown}")


class HttpAnswer:
    """An answer over HTTP."""

    __slots__ = ("_arrival", "_early", "_exchange", "attempt", "declared")

    def __init__(self, inbox: LoopInbox, exchange: Exchange) -> None:
        self._exchange = exchange
        self._arrival = inbox.arrival_of(exchange.number)
        self._early: Read | None = None
        self.declared, self.attempt = "", 0

    async def begin(self) -> None:
        """Wait for the status.

        Raises:
            StatusError: it says that something is wrong.
            TransportError: none came.
        """
        head, deltas, end = await self._arrived()
        if head is None:
            raise _error_of(end)
        status, pairs = head
        headers = dict(pairs)
        self.declared = headers.get("content-type", "").partition(";")[0].strip().lower()
        if 200 <= status < 300:
            if end is not None:
                self._early = _read_of(deltas, end)
            elif deltas:
                self._early = Read(deltas)
            return
        while end is None:
            _, _, end = await self._arrived()
        if 300 <= status < 400 and (place := headers.get("location")):
            raise TransportError("redirect", place)
        raise StatusError(status, _body_of(end), headers)

    async def read(self) -> Read:
        """See `BeganAnswer`."""
        if self._early is not None:
            early, self._early = self._early, None
            return early
        while (
            arrived := self._exchange.take()
        ) is None:  # no call of `_arrived`: this is done for each delta
            await self._arrival
        _, deltas, end = arrived
        return Read(deltas) if end is None else _read_of(deltas, end)

    async def body(self) -> bytes:
        """The whole body of an answer that is not read as deltas."""
        while not (read := await self.read()).is_over:
            pass
        if read.error is not None:
            raise read.error
        return b"".join(read.deltas)

    async def aclose(self) -> None:
        """See `BeganAnswer`."""
        self._exchange.close()
        self._arrival.forget()

    async def _arrived(self) -> tuple[Any, list[Any], Any]:
        while (arrived := self._exchange.take()) is None:
            await self._arrival
        return arrived


def _path_of(verify: str | PathLike[str]) -> str:
    """The path of a file of certificates; `True` and `False` are what other clients take here."""
    if not isinstance(verify, str | PathLike):
        raise refused(
            "verify",
            verify,
            "the path of a PEM file of certificates",
            "certificates are always checked: give the file of the one that the server has",
        )
    return fspath(verify)


_PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")


def _check_proxies(proxy: str | None) -> None:
    """Refuse what is not the address of a proxy: without it, requests would go there directly. It may hold a password.

    Raises:
        ConfigError: the argument, or a variable of the environment, is not one.
    """
    given = proxies() if proxy is None else {"proxy": proxy}
    for name, address in given.items():
        scheme, mark, _ = address.rpartition("://")
        if mark and scheme.lower() not in _PROXIES:
            raise ConfigError(
                f"{name} is not the address of a proxy: it must begin with {', '.join(_PROXIES[:-1])} or {_PROXIES[-1]}"
            )


async def _begun(answer: HttpAnswer) -> HttpAnswer:
    """The answer, once its status is there; it is closed if there will be none."""
    try:
        await answer.begin()
    except BaseException:
        await answer.aclose()
        raise
    return answer


def _read_of(deltas: list[Any], end: Sequence[Any]) -> Read:
    match end:
        case ("body", data):
            return Read([data], is_over=True)
        case ("failed", *_):
            return Read(deltas, is_over=True, error=_error_of(end))
        case _:
            return Read(deltas, is_over=True)


def _error_of(end: Sequence[Any] | None) -> TransportError:
    match end:
        case ("failed", str(kind), str(words)):
            return TransportError(kind, words)
        case _:
            return TransportError("broken", "nothing came")


def _body_of(end: Sequence[Any]) -> object:
    """The object that a service sent with a status, or its text; of a long one the beginning."""
    data = cast("bytes", end[1]) if end[0] == "body" else b""
    text = data[:REPORTED].decode("utf-8", "replace").strip()
    if len(data) > REPORTED:
        return text
    try:
        return read_json(text)
    except ValueError:
        return text


def json_of(body: Mapping[str, Any]) -> bytes:
    """The body of a request as JSON.

    Raises:
        TypeError: JSON cannot hold one of the settings.
        ValueError: JSON cannot hold one of its numbers.
    """
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which services cannot read
        return whole_characters(text).encode()
