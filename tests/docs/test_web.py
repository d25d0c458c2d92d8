"""The application of docs/web.md: it streams, ends a run whose browser has gone, and goes on with decisions."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from cogency_rs import Memory
from cogency_rs.errors import LLMError
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.pages import CHECKOUT, blocks_of
from support.serving import Model, serving
from support.tools import Waiting, block, call
from support.waiting import until
from support.web_client import received

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_app, _scripted = ModuleType("app"), ModuleType("scripted")
for _module, _block in zip((_app, _scripted), blocks_of(CHECKOUT / "docs" / "web.md"), strict=True):
    exec(compile(_block.code, _block.name, "exec", dont_inherit=True), vars(_module))

REFUND = block(call("refund", order="A7", euros=30))


@asynccontextmanager
async def served(
    model: Any, storage: Memory, user: str = "demo"
) -> AsyncIterator[httpx.AsyncClient]:
    app = _app.create_app(model, storage)
    app.dependency_overrides[_app.user_of] = lambda: user
    async with (
        serving(app) as address,
        httpx.AsyncClient(base_url=address, trust_env=False, timeout=60) as http,
    ):
        yield http


async def events_of(http: httpx.AsyncClient, path: str, body: Any) -> list[dict[str, Any]]:
    async with http.stream("POST", path, json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        return [event async for event in received(response)]


async def rows(storage: Memory) -> list[tuple[str, str]]:
    return [(row["type"], row["content"]) for row in (await storage.read("demo/c")).rows]


async def is_over(storage: Memory) -> bool:
    return (await rows(storage))[-1][0] == "cancelled"


async def test_text_arrives_while_the_model_still_writes():
    model = Model(("It is ", None, "42.<end>"))
    async with (
        served(model, Memory()) as http,
        http.stream("POST", "/conversations/c", json={"text": "hello"}) as response,
    ):
        messages = received(response)
        assert (await anext(messages))["type"] == "user"
        assert (await anext(messages))["content"] == "It is "
        model.release.set()
        rest = [message async for message in messages]
    assert (rest[0]["content"], rest[-1]["status"]) == ("42.", "completed")


async def test_a_run_ends_when_its_browser_goes():
    model, storage = Model(("Let me see", None)), Memory()
    async with served(model, storage) as http:
        async with http.stream("POST", "/conversations/c", json={"text": "hello"}) as response:
            messages = received(response)
            while (await anext(messages))["type"] != "respond":
                pass
        await model.closed.wait()
        await until(lambda: is_over(storage), "the run does not end")
    assert await rows(storage) == [("user", "hello"), ("respond", "Let me see"), ("cancelled", "")]


async def test_a_tool_ends_when_its_browser_goes(monkeypatch: pytest.MonkeyPatch):
    tool, storage = Waiting("refund"), Memory()
    monkeypatch.setattr(_app, "refund", tool)
    async with served(Model(REFUND), storage) as http:
        async with http.stream("POST", "/conversations/c", json={"text": "hello"}):
            await tool.started.wait()
        await until(lambda: is_over(storage), "the run does not end")
    assert tool.journal == ["started", "stopped"]
    assert '"content": "Cancelled"' in (await rows(storage))[-2][1]


@pytest.mark.parametrize(
    ("decision", "status", "content"),
    [
        (True, "success", "30 euros were paid back"),
        (False, "failure", "Tool 'refund' execution was rejected by user."),
    ],
)
async def test_a_call_waits_for_a_decision_also_in_another_process(decision, status, content):
    storage = Memory()
    async with served(Model(REFUND), storage) as http:
        over = (await events_of(http, "/conversations/c", {"text": "hello"}))[-1]
    [waiting] = over["waiting"]
    assert (over["status"], waiting["name"], waiting["args"]["euros"]) == ("waiting", "refund", 30)
    async with served(Model("Done.<end>"), storage) as http:
        path = "/conversations/c/decisions"
        events = await events_of(http, path, {waiting["id"]: decision})
    [result] = [event["content"] for event in events if event["type"] == "result"]
    assert f'"status": "{status}", "content": "{content}"' in result
    assert events[-1]["status"] == "completed"


@pytest.mark.parametrize(
    ("found", "read"),
    [
        ({"happened": True, "result": "receipt 7"}, 'it happened: "receipt 7"'),
        ({"happened": False}, "it did not happen"),
    ],
)
async def test_a_call_of_a_killed_server_is_shown_as_unknown_and_settled(found, read):
    storage = Memory()
    left = CallRecord("call-1", "batch", 0, "refund", attempt=1, started_at=1.0)
    content = json.dumps({"name": "refund", "args": {"order": "A7", "euros": 30}})
    asked = [("user", "Pay back.", 1.0), ("call", content, 2.0)]
    await storage.append("demo/c", user_id="demo", rows=asked, calls=[left])
    model = Model("I cannot tell.<end>", "Now I know.<end>")
    async with served(model, storage) as http:
        over = (await events_of(http, "/conversations/c/decisions", {}))[-1]
        args = {"order": "A7", "euros": 30}
        assert over["unknown"] == [{"id": "call-1", "name": "refund", "args": args}]
        path = "/conversations/c/calls/call-1"
        assert (await http.post(path, json=found)).status_code == 204
        assert (await http.post(path, json=found)).status_code == 409
        events = await events_of(http, "/conversations/c/decisions", {})
        assert (events[-1]["status"], events[-1]["unknown"]) == ("completed", [])
    assert read in (await rows(storage))[-2][1]
    assert (await rows(storage))[-1] == ("respond", "Now I know.")


async def test_a_page_that_is_loaded_again_is_told_what_waits():
    path = "/conversations/c/decisions"
    async with served(_scripted.model, Memory()) as http:
        [call] = (await events_of(http, "/conversations/c", {"text": "hello"}))[-1]["waiting"]
        assert (await events_of(http, path, {}))[-1]["waiting"] == [call]
        events = await events_of(http, path, {call["id"]: True})
        assert (
            "".join(event["content"] for event in events if event["type"] == "respond") == "Done."
        )
        [over] = await events_of(http, path, {})
    assert (over["status"], over["waiting"]) == ("completed", [])


async def test_an_error_is_the_last_event():
    async with served(ScriptedModel([LLMError("nobody answers")]), Memory()) as http:
        over = (await events_of(http, "/conversations/c", {"text": "hello"}))[-1]
    assert (over["status"], over["error"]) == ("failed", "nobody answers")


async def test_a_stranger_learns_nothing_of_another_s_conversation():
    storage = Memory()
    async with served(Model(REFUND), storage) as http:
        [call] = (await events_of(http, "/conversations/c", {"text": "hello"}))[-1]["waiting"]
    before = await rows(storage)
    paths = [("decisions", {call["id"]: True}), (f"calls/{call['id']}", {"happened": False})]
    async with served(Model("Hello.<end>"), storage, user="eve") as http:
        told = [
            (response.status_code, response.json())
            for id in ("c", "of-nobody")
            for path, body in paths
            for response in [await http.post(f"/conversations/{id}/{path}", json=body)]
        ]
        assert told == [(404, {"detail": "you have no such conversation"})] * 4
        events = await events_of(http, "/conversations/c", {"text": "mine"})
        assert [event["content"] for event in events if event["type"] == "user"] == ["mine"]
        assert events[-1]["status"] == "completed"
    assert await rows(storage) == before


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.nip.io", "localhost.evil.example", ""])
async def test_a_page_of_another_site_does_not_reach_it_by_a_name_that_leads_here(host):
    storage = Memory()
    async with served(Model(REFUND), storage) as http:
        headers = {"host": host}
        for path, body in (("c", {"text": "hello"}), ("c/decisions", {"call-1": True})):
            response = await http.post(f"/conversations/{path}", json=body, headers=headers)
            assert response.status_code == 400
    assert await rows(storage) == []
