"""Claims in each log that several processes can open: processes wait for one another, are killed, or are stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cogency_rs import Agent
from cogency_rs.errors import BusyError, StorageError
from cogency_rs.storage import claims
from cogency_rs.testing import ScriptedModel
from support.claims import Holder, SharedLog, claimed, outside
from support.waiting import until

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(600)]

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs the processes of POSIX")


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> SharedLog:
    if request.param == "SQLite":
        return SharedLog("SQLite", str(tmp_path / "store.db"))
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    return SharedLog("PostgreSQL", request.getfixturevalue("dsn"))


@pytest.fixture
async def log(shared):
    async with shared.opened() as log:
        yield log


async def test_another_process_is_waited_for(shared, log):
    with Holder(shared) as holder:
        with pytest.raises(BusyError, match="is being run by process") as caught:
            await claimed(log, wait=False)
        assert caught.value.conversation_id == "c"
        waiting = outside(claimed(log))
        assert await asyncio.to_thread(holder.goes_on) == "wrote\n"
        assert await waiting == 2
    assert [row["content"] for row in (await log.read("c")).rows] == ["of the holder"]


@POSIX
async def test_a_process_that_was_killed_leaves_its_claim_at_once(shared, log):
    with Holder(shared) as holder:
        holder.process.kill()
        holder.process.wait()
        assert await claimed(log, wait=False) == 2


@POSIX
async def test_a_process_that_was_stopped_for_too_long_finds_that_it_lost_its_claim(shared, log):
    with Holder(shared) as holder:
        os.kill(holder.process.pid, signal.SIGSTOP)
        with pytest.raises(BusyError):
            await claimed(log, wait=False)
        await shared.expire()
        async with log.claim("c", wait=False) as claim:
            assert claim.number == 2
            await log.append("c", user_id="u", rows=[("user", "ours", 1.0)])
            os.kill(holder.process.pid, signal.SIGCONT)
            assert await asyncio.to_thread(holder.goes_on) == "lost True False\n"
            await log.append("c", user_id="u", rows=[("user", "ours too", 2.0)])
    assert [row["content"] for row in (await log.read("c")).rows] == ["ours", "ours too"]


@POSIX
@pytest.mark.parametrize("hours", [-1, 1])
async def test_processes_whose_clocks_are_an_hour_apart_agree_about_a_lease(dsn, hours):
    """Leases in PostgreSQL are by the database's clock. A file is for the programs of one machine, and its clock."""
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    shared = SharedLog("PostgreSQL", dsn)
    begins = f"import time; now = time.time; time.time = lambda: now() + {hours * 3600}\n"
    async with shared.opened() as log:
        with Holder(shared, begins) as holder:
            with pytest.raises(BusyError):
                await claimed(log, wait=False)
            await shared.expire()
            assert await claimed(log, wait=False) == 2
            assert await asyncio.to_thread(holder.goes_on) == "lost True False\n"


SLEEPS = """
from cogency_rs import Agent, tool
from cogency_rs.testing import ScriptedModel
from support.waiting import until

@tool
async def look() -> str:
    "Is over at once."
    return "seen"

@tool
async def pay() -> str:
    "Is stopped for longer than its lease lasts, and then goes on."
    async def is_known():
        return [call.status for call in await log.calls("c")] == ["ended", "open"]

    await until(is_known, "the result of the other call is not saved")
    print("in the tool", flush=True)
    sys.stdin.readline()
    return "paid"

async def main():
    global log
    async with shared.opened() as log:
        call = '<execute>[{"name": "look", "args": {}}, {"name": "pay", "args": {}}]</execute>'
        agent = Agent(ScriptedModel([call, "Paid."]), tools=[look, pay], storage=log)
        try:
            await agent.run("Pay.", conversation_id="c")
        except StorageError as error:
            print("refused" if "was lost" in str(error) else error, flush=True)

asyncio.run(main())
"""


@POSIX
async def test_a_worker_that_wakes_after_its_lease_changes_nothing_and_its_call_is_unknown(
    shared, log
):
    """Another process has gone on: what it said of the calls stays, and the result that comes late is refused."""
    pipe = subprocess.PIPE
    sleeper = shared.started(SLEEPS, stdin=pipe, stdout=pipe)
    try:
        assert sleeper.stdout is not None
        assert sleeper.stdin is not None
        assert await asyncio.to_thread(sleeper.stdout.readline) == "in the tool\n"
        os.kill(sleeper.pid, signal.SIGSTOP)
        await shared.expire()
        result = await Agent(ScriptedModel(["It is not known."]), storage=log).resume("c")
        assert result.output == "It is not known."
        rows, records = (await log.read("c")).rows, await log.calls("c")
        assert [record.status for record in records] == ["success", "unknown"]
        os.kill(sleeper.pid, signal.SIGCONT)
        sleeper.stdin.write("\n")
        sleeper.stdin.flush()
        assert await asyncio.to_thread(sleeper.stdout.readline) == "refused\n"
    finally:
        sleeper.kill()
        sleeper.communicate()
    assert (await log.read("c")).rows == rows
    assert await log.calls("c") == records


WORKS = """
async def main():
    async with shared.opened() as log:
        for _ in range(15):
            async with log.claim("c"):
                rows = [row["content"] for row in (await log.read("c")).rows]
                await asyncio.sleep(0)
                await log.append("c", user_id="u", rows=[("user", str(len(rows)), float(len(rows)))])

asyncio.run(main())
"""


async def test_four_processes_take_turns(shared, log):
    """Each process reads the log, and writes a row that depends on it: without claims, two would write the same."""
    children = [shared.started(WORKS) for _ in range(4)]
    assert [await asyncio.to_thread(child.wait) for child in children] == [0] * 4
    assert [row["content"] for row in (await log.read("c")).rows] == [str(n) for n in range(60)]
    assert (await shared.lease())[:2] == (60, None)


BEGINS = """
from cogency_rs import Agent
from cogency_rs.errors import OwnerError
from cogency_rs.testing import ScriptedModel
from support.agents import add, adding

async def line():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()

async def main():
    user = await line()
    async with shared.opened() as log:
        await log.owner("")
        print("ready", flush=True)
        while conversation := await line():
            agent = Agent(ScriptedModel([adding(1, 2), user]), tools=[add], storage=log)
            try:
                await agent.run(user, conversation_id=conversation, user_id=user)
            except OwnerError:
                print("refused", flush=True)
            else:
                print("answered", flush=True)

asyncio.run(main())
"""


def told(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def test_of_two_users_who_begin_one_conversation_in_two_processes_exactly_one_has_it(
    shared, log
):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with shared.started(BEGINS, **pipes) as ada, shared.started(BEGINS, **pipes) as bob:
        processes = {"ada": ada, "bob": bob}
        for user, process in processes.items():
            told(process, user)
        assert [said(process) for process in processes.values()] == ["ready"] * 2
        for conversation in (f"c{number}" for number in range(20)):
            for process in processes.values():
                told(process, conversation)
            ended = {said(process): user for user, process in processes.items()}
            assert sorted(ended) == ["answered", "refused"]
            owner, other = ended["answered"], ended["refused"]
            assert await log.owner(conversation) == owner
            rows = (await log.read(conversation)).rows
            assert [row["type"] for row in rows] == ["user", "call", "result", "respond"]
            assert (rows[0]["content"], rows[-1]["content"]) == (owner, owner)
            assert len(await log.calls(conversation)) == 1
            assert (await log.read(conversation, user_id=other)).rows == []
            assert await log.calls(conversation, user_id=other) == []
        for process in processes.values():
            told(process, "")
    assert [process.returncode for process in processes.values()] == [0, 0]
    assert len(await log.conversations()) == 20


async def test_a_lease_is_renewed_while_it_is_held(shared, log, monkeypatch):
    monkeypatch.setattr(claims, "RENEWAL", 0.001)
    async with log.claim("c"):
        first = await shared.lease()

        async def is_renewed() -> bool:
            lease = await shared.lease()
            assert lease[:2] == first[:2]
            return lease.expires_at != first.expires_at

        await until(is_renewed, "the lease is not renewed")
    assert (await shared.lease())[:2] == (1, None)


async def test_deleting_a_conversation_ends_its_run(log):
    async with log.claim("c"):
        await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
        assert await log.delete_conversation("c") == 1
        with pytest.raises(StorageError, match="or the conversation was deleted"):
            await log.append("c", user_id="u", rows=[("user", "too late", 2.0)])
    assert (await log.read("c")).rows == []
