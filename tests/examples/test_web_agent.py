"""The agent on a web page, as its page talks to it: a real server on 127.0.0.1 and a real HTTP client.

What a turn is stopped by, in the middle of its text or of its tools, leaves a whole log. Nothing waits for a clock.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from serving import Model, serving
from tools import FAIL, OK, Waiting, block, call, stored
from web_agent import EventStream, create_app

from cogency_rs import SQLite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

CONVERSATION = "/conversations/c"


class Client:
    """The page's side of the conversation `c`."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    def ask(self, text: str = "hello") -> Any:
        return self.http.stream("POST", CONVERSATION, json={"text": text})

    async def events(self, text: str = "hello") -> list[dict[str, Any]]:
        async with self.ask(text) as response:
            return [event async for event in received(response)]

    async def rows(self) -> list[tuple[str, str]]:
        rows = (await self.http.get(CONVERSATION)).json()
        return [(row["type"], row["content"]) for row in rows]


async def received(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line:
            assert line.startswith("data: ")
            yield json.loads(line.removeprefix("data: "))


@pytest.fixture
async def page():
    """A function that serves a model and its tools, and gives the client."""
    opened = []

    async def open(model: Any, *tools: Any) -> Client:
        server = serving(create_app(model, tools, SQLite(":memory:")))
        http = httpx.AsyncClient(base_url=await server.__aenter__(), trust_env=False, timeout=60)
        opened.append((http, server))
        return Client(http)

    yield open
    for http, server in opened:
        await http.aclose()
        await server.__aexit__(None, None, None)


def shown(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event.get("content", "")) for event in events]


RESULTS = json.dumps(
    [
        {"tool": "ok", "status": "success", "outcome": "ok", "content": {"x": 1}},
        {"tool": "fail", "status": "failure", "content": "it failed"},
    ]
)
CALLS = [("call", stored("ok", x=1)), ("call", stored("fail"))]
BATCH = block(call("ok", x=1), "fail")


async def test_a_turn_streams_as_events_and_reads_the_same_afterwards(page):
    model = Model(f"<think>hm</think>Looking.{BATCH}", "Done.<end>")
    client = await page(model, OK, FAIL)
    assert shown(await client.events()) == [
        *[("think", "hm"), ("respond", "Looking."), *CALLS, ("execute", ""), ("result", RESULTS)],
        *[("respond", "Done."), ("end", "")],
    ]
    assert await client.rows() == [
        *[("user", "hello"), ("think", "hm"), ("respond", "Looking."), *CALLS, ("result", RESULTS)],
        ("respond", "Done."),
    ]


async def test_text_arrives_while_the_model_still_writes(page):
    model = Model(("It is ", None, "42.<end>"))
    client = await page(model)
    async with client.ask() as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = received(response)
        assert (await anext(events))["content"] == "It is "
        model.release.set()
        assert [event["type"] async for event in events] == ["respond", "end"]


async def test_a_client_that_goes_while_the_model_writes_closes_the_models_stream(page):
    model = Model(("Let me see", None), "Hello again.<end>")
    client = await page(model)
    async with client.ask("one") as response:
        await anext(received(response))
    await model.closed.wait()
    assert shown(await client.events("two")) == [("respond", "Hello again."), ("end", "")]
    assert [row for row in await client.rows() if row[0] == "user"] == (
        [("user", "one"), ("user", "two")]
    )


async def test_a_client_that_goes_while_tools_run_cancels_them_and_each_call_has_its_result(page):
    waiting = Waiting()
    client = await page(Model(block("ok", "wait"), "Hello again.<end>"), OK, waiting)
    async with client.ask() as response:
        async for event in received(response):
            if event["type"] == "execute":
                break
        await waiting.started.wait()
    results = [
        {"tool": "ok", "status": "success", "outcome": "ok", "content": {}},
        {"tool": "wait", "status": "failure", "content": "Cancelled"},
    ]
    assert await client.rows() == [
        *[("user", "hello"), ("call", stored("ok")), ("call", stored("wait"))],
        ("result", json.dumps(results)),
    ]
    assert waiting.journal == ["started", "stopped"]
    assert shown(await client.events()) == [("respond", "Hello again."), ("end", "")]


async def test_a_client_that_does_not_read_is_no_trouble_when_it_goes(page):
    """The turn is then at its `yield`, with more to send than the connection takes."""
    model = Model(("text " * 1000,) * 10_000)
    client = await page(model)
    async with client.ask() as response:
        await anext(received(response))
    await model.closed.wait()
    assert await client.rows() == [("user", "hello")]


async def test_events_are_closed_behind_their_response_also_if_something_still_holds_them():
    closed, full = [], asyncio.Event()

    async def events():
        try:
            yield "data: {}\n\n"
        finally:
            closed.append(True)

    async def send(message):
        if message["type"] == "http.response.body":
            full.set()
            await asyncio.Event().wait()

    async def receive():
        await full.wait()
        return {"type": "http.disconnect"}

    held = events()
    await EventStream(held)({"type": "http"}, receive, send)
    assert closed == [True]


async def test_a_model_that_fails_is_an_event_behind_the_text_that_came(page):
    class Broken(Model):
        async def __call__(self, messages):
            yield "It is "
            raise ConnectionError("the model hung up")

    client = await page(Broken())
    error = ("error", "ConnectionError: the model hung up")
    text, (kind, report), last = shown(await client.events())
    assert (text, last) == (("respond", "It is "), error)
    assert (kind, "ConnectionError: the model hung up" in report) == ("error", True)
    assert [kind for kind, _ in await client.rows()] == ["user", "respond", "error"]


async def test_a_conversation_has_one_turn_at_a_time(page):
    model = Model(("One", None, ".<end>"), "Two.<end>")
    client = await page(model)
    async with client.ask("one") as response:
        events = received(response)
        await anext(events)
        second = asyncio.ensure_future(client.events("two"))
        rows = asyncio.ensure_future(client.rows())
        done, _ = await asyncio.wait([second, rows], timeout=0.2)
        assert not done
        model.release.set()
        assert [event["type"] async for event in events] == ["respond", "end"]
    assert shown(await second) == [("respond", "Two."), ("end", "")]
    assert (await rows)[:2] == [("user", "one"), ("respond", "One.")]


async def test_conversations_are_apart(page):
    client = await page(Model("One.<end>", "Two.<end>"))
    await client.events()
    other = await client.http.get("/conversations/another")
    assert other.json() == []


@pytest.mark.parametrize("body", [{"text": ""}, {}, {"text": 1}, {"text": "x" * 100_001}])
async def test_a_query_that_is_no_text_is_refused(page, body):
    client = await page(Model())
    assert (await client.http.post(CONVERSATION, json=body)).status_code == 422
    assert await client.rows() == []


async def test_the_page_lets_the_browser_run_its_own_script_only(page):
    client = await page(Model())
    text = (await client.http.get("/")).text
    assert "default-src 'self'" in text
    for file in ("page.js", "page.css"):
        assert (await client.http.get(f"/{file}")).status_code == 200


def test_its_script_writes_text_and_never_html(examples):
    script = (examples / "web_page" / "page.js").read_text(encoding="utf-8")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script


async def test_stopped_in_the_middle_of_a_batch_the_program_leaves_a_whole_log(
    examples: Path, tmp_path: Path
):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "PORT": str(port)}
    environment.pop("OPENAI_API_KEY", None)
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        examples / "web_agent.py",
        cwd=tmp_path,
        env=environment,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        transport = httpx.AsyncHTTPTransport(retries=8)
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=address, transport=transport, timeout=60) as http:
            client = Client(http)
            assert await client.rows() == []
            with pytest.raises(httpx.RemoteProtocolError):  # the connection breaks
                async with client.ask() as response:
                    async for event in received(response):
                        if event["type"] == "execute":
                            program.send_signal(signal.SIGINT)
        await program.wait()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    with closing(sqlite3.connect(tmp_path / ".cogency" / "web.db")) as database:
        rows = database.execute("SELECT type, content FROM messages ORDER BY rowid").fetchall()
    calls = [content for kind, content in rows if kind == "call"]
    results = [json.loads(content) for kind, content in rows if kind == "result"]
    assert len(calls) == sum(map(len, results)) > 0
