"""`OpenAIModel` in the loop of the examples, against a server that streams a script. Nothing depends on the time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from own_loop import Add, agent

from cogency_rs import Execution, OpenAIModel, SQLite
from cogency_rs.errors import LLMError
from scripted_server import HOLD, Ending, ScriptedServer, Turn, in_pieces
from support.tools import block, call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SUM = block(call("add", a=19, b=23))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@asynccontextmanager
async def asked(*turns: Turn) -> AsyncIterator[tuple[ScriptedServer, Any, SQLite]]:
    """A server with these turns, the events of an agent that talks to it, and its log."""
    async with (
        ScriptedServer(turns) as server,
        OpenAIModel("scripted", base_url=server.base_url, max_retries=0) as model,
        SQLite(":memory:") as storage,
    ):
        execution = Execution(storage=storage, tools=[Add()])
        yield server, agent(model, "add", conversation_id="c", execution=execution), storage


async def joined(events: Any) -> list[tuple[str, str]]:
    """Types and contents, with the pieces of a text joined."""
    seen: list[tuple[str, str]] = []
    async for event in events:
        kind, content = event["type"], event.get("content", "")
        if seen and kind == seen[-1][0] == "respond":
            content = seen.pop()[1] + content
        seen.append((kind, content))
    return seen


def says(text: str) -> Turn:
    return Turn(*in_pieces(text))


def test_the_program_answers(run):
    lines = run("openai_model.py", "--scripted").splitlines()
    assert [line.split()[0] for line in lines] == (
        ["think", "respond", "call", "call", "execute", "result", "respond", "end"]
    )
    assert lines[-2] == "respond The sums are 42 and 5."


async def test_the_agent_goes_on_with_the_results():
    async with asked(says(f"Adding.{SUM}"), says("It is 42.<end>")) as (server, events, _):
        seen = await joined(events)
    assert [kind for kind, _ in seen] == ["respond", "call", "execute", "result", "respond", "end"]
    assert seen[-2] == ("respond", "It is 42.")
    assert [exchange.path for exchange in server.exchanges] == ["/v1/chat/completions"] * 2
    messages = server.exchanges[1].body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert "19 + 23 = 42" in messages[-1]["content"]


async def test_text_is_emitted_before_the_model_goes_on():
    async with asked(Turn("It is", HOLD, " 42.<end>")) as (server, events, _):
        assert (await anext(events))["content"] == "It is"
        server.release()
        assert await joined(events) == [("respond", " 42."), ("end", "")]


async def test_after_a_batch_the_connection_is_closed_while_the_model_still_writes():
    script = [Turn(*in_pieces(SUM), " and then", HOLD), says("<end>")]
    async with asked(*script) as (server, events, _):
        await joined(events)
        async with asyncio.timeout(30):
            await server.closed()


@pytest.mark.parametrize(
    ("turn", "error"),
    [
        pytest.param(Turn("It is", ending=Ending.DROPPED), "broke off", id="the connection breaks"),
        pytest.param(
            Turn("It is", ending=Ending.TRUNCATED), "broke off", id="the answer just ends"
        ),
        pytest.param(None, "refused the request", id="the service refuses"),
    ],
)
async def test_an_error_of_the_service_is_raised_after_the_text_before_it(turn, error):
    async with asked(*filter(None, [turn])) as (_, events, storage):
        seen = []
        with pytest.raises(LLMError, match=error):
            async for event in events:
                seen.append((event["type"], event["content"]))  # noqa: PERF401  (keeps the events before the error)
        assert seen[:1] == ([("respond", "It is")] if turn else [])
        assert [kind for kind, _ in seen[1:]] == (["error"] if turn else [])
        rows = await storage.load_messages("c", "")
        assert [row["type"] for row in rows] == ["user", *(kind for kind, _ in seen)]


async def test_a_service_that_cannot_be_reached_is_an_error():
    async with asked() as (server, events, _):
        await server.__aexit__(None, None, None)
        with pytest.raises(LLMError, match="is the server running there"):
            await joined(events)
