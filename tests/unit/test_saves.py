"""How a turn saves its rows: to the end, even if cancelled, and with no more tasks than needed."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from cogency_rs import SQLite, parse_tokens
from support.tools import OK, Waiting, block, rounds, with_tools
from support.turns import (
    CONVERSATION,
    USER,
    Log,
    Row,
    accumulator,
    carry_out,
    check_answered,
    results_in,
    types,
)
from support.ways import in_both_ways

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(20)]


class PlainLog:
    """A storage whose saves are plain functions: when they return, the rows are safe."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def save_message(self, *row: Any) -> None:
        self.save_messages([row])

    def save_messages(self, rows: Any) -> None:
        self.rows += [Row(*row) for row in rows]


@pytest.fixture
async def made_tasks():
    """The names of the tasks that are made."""
    names: list[str] = []

    def factory(loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        names.append(getattr(work, "__qualname__", str(work)))
        return asyncio.Task(work, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    await asyncio.sleep(0)
    yield names
    loop.set_task_factory(None)


async def test_a_storage_that_does_not_wait_costs_no_task(made_tasks):
    log = PlainLog()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(f"a{block('ok')}"))
    assert types(log.rows) == ["respond", "call", "result"]
    assert made_tasks[1:] == ["CallRunner.attempt"]  # the first task is the test's own


async def test_sqlite_costs_no_task(made_tasks, tmp_path):
    async with SQLite(str(tmp_path / "log.db")) as log:
        turns = accumulator(with_tools(OK, storage=log))
        await carry_out(turns, parse_tokens(f"a{block('ok')}"))
        rows = await log.load_messages(CONVERSATION, USER)
    assert [row["type"] for row in rows] == ["respond", "call", "result"]
    assert made_tasks[1:] == ["CallRunner.attempt"]  # the first task is the test's own


async def test_a_save_that_is_a_coroutine_is_completed_in_a_task(made_tasks):
    log = Log(before=2)
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(block("ok")))
    assert types(log.rows) == ["call", "result"]
    assert len(made_tasks[1:]) == 3


async def test_a_storage_may_limit_the_time_of_its_saves():
    """A storage's timeout cancels the task in which the save runs, so that must not be the turn's task."""

    class Hangs(Log):
        async def _save(self, rows: Any) -> None:
            async with asyncio.timeout(0.02):
                await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await carry_out(accumulator(with_tools(OK, storage=Hangs())), parse_tokens(block("ok")))
    assert asyncio.current_task().cancelling() == 0


async def test_a_save_is_among_all_tasks_and_the_turn_is_cancelled_with_it():
    """`all_tasks` shows a save to debuggers, and a program may cancel every task that it finds there."""
    entered = asyncio.Event()

    class Held(Log):
        async def _save(self, rows: Any) -> None:
            entered.set()
            await asyncio.Event().wait()

    turn = asyncio.create_task(
        carry_out(accumulator(with_tools(OK, storage=Held())), parse_tokens(block("ok")))
    )
    await entered.wait()
    [save] = asyncio.all_tasks() - {turn, asyncio.current_task()}
    save.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_sqlite_s_rows_are_saved_although_all_tasks_are_cancelled(tmp_path, both_ways):
    log = SQLite(str(tmp_path / "log.db"))
    slow = Waiting()
    turn = asyncio.create_task(
        carry_out(accumulator(with_tools(slow, storage=log)), parse_tokens(block("wait")))
    )
    await both_ways.until_complete(slow.started)
    for _ in range(4):
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await rounds(1)
    with pytest.raises(asyncio.CancelledError):
        await turn
    rows = await log.load_messages(CONVERSATION, USER)
    assert [row["type"] for row in rows] == ["call", "result"]
    await log.close()


async def test_a_turn_that_is_dropped_while_it_saves_is_collected():
    log = Log(before=3)
    turns = accumulator(with_tools(OK, storage=log)).process(parse_tokens(block("ok")))
    step = asyncio.ensure_future(anext(turns))
    while not log.attempts:
        await rounds(1)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    del turns, step
    gc.collect()
    await rounds(10)
    check_answered(log.rows)
    assert results_in(log.rows)
    assert asyncio.all_tasks() == {asyncio.current_task()}
