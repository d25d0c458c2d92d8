"""The cost of whole turns: text in, events out, calls run, everything in the log."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from figures import Samples
from measure import Bench
from sides import (
    OURS,
    THEIRS,
    Nowhere,
    Package,
    Tool,
    block,
    cut,
    drain,
    execution,
    one_event_each,
    stream,
)

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


async def in_token_mode(bench: Bench, size: int) -> Samples:
    chunks, storage = cut("word " * (size // 5), 4), Nowhere()

    def turn(package: Package) -> Any:
        turn = package.accumulator("u", "c", execution=execution([], storage), stream="token")
        return turn.process(package.parse_tokens(stream(chunks), **package.token_mode))

    return await bench.timed(
        ours=lambda: drain(turn(OURS)),
        cogency=lambda: drain(turn(THEIRS)),
        floor=lambda: drain(one_event_each(chunks)),
    )


async def in_sqlite(bench: Bench, size: int) -> Samples:
    chunks, tools = cut(text(size), 4), [Tool()]
    count = (await commits(bench, size))["ours"][0]
    theirs = THEIRS.sqlite(str(bench.folder / "theirs.db"))
    async with cogency_rs.SQLite(bench.folder / "ours.db", synchronous="FULL") as ours:
        with closing(sqlite3.connect(bench.folder / "bare.db", isolation_level=None)) as bare:
            bare.execute("PRAGMA journal_mode=WAL")
            bare.execute("PRAGMA synchronous=FULL")
            bare.execute("CREATE TABLE log (row TEXT)")

            def commit() -> None:
                for _ in range(count):
                    bare.execute("INSERT INTO log VALUES ('a row')")

            return await bench.timed(
                ours=lambda: turn(OURS, chunks, ours, tools),
                cogency=lambda: turn(THEIRS, chunks, theirs, tools),
                floor=commit,
            )


async def commits(bench: Bench, size: int) -> dict[str, list[int]]:
    """How many commits one turn takes."""
    chunks, tools = cut(text(size), 4), [Tool()]
    counts = {}
    for side, package in (("ours", OURS), ("cogency", THEIRS)):
        path = bench.folder / f"{side}-commits.db"
        storage = package.sqlite(str(path))
        await storage.save_message("c", "u", "user", "go")
        with closing(sqlite3.connect(path)) as reader:
            reader.execute(
                "SELECT 1 FROM messages"
            ).fetchone()  # a reader, which keeps the WAL from now on
            before = commits_in(path)
            await turn(package, chunks, storage, tools)
            counts[side] = [commits_in(path) - before]
        if package is OURS:
            await storage.close()
    return counts


def commits_in(path: Path) -> int:
    """Count the commits in the write-ahead log of a database."""
    wal = path.with_name(f"{path.name}-wal").read_bytes()
    return sum(1 for pages in _frames(wal) if pages) if wal else 0


def _frames(wal: bytes) -> Iterator[int]:
    """For each frame, how many pages the database has after its commit; 0 if the frame does not end a commit."""
    page_size, salt = struct.unpack_from(">8xI4x8s", wal)
    for start in range(32, len(wal), 24 + page_size):
        pages, its_salt = struct.unpack_from(">4xI8s", wal, start)
        if its_salt != salt:
            return  # a frame from before the log was reset
        yield pages
