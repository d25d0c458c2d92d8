"""The web agent, as its page talks to it: a real server on 127.0.0.1 and a real HTTP client.

The log is whole wherever a run is stopped, in the middle of its text or of its tools. Nothing depends on the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sqlite3
import sys
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import web_conversations
from fastapi import Request
from web_agent import SESSION, create_app, model_of, user_of
from web_conversations import Conversations

from cogency_rs import Agent, SQLite, ToolResult
from cogency_rs.storage import CallRecord
from cogency_rs.tools import ToolOptions
from scripted_server import ScriptedServer, Turn
from support.serving import Model
from support.tools import FAIL, OK, FunctionTool, Waiting, block, call, stored
from support.waiting import until
from support.web_client import CONVERSATION, PAY, Client, received, served

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@pytest.fixture
async def page():
    """A function that serves a model and its tools, and returns the client."""
    opened = []

    async def open(model: Any, *tools: Any) -> Client:
        server = served(create_app(model, tools, SQLite(":memory:")))
        opened.append(server)
        return await server.__aenter__()

    yield open
    for server in opened:
        await server.__aexit__(None, None, None)


def shown(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Type and content of messages, without measured times."""
    return [
        (message["type"], message.get("content", ""))
        for message in messages
        if message["type"] not in ("metric", "started", "finished")
        and not message["type"].startswith("tool_call_")
    ]


RESULTS = json.dumps(
    [
        {"tool": "ok", "status": "success", "outcome": "ok", "content": {"x": 1}},
        {"tool": "fail", "status": "failure", "content": "it failed"},
    ]
)
CALLS = [("call", stored("ok", x=1)), ("call", stored("fail"))]
BATCH = block(call("ok", x=1), "fail")


async def test_a_run_streams_as_events_and_reads_the_same_afterwards(page):
    client = await page(Model(f"<think>hm</think>Looking.{BATCH}", "Done.<end>"), OK, FAIL)
    assert shown(await client.run()) == [
        *[("begin", ""), ("user", "hello"), ("think", "hm"), ("respond", "Looking."), *CALLS],
        *[("execute", ""), ("result", RESULTS), ("respond", "Done."), ("end", ""), ("over", "")],
    ]
    log = await client.log()
    assert [(row["type"], row["content"]) for row in log["rows"]] == [
        *[("user", "hello"), ("think", "hm"), ("respond", "Looking."), *CALLS, ("result", RESULTS)],
        ("respond", "Done."),
    ]
    assert [call["status"] for call in log["calls"]] == ["success", "failure"]
    assert all(call["seconds"] >= 0 for call in log["calls"])


async def test_the_end_of_each_call_is_shown_without_waiting_for_the_others(page):
    waiting = Waiting()
    client = await page(Model(block("wait", "ok"), "Done.<end>"), OK, waiting)
    async with client.watch() as watching:
        await client.ask()
        messages = await watching.until("finished")
        started = [message["index"] for message in messages if message["type"] == "started"]
        assert sorted(started) == [0, 1]
        assert messages[-1]["index"] == 1
        assert messages[-1]["result"]["status"] == "success"
        waiting.release.set()
        assert (await watching.until("finished"))[-1]["index"] == 0
        await watching.until("over")


async def test_a_result_that_is_not_json_is_the_failure_of_its_call(page):
    async def odd(**_: Any) -> ToolResult:
        return ToolResult("odd", object())

    client = await page(Model(block("odd"), "Done.<end>"), FunctionTool("odd", odd))
    await client.run()
    [result] = [json.loads(content)[0] for kind, content in await client.rows() if kind == "result"]
    assert result["status"] == "failure"
    assert "object" in result["content"]


async def test_a_served_model_answers_as_the_script_does(page, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    async with ScriptedServer([Turn(block(call("ok", x=1))), Turn("Done.")]) as server:
        model = model_of(argparse.Namespace(model="qwen3", base_url=server.base_url))
        client = await page(model, OK)
        kinds = [kind for kind, _ in shown(await client.run())]
        assert kinds[:5] == ["begin", "user", "call", "execute", "result"]
        assert await client.rows() == [
            *[("user", "hello"), ("call", stored("ok", x=1))],
            ("result", json.dumps(json.loads(RESULTS)[:1])),
            ("respond", "Done."),
        ]
        await model.aclose()


async def test_text_arrives_while_the_model_still_writes(page):
    model = Model(("It is ", None, "42.<end>"))
    client = await page(model)
    async with client.watch() as watching:
        await client.ask()
        assert shown(await watching.until("respond"))[-1] == ("respond", "It is ")
        model.release.set()
        assert shown(await watching.until("over"))[0] == ("respond", "42.")


async def test_a_run_goes_on_without_a_page_and_a_later_page_sees_it_from_its_beginning(page):
    waiting = Waiting()
    model = Model("One.<end>", ("Let me ", None, f"see.{block('wait')}"), "Two.<end>")
    client = await page(model, waiting)
    await client.run("one")
    async with client.watch() as watching:
        await client.ask("two")
        await watching.until("user")
        await watching.until("respond")
    model.release.set()
    await waiting.started.wait()
    async with client.watch() as again:
        log, *run = await again.until("started")
        assert [row["content"] for row in log["rows"]] == ["one", "One."], (
            "the log as it was before the run"
        )
        assert shown(run) == [
            *[("begin", ""), ("user", "two"), ("respond", "Let me "), ("respond", "see.")],
            *[("call", stored("wait")), ("execute", "")],
        ]
        waiting.release.set()
        rest = shown(await again.until("over"))
        assert [kind for kind, _ in rest] == ["result", "respond", "end", "over"]
    assert waiting.journal == ["started", "returned"]


async def test_all_pages_see_what_one_of_them_asked(page):
    client = await page(Model("One.<end>"))
    async with client.watch() as first, client.watch() as second:
        await first.until("log")
        await second.until("log")
        await client.ask()
        assert await first.until("over") == await second.until("over")


async def test_stop_closes_the_models_stream_and_the_conversation_goes_on(page):
    model = Model(("Let me see", None), "Hello again.<end>")
    client = await page(model)
    async with client.watch() as watching:
        await client.ask("one")
        await watching.until("respond")
        await client.post("/stop")
        assert (await watching.until("over"))[-1]["stopped"]
    assert model.closed.is_set()
    partial = ("respond", "Let me see")
    assert await client.rows() == [("user", "one"), partial, ("cancelled", "")]
    assert shown(await client.run("two"))[2] == ("respond", "Hello again.")


async def test_stop_cancels_tools_and_each_call_has_its_result(page):
    waiting = Waiting()
    client = await page(Model(block("ok", "wait")), OK, waiting)
    async with client.watch() as watching:
        await client.ask()
        await watching.until("finished")
        await waiting.started.wait()
        await asyncio.gather(*[client.post("/stop") for _ in range(3)])
        over = (await watching.until("over"))[-1]
    assert [each["status"] for each in over["calls"]] == ["success", "cancelled"]
    results = [
        {"tool": "ok", "status": "success", "outcome": "ok", "content": {}},
        {"tool": "wait", "status": "failure", "content": "Cancelled"},
    ]
    assert (await client.rows())[-2:] == [("result", json.dumps(results)), ("cancelled", "")]
    assert waiting.journal == ["started", "stopped"]


async def test_stop_does_nothing_when_nothing_runs(page):
    client = await page(Model())
    await client.post("/stop")
    assert await client.rows() == []


@pytest.mark.parametrize(
    ("decision", "status", "message"),
    [
        (True, "success", "paid"),
        (False, "failure", "Tool 'pay' execution was rejected by user."),
    ],
)
async def test_a_call_that_needs_approval_waits_also_for_another_server(
    tmp_path: Path, decision, status, message
):
    file = tmp_path / "log.db"
    async with served(create_app(Model(block("ok", "pay")), [OK, PAY], SQLite(file))) as client:
        over = (await client.run())[-1]
        assert [(each["status"], each["asks"]) for each in over["calls"]] == [
            ("waiting", False),
            ("waiting", True),
        ]
    again = create_app(Model("Done.<end>"), [OK, PAY], SQLite(file))
    async with served(again, client.http.cookies) as client:
        assert (await client.log())["calls"] == over["calls"]
        async with client.watch() as watching:
            await watching.until("log")
            await client.post("/resume", {"decisions": {over["calls"][1]["id"]: decision}})
            await watching.until("over")
        [results] = [
            json.loads(content) for kind, content in await client.rows() if kind == "result"
        ]
        assert [result["status"] for result in results] == ["success", status]
        assert results[1]["content"] == message


UNKNOWN = "It is not known whether the call to 'pay' happened"


@pytest.fixture
def killed(tmp_path: Path):
    """A function that leaves a log as a server does that was killed while it paid."""

    async def leave(user: str, *, is_told: bool) -> Path:
        async with SQLite(tmp_path / "log.db") as log:
            record = CallRecord("call-1", "batch", 0, "pay", attempt=1, started_at=1.0)
            rows = [("user", "Pay.", 1.0), ("call", stored("pay", euros=9), 2.0)]
            await log.append("c", user_id=user, rows=rows, calls=[record])
            if is_told:
                results = json.dumps([{"tool": "pay", "status": "failure", "content": UNKNOWN}])
                rows = [("result", results, 3.0), ("respond", "I cannot tell.", 4.0)]
                settled = record._replace(status="unknown", completed_at=3.0)
                await log.append("c", user_id=user, rows=rows, calls=[settled])
            return tmp_path / "log.db"

    return leave


def cookies_of(session: str) -> tuple[httpx.Cookies, str]:
    """The cookies of a browser with this session, and its user."""
    request = Request({"type": "http", "headers": [(b"cookie", f"{SESSION}={session}".encode())]})
    return httpx.Cookies({SESSION: session}), user_of(request)


@pytest.mark.parametrize(
    "is_told", [False, True], ids=["a call that began", "a call told as unknown"]
)
@pytest.mark.parametrize("happened", [True, False])
async def test_a_call_whose_outcome_is_unknown_is_settled_by_the_user(killed, is_told, happened):
    cookies, user = cookies_of("s" * 40)
    path = await killed(user, is_told=is_told)
    model = Model("Now I know.<end>")
    async with served(create_app(model, [PAY], SQLite(path)), cookies) as client:
        [call] = (await client.log())["calls"]
        assert (call["status"], call["unsettled"]) == ("unknown" if is_told else "open", True)
        async with client.watch() as watching:
            await watching.until("log")
            found = {"call": call["id"], "happened": happened, "result": "receipt 7"}
            await client.post("/settle", found)
            [call] = (await watching.until("log"))[-1]["calls"]
            assert not call["unsettled"]
            await client.post("/resume", {})
            over = (await watching.until("over"))[-1]
        rows = await client.rows()
        if not is_told and not happened:  # then it may run, once somebody has agreed
            assert [each["asks"] for each in over["calls"]] == [True]
            return
        assert rows[-1] == ("respond", "Now I know.")
        told = dict(rows)["settled" if is_told else "result"]
        assert ("receipt 7" if happened else "did not happen") in told


async def test_what_cannot_be_settled_is_refused(killed):
    cookies, user = cookies_of("s" * 40)
    path = await killed(user, is_told=True)
    waiting = Waiting()
    model = Model(block("wait"), "Done.<end>")
    async with served(create_app(model, [PAY, waiting], SQLite(path)), cookies) as client:

        async def settle(**found: Any) -> int:
            return (await client.http.post(f"{CONVERSATION}/settle", json=found)).status_code

        assert await settle(call="call-9", happened=True) == 409
        assert await settle(call="call-1") == 422
        async with client.watch() as watching:
            await client.ask()
            await waiting.started.wait()
            assert await settle(call="call-1", happened=True) == 409  # a run goes on
            waiting.release.set()
            await watching.until("over")
        assert await settle(call="call-1", happened=True) == 202
        assert await settle(call="call-1", happened=True) == 409  # it is settled
    others, _ = cookies_of("t" * 40)
    async with served(create_app(Model(), [PAY], SQLite(path)), others) as client:
        response = await client.http.post(
            f"{CONVERSATION}/settle", json={"call": "call-1", "happened": True}
        )
        assert response.status_code == 404


async def test_a_decision_is_kept_while_another_decision_is_missing(page):
    client = await page(Model(block("pay", "pay"), "Done.<end>"), PAY)
    first, second = (await client.run())[-1]["calls"]
    async with client.watch() as watching:
        await watching.until("log")
        await client.post("/resume", {"decisions": {first["id"]: True}})
        calls = (await watching.until("over"))[-1]["calls"]
        assert [(each["status"], each["decided"]) for each in calls] == [
            ("waiting", True),
            ("waiting", None),
        ]
        await client.post("/resume", {"decisions": {second["id"]: True}})
        calls = (await watching.until("over"))[-1]["calls"]
        assert [each["status"] for each in calls] == ["success", "success"]


async def test_a_conversation_has_one_run_at_a_time(page):
    model = Model(("One", None, ".<end>"))
    client = await page(model)
    async with client.watch() as watching:
        await client.ask("one")
        await watching.until("respond")
        for path, body in (("", {"text": "two"}), ("/resume", {})):
            refused = await client.http.post(CONVERSATION + path, json=body)
            assert refused.status_code == 409
            assert "has a run already" in refused.json()["detail"]
        model.release.set()
        await watching.until("over")
    assert await client.rows() == [("user", "one"), ("respond", "One.")]


async def test_an_error_is_shown_and_in_the_log(page):
    class Broken(Model):
        async def __call__(self, messages):
            yield "It is "
            raise ConnectionError("the model hung up")

    client = await page(Broken())
    messages = shown(await client.run())
    assert messages[-2:] == [("error", "ConnectionError: the model hung up"), ("over", "")]
    kind, content = (await client.rows())[-1]
    assert (kind, json.loads(content)["kind"]) == ("error", "failed")


async def test_calls_that_began_early_and_were_dropped_have_no_card():
    """The batch of the first answer breaks after a call of it began."""
    look = FunctionTool("look", lambda **_: ToolResult("seen"))
    look.options = ToolOptions(read_only=True)
    broken = (
        '<execute>[{"name": "look", "args": {}}, {"name": "pay", "args": {"euros":}}]</execute>'
    )

    async def model(messages: list[dict[str, Any]]) -> AsyncGenerator[str, None]:
        answer = answers.pop(0)
        for each in answer:
            yield each
            await asyncio.sleep(0)

    answers = [broken, block(call("pay", euros=1))]
    async with SQLite(":memory:") as log:
        agent = Agent(model, tools=[look, PAY], storage=log)
        result = await agent.run("hi", conversation_id="c", user_id="u")
        records = await log.calls("c")
        assert (result.status, {each.name: each.is_dropped for each in records}) == (
            "waiting",
            {"look": True, "pay": False},
        )
        [card] = (await (await Conversations(agent).of("u", "c"))._read())["calls"]
    assert (card["status"], card["asks"], card["decided"]) == ("waiting", True, None)


async def test_a_page_that_cannot_keep_up_is_disconnected(monkeypatch):
    monkeypatch.setattr(web_conversations, "MOST_BEHIND", 3)
    conversations = Conversations(Agent(Model(("text ",) * 100)))
    conversation = await conversations.of("ada", "c")
    async with aclosing(conversation.watch()) as slow:
        assert await anext(slow) == "retry: 1000\n\n"
        await conversation.ask("hello")
        await until(lambda: not conversations._running, "the run does not end")
        assert [json.loads(message[6:])["type"] async for message in slow] == ["log"]
    rows = (await conversation._read())["rows"]
    assert [row["type"] for row in rows] == ["user", "respond"], "the run went on"


async def test_a_conversation_shows_no_rows_of_another(page):
    client = await page(Model("One.<end>", "Two.<end>"))
    await client.run()
    async with client.http.stream("GET", "/conversations/another") as response:
        assert (await anext(received(response)))["rows"] == []


@pytest.mark.parametrize("body", [{"text": ""}, {}, {"text": 1}, {"text": "x" * 100_001}])
async def test_a_query_that_is_not_text_is_refused(page, body):
    client = await page(Model())
    assert (await client.http.post(CONVERSATION, json=body)).status_code == 422
    assert await client.rows() == []


async def test_a_page_of_another_site_cannot_ask(page):
    client = await page(Model())
    elsewhere = {"host": "evil.example"}
    refused = await client.http.post(CONVERSATION, json={"text": "hello"}, headers=elsewhere)
    assert refused.status_code == 400
    as_a_form = {"content-type": "text/plain"}  # a page may send this to any site without asking
    refused = await client.http.post(CONVERSATION, content='{"text": "hello"}', headers=as_a_form)
    assert refused.status_code == 422
    assert await client.rows() == []


async def test_the_page_lets_the_browser_run_only_its_own_script(page):
    client = await page(Model())
    text = (await client.http.get("/")).text
    assert "default-src 'self'" in text
    for file in ("page.js", "page.css"):
        assert (await client.http.get(f"/{file}")).status_code == 200


def test_the_script_of_the_page_writes_text_and_never_html(examples):
    script = (examples / "web_page" / "page.js").read_text(encoding="utf-8")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script


async def test_a_program_that_is_interrupted_in_the_middle_of_a_batch_leaves_a_whole_log(
    examples: Path, tmp_path: Path
):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, examples / "web_agent.py", "--port", str(port)),
        cwd=tmp_path,
        env={**os.environ},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        transport = httpx.AsyncHTTPTransport(retries=8)
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=address, transport=transport, timeout=60) as http:
            client = Client(http)
            await client.open()
            assert await client.rows() == []
            async with client.watch() as watching:
                await client.ask()
                await watching.until("execute")
                program.send_signal(signal.SIGINT)
                with pytest.raises((httpx.RemoteProtocolError, StopAsyncIteration)):
                    await watching.until("nothing")  # the connection ends
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
    assert rows[-1][0] == "cancelled"
