"""A model behind an API, which is read while it answers.

All waiting is done here, once for all providers and for every way in which they are reached. An `Endpoint` writes the
request and a `Connection` sends it, again until an answer begins. An answer that nobody has seen a part of is asked for
again if it fails in a way that passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol, Self

from .._core import Finish
from ..calls.trace_context import trace_parent
from ..errors import LLMError
from ..guards.secrets import Found, Secrets, in_proxies, in_settings, written
from .connection import BeganAnswer, Operation, Question
from .failures import Service
from .request import Delta, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from .service_answer import Answer
from .settings import RETRIES, ModelSettings, limit_in, timeout_of


class Endpoint(Protocol):
    """One API of a provider.

    Attributes:
        operation: what is asked of the service.
    """

    operation: Operation

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request, without the model's name and the settings."""
        ...

    def complete(self, body: Mapping[str, Any], of_service: Mapping[str, Any]) -> dict[str, Any]:
        """The whole body: with the service's settings, and without what it has refused before."""
        ...

    def learns_from(
        self, error: Exception, sent: Mapping[str, Any], of_service: Mapping[str, Any]
    ) -> bool:
        """Whether the service refused a field of this body, so that the next one is without it."""
        ...


class ServedModel:
    """A model behind an API. Use it as an async context manager, or `aclose()` it, to close its connections.

    Attributes:
        name: the model's name at the service.
        provider: the provider's name.
        base_url: the API's address, as it may be shown: without user, password and query, and without parts of its path
            that may be keys.
        transport: how it is reached: `"http"`, or the name of the SDK's package whose client was given.
        structured_output: whether requests for an answer of a certain type have its schema.
        keeps_messages: true, since it changes no message of a request.
        calls_natively: whether the service has its own tool calls for every model: an agent uses them by default.
    """

    keeps_messages: bool = True
    calls_natively: bool = False

    def __init__(
        self,
        *,
        structured_output: bool,
        provider: str,
        service: Service,
        endpoint: Endpoint,
        settings: Mapping[str, Any],
    ) -> None:
        self.name = service.model
        self.provider = provider
        self.base_url = service.url
        self.structured_output = structured_output
        self._service = service
        self._endpoint = endpoint
        self._connection = service.connection
        self.transport = service.connection.transport
        self._settings = dict(settings)
        self._gives_reasons = False  # the service has said why an answer ended
        self._found_last: list[Found] = []
        self._written_last: list[Found] = []
        self._secrets = self._secrets_of({})  # kept out of logs as long as this exists

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.base_url!r})"

    def output_limit(self, request: ModelRequest) -> str | None:
        """The setting that bounds the length of the answer to this request; see `Model`."""
        return limit_in(self._settings, request.settings)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask, and yield the answer while it arrives: text, reasoning and calls in pieces, then `Usage` and `Finish`.

        With the setting `extra_fields`, or `logprobs`, the service's other fields are among them, as `ExtraDelta`.

        Closing the iterator closes the HTTP response, and the model stops writing.

        If the model refuses to answer, or its provider withholds the answer, the `Finish` is of the kind `"refused"`.

        Raises:
            LLMError: there was no answer, or it broke off. The message says what to do.
            ConfigError: the request has a part that this API does not support.
        """
        secrets = [*self._written_secrets(request.settings)]
        asked, attempt = asyncio.get_running_loop().time() - request.waited, 0
        while True:
            began = await self._began(request, secrets, asked, attempt)
            answer = Answer(
                self._endpoint.operation.api, began.declared, wants_reason=self._gives_reasons
            )
            is_new = True  # nothing of it was seen
            try:
                while not answer.is_over:
                    for delta in answer.take(await began.read()):
                        is_new = False
                        yield delta
            finally:
                await began.aclose()
            self._gives_reasons |= answer.has_reason
            if (fault := answer.fault) is None:
                return
            seconds = self._wait(request, fault, asked, began.attempt) if is_new else None
            if seconds is None:
                failed = self._service_of(request, secrets).broken(fault)
                raise failed from failed.cause
            attempt = began.attempt + 1
            await asyncio.sleep(seconds)

    def _wait(
        self, request: ModelRequest, fault: Exception, asked: float, attempt: int
    ) -> float | None:
        """How long to wait before an answer of which nothing came is asked for again; `None` if it is not."""
        settings = ModelSettings(self._settings, request.settings).of_client
        if attempt >= settings.get("max_retries", RETRIES):
            return None
        from .failures import seconds_before_retry  # here, since most answers do not fail

        seconds = seconds_before_retry(fault, attempt)
        timeout: object = settings.get("timeout")
        if seconds is None or not isinstance(timeout, Mapping):
            return seconds
        total = timeout_of(settings).total
        passed = asyncio.get_running_loop().time() - asked
        return None if total is not None and passed + seconds >= total else seconds

    async def _began(
        self, request: ModelRequest, secrets: list[Found], asked: float, attempt: int
    ) -> BeganAnswer:
        """The answer, once it has begun. What is made to ask for it is not kept while it comes."""
        settings = ModelSettings(self._settings, request.settings)
        if traced := trace_parent():
            given: Mapping[str, Any] = settings.of_call.get("extra_headers", {})
            settings.of_call["extra_headers"] = {**traced, **given}
        body = {"model": self.name, **self._endpoint.body(request)}
        service = self._service_of(request, secrets)
        endpoint, of_service = self._endpoint, settings.of_service
        while True:
            sent = endpoint.complete(body, of_service)
            try:
                question = Question(
                    endpoint.operation, sent, settings, secrets, request.until, asked, attempt
                )
                return await self._connection.ask(question)
            except Exception as error:
                if endpoint.learns_from(error, sent, of_service):
                    continue
                failed = await service.not_asked(error, [tool.name for tool in request.tools])
            # Out of the block that caught the error, so that its context is not that one, with its secrets.
            raise failed from failed.cause

    def _service_of(self, request: ModelRequest, found: Iterable[Found]) -> Service:
        """The service, with what no error about this request may show."""
        return self._service.with_secrets(lambda: self._secrets_of(request.settings, found))

    def _written_secrets(self, settings: Mapping[str, Any]) -> list[Found]:
        """What a reader of the answer must not show. Nearly always that is the same as for the request before."""
        found = self._found(settings)
        if found != self._found_last:
            self._found_last, self._written_last = found, written(found)
        return self._written_last

    def _secrets_of(self, settings: Mapping[str, Any], found: Iterable[Found] = ()) -> Secrets:
        """What an error must not show.

        Args:
            settings: those of the request.
            found: what else was found: the key that the request was sent with, if the connection has a new one since.
        """
        return Secrets(found, self._found(settings))

    def _found(self, settings: Mapping[str, Any]) -> list[Found]:
        found = self._connection.secrets()
        return [*found, *in_settings(self._settings), *in_settings(settings), *in_proxies()]

    async def __call__(
        self, messages: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
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
                            yield delta
                    case Finish() if delta.kind == "refused":
                        raise self._service.refused(delta)
                    case Finish():
                        yield delta
                    case ToolCallDelta():
                        raise LLMError(
                            f"{self._service.url} parsed a tool call out of the text of the model {self.name}; "
                            "turn off the server's own tool call parser, or use stream()"
                        )
                    case _:
                        pass

    async def aclose(self) -> None:
        """Close the connections that no answer uses. A client that the caller handed over stays open."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
