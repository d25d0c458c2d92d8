"""What it costs that each call is durable by itself, in a file and in a database.

The floor is the same log, told of results when their batch is over, as all logs once were.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import count
from typing import Any, Literal, NamedTuple

from figures import Samples
from measure import Bench
from sides import block, drain, execution

import cogency_rs

from .postgres import serving
from .turns import commits_in

CALLS = 8
"""Calls of a batch."""

TURNS = 100
"""Turns whose rows and bytes are counted."""

How = Literal["together", "apart"]
"""Whether the calls of a batch end at once, or a millisecond apart."""

_names = count()


class Counts(NamedTuple):
    """What a log has taken so far."""

    commits: int
    rows: int
    bytes: int


Sides = dict[str, tuple[Any, Callable[[], Awaitable[Counts]]]]
"""The log of each side, and what counts what it takes."""


@cogency_rs.tool
async def work(n: int) -> str:
    """End after n milliseconds."""
    await asyncio.sleep(n / 1000)
    return "x" * 100


async def _turn(log: Any, how: How) -> None:
    calls = block([("work", {"n": n if how == "apart" else 1}) for n in range(CALLS)])
    turn = cogency_rs.Accumulator("u", f"c{next(_names)}", execution=execution([work], log))
    await drain(turn.process(cogency_rs.parse_tokens(calls)))


@asynccontextmanager
async def files(bench: Bench) -> AsyncIterator[Sides]:
    """Both logs in SQLite, on disk."""
    paths = [bench.folder / f"{next(_names)}.db" for _ in range(2)]
    ours, floor = (cogency_rs.SQLite(path, synchronous="FULL") for path in paths)
    floor.is_durable = False
    async with ours, floor:
        for log in (ours, floor):
            await _turn(log, "together")  # makes the tables
        with (
            closing(sqlite3.connect(paths[0], isolation_level=None)) as one,
            closing(sqlite3.connect(paths[1], isolation_level=None)) as other,
        ):

            async def counted(path: Any, reader: sqlite3.Connection) -> Counts:
                [rows] = reader.execute(
                    "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM calls)"
                ).fetchone()
                [size] = reader.execute(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                ).fetchone()
                return Counts(commits_in(path), rows, size)

            yield {
                "ours": (ours, partial(counted, paths[0], one)),
                "floor": (floor, partial(counted, paths[1], other)),
            }


@asynccontextmanager
async def tables(bench: Bench) -> AsyncIterator[Sides]:
    """Both logs in PostgreSQL, on a server that waits for the disk."""
    import asyncpg

    with serving() as server:
        dsn = server.address
        ours, floor = (cogency_rs.PostgreSQL(f"{dsn}&schema={name}") for name in ("ours", "floor"))
        vars(floor)["is_durable"] = False
        connection = await asyncpg.connect(dsn)

        async def counted(schema: str) -> Counts:
            names = [f"{schema}.{table}" for table in ("messages", "calls")]
            rows = [await connection.fetchval(f"SELECT count(*) FROM {name}") for name in names]
            sizes = [
                await connection.fetchval(f"SELECT pg_total_relation_size('{name}')")
                for name in names
            ]
            # Asking takes the number of a transaction, too.
            last = await connection.fetchval("SELECT pg_current_xact_id()::text::bigint")
            _asked[0] += 1
            return Counts(last - _asked[0], sum(rows), sum(sizes))

        _asked = [0]
        try:
            async with ours, floor:
                for log in (ours, floor):
                    await _turn(log, "together")
                yield {
                    "ours": (ours, partial(counted, "ours")),
                    "floor": (floor, partial(counted, "floor")),
                }
        finally:
            await connection.close()


Where = Callable[[Bench], Any]


async def seconds(bench: Bench, where: Where, how: How) -> Samples:
    """Seconds a call."""
    async with where(bench) as sides:
        logs = {side: partial(_turn, log, how) for side, (log, _) in sides.items()}
        samples = await bench.timed(**logs)
    return {side: [each / CALLS for each in found] for side, found in samples.items()}


async def commits(bench: Bench, where: Where, how: How) -> Samples:
    """Commits of a turn."""
    samples: dict[str, list[float]] = {}
    async with where(bench) as sides:
        for side, (log, counted) in sides.items():
            samples[side] = []
            for _ in range(bench.rounds):
                before = await counted()
                await _turn(log, how)
                samples[side].append((await counted()).commits - before.commits)
    return samples


async def size(bench: Bench, where: Where, of: Literal["rows", "bytes"]) -> Samples:
    """Rows or bytes of the log, for each call."""
    samples: dict[str, list[float]] = {}
    async with where(bench) as sides:
        for side, (log, counted) in sides.items():
            before = await counted()
            for _ in range(TURNS):
                await _turn(log, "apart")
            after = await counted()
            samples[side] = [(getattr(after, of) - getattr(before, of)) / (TURNS * CALLS)]
    return samples
