"""Writes logs row by row, with times that the test chooses."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from cogency_rs.calls.record import CallRecord, CallStatus
from cogency_rs.storage.sqlite.connection import connect, connect_to_write
from cogency_rs.storage.sqlite.log import save_calls

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BEGIN = 1_790_000_000.0  # 2026-09-21 14:13:20 UTC

_numbers = count(1)


class Stored(NamedTuple):
    """A row; times are in seconds since `BEGIN`.

    Attributes:
        at: its timestamp.
        saved: when it was saved; by default at its timestamp.
        id: its id; by default a UUID that holds the time when the row was saved.
        call: the record of a call.
    """

    type: str
    content: str
    at: float
    saved: float | None = None
    id: str | None = None
    call: CallRecord | None = None


def call(name: str, **args: Any) -> str:
    """The content of a call."""
    return json.dumps({"name": name, "args": args})


def record(
    name: str,
    position: int,
    began: float | None,
    ended: float | None,
    status: CallStatus = "success",
    *,
    batch: str = "batch",
) -> CallRecord:
    """Make the record of a call; times are in seconds since `BEGIN`."""
    return CallRecord(
        id_of(0.0),
        batch,
        position,
        name,
        status=status,
        attempt=1,
        started_at=None if began is None else BEGIN + began,
        completed_at=None if ended is None else BEGIN + ended,
    )


def success(tool: str, outcome: str | None = None, content: Any = None) -> dict[str, Any]:
    """A success in a results array. cogency 3.3.0 never writes an outcome; earlier versions left out a content."""
    item = {"tool": tool, "status": "success", "outcome": outcome, "content": content}
    return {key: value for key, value in item.items() if value is not None}


def failure(tool: str, message: str) -> dict[str, Any]:
    """A failure in a results array."""
    return {"tool": tool, "status": "failure", "content": message}


def id_of(at: float) -> str:
    """A UUID of version 7, made this many seconds after `BEGIN`."""
    milliseconds, number = round((BEGIN + at) * 1000), next(_numbers)
    return str(uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | number))


def write(
    path: Path, rows: Iterable[Stored], *, conversation: str = "staging", user: str | None = "ada"
) -> Path:
    """Add a conversation to the log at `path`, which is made if it is missing; returns the path.

    If no row has a `call`, the file is as cogency itself makes it.
    """
    rows = list(rows)
    ids = [
        id_of(row.at if row.saved is None else row.saved) if row.id is None else row.id
        for row in rows
    ]
    opened = connect_to_write if any(row.call for row in rows) else connect
    with closing(opened(str(path))) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (id, conversation, user, row.type, row.content, BEGIN + row.at)
                for id, row in zip(ids, rows, strict=True)
            ],
        )
        for id, row in zip(ids, rows, strict=True):
            if row.call is not None:
                begun = row.call._replace(status="open")
                save_calls(connection, [(conversation, user, id, begun)])
                save_calls(connection, [(conversation, user, None, row.call)])
        connection.execute("COMMIT")
    return path


SESSION = [
    Stored("user", "The assistant on staging stops answering. Why?", 0.0),
    Stored("think", "Production works and staging does not: compare the two.", 0.61, 1.24),
    Stored("respond", "I'll see which files there are.\n", 1.25, 1.902),
    Stored("call", call("list", path="config"), 1.9, 1.902),
    Stored(
        "result",
        json.dumps([success("list", "2 entries in config", "production.toml\nstaging.toml")]),
        1.9,
        2.006,
    ),
    Stored("respond", "Both files at once, with the log:\n", 2.55, 4.402),
    Stored("call", call("search", path="logs/staging.log", text="WARN"), 4.4, 4.402),
    Stored("call", call("check", path="config"), 4.4, 4.402),
    Stored("call", call("read", path="config/staging.toml"), 4.4, 4.402),
    Stored("call", call("read", path="CHANGES.md"), 4.4, 4.402),
    Stored(
        "result",
        json.dumps(
            [
                success(
                    "search",
                    '2 of 8 lines hold "WARN"',
                    "09:15:48 WARN answer 414\n09:17:20 WARN answer 415",
                ),
                success("check", content="2 TOML files in config, all valid"),
                success(
                    "read",
                    "config/staging.toml, 3 lines",
                    '[model]\nname = "small-1"\nstop = "</exec>"',
                ),
                failure("read", "CHANGES.md does not exist"),
            ]
        ),
        4.4,
        6.813,
    ),
    Stored("think", "The stop tag.", 7.4, 7.62),
    Stored("respond", "Staging stops at `</exec>` instead of `</execute>`.", 7.63, 8.71),
]
"""The rows of a turn with five calls, one of which fails, as `stream="token"` stores them."""
