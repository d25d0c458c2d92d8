"""Saves that wait together share a commit, and each fails, or is cancelled, by itself."""

from __future__ import annotations

import asyncio
import random

import pytest

from cogency_rs import Agent, SQLite, tool
from cogency_rs.errors import StorageError
from cogency_rs.storage.sqlite import writer
from cogency_rs.storage.sqlite.connection import connect_to_write
from cogency_rs.testing import ScriptedModel
from support.log_files import contents, locked, start
from support.tools import rounds
from support.waiting import until

pytestmark = pytest.mark.concurrency


async def test_a_row_that_cannot_be_stored_fails_only_its_own_save(log):
    values = [f"{n}" for n in range(10)] + ["\ud800"] + [f"{n}" for n in range(10, 20)]
    outcomes = await asyncio.gather(
        *(log.save_message("c", "u", "user", value, 1.0) for value in values),
        return_exceptions=True,
    )
    assert contents(await log.load_messages("c", "u")) == [f"{n}" for n in range(20)]
    failure = outcomes.pop(10)
    assert all(isinstance(outcome, str) for outcome in outcomes)
    assert isinstance(failure, StorageError)
    assert "surrogates not allowed" in str(failure)
    assert log.db_path in str(failure)
    assert failure.cause is failure.__cause__ is not None
    assert not failure.retryable


async def test_many_rows_that_cannot_be_stored_fail_each_on_its_own(log):
    outcomes = await asyncio.gather(
        *(
            log.save_message("c", "u", "user", f"{n}" if n % 3 else "\ud800", 1.0)
            for n in range(60)
        ),
        return_exceptions=True,
    )
    assert [isinstance(outcome, StorageError) for outcome in outcomes] == [
        n % 3 == 0 for n in range(60)
    ]
    assert contents(await log.load_messages("c", "u")) == [f"{n}" for n in range(60) if n % 3]


@pytest.fixture
def statements(monkeypatch):
    """Notes what the writing connection is told."""
    statements = []

    def traced(path):
        connection = connect_to_write(path)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(writer, "connect_to_write", traced)
    return statements


async def test_saves_that_wait_together_share_a_commit(store, path, statements):
    await store.load_messages("c", "u")  # makes the file
    with locked(path):
        saves = await start(*(store.save_message("c", "u", "user", f"{n}") for n in range(100)))
    await asyncio.gather(*saves)
    assert statements.count("COMMIT") <= 2
    assert await store.count_user_messages("u") == 100


def commits(statements):
    """The level of `PRAGMA synchronous` at each commit."""
    levels, level = [], None
    for statement in statements:
        if statement.startswith("PRAGMA synchronous"):
            level = int(statement[-1])
        elif statement == "COMMIT":
            levels.append(level)
    return levels


@tool
async def look() -> str:
    """Look."""
    return "seen"


LOOKS = '<execute>[{"name": "look", "args": {}}]</execute>'


@pytest.mark.parametrize(
    ("answers", "synced"), [(["Good morning."], 2), ([LOOKS, "Good morning."], 4)]
)
async def test_a_run_waits_for_the_disk_for_its_rows_and_not_for_its_lease(
    store, statements, answers, synced
):
    agent = Agent(ScriptedModel(answers * 2), tools=[look], storage=store)
    for _ in range(2):  # in a new conversation, and in one that is there
        await store.save_message("elsewhere", "u", "user", "makes the file")
        statements.clear()
        result = await agent.run("Hello", conversation_id="c")
        assert result.output == "Good morning."
        levels = commits(statements)
        assert sum(level >= 2 for level in levels if level is not None) <= synced
        assert levels.count(1) == 2, "the lease is taken and given back"
        assert None not in levels[1:]


@pytest.mark.parametrize(
    ("synchronous", "of_a_lease", "of_a_row"),
    [("OFF", 0, 0), ("NORMAL", 1, 1), ("FULL", 1, 2), ("EXTRA", 1, 3)],
)
async def test_a_lease_waits_no_longer_than_was_asked(
    path, statements, synchronous, of_a_lease, of_a_row
):
    async with SQLite(path, synchronous=synchronous) as log:
        async with log.claim("c"):
            await log.append("c", rows=[("user", "hello", 1.0)])
        set_by = [int(each[-1]) for each in statements if each.startswith("PRAGMA synchronous =")]
        assert set_by[-1] == of_a_lease
        assert max(set_by) == of_a_row
        assert len(commits(statements)) == 3


async def test_a_row_that_is_saved_together_with_a_lease_waits_for_the_disk(
    store, path, statements
):
    await store.save_message("c", "u", "user", "makes the file")
    with locked(path):
        [ahead] = await start(store.save_message("c", "u", "user", "ahead"))
        await until(store._database._writer._queue.empty, "the writer has not taken `ahead`")
        statements.clear()
        [save, claim] = await start(
            store.save_message("c", "u", "user", "together"), store.claim("d").take()
        )
    await asyncio.gather(ahead, save, claim)
    assert commits(statements)[-1] in (None, 2)
    assert "PRAGMA synchronous = 1" not in statements


async def test_when_the_queue_is_full_callers_wait_and_nothing_is_dropped(store, path, monkeypatch):
    monkeypatch.setattr(writer, "QUEUE_LIMIT", 4)
    await store.save_message("c", "u", "user", "first", 0.0)
    with locked(path):
        saves = await start(
            *(store.save_message("c", "u", "user", f"{n}", 1.0 + n) for n in range(50))
        )
        for _ in range(20):  # the event loop still runs
            await asyncio.sleep(0)
            assert store._database._writer._queue.qsize() <= 4
        assert not any(save.done() for save in saves)
    await asyncio.gather(*saves)
    expected = ["first"] + [f"{n}" for n in range(50)]
    assert contents(await store.load_messages("c", "u")) == expected


async def test_a_cancelled_save_has_no_effect_or_its_whole_effect(store, path):
    await store.load_messages("c", "u")
    rows = [("c", "u", "user", f"{n}", None) for n in range(3)]
    with locked(path):
        [save] = await start(store.save_messages(rows))
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save
    await store.save_message("c", "u", "user", "after")
    assert await store.count_user_messages("u") in (1, 4)


async def test_a_save_cancelled_before_its_turn_is_not_written(store, path):
    await store.load_messages("c", "u")
    with locked(path):
        [ahead] = await start(store.save_message("c", "u", "user", "ahead"))
        await until(store._database._writer._queue.empty, "the writer has not taken `ahead`")
        [save] = await start(store.save_message("c", "u", "user", "cancelled"))
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save
    await ahead
    await store.save_message("c", "u", "user", "after")
    assert contents(await store.load_messages("c", "u")) == ["ahead", "after"]


async def test_a_save_cancelled_before_the_full_queue_takes_it_is_not_written(
    store, path, monkeypatch
):
    monkeypatch.setattr(writer, "QUEUE_LIMIT", 1)
    await store.load_messages("c", "u")
    with locked(path):
        saves = await start(*(store.save_message("c", "u", "user", f"{n}") for n in range(5)))
        saves[4].cancel()
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    assert isinstance(outcomes.pop(), asyncio.CancelledError)
    assert contents(await store.load_messages("c", "u")) == list("0123")


async def test_cancelling_at_any_moment_leaves_every_save_whole(store):
    chance = random.Random(7)

    async def save(n):
        await store.save_messages([("c", "u", "user", f"{n}", None)] * 3)

    saves = [asyncio.ensure_future(save(n)) for n in range(300)]
    for task in saves:
        if chance.random() < 0.5:
            task.cancel()
        await rounds(1 if chance.random() < 0.9 else 50)
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    found = contents(await store.load_messages("c", "u"))
    for n, outcome in enumerate(outcomes):
        assert found.count(f"{n}") in ((0, 3) if outcome is not None else (3,))
