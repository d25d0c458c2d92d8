"""Calls that began early in a turn that is cancelled or fails anywhere: nothing runs on, and each call is settled."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    CallOptions,
    Dialect,
    Execution,
    Memory,
    SQLite,
    parse_tokens,
)
from cogency_rs.errors import StorageError
from cogency_rs.models import Finish, ToolCallDelta
from support.early import Bench
from support.interruptions import MOMENTS, cancelled_at
from support.tools import block, call, rounds
from support.turns import Row, check_answered

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(60)]

BATCH = block(call("read", n=5), call("say", n=3), call("block", n=1), call("write", n=2))
HERMES = Dialect("hermes").write_calls([call("read", n=5), call("say", n=3)])

ANSWERS = {
    "one block": (BATCH, "cogency"),
    "a broken block": (BATCH[:-11] + ", 3]</execute>", "cogency"),
    "a broken block, then one that runs": (BATCH[:-11] + ", 3]</execute>" + BATCH, "cogency"),
    "a block that is cut": (BATCH[:-30], "cogency"),
    "several blocks": (HERMES, "hermes"),
    "several blocks, one broken": (HERMES.replace("3}", "3} x"), "hermes"),
}


class SlowMemory(Memory):
    """A log that is slow, before a save and after it."""

    def append(self, *args: Any, **options: Any) -> Any:
        async def save() -> None:
            await rounds(1)
            await Memory.append(self, *args, **options)
            await rounds(1)

        return save()


def in_file() -> SQLite:
    return SQLite(":memory:")


def chunks(text: str) -> list[str]:
    """Chunks of 17 characters: some cuts are inside calls, and the chunks are few, so a turn has few suspensions."""
    return [text[at : at + 17] for at in range(0, len(text), 17)]


async def consume(events: AsyncGenerator[Any, None]) -> None:
    async with aclosing(events):
        async for _ in events:
            await rounds(1)


def check_nothing_runs(bench: Bench, note: str) -> None:
    begun = [entry for entry in bench.journal if entry.startswith("begin")]
    over = [entry for entry in bench.journal if entry.startswith(("end", "stop"))]
    assert len(begun) == len(over), f"{note}: {bench.journal}"


async def check(log: Any, bench: Bench, note: str) -> None:
    check_nothing_runs(bench, note)
    records = await log.calls("c")
    assert not {each.status for each in records} & {"early", "open"}, note
    for each in records:
        if each.decision is not None:
            assert each.status == "cancelled", note
            assert "dropped" in json.loads(each.decision), note
    rows = (await log.read("c")).rows
    check_answered(Row("c", "u", row["type"], row["content"], row["timestamp"]) for row in rows)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    ("make_log", "options"),
    [
        (Memory, {}),
        (SlowMemory, {}),
        (in_file, {}),
        (Memory, {"calls": CallOptions(max_concurrency=1)}),
    ],
    ids=["instant log", "slow log", "SQLite", "one call at once"],
)
@pytest.mark.parametrize(("text", "dialect"), ANSWERS.values(), ids=ANSWERS)
async def test_a_turn_that_is_cancelled_anywhere(text, dialect, make_log, options, moment) -> None:
    for at in itertools.count(1):
        bench, log = Bench(), make_log()
        turns = Accumulator(
            "u", "c", execution=Execution(storage=log, tools=bench.tools()), **options
        )
        source = bench.chunks(chunks(text), pause=1)
        events = turns.process(parse_tokens(source, errors="event", dialect=dialect))
        ending = await cancelled_at(consume(events), at, moment)
        note = f"cancelled at suspension {at}"
        assert ending.cancelled is ending.requested, note
        assert ending.leaked == set(), note
        await check(log, bench, note)
        if isinstance(log, SQLite):
            await log.close()
        if ending.suspensions < at:
            break
    assert at > 10
    assert bench.begun_early, "this test needs calls that begin early"


@pytest.mark.parametrize(
    "text", [text for text, dialect in ANSWERS.values() if dialect == "cogency"]
)
async def test_a_consumer_that_leaves_after_any_event(text) -> None:
    for count in itertools.count(1):
        bench, log = Bench(), SlowMemory()
        turns = Accumulator("u", "c", execution=Execution(storage=log, tools=bench.tools()))
        source = bench.chunks(chunks(f"so {text}"), pause=1)
        events = turns.process(parse_tokens(source, errors="event", calls="stream"))
        seen = [await anext(events, None) for _ in range(count)]
        await events.aclose()
        await check(log, bench, f"left after {count} events")
        if seen[-1] is None:
            break
    assert count > 5


class FailingLog(SlowMemory):
    """A log whose save number `at`, counted from 1, fails."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.saves, self._at = 0, at

    def append(self, *args: Any, **options: Any) -> Any:
        self.saves += 1
        if self.saves == self._at:
            raise StorageError("the disk is full")
        return super().append(*args, **options)


@pytest.mark.parametrize(
    "text", [text for text, dialect in ANSWERS.values() if dialect == "cogency"]
)
async def test_a_log_that_fails_at_any_save(text) -> None:
    tasks = asyncio.all_tasks()
    for at in itertools.count(1):
        bench, log = Bench(), FailingLog(at)
        turns = Accumulator("u", "c", execution=Execution(storage=log, tools=bench.tools()))
        source = bench.chunks(chunks(text), pause=1)
        has_failed = False
        try:
            await consume(turns.process(parse_tokens(source, errors="event")))
        except StorageError:
            has_failed = True
        assert has_failed is (log.saves >= at), f"save {at} of {log.saves}"
        check_nothing_runs(bench, f"save {at} failed")
        assert asyncio.all_tasks() == tasks, "no task is left"
        if log.saves < at:
            break
    assert at > 2


@pytest.mark.parametrize("driver", ["text", "native"])
async def test_a_run_that_is_cancelled_anywhere(driver) -> None:
    native: list[Any] = [
        ToolCallDelta(number, f"id{number}", "read", f'{{"n": {number}}}') for number in range(3)
    ]
    answer = chunks(BATCH) if driver == "text" else [*native, Finish("tool_calls")]

    class Model:
        def __init__(self, bench: Bench) -> None:
            self.answers = iter([answer, ["fine"]])
            self.bench = bench

        def stream(self, request: Any) -> Any:
            return self.bench.chunks(next(self.answers), pause=2)

    for at in itertools.count(1):
        bench, log = Bench(), Memory()
        agent = Agent(Model(bench), tools=bench.tools(), driver=driver, storage=log)
        events = agent.run("hm", conversation_id="c")
        ending = await cancelled_at(consume(events), at, MOMENTS[1])
        assert ending.cancelled is ending.requested
        assert ending.leaked == set()
        await check(log, bench, f"cancelled at suspension {at}")
        if ending.suspensions < at:
            break
    assert at > 10
