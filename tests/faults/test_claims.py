"""Claims in a SQLite log: their leases, and the processes and event loops that hold them.

What holds in every log that several processes can open is in `test_claims_of_processes.py`.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import SQLite
from cogency_rs.errors import BusyError, StorageError
from cogency_rs.outside import is_gone, machine, worker
from cogency_rs.storage import claims
from cogency_rs.storage.sqlite import log as leases
from support.claims import claimed, outside
from support.waiting import until

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(120)]

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs the processes of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def log(path):
    async with SQLite(path, synchronous="OFF") as log:
        yield log


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def lease(path: Path) -> tuple[Any, ...]:
    with closing(sqlite3.connect(path)) as connection:
        columns = "number, owner, expires_at, worker, machine"
        return connection.execute(f"SELECT {columns} FROM claims").fetchone()


@POSIX
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
async def test_the_child_of_a_fork_does_not_have_its_parent_s_claim(path, log):
    async with log.claim("c"):
        await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
        pid = os.fork()
        if pid == 0:

            async def child() -> bool:
                try:
                    await claimed(log, wait=False)
                except BusyError:
                    return True
                return False

            code = 3
            try:
                loop = asyncio.new_event_loop()
                asyncio.events._set_running_loop(None)
                code = 0 if contextvars.Context().run(loop.run_until_complete, child()) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0  # noqa: ASYNC222
        await log.append("c", user_id="u", rows=[("user", "still ours", 2.0)])


# The lease


async def test_a_renewal_that_finds_another_owner_says_that_the_claim_is_lost(
    path, log, monkeypatch, caplog
):
    monkeypatch.setattr(claims, "RENEWAL", 0.001)
    async with log.claim("c") as claim:
        change(path, "UPDATE claims SET owner = 'another'")
        await until(lambda: claim.is_lost, "the claim is not found lost")
        with pytest.raises(StorageError, match="the claim on conversation 'c' was lost"):
            await log.append("c", user_id="u", rows=[("user", "too late", 1.0)])
    assert "was lost" in caplog.text
    assert lease(path)[1] == "another"  # the lease of another owner is not released


async def test_a_renewal_that_fails_is_tried_again(path, log, monkeypatch, caplog):
    monkeypatch.setattr(claims, "RENEWAL", 0.001)
    renew, failures = leases.FileLeases.renew, []

    def fails_once(self: Any, *args: Any) -> Any:
        if failures:
            return renew(self, *args)
        failures.append(1)
        future = asyncio.get_running_loop().create_future()
        future.set_exception(StorageError("locked", retryable=True))
        return future

    monkeypatch.setattr(leases.FileLeases, "renew", fails_once)
    async with log.claim("c") as claim:
        first = lease(path)
        await until(lambda: lease(path)[2] != first[2], "the lease is not renewed")
        assert not claim.is_lost
    assert "could not be renewed: locked" in caplog.text


async def test_a_lease_of_another_machine_lasts_until_it_expires(path, log):
    await claimed(log)
    change(
        path,
        "UPDATE claims SET owner = 'another', worker = 'far:1', machine = 'far', expires_at = 9e9",
    )
    with pytest.raises(BusyError, match="process far:1"):
        await claimed(log, wait=False)
    waiting = outside(claimed(log))
    change(path, "UPDATE claims SET expires_at = 0")
    assert await waiting == 2


async def test_a_lease_that_nobody_renews_ends_whatever_the_clock_of_its_holder(
    path, log, monkeypatch
):
    """The holder's clock is ahead by decades, and it never gave its lease back."""
    ahead = "UPDATE claims SET owner = 'another', worker = 'far:1', machine = 'far', expires_at = ?"
    await claimed(log)
    change(path, ahead, 9e9)
    now, looks = 0.0, 0

    def monotonic() -> float:
        nonlocal looks
        looks += 1
        return now

    def is_over_later() -> bool:
        nonlocal now
        now += claims.LEASE + 1
        return waiting.done()

    monkeypatch.setattr(leases, "monotonic", monotonic)
    waiting = asyncio.ensure_future(outside(claimed(log)))
    for renewed in range(1, 4):
        before = looks
        await until(lambda before=before: looks > before + 1, "nobody looks whether it is free")
        assert not waiting.done()
        change(path, ahead, 9e9 + renewed)
        now += claims.LEASE - 1
    await until(is_over_later, "the lease never ends")
    assert waiting.result() == 2


async def test_a_lease_that_this_process_did_not_release_is_taken(path, log):
    """The claim is not released, as if that had failed or the event loop had been closed."""
    await claimed(log)
    change(
        path,
        "UPDATE claims SET owner = 'old', worker = ?, machine = ?, expires_at = 9e9",
        worker(),
        machine(),
    )
    assert await claimed(log, wait=False) == 2


async def test_a_claim_that_cannot_be_released_does_not_hide_how_its_block_ended(
    path, log, monkeypatch, caplog
):
    def fails(self: Any, *_: Any) -> Any:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(StorageError("locked", retryable=True))
        return future

    with monkeypatch.context() as patch:
        patch.setattr(leases.FileLeases, "release", fails)
        with pytest.raises(LookupError):
            async with log.claim("c"):
                raise LookupError
    assert await claimed(log, wait=False) == 2
    assert "could not be given back" in caplog.text


async def test_a_storage_that_is_closed_inside_a_claim_leaves_the_claim_to_the_next_storage(path):
    log = SQLite(path)
    async with log.claim("c"):
        await log.close()
    async with SQLite(path) as again:
        assert await claimed(again, wait=False) == 2


# Event loops


def test_a_loop_that_is_closed_inside_a_claim_leaves_the_claim(path):
    log = SQLite(path, synchronous="OFF")

    async def hangs(entered: asyncio.Event) -> None:
        async with log.claim("c"):
            entered.set()
            await asyncio.get_running_loop().create_future()

    async def begin() -> asyncio.Task[None]:
        entered = asyncio.Event()
        run = asyncio.create_task(hangs(entered))
        await entered.wait()
        return run

    loop = asyncio.new_event_loop()
    run = loop.run_until_complete(begin())
    loop.close()
    assert asyncio.run(claimed(log, wait=False)) == 2
    run._log_destroy_pending = False
    del run
    gc.collect()
    assert asyncio.run(claimed(log, wait=False)) == 3
    asyncio.run(log.close())


async def test_a_run_that_is_collected_leaves_its_claim(log):
    claim = log.claim("c")

    async def hangs() -> None:
        async with claim:
            await asyncio.sleep(3600)

    run = hangs()
    future = run.send(None)
    while not claim.number:  # without a task, so that nothing else refers to the run
        await asyncio.wait([future])
        future = run.send(None)
    del run, future
    gc.collect()
    assert await claimed(log) == 2


async def test_a_generator_that_is_closed_leaves_its_claim(log):
    async def runs() -> Any:
        async with log.claim("c"):
            yield 1

    stream = runs()
    await anext(stream)
    await stream.aclose()
    assert await claimed(log, wait=False) == 2


async def test_a_generator_may_be_driven_by_several_tasks(log):
    async def runs() -> Any:
        async with log.claim("c"):
            yield 1
            await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
            yield 2

    stream = runs()
    for expected in (1, 2):
        assert await outside(anext(stream)) == expected
    with pytest.raises(StopAsyncIteration):
        await outside(anext(stream))
    assert await claimed(log, wait=False) == 2


def test_threads_with_loops_of_their_own_take_turns(path):
    log = SQLite(path, synchronous="OFF")
    inside, counts = [], []  # the runs inside the claim, and how many there were after each entry

    async def runs() -> None:
        for _ in range(20):
            async with log.claim("c"):
                inside.append(1)
                counts.append(len(inside))
                await asyncio.sleep(0)
                inside.pop()

    threads = [threading.Thread(target=asyncio.run, args=(runs(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1] * 80
    asyncio.run(log.close())


async def test_runs_that_wait_in_this_process_are_woken_at_once_and_in_order(log, monkeypatch):
    monkeypatch.setattr(claims, "LONGEST_POLL", 3600.0)
    monkeypatch.setattr(claims, "POLL", 3600.0)
    order = []

    async def runs(number: int) -> None:
        async with log.claim("c"):
            order.append(number)

    async with log.claim("c"):
        waiting = [outside(runs(number)) for number in range(5)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == list(range(5))


async def test_a_claim_needs_no_task_of_its_own(log):
    async with log.claim("c"):
        assert asyncio.all_tasks() == {asyncio.current_task()}


# Processes


def test_a_process_is_gone_when_it_has_ended_on_this_machine():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = worker().rpartition(":")[0]
    assert is_gone(f"{host}:{ended.pid}", machine()) == (machine() != "")
    assert not is_gone(worker(), machine())
    assert not is_gone(f"{host}:{ended.pid}", "another machine")
    assert not is_gone(f"{host}:{ended.pid}", "")
    assert not is_gone("no number", machine())
