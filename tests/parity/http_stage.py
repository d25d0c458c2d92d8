"""cogency's own agent with its own OpenAI provider, played against a scripted server on 127.0.0.1."""

from __future__ import annotations

import importlib
import os
import sqlite3
from collections import Counter
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cogency_rs
from cogency_rs.compat import dropin
from scripted_server import Exchange, ScriptedServer

from .http_scenarios import PLAIN, QUERY, Line, Seen
from .oracle import cogency

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence


class Tool:
    """A tool of the user's own, by cogency's protocol for tools."""

    def __init__(self, name: str, execute: Callable[..., Any], **types: str) -> None:
        self.name = name
        self.description = f"{name}, for a test"
        self.schema = {arg: {"type": type, "required": True} for arg, type in types.items()}
        self._execute = execute

    async def execute(self, **args: Any) -> Any:
        return cogency("core.protocols").ToolResult(outcome=str(await self._execute(**args)))

    def describe(self, args: dict[str, Any]) -> str:
        return self.name


async def _add(a: int, b: int, **_: Any) -> int:
    return a + b


async def _fail(on: str = "", **_: Any) -> None:
    if on:
        raise KeyError(on)
    raise cogency("core.errors").ToolError("out of order")


@dataclass(frozen=True)
class Played:
    seen: Seen
    exchanges: list[Exchange]
    kinds: Counter[str]
    telemetry: Counter[str]


class Stage:
    """One agent and its model, in a folder of their own.

    Attributes:
        server: plays the model.
        events: the events that the user has seen so far, in order.
    """

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.server = server
        self.events: list[dict[str, Any]] = []
        self._folder = folder

    async def play(
        self, stream: str | None, *, tools: Sequence[Any] = (), llm: Any = "openai"
    ) -> Played:
        os.environ["OPENAI_BASE_URL"] = self.server.base_url
        storage = cogency("lib.sqlite").SQLite(str(self._folder / "store.db"))
        sandbox = self._folder / "sandbox"
        agent = cogency("agent").Agent(
            llm,
            storage,
            tools=[
                Tool("add", _add, a="integer", b="integer"),
                Tool("fail", _fail),
                cogency("tools").Write,
                *tools,
            ],
            mode="replay",
            security=cogency("core.config").Security(access="sandbox", sandbox_dir=str(sandbox)),
        )
        cause = None
        async with clients_closed():
            try:
                async for event in agent(QUERY, "user", "conversation", stream=stream):
                    self.events.append(event)
            except cogency("core.errors").LLMError as error:
                cause = type(error.cause).__name__
            finally:
                if hasattr(storage, "close"):
                    await storage.close()
        await self.server.closed()
        files = {file.name: file.read_text(encoding="utf-8") for file in sandbox.glob("*")}
        kinds = Counter(event["type"] for event in self.events)
        return Played(
            Seen(self.lines(stream), self._stored("messages", "type, content"), cause, files),
            self.server.exchanges,
            kinds,
            Counter(type for (type,) in self._stored("events", "type")),
        )

    def lines(self, stream: str | None) -> list[Line]:
        """The events that the user has seen, without metrics; in token mode the pieces of a text joined."""
        lines: list[Line] = []
        for event in self.events:
            kind, content = event["type"], event.get("content", "")
            if kind == "metric":
                continue
            if stream == "token" and kind in ("think", "respond") and lines[-1][0] == kind:
                content = lines.pop()[1] + content
            lines.append((kind, content))
        return lines

    def _stored(self, table: str, columns: str) -> list[Any]:
        with closing(sqlite3.connect(self._folder / "store.db")) as file:
            return file.execute(
                f"SELECT {columns} FROM {table} ORDER BY timestamp, rowid"
            ).fetchall()


@asynccontextmanager
async def clients_closed() -> AsyncIterator[None]:
    """Close the SDK's clients at the end: cogency leaves them and their connections to the garbage collector."""
    openai = importlib.import_module("openai")
    clients = []

    class Kept(openai.AsyncOpenAI):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            clients.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai, "AsyncOpenAI", Kept)
        try:
            yield
        finally:
            for client in clients:
                await client.close()


@contextmanager
def running(core: str) -> Iterator[None]:
    """Plain cogency, or our core in it."""
    assert dropin.installation() is None
    if core == PLAIN:
        yield
        return
    with cogency_rs.install() as made:
        yield
        assert made.missing() == []
