"""The conversations of the web agent belong to the browsers that began them, whichever route is asked for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from web_agent import SESSION, create_app

from cogency_rs import SQLite
from support.serving import Model, serving
from support.tools import block
from support.web_client import CONVERSATION, PAY, Client, browsing, received


class Served:
    """A served app, and browsers that open its page."""

    def __init__(self, app: Any, address: str, stack: AsyncExitStack) -> None:
        self.app, self.address, self._stack = app, address, stack

    async def browser(self) -> Client:
        return await self._stack.enter_async_context(browsing(self.address))


@pytest.fixture
async def serve() -> AsyncIterator[Any]:
    """A function that serves a model and its tools."""
    async with AsyncExitStack() as stack:

        async def serve(model: Any, *tools: Any) -> Served:
            app = create_app(model, tools, SQLite(":memory:"))
            return Served(app, await stack.enter_async_context(serving(app)), stack)

        yield serve


REQUESTS: dict[tuple[str, str], Any] = {
    ("GET", "/conversations/{id}"): None,
    ("POST", "/conversations/{id}"): {"text": "And the rest?"},
    ("POST", "/conversations/{id}/resume"): {"decisions": {}},
    ("POST", "/conversations/{id}/settle"): {"call": "x", "happened": False},
    ("POST", "/conversations/{id}/stop"): None,
    ("DELETE", "/conversations/{id}"): None,
}
"""A request of each route about a conversation."""

OTHERS = {("GET", "/"): None, ("GET", "/conversations"): None}


async def asked(client: Client, method: str, path: str, body: Any) -> httpx.Response:
    return await client.http.request(method, path.format(id="c"), json=body)


async def test_every_route_is_in_these_tests(serve):
    served = await serve(Model())
    routes = {
        (method, route.path)
        for route in served.app.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert routes == {*REQUESTS, *OTHERS}


@pytest.mark.parametrize("is_running", [True, False], ids=["while it runs", "that waits"])
@pytest.mark.parametrize(("method", "path"), REQUESTS)
async def test_a_conversation_of_another_user_is_not_found(serve, method, path, is_running):
    model = Model(("Paying", None, f".{block('pay')}"), "Done.<end>")
    served = await serve(model, PAY)
    ada, eve = await served.browser(), await served.browser()
    async with ada.watch() as watching:
        await ada.ask("My number is 4711.")
        await watching.until("respond")
        if not is_running:
            model.release.set()
            await watching.until("over")
        answer = await asked(eve, method, path, REQUESTS[method, path])
        assert (answer.status_code, answer.json()) == (
            404,
            {"detail": "you have no such conversation"},
        )
        if is_running:
            model.release.set()
            await watching.until("over")
    kinds = [kind for kind, _ in await ada.rows()]
    assert kinds == ["user", "respond", "call"]
    [call] = (await ada.log())["calls"]
    assert (call["status"], call["decided"]) == ("waiting", None)


async def test_somebody_else_cannot_approve_a_call(serve):
    served = await serve(Model(block("pay"), "Done.<end>"), PAY)
    ada, eve = await served.browser(), await served.browser()
    [call] = (await ada.run())[-1]["calls"]
    approval = {"decisions": {call["id"]: True}}
    assert (await eve.http.post(f"{CONVERSATION}/resume", json=approval)).status_code == 404
    async with ada.watch() as watching:
        await watching.until("log")
        await ada.post("/resume", approval)
        [call] = (await watching.until("over"))[-1]["calls"]
    assert (call["status"], call["decided"]) == ("success", True)


async def test_a_list_has_the_conversations_of_its_user_only(serve):
    served = await serve(Model("One.<end>", "Two.<end>"))
    ada, eve = await served.browser(), await served.browser()
    await ada.run("from ada")
    listed = [(await client.http.get("/conversations")).json() for client in (ada, eve)]
    assert [[(each["id"], each["question"]) for each in found] for found in listed] == [
        [("c", "from ada")],
        [],
    ]


async def test_a_conversation_that_was_deleted_is_gone_and_pages_that_watch_it_see_that(serve):
    served = await serve(Model(("Let me see", None), "Hello.<end>"))
    ada, eve = await served.browser(), await served.browser()
    async with ada.watch() as watching:
        await ada.ask()
        await watching.until("respond")
        assert (await ada.http.delete(CONVERSATION)).status_code == 204
        messages = await watching.until("log")
    assert [message["type"] for message in messages[-2:]] == ["over", "log"]
    assert messages[-1]["rows"] == []
    assert await ada.rows() == []
    assert [row["content"] for row in (await eve.run("mine now"))[1:2]] == ["mine now"]


@pytest.mark.parametrize(("method", "path"), [*REQUESTS, ("GET", "/conversations")])
@pytest.mark.parametrize("session", [None, "", "short"])
async def test_without_a_session_nothing_is_answered(serve, method, path, session):
    served = await serve(Model())
    cookies = {} if session is None else {SESSION: session}
    async with httpx.AsyncClient(
        base_url=served.address, cookies=cookies, trust_env=False
    ) as client:
        body = REQUESTS.get((method, path))
        answer = await client.request(method, path.format(id="c"), json=body)
        assert answer.status_code == 401


@pytest.mark.parametrize("before", [{}, {"cookie": f"{SESSION}=short"}], ids=["none", "not one"])
async def test_a_browser_keeps_its_session_and_a_script_cannot_read_it(serve, before):
    served = await serve(Model())
    async with httpx.AsyncClient(base_url=served.address, trust_env=False) as client:
        first = (await client.get("/", headers=before)).headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict"} <= set(first.split("; "))
        assert "set-cookie" not in (await client.get("/")).headers


async def test_the_log_names_the_user_without_the_cookie(serve, tmp_path):
    file = tmp_path / "log.db"
    app = create_app(Model("Hello.<end>"), [], SQLite(file))
    async with serving(app) as address, browsing(address) as ada:
        await ada.run()
        session = ada.http.cookies[SESSION]
    async with SQLite(file) as log:
        [entry] = await log.conversations()
    assert len(entry.user_id) == 32
    assert session not in file.read_bytes().decode("latin-1")


class AskedAtOnce(SQLite):
    """A log that, once it has `both`, tells the next two who ask for the owner only when both have asked."""

    both: asyncio.Barrier | None = None

    async def owner(self, conversation_id: str) -> str | None:
        found = await super().owner(conversation_id)
        if (both := self.both) is not None:
            if both.n_waiting == both.parties - 1:
                self.both = None
            await both.wait()
        return found


async def test_of_two_who_begin_one_conversation_at_once_each_sees_only_what_is_theirs():
    model = Model(("For one", None, ".<end>"), "For the other.<end>")
    log = AskedAtOnce(":memory:")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(create_app(model, [], log)))
        browsers = [await stack.enter_async_context(browsing(address)) for _ in range(2)]
        pages = [await stack.enter_async_context(each.watch()) for each in browsers]
        for page in pages:
            await page.until("log")
        log.both = asyncio.Barrier(2)
        await asyncio.gather(*(each.ask(f"of {n}") for n, each in enumerate(browsers)))
        model.release.set()
        seen = [await page.until("over") for page in pages]
        texts = ["".join(each.get("content", "") for each in messages) for messages in seen]
        [winner] = [n for n, text in enumerate(texts) if "OwnerError" not in text]
        assert texts[winner] == f"of {winner}For one."
        assert "For one" not in texts[1 - winner]
        assert f"of {winner}" not in texts[1 - winner]
        assert [content for _, content in await browsers[winner].rows()] == [
            f"of {winner}",
            "For one.",
        ]
        async with browsers[1 - winner].http.stream("GET", CONVERSATION) as response:
            assert response.status_code == 404
            assert [each async for each in received(response)] == []
