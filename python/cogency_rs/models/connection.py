"""How a model's service is reached: over our own transport, or through an SDK's client. The same for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..errors import Portable
from ..guards.secrets import Found
from .settings import ModelSettings

__all__ = [
    "REPORTED",
    "BeganAnswer",
    "Connection",
    "Operation",
    "Question",
    "Read",
    "StatusError",
    "TransportError",
]


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
