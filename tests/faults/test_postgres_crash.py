"""The log in PostgreSQL, when processes, connections and servers fail while it is written."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cogency_rs import Accumulator, Execution, PostgreSQL, parse_tokens
from cogency_rs.errors import StorageError
from cogency_rs.storage.postgres import pool
from support.postgres_server import ask
from support.programs import started
from support.turns_until_killed import CALLS, TEXT, Tool, reports_until_killed
from support.waiting import until

asyncpg = pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("postgres")]

KILL_ROUNDS = int(os.environ.get("COGENCY_RS_KILL_ROUNDS", "5"))


@pytest.fixture
async def log(dsn):
    async with PostgreSQL(dsn) as log:
        yield log


def run_together(code: str, dsn: str, number: int) -> None:
    """Run a program `number` times at once, each with its own number, and check that all end without an error."""
    children = [started(code, dsn, name) for name in range(number)]
    assert [child.wait() for child in children] == [0] * number


async def check(dsn: str, acknowledged: Counter[tuple[str, str]]) -> None:
    """Check that no acknowledged row was lost or doubled, and that a batch with results has one for each call."""
    async with PostgreSQL(dsn) as log:
        names = {name for name, _ in acknowledged}
        for name in names:
            rows = (await log.read(name)).rows
            stored = Counter(row["type"] for row in rows)
            for type in ("user", "call", "result"):
                assert stored[type] >= acknowledged[name, type], (name, type)
            records = await log.calls(name)
            assert len(records) == stored["call"]
            assert stored["call"] % len(CALLS) == 0
            # A call that ended while others ran has its result in its record until the batch has its own.
            ended = [record for record in records if record.status == "ended"]
            assert all(record.result is not None for record in ended)
            assert len(ended) <= len(CALLS) * (stored["user"] - stored["result"])
            settled = [record for record in records if record.status not in ("open", "ended")]
            results = [json.loads(row["content"]) for row in rows if row["type"] == "result"]
            assert all(len(batch) == len(CALLS) for batch in results)
            assert len(settled) == len(CALLS) * len(results)
            assert stored["result"] <= stored["call"] // len(CALLS) <= stored["user"]
    twice = "SELECT message_id FROM {}.messages GROUP BY message_id HAVING count(*) > 1"
    assert await ask(dsn, twice) == []
    gaps = """
        SELECT conversation_id FROM {0}.conversations AS c LEFT JOIN {0}.messages AS m USING (conversation_id)
        GROUP BY conversation_id, c.last HAVING count(m.number) <> c.last OR coalesce(max(m.number), 0) <> c.last
    """
    assert await ask(dsn, gaps) == []


# Processes that are killed


def test_after_a_kill_every_acknowledged_row_is_there_and_every_call_has_one_result(dsn):
    acknowledged: Counter[tuple[str, str]] = Counter()
    for generation in range(KILL_ROUNDS):
        acknowledged += reports_until_killed("PostgreSQL", dsn, generation)
    asyncio.run(check(dsn, acknowledged))


# Connections that are cut, and servers that are killed


async def talk(log: PostgreSQL, name: str, turns: int, acknowledged: Counter[Any]) -> None:
    turn = Accumulator("u", name, execution=Execution(storage=log, tools=[Tool()]), on_busy="wait")
    for number in range(turns):
        await log.append(name, user_id="u", rows=[("user", f"{number}", time.time())])
        acknowledged[name, "user"] += 1
        async for event in turn.process(parse_tokens(TEXT)):
            if event["type"] in ("call", "result"):
                acknowledged[name, event["type"]] += 1


async def talk_while(
    log: PostgreSQL, times: int, fault: Callable[[], Awaitable[Any]]
) -> Counter[Any]:
    """Let ten conversations go on while `fault` happens `times` times; returns the rows that were acknowledged."""
    acknowledged: Counter[Any] = Counter()
    talks = asyncio.gather(*(talk(log, f"c{number}", 15, acknowledged) for number in range(10)))
    chance = random.Random(times)
    for _ in range(times):
        # The log recovers before the next fault.
        after = acknowledged.total() + chance.randrange(1, 30)
        await until(
            lambda after=after: acknowledged.total() >= after or talks.done(),
            "the log does not recover",
        )
        await fault()
    await talks
    return acknowledged


CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'cogency-rs' AND pid <> pg_backend_pid()
"""


async def test_connections_that_are_cut_cost_nothing_but_time(dsn, log):
    acknowledged = await talk_while(log, 2 * KILL_ROUNDS, lambda: ask(dsn, CUT))
    await check_all(dsn, acknowledged)


async def test_a_server_that_is_killed_and_started_again_costs_nothing_but_time(dsn, log, postgres):
    async def kill() -> None:
        await asyncio.to_thread(postgres.kill)
        await asyncio.to_thread(postgres.start)

    acknowledged = await talk_while(log, 3, kill)
    await check_all(dsn, acknowledged)


async def check_all(dsn: str, acknowledged: Counter[Any]) -> None:
    """Check that all turns ran to their end, with each row once."""
    assert acknowledged.total() == 10 * 15 * (1 + 4 + 1)
    await check(dsn, acknowledged)
    [(rows,)] = await ask(dsn, "SELECT count(*) FROM {}.messages")
    assert rows == 10 * 15 * (1 + 1 + 1 + 4 + 1)


async def test_a_server_that_stays_away_is_a_retryable_error_until_it_is_back(
    dsn, log, postgres, monkeypatch
):
    monkeypatch.setattr(pool, "PATIENCE", 0.1)
    await log.append("c", user_id="u", rows=[("user", "before", 1.0)])
    postgres.kill()
    try:
        for work in (
            lambda: log.append("c", user_id="u", rows=[("user", "meanwhile", 2.0)]),
            lambda: log.read("c"),
            lambda: log.delete_conversation("d"),
        ):
            with pytest.raises(StorageError, match="check that the server runs") as caught:
                await work()
            assert caught.value.retryable
    finally:
        postgres.start()
    await log.append("c", user_id="u", rows=[("user", "after", 3.0)])
    contents = [row["content"] for row in (await log.read("c")).rows]
    assert contents in (["before", "after"], ["before", "meanwhile", "after"])


async def test_an_append_whose_answer_was_lost_is_not_done_twice(dsn, log, monkeypatch):
    """The connection breaks after the database has committed, before the program learns of it."""
    carry_out = pool.WriteStep.carry_out
    lost = []

    async def loses_the_answer(self: Any, connection: Any, address: Any) -> None:
        await carry_out(self, connection, address)
        if len(lost) < 3:
            lost.append(self.author)
            raise ConnectionResetError("cut")

    await log.append("c", user_id="u", rows=[("user", "before", 1.0)])
    monkeypatch.setattr(pool.WriteStep, "carry_out", loses_the_answer)
    await log.append("c", user_id="u", rows=[("user", "once", 2.0)])
    assert len(set(lost)) == 1, "every attempt has the same author"
    assert [row["content"] for row in (await log.read("c")).rows] == ["before", "once"]


async def test_a_statement_that_cannot_be_repeated_is_not_tried_twice(dsn, log, monkeypatch):
    carry_out = pool.WriteStep.carry_out

    async def loses_the_answer(self: Any, connection: Any, address: Any) -> None:
        await carry_out(self, connection, address)
        raise ConnectionResetError("cut")

    await log.save_profile("u", {"who": "A"})
    with monkeypatch.context() as patch:
        patch.setattr(pool.WriteStep, "carry_out", loses_the_answer)
        with pytest.raises(StorageError, match="whether this was saved is not known") as caught:
            await log.save_profile("u", {"who": "B"})
    assert caught.value.retryable
    assert [row[0] for row in await ask(dsn, "SELECT count(*) FROM {}.profiles")] == [2]


# Claims


async def test_a_lost_claim_fails_only_the_saves_that_need_it(dsn, log):
    async with log.claim("c"):
        await ask(dsn, "UPDATE {}.conversations SET lease_owner = 'another'")
        saves = [
            log.append(id, user_id="u", rows=[("user", id, 1.0)])
            for id in ("a", "b", "c", "d", "c", "e")
        ]
        outcomes = await asyncio.gather(*saves, return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes] == [
        *["NoneType"] * 2,
        "StorageError",
        "NoneType",
        "StorageError",
        "NoneType",
    ]
    assert [one.conversation_id for one in await log.conversations()] == ["e", "d", "b", "a"]


# Several programs


WRITES = """
import asyncio, sys
from cogency_rs import PostgreSQL

async def main(dsn, name):
    async with PostgreSQL(dsn) as log:
        for number in range(20):
            await asyncio.gather(*(
                log.append(f"c{n}", user_id="u", rows=[("user", f"{name} {number}", 1.0)]) for n in range(5)
            ))

asyncio.run(main(*sys.argv[1:]))
"""


def test_programs_that_begin_at_once_make_the_tables_once_and_lose_nothing(dsn):
    run_together(WRITES, dsn, 4)

    async def read() -> list[list[str]]:
        async with PostgreSQL(dsn) as log:
            return [
                [row["content"] for row in (await log.read(f"c{number}")).rows]
                for number in range(5)
            ]

    for contents in asyncio.run(read()):
        for name in range(4):
            own = [content for content in contents if content.split()[0] == str(name)]
            assert own == [f"{name} {number}" for number in range(20)]
        assert len(contents) == 80


async def test_a_reader_in_another_program_misses_no_row_of_several_writers(dsn, log):
    writing = asyncio.ensure_future(asyncio.to_thread(run_together, WRITES, dsn, 3))
    cursor, seen = None, list[str]()
    while True:
        over = writing.done()
        page = await log.read("c0", after=cursor)
        assert page.is_whole == (cursor is None or not seen)
        seen += [row["content"] for row in page.rows]
        cursor = page.cursor
        if over:
            break
    await writing
    assert sorted(seen) == sorted(f"{name} {number}" for name in range(3) for number in range(20))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
async def test_after_a_fork_parent_and_child_both_go_on(dsn, log):
    await log.append("c", user_id="u", rows=[("user", "before", 1.0)])
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            loop = asyncio.new_event_loop()
            asyncio.events._set_running_loop(None)
            loop.run_until_complete(append_row(log, "of the child", 2.0))
            code = 0
        finally:
            os._exit(code)
    status = await asyncio.to_thread(os.waitpid, pid, 0)
    assert os.waitstatus_to_exitcode(status[1]) == 0
    await log.append("c", user_id="u", rows=[("user", "of the parent", 3.0)])
    contents = [row["content"] for row in (await log.read("c")).rows]
    assert contents == ["before", "of the child", "of the parent"]


async def append_row(log: PostgreSQL, content: str, timestamp: float) -> None:
    await log.append("c", user_id="u", rows=[("user", content, timestamp)])


ENDS = """
import asyncio, sys
from cogency_rs import PostgreSQL

async def main(dsn, name):
    log = PostgreSQL(dsn)
    for number in range(100):
        log.append("c", user_id="u", rows=[("user", str(number), float(number))])

asyncio.run(main(*sys.argv[1:]))
"""


async def test_saves_under_way_when_a_program_ends_are_completed(dsn, log):
    await asyncio.to_thread(run_together, ENDS, dsn, 1)
    assert len((await log.read("c")).rows) == 100
