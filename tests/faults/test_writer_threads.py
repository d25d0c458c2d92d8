"""Threads that write a log and cannot be started, or that end: every call that waits for them fails."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import PostgreSQL, SQLite
from cogency_rs.errors import StorageError
from cogency_rs.storage.postgres import pool

pytestmark = pytest.mark.timeout(60)

FIRST, SECOND = [("user", "first", 1.0)], [("user", "second", 2.0)]

CALLS = {
    "append": lambda log: log.append("c", user_id="u", rows=FIRST),
    "read": lambda log: log.read("c"),
    "calls": lambda log: log.calls("c"),
    "claim": lambda log: log.claim("c").__aenter__(),
    "save_message": lambda log: log.save_message("c", "u", "user", "first"),
    "delete_conversation": lambda log: log.delete_conversation("c"),
}


@pytest.fixture
def no_threads(monkeypatch):
    """As where the system has no thread left."""

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        yield patched


@asynccontextmanager
async def a_log(kind: str, tmp_path: Any) -> AsyncIterator[Any]:
    if kind == "SQLite":
        async with SQLite(tmp_path / "log.db", synchronous="OFF") as log:
            yield log
        return
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    with socket.socket() as bound:  # a port on which no server listens
        bound.bind(("127.0.0.1", 0))
        async with PostgreSQL(f"postgresql://u@127.0.0.1:{bound.getsockname()[1]}/db") as log:
            yield log


async def outcome(work: Any) -> str:
    """What a call comes to, as text; a call that waits for ever ends the test."""
    try:
        await work()
    except StorageError as error:
        return f"{error} (retryable: {error.retryable})"
    return "done"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
async def test_a_thread_that_cannot_be_started_fails_the_call_and_the_next_call_tries_again(
    kind, call, tmp_path, no_threads
):
    async with a_log(kind, tmp_path) as log:
        for _ in range(2):
            failed = await outcome(lambda: CALLS[call](log))
            assert "could not be started (can't start new thread)" in failed
            assert "(retryable: True)" in failed
        no_threads.undo()
        reached = await outcome(lambda: log.append("c", user_id="u", rows=FIRST))
        assert reached == "done" if kind == "SQLite" else "does not answer" in reached


@pytest.mark.usefixtures("postgres")
async def test_a_thread_that_ends_fails_all_that_wait_and_the_next_call_starts_another(
    dsn, monkeypatch, caplog
):
    async with PostgreSQL(dsn) as log:
        await log.append("c", user_id="u", rows=FIRST)
        with monkeypatch.context() as patched:
            patched.setattr(pool, "steps_of", lambda writes: 1 / 0)
            waiting = [log.append("c", user_id="u", rows=SECOND) for _ in range(3)]
            for each in waiting:
                with pytest.raises(StorageError, match=r"ZeroDivisionError.*not known whether"):
                    await each
        await log.append("c", user_id="u", rows=SECOND)
        assert [row["content"] for row in (await log.read("c")).rows] == ["first", "second"]
    assert "The thread that writes the log on" in caplog.text


@pytest.mark.usefixtures("postgres")
async def test_a_user_who_leaves_while_the_thread_ends_does_not_wait_for_it(dsn, monkeypatch):
    log = PostgreSQL(dsn)
    await log.append("c", user_id="u", rows=FIRST)
    monkeypatch.setattr(pool, "steps_of", lambda writes: 1 / 0)
    save = log.append("c", user_id="u", rows=SECOND)
    await asyncio.gather(log.close(), save, return_exceptions=True)
    with pytest.raises(StorageError, match="closed"):
        await log.read("c")


async def test_a_user_who_is_taken_with_the_last_writes_does_not_wait_either(dsn, monkeypatch):
    log = PostgreSQL(dsn)
    await log.append("c", user_id="u", rows=FIRST)
    held, entered, steps_of = threading.Event(), threading.Event(), pool.steps_of

    def fail(writes: Any) -> Any:
        entered.set()
        held.wait(10)
        monkeypatch.setattr(pool, "steps_of", lambda writes: 1 / 0)
        return steps_of(writes)

    monkeypatch.setattr(pool, "steps_of", fail)
    first = log.append("c", user_id="u", rows=SECOND)
    await asyncio.to_thread(entered.wait, 10)  # the thread is at its first write
    save = log.append("c", user_id="u", rows=SECOND)
    closed = asyncio.ensure_future(log.close())
    await asyncio.sleep(0)  # both are in the queue, to be taken together
    held.set()
    async with asyncio.timeout(10):
        await first
        await asyncio.gather(closed, save, return_exceptions=True)
