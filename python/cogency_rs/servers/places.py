"""Where an MCP server is: a program that is started here, or an address. Each opens its own transport."""

from __future__ import annotations

import io
import logging
import os
import select
import threading
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from urllib.parse import urlsplit

from ..guards.secrets import (
    NO_SECRETS,
    Secrets,
    check_url,
    in_arguments,
    in_environment,
    in_headers,
    in_proxies,
    in_url,
    shown_url,
)

if TYPE_CHECKING:
    from .answers import Answers


logger: logging.Logger = logging.getLogger(__name__)

Streams = tuple[Any, Any]
"""What the SDK reads from and what it writes to."""

LONGEST_ERROR = 500
"""How many characters of an error's text are shown."""

LONGEST_LINE = 2000
"""Characters that are kept of one line of a program's standard error."""

LAST_LINES, LONGEST_LAST = 5, 1000
"""Lines and characters at the end of a program's standard error that an error shows."""


class Place(Protocol):
    """Where a server is."""

    @property
    def name(self) -> str:
        """A name for a server that was not given one."""
        ...

    @property
    def url(self) -> str | None:
        """Its address, as it may be shown; `None` for a program."""
        ...

    @property
    def shown(self) -> str:
        """The command or the address, as it may be shown."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What must not be shown."""
        ...

    def open(self, errors: ErrorOutput, answers: Answers) -> AbstractAsyncContextManager[Streams]:
        """Connect; leaving the context ends the connection, and a program with it."""
        ...

    def failure(self, error: BaseException) -> str:
        """Say why it could not be opened, and what to do; without secrets."""
        ...


@dataclass(frozen=True)
class Program:
    """A server that is a program, reached over its standard input and output.

    Attributes:
        command: what is started, found on `PATH`.
        args: its arguments.
        env: environment variables besides `HOME`, `PATH` and the few others that a program cannot do without.
        cwd: the folder it is started in.
    """

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None

    @property
    def name(self) -> str:
        """The command's name, without its folder."""
        return os.path.splitext(os.path.basename(self.command))[0] or self.command  # noqa: PTH119, PTH122

    @property
    def url(self) -> None:
        """A program has no address."""
        return

    @property
    def shown(self) -> str:
        """The command. Its arguments may hold secrets."""
        return self.command

    @property
    def secrets(self) -> Secrets:
        """What its arguments and its environment have."""
        return Secrets(in_arguments(self.args, self.cwd), in_environment(self.env))

    @asynccontextmanager
    async def open(self, errors: ErrorOutput, answers: Answers) -> AsyncGenerator[Streams, None]:
        """Start the program; on leaving it is stopped, if need be by force."""
        from .program_streams import program_streams

        with errors.opened() as output:
            try:
                async with program_streams(
                    self.command, self.args, self.env, self.cwd, output, answers
                ) as streams:
                    yield streams
            finally:
                errors.end()

    def failure(self, error: BaseException) -> str:
        """Say why it could not be opened, and what to do."""
        match error:
            case FileNotFoundError() if self.cwd is not None and not os.path.isdir(self.cwd):  # noqa: PTH112
                return f"its folder {self.cwd!r} does not exist"
            case FileNotFoundError():
                return (
                    f"there is no program {self.command!r} on PATH; "
                    "install it, or give the path of the program"
                )
            case PermissionError():
                return f"{self.command!r} cannot be run: is it an executable program?"
            case _:
                return f"{self.command!r} {_ended(error, self.secrets)}"


@dataclass(frozen=True)
class ServerAddress:
    """A server that is reached over HTTP (the transport that MCP calls streamable HTTP).

    Attributes:
        address: its endpoint, which often ends in `/mcp`.
        headers: sent with every request, such as `Authorization`.
    """

    address: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __post_init__(self) -> None:
        check_url("the address of a server", self.address)

    @property
    def name(self) -> str:
        """The host's."""
        return urlsplit(self.address).hostname or ""

    @property
    def url(self) -> str:
        """Its address, as it may be shown."""
        return shown_url(self.address)

    @property
    def shown(self) -> str:
        """The same."""
        return self.url

    @property
    def secrets(self) -> Secrets:
        """What its address and its headers have."""
        return Secrets(in_url(self.address), in_headers(self.headers), in_proxies())

    @asynccontextmanager
    async def open(self, errors: ErrorOutput, answers: Answers) -> AsyncGenerator[Streams, None]:
        """Make ready to send requests."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        from .answers import Http

        # Only connecting is bounded here; each call bounds the time until its answer.
        limits = httpx2.Timeout(30, read=None)
        async with (
            Http(answers, headers={**self.headers}, timeout=limits) as http,
            streamable_http_client(self.address, http_client=http) as streams,
        ):
            yield streams

    def failure(self, error: BaseException) -> str:
        """Say why it could not be opened, and what to do."""
        return f"{self.url} {_ended(error, self.secrets)}"


def _ended(error: BaseException, secrets: Secrets) -> str:
    """What went wrong, as the end of a sentence."""
    if isinstance(error, TimeoutError):
        within = f" within {error}" if str(error) else ""
        return f"did not answer{within}; is it an MCP server?"
    if getattr(error, "code", None) == CONNECTION_CLOSED:
        return "ended before it answered"
    return f"did not answer as an MCP server does: {one_line(error, secrets)}; is it one?"


def one_line(error: BaseException, secrets: Secrets) -> str:
    """What an error says, on one line, not too long and without secrets."""
    text = " ".join(secrets.hide(str(error)).split()) or type(error).__name__
    return text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]} …"


CONNECTION_CLOSED = -32000
"""What the SDK calls the end of a connection."""


MOST_LEFT = 2**16
"""Bytes that are read once a program has ended: what a pipe holds."""


class ErrorOutput:
    """The last lines that a program wrote on its standard error. All of them are logged, at level DEBUG.

    Args:
        name: of the server.
        secrets: what is neither kept nor logged.
    """

    def __init__(self, name: str, secrets: Secrets = NO_SECRETS) -> None:
        self._name = name
        self._secrets = secrets
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self._reader: threading.Thread | None = None
        self._ending: int | None = None

    def opened(self) -> TextIO:
        """A file for the program to write to; close it here once the program has it."""
        reading, writing = os.pipe()
        ended = None
        if hasattr(select, "poll"):
            ended, self._ending = os.pipe()
        # A thread: no event loop can wait for a pipe of this kind everywhere, and the program must never wait for us.
        self._reader = threading.Thread(
            target=self._read, args=(reading, ended), name=f"errors of {self._name}", daemon=True
        )
        self._reader.start()
        return open(writing, "w", encoding="utf-8")  # noqa: PTH123

    def end(self) -> None:
        """Stop reading: the program has ended, but what it started may hold the file open for as long as it likes."""
        ending, self._ending = self._ending, None
        if ending is not None:
            os.close(ending)

    def _read(self, reading: int, ended: int | None) -> None:
        raw = io.FileIO(reading) if ended is None else _UntilEnded(reading, ended)
        with io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="replace") as output:
            # The end of a line that is too long is dropped, not shown as a line: a secret may be cut between the two.
            most = LONGEST_LINE + self._secrets.longest
            while line := output.readline(most):
                rest = line
                while rest and not rest.endswith("\n"):
                    rest = output.readline(most)
                line = self._secrets.hide(line).strip()[:LONGEST_LINE]
                if line:
                    self._lines.append(line)
                    logger.debug("%s: %s", self._name, line)

    def last(self) -> str:
        """The last words, once the program has ended. Waits a moment for that, so never call it on the event loop."""
        if self._reader is not None:
            self._reader.join(1.0)
        return " | ".join(self._lines.copy())[-LONGEST_LAST:]


class _UntilEnded(io.RawIOBase):
    """A pipe, up to its end or to what it holds when `ended`, the reading end of another one, is closed elsewhere."""

    def __init__(self, reading: int, ended: int) -> None:
        self._reading, self._ended = reading, ended
        self._left: int | None = None
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)
        self._poll.register(ended, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._left is None:
            ready = {file for file, _ in self._poll.poll()}
            if self._ended in ready:
                self._left = MOST_LEFT
                self._poll.unregister(self._ended)
        if self._left is not None and (self._left <= 0 or not self._poll.poll(0)):
            return 0
        data = os.read(self._reading, len(buffer))
        if self._left is not None:
            self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            os.close(self._reading)
            os.close(self._ended)
        super().close()
