"""An answer that is interrupted while the model writes it: its text stays in the log, and the model is shown it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cogency_rs import Accumulator, Agent, Execution, Memory, RunLimits, SQLite, parse_tokens, tool
from cogency_rs.testing import ScriptedModel
from support.answers import ANSWERS
from support.begun import is_dropped, is_eager
from support.clock import let_pass
from support.tools import block
from support.ways import in_both_ways

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(60)]

PIECES = {
    "text": ["The sea ", "is ", "deep."],
    "native": ["The sea ", "is ", "deep."],
    "react": ['{"thought": "t", "type": "final_answer", "answer": "The sea ', "is ", 'deep."}'],
}
STORAGES = {"memory": Memory, "SQLite": lambda: SQLite(":memory:")}


class Hanging:
    """A model that writes these pieces of its answer, sets an event, and hangs."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.hangs = asyncio.Event()

    async def __call__(self, messages: Any) -> AsyncIterator[str]:
        for piece in self.pieces:
            yield piece
        self.hangs.set()
        await asyncio.Event().wait()


@tool
async def look() -> str:
    """Look."""
    return "seen"


async def interrupted(agent: Agent[Any, str], model: Hanging, how: str) -> None:
    """Begin a run, and stop it while the model writes."""
    if how == "cancelled":
        run = asyncio.create_task(agent.run("How deep?", conversation_id="c"))
        await model.hangs.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return
    if how == "out of time":
        limits = RunLimits(seconds=3600)
        run = asyncio.create_task(agent.run("How deep?", conversation_id="c", limits=limits))
        await model.hangs.wait()
        let_pass(3600)
        result = await run
        assert (result.status, result.stop.reason) == ("stopped", "time_limit")
        return
    text = ""
    async with agent.run("How deep?", conversation_id="c") as events:
        async for event in events:
            text += event["content"] if event["type"] == "respond" else ""
            if text.strip() == "The sea is":
                break


async def rows(storage: Any) -> list[tuple[str, str]]:
    read = (await storage.read("c")).rows
    return [(row["type"], row["content"].strip()) for row in read]


async def close(storage: Any) -> None:
    if isinstance(storage, SQLite):
        await storage.close()


@pytest.mark.parametrize("how", ["cancelled", "closed"])
@pytest.mark.parametrize("driver", PIECES)
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
async def test_interrupted_text_is_in_the_log_and_in_the_next_prompt(storage, driver, how):
    storage, model = storage(), Hanging(PIECES[driver][:2])
    try:
        await interrupted(Agent(model, driver=driver, storage=storage), model, how)
        types = [each for each in await rows(storage) if each[0] != "think"]
        assert types == [("user", "How deep?"), ("respond", "The sea is"), ("cancelled", "")]
        answer = "".join(PIECES[driver]) if driver == "react" else "11 km."
        after = ScriptedModel([answer])
        result = await Agent(after, driver=driver, storage=storage).run(
            "Go on.", conversation_id="c"
        )
        assert result.status == "completed"
        [_, *shown] = after.requests[0].messages
        assert [each["role"] for each in shown] == ["user", "assistant", "user"]
        assert "The sea is" in shown[1]["content"]
        assert shown[2]["content"] == "Go on."
    finally:
        await close(storage)


@pytest.mark.parametrize("driver", PIECES)
async def test_a_run_that_is_resumed_tells_the_model_that_it_was_interrupted(driver):
    storage, model = Memory(), Hanging(PIECES[driver][:2])
    await interrupted(Agent(model, driver=driver, storage=storage), model, "cancelled")
    answer = "".join(PIECES[driver]) if driver == "react" else "11 km."
    after = ScriptedModel([answer, answer])
    agent = Agent(after, driver=driver, storage=storage)
    assert (await agent.resume("c")).status == "completed"
    [_, *shown] = after.requests[0].messages
    assert [each["role"] for each in shown] == ["user", "assistant", "user"]
    assert "The sea is" in shown[1]["content"]
    assert "You were interrupted" in shown[2]["content"]
    await agent.run("And now?", conversation_id="c")
    assert "You were interrupted" not in json.dumps(after.requests[1].messages)


async def test_an_answer_that_takes_too_long_keeps_its_text_so_far():
    storage, model = Memory(), Hanging(PIECES["text"][:2])
    await interrupted(Agent(model, storage=storage), model, "out of time")
    assert await rows(storage) == [
        ("user", "How deep?"),
        ("respond", "The sea is"),
        ("cancelled", ""),
    ]


async def test_an_incomplete_block_of_calls_is_dropped_and_not_reported():
    storage, model = Memory(), Hanging(["I look.", block("look").removesuffix("</execute>")])
    await interrupted(Agent(model, tools=[look], storage=storage), model, "cancelled")
    assert await rows(storage) == [("user", "How deep?"), ("respond", "I look."), ("cancelled", "")]
    assert [each for each in await storage.calls("c") if not is_dropped(each)] == []


async def test_text_after_calls_that_have_not_run_stays_and_the_calls_are_dropped():
    """In this dialect, calls run when the answer ends."""
    call = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
    storage, model = Memory(), Hanging(["I look.", call, "And then "])
    agent = Agent(model, tools=[look], storage=storage, dialect="hermes")
    await interrupted(agent, model, "cancelled")
    assert await rows(storage) == [
        ("user", "How deep?"),
        ("respond", "I look."),
        ("respond", "And then"),
        ("cancelled", ""),
    ]
    # Only a call that began while the model wrote has a record.
    statuses = [record.status for record in await storage.calls("c")]
    assert statuses == (["cancelled"] if is_eager() else [])


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_an_accumulator_keeps_interrupted_text(how):
    storage, model = Memory(), Hanging(["<think>hm</think>", "The sea ", "is "])
    turn = Accumulator("", "c", execution=Execution(storage=storage), stream="token")
    seen: list[str] = []

    async def read() -> None:
        async for _ in turn.process(parse_tokens(model([]))):
            pass

    if how == "cancelled":
        reading = asyncio.create_task(read())
        await model.hangs.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    else:
        events = turn.process(parse_tokens(model([])))
        while "sea" not in "".join(seen):
            seen.append((await anext(events)).get("content", ""))
        await events.aclose()
    assert [kind for kind, _ in await rows(storage)] == ["think", "respond"]


def test_each_driver_has_a_script():
    assert PIECES.keys() == ANSWERS.keys()
