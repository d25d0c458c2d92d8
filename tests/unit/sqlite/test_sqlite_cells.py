"""Cells of a file in which another program has written something of another type: each is a clear `StorageError`."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, SQLite, tool
from cogency_rs.errors import CogencyError, StorageError
from cogency_rs.storage import Part
from cogency_rs.testing import ScriptedModel
from support import commands
from support.agents import calls

pytestmark = pytest.mark.timeout(120)

BYTES = b"\xff\xfe\x00"
ODD: list[Any] = [BYTES, "a word", 1.5, None]


@tool(requires_approval=True)
async def pay(euros: int) -> str:
    """Pay."""
    return "paid"


async def fill(path: str) -> None:
    """A log with a row in every table."""
    async with SQLite(path) as log:
        asked = calls("pay")
        first = Agent(ScriptedModel([asked]), tools=[pay], storage=log)
        await first.run("Pay", conversation_id="c")
        answered = Agent(ScriptedModel(["Hello"]), storage=log)
        await answered.run("Hi", conversation_id="d")
        await answered.fork("d", new_id="f")
        row = ("user", "see", 9.0, (Part("image", "image/png", b"x", 0),))
        await log.append("d", rows=[row])
        await log.save_event("d", "metric", '{"step": {}}')
        await log.save_profile("u", {"who": "x"})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.db"
    asyncio.run(fill(str(path)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("UPDATE claims SET owner = 'gone', worker = 'gone:1'")
        connection.commit()
    return path


def cells(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        return [
            (table, column)
            for (table,) in tables
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")
        ]


def spoil(path: Path, table: str, column: str, value: Any) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in names.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        try:
            connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        except sqlite3.Error:
            return False  # the table refuses it
        connection.commit()
    return True


async def operations(path: Path) -> dict[str, Exception]:
    """What each operation on the log raises."""
    raised: dict[str, Exception] = {}
    log = SQLite(str(path))
    model = ScriptedModel(lambda request: "ok")
    mine = Agent(model, tools=[pay], storage=log)
    did: dict[str, Callable[[], Awaitable[Any]]] = {
        "read": lambda: log.read("c"),
        "newest": lambda: log.newest("d", limit=2),
        "calls": lambda: log.calls("c"),
        "open calls": lambda: log.open_calls("c"),
        "unsettled": log.unsettled_calls,
        "conversations": log.conversations,
        "origin": lambda: log.origin("f"),
        "owner": lambda: log.owner("c"),
        "messages": lambda: log.load_messages("c", ""),
        "metric": lambda: log.load_latest_metric("d"),
        "profile": lambda: log.load_profile("u"),
        "pending": mine.pending,
        "settle": lambda: mine.settle("c", "no such call", "x"),
        "fork": lambda: mine.fork("d"),
        "resume": lambda: mine.resume("c"),
        "run": lambda: mine.run("And?", conversation_id="d"),
        "run of the other": lambda: mine.run("And?", conversation_id="c"),
    }
    for name, work in did.items():
        try:
            await work()
        except Exception as error:
            raised[name] = error
    await log.close()
    return raised


async def test_no_cell_of_any_table_raises_anything_but_a_clear_error(whole, tmp_path):
    tried = 0
    for table, column in cells(whole):
        for value in ODD:
            path = tmp_path / f"{table} {column} {ODD.index(value)}.db"
            shutil.copy(whole, path)
            if not spoil(path, table, column, value):
                continue
            tried += 1
            for name, error in (await operations(path)).items():
                is_documented = name in ("profile", "metric") and isinstance(error, ValueError)
                assert isinstance(error, CogencyError) or is_documented, (
                    f"{table}.{column} = {value!r}: {name} raises {error!r}"
                )
            path.unlink()
    assert tried > 60


LOCATED = [
    ("messages", "content", "read"),
    ("messages", "type", "run"),
    ("messages", "user_id", "owner"),
    ("calls", "name", "calls"),
    ("calls", "batch", "resume"),
    ("calls", "status", "calls"),
    ("calls", "attempt", "pending"),
    ("calls", "started_at", "pending"),
    ("calls", "decision", "resume"),
    ("calls", "digest", "calls"),
    ("claims", "number", "resume"),
    ("claims", "expires_at", "run"),
    ("claims", "worker", "run"),
    ("profiles", "data", "profile"),
    ("events", "content", "metric"),
    ("events", "content", "origin"),
    ("cogency_rs_parts", "data", "newest"),
    ("cogency_rs_parts", "at", "newest"),
]


@pytest.mark.parametrize(("table", "column", "operation"), LOCATED)
async def test_the_error_says_where_the_cell_is_and_what_to_do(
    whole, tmp_path, table, column, operation
):
    path = tmp_path / "log.db"
    shutil.copy(whole, path)
    value: Any = "a word" if column == "data" and table != "profiles" else BYTES
    assert spoil(path, table, column, value)
    error = (await operations(path))[operation]
    assert isinstance(error, StorageError)
    said = str(error)
    assert f"in table {table}, row " in said
    assert f"the column {column} has " in said
    assert "correct that value or delete the row" in said


@pytest.mark.parametrize("value", [BYTES, "yesterday", float("inf")], ids=["bytes", "text", "inf"])
async def test_a_time_of_a_message_that_no_clock_shows_is_0(whole, tmp_path, value):
    path = tmp_path / "log.db"
    shutil.copy(whole, path)
    assert spoil(path, "messages", "timestamp", value)
    async with SQLite(str(path)) as log:
        assert {row["timestamp"] for row in (await log.read("c")).rows} == {0.0}


@pytest.mark.parametrize("command", ["show", "doctor", "settle"])
@pytest.mark.parametrize("column", ["content", "timestamp", "type"])
def test_commands_on_such_a_file_say_so_in_one_line(whole, tmp_path, command, column):
    path = tmp_path / "log.db"
    shutil.copy(whole, path)
    assert spoil(path, "messages", column, BYTES)
    arguments = [command, str(path)] + (["c", "id", "--result", "x"] if command == "settle" else [])
    ended = commands.run(*arguments)
    assert "Traceback" not in ended.out + ended.err
