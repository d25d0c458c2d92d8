"""What a fork costs, in each log, next to reading the rows and appending them to another conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from figures import Samples
from measure import Bench

import cogency_rs

from .postgres import serving

ROWS = [
    ("user", "Which of our services has a problem?", 1.0),
    ("call", '{"name": "check", "args": {"service": "web"}}', 1.0),
    ("result", '[{"tool": "check", "status": "success", "content": "12 ms"}]', 1.0),
    ("respond", "None: each answers within 12 ms.", 1.0),
]
"""A turn."""

_names = count()


@asynccontextmanager
async def memory(bench: Bench) -> AsyncIterator[Any]:
    yield cogency_rs.Memory(max_bytes=None)


@asynccontextmanager
async def file(bench: Bench) -> AsyncIterator[Any]:
    async with cogency_rs.SQLite(bench.folder / "forks.db", synchronous="FULL") as log:
        yield log


@asynccontextmanager
async def tables(bench: Bench) -> AsyncIterator[Any]:
    with serving() as server:
        async with cogency_rs.PostgreSQL(server.address) as log:
            yield log


async def fork(bench: Bench, where: Callable[[Bench], Any], turns: int) -> Samples:
    """Seconds of a fork of a whole conversation."""
    async with where(bench) as log:
        rows = [(kind, text, float(turn)) for turn in range(turns) for kind, text, _ in ROWS]
        await log.append("talk", user_id="u", rows=rows)

        async def forked() -> None:
            new = f"fork {next(_names)}"
            await log.fork("talk", new, user_id="u", rows=len(rows))
            await log.delete_conversation(new)

        async def copied() -> None:
            new = f"copy {next(_names)}"
            found = (await log.read("talk")).rows
            taken = [(each["type"], each["content"], each["timestamp"]) for each in found]
            await log.append(new, user_id="u", rows=taken)
            await log.delete_conversation(new)

        return await bench.timed(ours=forked, floor=copied)
