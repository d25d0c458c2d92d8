"""The cost of whole turns: text in, events out, calls run, everything in the log."""

from __future__ import annotations

import sqlite3
from typing import Any

from figures import Samples
from measure import Bench
from sides import OURS, THEIRS, Nowhere, Package, Tool, block, cut, drain, execution, stream

import cogency_rs

CALLS = 4


def text(size: int) -> str:
    """A turn of about `size` characters with four calls, which take most of it."""
    calls = block([("t", {"text": "x" * (size * 5 // 32)})] * CALLS)
    return f"<think>{'hm ' * (size // 32)}</think>{'So. ' * (size // 16)}{calls}"


async def turn(
    package: Package, chunks: list[str], storage: Any, tools: list[Tool], conversation: str = "c"
) -> None:
    accumulator = package.accumulator("u", conversation, execution=execution(tools, storage))
    await drain(accumulator.process(package.parse_tokens(stream(chunks))))


async def in_memory(bench: Bench, size: int) -> Samples:
    chunks, storage, tools = cut(text(size), 4), Nowhere(), [Tool()]
    return await bench.timed(
        ours=lambda: turn(OURS, chunks, storage, tools),
        cogency=lambda: turn(THEIRS, chunks, storage, tools),
        floor=lambda: drain(stream(chunks)),
    )


async def in_sqlite(bench: Bench, size: int) -> Samples:
    chunks, tools = cut(text(size), 4), [Tool()]
    theirs = THEIRS.sqlite(str(bench.folder / "theirs.db"))
    async with cogency_rs.SQLite(bench.folder / "ours.db", synchronous="FULL") as ours:
        commits = await _commits(chunks, ours, tools)
        log = _Commits(bench.folder / "bare.db")
        try:
            return await bench.timed(
                ours=lambda: turn(OURS, chunks, ours, tools),
                cogency=lambda: turn(THEIRS, chunks, theirs, tools),
                floor=lambda: log.commit(commits),
            )
        finally:
            log.close()


async def _commits(chunks: list[str], storage: Any, tools: list[Tool]) -> int:
    """Count the commits of one turn of ours."""
    statements: list[str] = []
    await storage.save_message("c", "u", "user", "go")
    trace = statements.append
    await storage._database.write(lambda writing: writing.set_trace_callback(trace))
    statements.clear()
    await turn(OURS, chunks, storage, tools)
    await storage._database.write(lambda writing: writing.set_trace_callback(None))
    return statements.count("COMMIT")


class _Commits:
    """Bare commits on an open connection, each of one row."""

    def __init__(self, path: Any) -> None:
        self._log = sqlite3.connect(path, isolation_level=None)
        self._log.execute("PRAGMA journal_mode=WAL")
        self._log.execute("PRAGMA synchronous=FULL")
        self._log.execute("CREATE TABLE rows (text TEXT)")

    def commit(self, count: int) -> None:
        for _ in range(count):
            self._log.execute("INSERT INTO rows VALUES ('a row')")

    def close(self) -> None:
        self._log.close()
