"""A model behind an API: asked through the provider's own SDK, and read while it answers.

All waiting is done here, once for all providers. An `Endpoint` makes the request and reads the answer, without any
network. The SDK retries a request until an answer begins. An answer that has begun is not asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from .._core import Thought
from ..errors import ConfigError, LLMError
from ..redaction import Secrets, in_proxies, in_settings
from .answer import Answer, pieces_of
from .clients import Clients, in_client
from .deltas import Delta, Finish, ReasoningDelta, TextDelta, ToolCallDelta
from .failures import Service
from .request import ModelRequest

__all__ = ["Endpoint", "ModelSettings", "ServedModel"]

_OF_THE_CLIENT = ("max_retries", "timeout")
_OF_THE_CALL = ("extra_headers", "extra_query")
_OURS = ("messages", "prompt", "stream")

_DRAINING = 0.1  # seconds


class ModelSettings:
    """The settings of a question, sorted by who reads them: the client of the SDK, its call, or the service.

    Raises:
        ConfigError: the caller may not set one of them.
    """

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        merged: dict[str, Any] = {}
        for layer in layers:
            merged |= layer
        for name in _OURS:
            if name in merged:
                raise ConfigError(
                    f"{name} is not a setting of a model: messages stand in the request, and every answer streams"
                )
        self.of_client = {name: merged.pop(name) for name in _OF_THE_CLIENT if name in merged}
        self.of_call = {name: merged.pop(name) for name in _OF_THE_CALL if name in merged}
        self.of_service: dict[str, Any] = {**(merged.pop("extra_body", None) or {}), **merged}


class Endpoint(Protocol):
    """One API of a provider.

    Attributes:
        api: how its answers are read.
    """

    api: Literal["completions", "messages"]

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request, without the model's name and the settings."""
        ...

    async def open(self, client: Any, body: Mapping[str, Any], settings: ModelSettings) -> Any:
        """Send a body; returns the SDK's stream, once the service has begun to answer."""
        ...


async def _read(pieces: AsyncGenerator[bytes, None], answer: Answer) -> list[Delta]:
    """Read on, up to the end of the bytes."""
    try:
        return answer.feed(await anext(pieces))
    except StopAsyncIteration:
        return answer.finish()
    except Exception as error:
        return answer.break_off(error)


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read what comes after an answer, so that its connection can be used again; but a server may keep it open."""
    with suppress(Exception):
        async with asyncio.timeout(_DRAINING):
            async for _ in pieces:
                pass


class ServedModel:
    """A model behind an API. Use it as an async context manager, or `aclose()` it, to close its connections.

    Attributes:
        name: the model's name at the service.
        provider: the provider's name.
        base_url: where the API is, as it may be shown: without user, password and query, and without parts of its path
            that may be keys.
        structured_output: whether requests for an answer of a certain type have its schema.
    """

    def __init__(
        self,
        *,
        structured_output: bool,
        provider: str,
        service: Service,
        endpoint: Endpoint,
        clients: Clients,
        settings: Mapping[str, Any],
    ) -> None:
        ModelSettings(settings)  # refuses wrong settings before a question is asked
        self.name = service.model
        self.provider = provider
        self.base_url = service.url
        self.structured_output = structured_output
        self._service = service
        self._endpoint = endpoint
        self._clients = clients
        self._settings = dict(settings)
        self._secrets = self._secrets_of(
            clients.first, {}
        )  # kept out of logs as long as this exists

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.base_url!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask, and give the answer while it arrives: text, reasoning and calls in pieces, then `Usage` and `Finish`.

        Closing the iterator closes the HTTP response, and the model stops writing.

        If the model refuses to answer, or its provider withholds the answer, the `Finish` is of the kind `"refused"`.

        Raises:
            LLMError: there was no answer, or it broke off. The message says what to do.
            ConfigError: the request has a part that this API does not support.
        """
        settings = ModelSettings(self._settings, request.settings)
        body = self._endpoint.body(request)
        client = await self._clients.current()
        asked = client.with_options(**settings.of_client) if settings.of_client else client
        service = self._service_for(client, request.settings)
        stream = await self._opened(asked, {"model": self.name, **body}, settings, service)
        answer = Answer(self._endpoint.api, service.secrets(), stream)
        async with stream, aclosing(pieces_of(stream, service.sdk.AsyncStream)) as pieces:
            while not answer.is_over:
                for delta in await _read(pieces, answer):
                    yield delta
            if answer.fault is not None:
                failed = service.broken(answer.fault)
                raise failed from failed.cause
            await _drain(pieces)

    # An error is raised out of the block that caught the SDK's, so that its context is not that one, with its secrets.

    async def _opened(
        self, client: Any, body: Mapping[str, Any], settings: ModelSettings, service: Service
    ) -> Any:
        """The SDK's stream of chunks."""
        try:
            return await self._endpoint.open(client, body, settings)
        except Exception as error:
            failed = await service.not_asked(error, client)
        raise failed from failed.cause

    def _service_for(self, client: Any, settings: Mapping[str, Any]) -> Service:
        """The service as errors of one request describe it. Keys may be of the request, or new ones of the client."""
        return replace(self._service, secrets=lambda: self._secrets_of(client, settings))

    def _secrets_of(self, client: Any, settings: Mapping[str, Any]) -> Secrets:
        return Secrets(
            in_client(client), in_settings(self._settings), in_settings(settings), in_proxies()
        )

    async def __call__(
        self, messages: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[str | Thought | Finish, None]:
        """Ask for text: the model as a function from messages to what `parse_tokens` reads.

        The usage is left out; `stream` has it.

        Raises:
            LLMError: as `stream`; or the model refused to answer; or the service took a call out of the text, which
                text cannot hold.
        """
        async with aclosing(self.stream(ModelRequest(messages))) as answer:
            async for delta in answer:
                match delta:
                    case TextDelta(text):
                        yield text
                    case ReasoningDelta(text):
                        if text:
                            yield Thought(text)
                    case Finish() if delta.kind == "refused":
                        raise self._service.refused(delta)
                    case Finish():
                        yield delta
                    case ToolCallDelta():
                        raise LLMError(
                            f"{self._service.url} took a tool call out of the text of the model {self.name}; "
                            "turn off the server's own parser of tool calls, or ask by stream()"
                        )
                    case _:
                        pass

    async def aclose(self) -> None:
        """Close the connections of the running event loop. A client that the caller handed over stays open."""
        await self._clients.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
