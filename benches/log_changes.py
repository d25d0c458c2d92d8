"""Measures what it costs that a log notices every change: appends with and without triggers, and reads without news.

    python benches/log_changes.py

Both sides of a row are measured in turn, so that another program slows both alike; the ratio is that of their medians.
Appends to SQLite are measured by the processor's time and do not wait for the disk, which would hide the triggers.
Rows in PostgreSQL need the server that the tests use.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from cogency_rs import Memory, PostgreSQL, SQLite
from support.postgres_server import NoServerError, Server, ask

ROUNDS = 400
LENGTHS = (50, 5_000, 50_000)
BATCHES = (1, 10, 100)


Clock = Callable[[], float]


async def seconds(work: Callable[[], Awaitable[Any]], clock: Clock = time.perf_counter) -> float:
    start = clock()
    await work()
    return clock() - start


async def appends(name: str, watched: Any, unwatched: Any, clock: Clock) -> None:
    for count in BATCHES:
        samples: tuple[list[float], list[float]] = ([], [])
        for number in range(ROUNDS):
            rows = [("respond", "x" * 200, float(number)) for _ in range(count)]
            for log, taken in zip((watched, unwatched), samples, strict=True):
                conversation = f"{count} {number % 10}"
                taken.append(
                    await seconds(lambda: log.append(conversation, user_id="u", rows=rows), clock)  # noqa: B023
                )
        with_triggers, without = map(statistics.median, samples)
        print(
            f"{name}, append {count:3} rows: {with_triggers * 1e6:7.0f} us, without triggers {without * 1e6:7.0f} us,"
            f" ratio {with_triggers / without:.2f}"
        )


async def reads(name: str, log: Any) -> None:
    first = 0.0
    for length in LENGTHS:
        conversation = f"of {length}"
        for start in range(0, length, 1_000):
            rows = [
                ("respond", "x" * 100, float(number))
                for number in range(start, min(length, start + 1_000))
            ]
            await log.append(conversation, user_id="u", rows=rows)
        cursor = (await log.read(conversation)).cursor
        taken = statistics.median(
            [await seconds(lambda: log.read(conversation, after=cursor)) for _ in range(ROUNDS)]  # noqa: B023
        )
        first = first or taken
        print(
            f"{name}, read without news after {length:6,} rows: {taken * 1e6:7.0f} us, {taken / first:.2f} of the first"
        )


def drop_triggers(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")


async def in_sqlite(folder: Path) -> None:
    paths = folder / "watched.db", folder / "unwatched.db"
    watched, unwatched = (SQLite(path, synchronous="OFF") for path in paths)
    async with watched, unwatched:
        for log in (watched, unwatched):
            await log.append("c", rows=[("user", "x", 1.0)])
        drop_triggers(paths[1])
        await appends("SQLite, processor", watched, unwatched, time.process_time)
    async with SQLite(folder / "reads.db", synchronous="OFF") as log:
        await reads("SQLite", log)


async def in_postgres() -> None:
    try:
        server = Server()
    except NoServerError as error:
        print(f"PostgreSQL is left out: {error}")
        return
    try:
        dsns = [f"{server.address}&schema={name}" for name in ("watched", "unwatched")]
        async with PostgreSQL(dsns[0]) as watched, PostgreSQL(dsns[1]) as unwatched:
            for log in (watched, unwatched):
                await log.append("c", rows=[("user", "x", 1.0)])
            for trigger in ("inserted", "changed", "deleted", "truncated"):
                await ask(dsns[1], f"DROP TRIGGER messages_{trigger} ON {{}}.messages")
            await appends("PostgreSQL, fsync=off", watched, unwatched, time.perf_counter)
            await reads("PostgreSQL", watched)
    finally:
        server.remove()


async def main() -> None:
    await reads("Memory", Memory())
    with TemporaryDirectory() as folder:
        await in_sqlite(Path(folder))
    await in_postgres()


if __name__ == "__main__":
    asyncio.run(main())
