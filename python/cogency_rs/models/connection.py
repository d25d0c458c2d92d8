"""How a model's service is reached: over our own transport, or through a client of an SDK. The same for both.

An SDK's stream has the response that it reads, and its bytes are read here. Where something has wrapped the stream, as
instrumentation does, or where the bytes are not server-sent events, there are only objects: these are read as the JSON
that they were made of.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, Protocol

from .._core import AnswerReader
from ..errors import ConfigError, Portable
from ..guards.secrets import Found, in_headers, in_settings, in_url, key
from .settings import ModelSettings


@dataclass(frozen=True)
class Operation:
    """What is asked of a service.

    Attributes:
        api: how its answers are read.
        path: where it is, after the service's address.
        resource: what has the method `create` for it in an SDK's client.
        arguments: the fields of its body that this method has as arguments.
    """

    api: Literal["completions", "messages"]
    path: str
    resource: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """What is sent to a service.

    Attributes:
        operation: what is asked of it.
        body: the body of the request.
        settings: the settings; those for the service are in the body.
        secrets: what no error of the answer may show. Who sends it adds the key that it is sent with.
        until: see `ModelRequest`.
        asked: when it was asked first, by the loop's clock, for the bound on the time in all; now if not given.
        attempt: how often it was sent before.
    """

    operation: Operation
    body: Mapping[str, Any]
    settings: ModelSettings
    secrets: list[Found]
    until: tuple[str, ...] | None = None
    asked: float | None = None
    attempt: int = 0


class Read:
    """What was read of an answer.

    Attributes:
        deltas: see `AnswerReader`.
        is_over: whether nothing comes after it.
        error: what broke the answer off.
    """

    __slots__ = ("deltas", "error", "is_over")

    def __init__(
        self, deltas: list[Any], *, is_over: bool = False, error: Exception | None = None
    ) -> None:
        self.deltas = deltas
        self.is_over = is_over
        self.error = error


class BeganAnswer(Protocol):
    """An answer that has begun.

    Attributes:
        declared: its content type, in small letters; empty if the service does not say.
        attempt: how often the question was sent before; 0 if that is not known.
    """

    declared: str
    attempt: int

    async def read(self) -> Read:
        """Wait until something has come, and take it. A wait that is cancelled loses nothing."""
        ...

    async def aclose(self) -> None:
        """Close its connection, unless it can be used again."""
        ...


class Connection(Protocol):
    """A service, as it can be reached.

    Attributes:
        url: its address, as it was given.
        transport: how it is reached: `"http"`, or the name of an SDK's package.
    """

    url: str
    transport: str

    async def ask(self, question: Question) -> BeganAnswer:
        """Send a question; returns once the service has begun to answer.

        Raises:
            Exception: it did not. `status_code`, `body` and `headers` are those of its answer, if there was one.
        """
        ...

    async def models(self) -> list[str]:
        """The names of the service's models."""
        ...

    def kind_of(self, error: Exception) -> str | None:
        """What kept a request from being answered, as `TransportError.kind`; `None` if it is not that."""
        ...

    def secrets(self) -> list[Found]:
        """What an error must not show of it."""
        ...

    async def aclose(self) -> None:
        """Close its connections, unless they are the caller's."""
        ...


class TransportError(Portable):
    """A request got no answer, or only a part of one.

    Attributes:
        kind: `"unreachable"`, `"certificate"`, `"proxy"`, `"slow_to_connect"`, `"slow_to_answer"`, `"slow_in_all"`,
            `"broken"`, or `"redirect"`.
    """

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


REPORTED = 64 * 1024
"""Bytes of an error that a service sends which are read; of a longer one only these are, as text."""


class StatusError(Portable):
    """The service answered with a status that says that something is wrong.

    Attributes:
        status_code: the status.
        body: the object that it sent, or its text.
        headers: its headers, their names in small letters.
    """

    def __init__(self, status_code: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status_code}: {body}" if body else f"status {status_code}")
        self.status_code = status_code
        self.body = body
        self.headers = headers


_ACCOUNT = (
    "api_key",
    "admin_api_key",
    "auth_token",
    "organization",
    "project",
    "webhook_key",
    "webhook_secret",
)
"""The attributes of clients that are keys, or identify whose they are."""

_DRAINING = 0.1  # seconds

_EVENT_STREAM_OF_AWS = "application/vnd.amazon.eventstream"


class SdkConnection:
    """A service that is reached through a client of its SDK. The caller closes the client.

    Args:
        package: the package of the SDK.
        client: the client.

    Raises:
        ConfigError: the SDK is not installed.
    """

    def __init__(self, package: str, client: Any) -> None:
        try:
            self._sdk: Any = importlib.import_module(package)
        except ModuleNotFoundError as error:
            message = f"client= is one of the package {error.name}; run: pip install 'cogency-rs[{package}]'"
            raise ConfigError(message, cause=error) from error
        if not hasattr(client, "base_url"):
            raise ConfigError(
                f"client must be an async client of the package {package}, got {type(client).__name__}"
            )
        self._client = client
        self.transport = package
        self.url = str(client.base_url).rstrip("/")  # the SDK adds a slash

    def secrets(self) -> list[Found]:
        """Its keys, its account, its address, and what it sends with every request."""
        return [*self._secrets()]

    def _secrets(self) -> Iterator[Found]:
        for name in _ACCOUNT:
            yield from key(name, getattr(self._client, name, None))
        yield from in_url(self.url)
        yield from in_headers(getattr(self._client, "default_headers", {}))
        yield from in_settings({"extra_query": getattr(self._client, "default_query", {})})

    def kind_of(self, error: Exception) -> str | None:
        """See `Connection`."""
        if isinstance(error, self._sdk.APITimeoutError):
            return "slow_to_answer"
        return "unreachable" if isinstance(error, self._sdk.APIConnectionError) else None

    async def ask(self, question: Question) -> SdkAnswer:
        """Send a question. The SDK sends it again where that may help.

        Fields that are not arguments of the SDK's method are sent as `extra_body`: servers know more settings.
        """
        client, settings, operation = self._client, question.settings, question.operation
        if settings.of_client:
            client = client.with_options(**settings.of_client)
        rest = dict(question.body)
        asked = {name: rest.pop(name) for name in operation.arguments if name in rest}
        create = attrgetter(operation.resource)(client).create
        stream = await create(**asked, stream=True, extra_body=rest, **settings.of_call)
        await stream.__aenter__()
        reader = AnswerReader(operation.api, secrets=question.secrets, extras=settings.extra_fields)
        return SdkAnswer(
            stream, _pieces_of(stream, self._sdk.AsyncStream), reader, question.attempt
        )

    async def models(self) -> list[str]:
        """See `Connection`."""
        page = await self._client.with_options(max_retries=0, timeout=5).models.list()
        return [str(model.id) for model in page.data or ()]

    async def aclose(self) -> None:
        """The client is the caller's."""


class SdkAnswer:
    """An answer as an SDK's stream."""

    def __init__(
        self, stream: Any, pieces: AsyncGenerator[bytes, None], reader: AnswerReader, attempt: int
    ) -> None:
        self.declared, self.attempt = _content_type(stream), attempt
        self._stream = stream
        self._pieces = pieces
        self._reader = reader

    async def read(self) -> Read:
        """See `BeganAnswer`. After the answer it waits for the end of the bytes, which frees their connection."""
        if self._reader.is_done:
            await self._drain()
            return Read([], is_over=True)
        try:
            return Read(self._reader.feed(await anext(self._pieces)))
        except StopAsyncIteration:
            return Read(self._reader.finish(), is_over=True)
        except Exception as error:
            deltas = self._reader.break_off(type(error).__name__)
            return Read(deltas, is_over=True, error=_broken(error))

    async def _drain(self) -> None:
        """A server may keep its connection open."""
        with suppress(Exception):
            async with asyncio.timeout(_DRAINING):
                async for _ in self._pieces:
                    pass

    async def aclose(self) -> None:
        """Close the response, and with it an answer that has not ended."""
        try:
            await self._pieces.aclose()
        finally:
            await self._stream.__aexit__(None, None, None)


def _broken(error: Exception) -> Exception:
    """An error of the SDK's client in an answer, as one of a connection, unless the service reported it."""
    if getattr(error, "body", None) is not None:
        return error
    broken = TransportError("broken", str(error) or type(error).__name__)
    broken.__cause__ = error
    return broken


async def _pieces_of(stream: Any, kind: type[Any]) -> AsyncGenerator[bytes, None]:
    """What an SDK's stream has read: its bytes, if it is of this class of the SDK's, or its objects."""
    response: Any = getattr(stream, "response", None) if type(stream) is kind else None
    if response is not None and _content_type(stream) != _EVENT_STREAM_OF_AWS:
        async for data in response.aiter_bytes():
            yield data
        return
    async for chunk in stream:
        yield b"data: %s\n\n" % _json_of(chunk)


def _content_type(stream: Any) -> str:
    """What an SDK's stream is declared to be; empty if it does not say."""
    headers = getattr(getattr(stream, "response", None), "headers", {})
    return str(headers.get("content-type", "")).partition(";")[0].strip().lower()


def _json_of(chunk: Any) -> bytes:
    """The JSON that an object was made of, on one line."""
    if hasattr(chunk, "model_dump_json"):
        text: str = chunk.model_dump_json(exclude_unset=True, warnings=False)
    else:
        text = json.dumps(chunk, default=vars)
    return text.encode("utf-8", "surrogatepass")
