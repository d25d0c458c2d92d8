"""The cost of the next prompt."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from figures import Samples
from measure import Bench
from sides import CODE, OURS, THEIRS

import cogency_rs

CALLS = [
    {"name": "read", "args": {"file": "src/app/reader.py", "start": 1, "end": 120}},
    {"name": "edit", "args": {"file": "src/app/reader.py", "old": CODE, "new": CODE * 2}},
]
RESULTS = [
    {"tool": "read", "status": "success", "outcome": "Read 120 lines", "content": CODE * 4},
    {"tool": "edit", "status": "success", "content": "Edited"},
]
EXCHANGE = [
    ("user", "Please rename the function, and run the tests again."),
    ("think", "It is used in three places, and one of them is a test. " * 3),
    ("respond", "I read the file first, then I change it. " * 2),
    *(("call", json.dumps(call)) for call in CALLS),
    ("result", json.dumps(RESULTS)),
]
"""The rows of a user's question and of the model's steps after it."""

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
    """Before each run one more event is saved, which is not measured."""
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
