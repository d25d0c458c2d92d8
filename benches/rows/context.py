"""The cost of the next prompt."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from figures import Samples
from measure import Bench
from sides import OURS, THEIRS

import cogency_rs

CALL = json.dumps({"name": "t", "args": {"text": "x" * 100}})
EXCHANGE = [("user", "hello"), ("think", "hm"), ("respond", "so"), ("call", CALL), ("result", "[]")]
NEWEST = (
    "SELECT type, content FROM messages WHERE conversation_id = 'c' ORDER BY timestamp DESC LIMIT 1"
)


def events(count: int) -> list[dict[str, Any]]:
    exchange = [{"type": kind, "content": content} for kind, content in EXCHANGE]
    return [dict(event) for event in exchange * (count // len(exchange))]


async def to_messages(bench: Bench, count: int) -> Samples:
    log = events(count)
    return await bench.timed(
        ours=lambda: _discard(OURS.to_messages(log)),
        cogency=lambda: _discard(THEIRS.to_messages(log)),
        floor=lambda: _discard([{"role": e["type"], "content": e["content"]} for e in log]),
    )


def _discard(_: Any) -> None:
    pass


async def assemble_next(bench: Bench, count: int) -> Samples:
    """One more event is saved, outside the time taken, before each."""
    path = bench.folder / "log.db"
    theirs = THEIRS.sqlite(str(path))
    whole = {"history_window": None, "history_transform": None, "profile_enabled": False}
    async with cogency_rs.SQLite(path) as ours:
        for _ in range(count // len(EXCHANGE)):
            await ours.save_messages([("c", "u", *event, None) for event in EXCHANGE])

        with closing(sqlite3.connect(path)) as bare:
            messages = await OURS.assemble("u", "c", tools=[], storage=ours, **whole)

            def newest() -> None:
                bare.execute(NEWEST).fetchall()
                _discard([dict(message) for message in messages])

            return await bench.timed(
                before=lambda: ours.save_message("c", "u", "respond", "more"),
                ours=lambda: OURS.assemble("u", "c", tools=[], storage=ours, **whole),
                cogency=lambda: THEIRS.assemble("u", "c", tools=[], storage=theirs, **whole),
                floor=newest,
            )
