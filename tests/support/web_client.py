"""What the page of `examples/web_agent.py` asks of its server, over a real connection."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx

from cogency_rs import ToolResult
from cogency_rs.tools import ToolOptions
from support.serving import serving
from support.tools import FunctionTool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["CONVERSATION", "PAY", "Client", "Watching", "browsing", "received", "served"]

CONVERSATION = "/conversations/c"


async def _pay(**_: Any) -> ToolResult:
    return ToolResult("paid")


PAY = FunctionTool("pay", _pay)
PAY.options = ToolOptions(requires_approval=True)  # pyright: ignore[reportAttributeAccessIssue]


class Watching:
    """A page that watches the conversation `c`."""

    def __init__(self, messages: AsyncIterator[dict[str, Any]]) -> None:
        self._messages = messages

    async def next(self) -> dict[str, Any]:
        return await anext(self._messages)

    async def until(self, type: str) -> list[dict[str, Any]]:
        """The messages up to the next one of this type, which is the last in the list."""
        messages = [await self.next()]
        while messages[-1]["type"] != type:
            messages.append(await self.next())
        return messages


class Client:
    """Requests of a page to the server, about the conversation `c`, with the cookies of one browser."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def open(self) -> None:
        """Open the page, which gives this browser its session."""
        (await self.http.get("/")).raise_for_status()

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[Watching]:
        async with self.http.stream("GET", CONVERSATION) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield Watching(received(response))

    async def log(self) -> dict[str, Any]:
        """The conversation, as a page that connects now gets it."""
        async with self.watch() as page:
            return await page.next()

    async def rows(self) -> list[tuple[str, str]]:
        return [(row["type"], row["content"]) for row in (await self.log())["rows"]]

    async def ask(self, text: str = "hello") -> None:
        await self.post("", {"text": text})

    async def post(self, path: str, body: Any = None) -> None:
        response = await self.http.post(CONVERSATION + path, json=body)
        assert response.status_code == 202, response.text

    async def run(self, text: str = "hello") -> list[dict[str, Any]]:
        """The events of a whole run."""
        async with self.watch() as page:
            await page.until("log")
            await self.ask(text)
            return await page.until("over")


async def received(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


@asynccontextmanager
async def browsing(address: str, cookies: Any = None) -> AsyncIterator[Client]:
    """A browser that has opened the page; with these cookies, one that has done so before."""
    options: Any = {"base_url": address, "cookies": cookies, "trust_env": False, "timeout": 60}
    async with httpx.AsyncClient(**options) as http:
        client = Client(http)
        await client.open()
        yield client


@asynccontextmanager
async def served(app: Any, cookies: Any = None) -> AsyncIterator[Client]:
    """Serve an app, to one browser."""
    async with serving(app) as address, browsing(address, cookies) as client:
        yield client
