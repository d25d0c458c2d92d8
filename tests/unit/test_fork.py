"""`Agent.fork`: a conversation that begins as a part of another one."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from cogency_rs import Agent, Memory, ToolCall, tool
from cogency_rs.errors import BusyError, ConfigError, OwnerError
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord, Origin
from cogency_rs.testing import ScriptedModel
from support.agents import calls
from support.storages import every_log

__all__ = ["every_log"]

pytestmark = pytest.mark.timeout(60)

ROWS = [
    ("user", "One?", 1.0),
    ("think", "hm", 2.0),
    ("respond", "I will look.", 3.0),
    ("call", '{"name": "look", "args": {}}', 4.0),
    ("call", '{"name": "look", "args": {}}', 4.0),
    ("result", "[]", 5.0),
    ("respond", "One.", 6.0),
    ("user", "Two?", 7.0),
]


async def parent(
    log: Any, status: str = "success", count: int = len(ROWS), *, user: str = ""
) -> None:
    """Leave a conversation with two calls in this state, and this many rows."""
    batch = uuid7()
    records = [CallRecord(uuid7(), batch, place, "look") for place in (0, 1)]
    await log.append("a", user_id=user, rows=ROWS[:3])
    await log.append("a", user_id=user, rows=ROWS[3:5], calls=records)
    now = [record._replace(status=status) for record in records]
    await log.append("a", user_id=user, rows=ROWS[5:count], calls=now)


def agent(log: Any, *answers: str, **options: Any) -> Agent[Any, str]:
    return Agent(ScriptedModel(answers), storage=log, **options)


async def contents(log: Any, conversation: str) -> list[Any]:
    rows = (await log.read(conversation)).rows
    return [(row["type"], row["content"], row.get("written_at", row["timestamp"])) for row in rows]


@pytest.mark.parametrize(
    ("at", "expected"),
    [(None, 8), (8, 8), (100, 8), (7, 7), (6, 6), (5, 1), (4, 1), (3, 3), (1, 1)],
)
async def test_a_fork_has_the_first_rows_without_calls_that_have_no_results(
    every_log, at, expected
):
    await parent(every_log)
    before = await every_log.read("a"), await every_log.calls("a")
    new = await agent(every_log).fork("a", at=at, new_id="b")
    assert new == "b"
    assert await contents(every_log, "b") == ROWS[:expected]
    assert await every_log.calls("b") == []
    assert await every_log.origin("b") == Origin("a", expected)
    assert await every_log.origin("a") is None
    after = await every_log.read("a"), await every_log.calls("a")
    assert (after[0].rows, after[1]) == (before[0].rows, before[1])


@pytest.mark.parametrize("status", ["open", "saved", "waiting", "ended"])
async def test_calls_that_are_not_settled_stay_with_the_conversation_that_they_are_part_of(
    every_log, status
):
    ran: list[str] = []

    @tool(idempotent=True)
    async def look() -> None:
        """Look."""
        ran.append("look")

    await parent(every_log, status, count=5)
    mine = agent(every_log, "Two.", tools=[look])
    new = await mine.fork("a")
    assert await contents(every_log, new) == ROWS[:1]
    result = await mine.resume(new)
    assert (result.output, ran) == ("Two.", [])
    assert [each.status for each in await every_log.calls("a")] == [status, status]


async def test_an_unknown_call_is_settled_only_where_it_was_made(every_log):
    await parent(every_log, "unknown")
    mine = agent(every_log)
    await mine.fork("a", new_id="b")
    assert {call.conversation_id for call in await mine.pending()} == {"a"}


async def test_both_conversations_go_on_by_themselves(every_log):
    await parent(every_log, count=7)
    mine = agent(every_log, "Of b.", "Of a.")
    await mine.fork("a", new_id="b")
    assert (await mine.run("And?", conversation_id="b")).output == "Of b."
    assert (await mine.run("So?", conversation_id="a")).output == "Of a."
    assert [row[1] for row in (await contents(every_log, "b"))[7:]] == ["And?", "Of b."]
    assert [row[1] for row in (await contents(every_log, "a"))[7:]] == ["So?", "Of a."]
    cursor = (await every_log.read("b")).cursor
    page = await every_log.read("b", after=cursor)
    assert (page.rows, page.is_whole) == ([], False)
    await every_log.delete_conversation("a")
    assert len(await contents(every_log, "b")) == 9


async def test_a_fork_may_be_forked_and_deleted(every_log):
    await parent(every_log)
    mine = agent(every_log)
    await mine.fork("a", new_id="b", at=6)
    await mine.fork("b", new_id="c", at=3)
    assert await every_log.origin("c") == Origin("b", 3)
    await every_log.delete_conversation("b")
    assert await every_log.origin("b") is None
    await mine.fork("c", new_id="b", at=1)
    assert await every_log.origin("b") == Origin("c", 1)


async def test_a_conversation_may_be_forked_while_it_runs(every_log):
    @tool
    async def fork() -> str:
        """Fork the conversation in which this runs."""
        return await mine.fork("a")

    mine = agent(every_log, "text " + calls(ToolCall("fork", {})), "done", tools=[fork])
    result = await mine.run("Go.", conversation_id="a")
    new = result.steps[0].executions[0].value
    assert [row[:2] for row in await contents(every_log, new)] == [("user", "Go.")]


async def test_what_cannot_be_forked_is_one_clear_error_and_changes_nothing(every_log):
    await parent(every_log, user="ada")
    mine = agent(every_log)
    with pytest.raises(OwnerError):
        await mine.fork("a", new_id="b")
    with pytest.raises(ConfigError, match="has no conversation 'x'"):
        await mine.fork("x", user_id="ada")
    for new in ("a", "d"):
        await every_log.append("d", rows=[("user", "mine", 1.0)])
        with pytest.raises(ConfigError, match="already"):
            await mine.fork("a", new_id=new, user_id="ada")
    for at in (0, -1, "2"):
        with pytest.raises(ConfigError, match="at must be"):
            await mine.fork("a", at=at, user_id="ada")
    async with every_log.claim("b"):
        with pytest.raises(BusyError):
            await mine.fork("a", new_id="b", user_id="ada")
    assert await contents(every_log, "b") == []
    await every_log.append("e", rows=ROWS[3:5])
    with pytest.raises(ConfigError, match="hold nothing but calls"):
        await mine.fork("e", new_id="b")


async def test_a_fork_in_memory_counts_towards_its_bound():
    log = Memory()
    await parent(log)
    before = log.size
    await agent(log).fork("a", new_id="b")
    assert log.size > before
    await log.delete_conversation("b")
    assert log.size == before


async def test_a_fork_in_memory_shares_the_rows():
    log = Memory()
    text = "x" * 1_000_000
    await log.append("a", rows=[("user", text, 1.0), ("respond", f"{text}y", 2.0)])
    tracemalloc.start()
    try:
        await agent(log).fork("a", new_id="b")
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 100_000
    await log.delete_conversation("a")
    assert [len(content) for _, content, _ in await contents(log, "b")] == [1_000_000, 1_000_001]


async def test_a_log_that_cannot_fork_says_so():
    class Plain:
        def append(self, *args: Any, **options: Any) -> Any: ...
        def read(self, *args: Any, **options: Any) -> Any: ...
        def calls(self, *args: Any, **options: Any) -> Any: ...
        def owner(self, *args: Any) -> Any: ...
        def claim(self, *args: Any, **options: Any) -> Any: ...

    with pytest.raises(ConfigError, match="has no method fork"):
        await agent(Plain()).fork("a")
