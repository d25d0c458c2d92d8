"""A log in memory has a bound: it drops whole conversations, those that were used longest ago, and says so."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from cogency_rs import Agent, Memory, tool
from cogency_rs.errors import ConfigError, StorageError
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord, memory
from cogency_rs.storage.memory import MAX_BYTES
from cogency_rs.testing import ScriptedModel
from support.agents import calls

KILOBYTE = "x" * 1_000


async def fill(log: Memory, name: str, kilobytes: int = 10) -> None:
    """Append one row of this size."""
    rows = [("user", KILOBYTE * kilobytes, 1.0)]
    await log.append(name, user_id="", rows=rows)


async def kept(log: Memory) -> list[str]:
    return sorted(entry.conversation_id for entry in await log.conversations())


def touches(name: str) -> Callable[[Memory], Any]:
    return lambda log: fill(log, name, 1)


USES = {
    "nothing else": (lambda log: asyncio.sleep(0), ["b", "c", "d"]),
    "a read of the oldest": (lambda log: log.read("a"), ["a", "c", "d"]),
    "a look at its calls": (lambda log: log.calls("a"), ["a", "c", "d"]),
    "a question whose it is": (lambda log: log.owner("a"), ["a", "c", "d"]),
    "an append to it": (touches("a"), ["a", "c", "d"]),
    "a read of one that is not there": (lambda log: log.read("z"), ["b", "c", "d"]),
    "an append of nothing": (lambda log: log.append("z", rows=()), ["b", "c", "d"]),
    "the end of the second oldest": (lambda log: log.delete_conversation("b"), ["a", "c", "d"]),
}


@pytest.mark.parametrize(("use", "expected"), USES.values(), ids=USES)
async def test_what_was_used_longest_ago_is_dropped(use, expected):
    log = Memory(max_bytes=40_000)
    for name in "abc":
        await fill(log, name)
    await use(log)
    await fill(log, "d")
    assert await kept(log) == expected
    assert log.size <= 40_000


async def test_as_many_are_dropped_as_do_not_fit_and_never_the_one_that_is_written():
    log = Memory(max_bytes=40_000)
    for name in "abc":
        await fill(log, name)
    await fill(log, "d", 35)
    assert (await kept(log), log.dropped) == (["d"], 3)
    await fill(log, "d", 35)
    assert (await kept(log), log.dropped) == (["d"], 3)
    await fill(log, "e")
    assert (await kept(log), log.dropped) == (["e"], 4)


async def test_a_conversation_with_a_run_in_it_stays_and_counts_as_used_when_the_run_ends():
    log = Memory(max_bytes=40_000)
    await fill(log, "a")
    async with log.claim("a"):
        for name in "bcdef":
            await fill(log, name)
        assert "a" in await kept(log)
    await fill(log, "g")
    assert "a" in await kept(log)
    for name in "hijk":
        await fill(log, name)
    assert "a" not in await kept(log)


async def test_runs_that_together_exceed_the_bound_all_stay():
    """Ten runs at once, each with 10 kB in its tool's result, where 40 kB fit."""
    log, arrived, all_there = Memory(max_bytes=40_000), [], asyncio.Event()

    @tool
    async def look() -> str:
        """Return much, when all runs are here."""
        arrived.append(1)
        if len(arrived) == 10:
            all_there.set()
        await all_there.wait()
        return KILOBYTE * 10

    def answer(request: Any) -> str:
        return "Done." if "<results>" in request.messages[-1]["content"] else calls("look")

    agent = Agent(ScriptedModel(answer), tools=[look], storage=log)
    ended = await asyncio.gather(*(agent.run("?", conversation_id=f"{n}") for n in range(10)))
    assert [each.output for each in ended] == ["Done."] * 10
    await fill(log, "z", 1)
    assert log.size <= 40_000


async def test_the_records_of_calls_count_and_a_call_that_is_settled_counts_once():
    log, record = Memory(), CallRecord(uuid7(), uuid7(), 0, "t")
    await log.append("a", rows=(), calls=[record])
    size = log.size
    for _ in range(10):
        await log.append("a", rows=(), calls=[record._replace(status="success")])
    assert log.size == size > 0
    await log.delete_conversation("a")
    assert log.size == 0


# What it says


async def test_the_first_conversation_that_is_dropped_is_logged_and_all_are_counted(caplog):
    log = Memory(max_bytes=20_000)
    for number in range(10):
        await fill(log, f"{number}")
    assert log.dropped == 9
    [record] = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "cogency_rs.storage.memory")
    assert record.getMessage() == (
        "A log in memory has reached 20,000 bytes: it drops the least recently used conversations, '0' first. "
        "Keep them in SQLite, or give Memory(max_bytes=...)"
    )


NAMED = {
    "read": lambda log: log.read("old"),
    "calls": lambda log: log.calls("old"),
    "owner": lambda log: log.owner("old"),
    "append": lambda log: fill(log, "old"),
    "run": lambda log: Agent(ScriptedModel(lambda _: "?"), storage=log).run(
        "?", conversation_id="old"
    ),
    "resume": lambda log: Agent(ScriptedModel(lambda _: "?"), storage=log).resume("old"),
}


@pytest.mark.parametrize("name_it", NAMED.values(), ids=NAMED)
async def test_to_name_a_dropped_conversation_is_an_error_that_says_what_to_do(name_it):
    log = Memory(max_bytes=15_000)
    await fill(log, "old")
    await fill(log, "new")
    with pytest.raises(StorageError) as caught:
        await name_it(log)
    assert str(caught.value) == (
        "conversation 'old' was dropped: the log in memory holds 15,000 bytes, and it was the least recently used. "
        "Keep conversations in SQLite, or give Memory(max_bytes=...); delete_conversation('old') lets it begin again"
    )
    assert await kept(log) == ["new"]
    assert await log.delete_conversation("old") == 0
    await fill(log, "old", 1)
    assert len((await log.read("old")).rows) == 1


async def test_without_a_bound_nothing_is_dropped():
    log = Memory(max_bytes=None)
    for number in range(100):
        await fill(log, f"{number}")
    assert (len(await kept(log)), log.dropped) == (100, 0)


@pytest.mark.parametrize("bound", [0, -1])
def test_a_bound_that_holds_nothing_is_refused(bound):
    with pytest.raises(ConfigError, match="max_bytes must be 1 or more, or None for no bound"):
        Memory(max_bytes=bound)


# What it costs


async def test_the_count_of_bytes_is_not_below_what_is_used():
    """By Python's own account of its memory, for a few hundred runs with calls."""
    log = Memory()

    def answer(request: Any) -> str:
        return "Done." if "<results>" in request.messages[-1]["content"] else calls("look")

    @tool
    async def look() -> str:
        """Return a page."""
        return KILOBYTE + uuid7()

    agent = Agent(ScriptedModel(answer), tools=[look], storage=log)
    for _ in range(70):  # more than the number of conversations whose prompts are kept
        await agent.run("?")
    agent._settings.model.requests.clear()
    before = log.size
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(200):
            await agent.run("?")
        agent._settings.model.requests.clear()
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used <= log.size - before <= 2 * used


async def test_a_program_that_runs_for_ever_stays_at_the_bound():
    """With the bound of an agent that has no storage, made smaller by as much as the conversations are."""
    log = Memory(max_bytes=MAX_BYTES // 1_000)
    agent = Agent(ScriptedModel(lambda _: "Hello."), storage=log)
    for _ in range(200):
        await agent.run("Hello?")
    assert log.size <= MAX_BYTES // 1_000
    assert log.dropped + len(await log.conversations()) == 200


async def test_at_the_bound_runs_leave_nothing_more(monkeypatch):
    """By the objects that Python's collector knows, and by Python's own account of its memory."""
    monkeypatch.setattr(memory, "_KNOWN_DROPPED", 50)
    log = Memory(max_bytes=200_000)

    def answer(request: Any) -> str:
        return "Done." if "<results>" in request.messages[-1]["content"] else calls("look")

    @tool
    async def look() -> str:
        """Return a page."""
        return KILOBYTE + uuid7()

    agent = Agent(ScriptedModel(answer), tools=[look], storage=log)

    async def left_after(runs: int) -> tuple[int, int]:
        for _ in range(runs):
            await agent.run("?")
        agent._settings.model.requests.clear()
        gc.collect()
        return len(gc.get_objects()), tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        await left_after(150)  # the bound is reached, and prompts are kept of as many as ever are
        assert log.dropped > 50
        objects, used = await left_after(50)
        more_objects, more_used = await left_after(200)
    finally:
        tracemalloc.stop()
    assert more_objects - objects < 20
    assert more_used - used < 20_000
