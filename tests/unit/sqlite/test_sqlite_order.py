"""The order of a SQLite log is that of its commits; an old file is numbered once, by the times read before."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import SQLite
from cogency_rs.storage import Part, queries
from cogency_rs.storage.rows import END_OF_TIME
from cogency_rs.storage.sqlite import log as sqlite_log
from cogency_rs.storage.sqlite.queries import words_of
from support.changed_logs import HAS_COGENCY, Scene
from support.log_files import select
from support.programs import environment, program

pytestmark = pytest.mark.timeout(60)

VERSION_5 = Path(__file__).resolve().parents[2] / "support" / "sqlite_version_5.sql"
COLUMNS = "(message_id, conversation_id, user_id, type, content, timestamp)"

# Saved in this order. Those of "c" are read as 0, 1, 2, …; a program may have written any value as a time.
OLD: list[tuple[str | None, str, str, Any]] = [
    ("m1", "c", "2", 1_790_000_000.0),
    ("m2", "c", "0", 0.0),
    ("m3", "d", "in order", 1.0),
    ("m4", "c", "5", "no number"),
    (None, "c", "1", 1_700_000_000.0),
    ("m6", "c", "3", 1_790_000_000.0),
    ("m7", "d", "in order too", 2.0),
    ("m8", "c", "4", 4_102_444_800.0),
]
CALLS = """
INSERT INTO calls (conversation_id, call_id, batch, position, name, status, attempt) VALUES
    ('c', 'call_0', 'b1', 0, 't', 'success', 1),
    ('c', '01a22434-fdb7-7794-a959-1454c3dedf8b', 'b1', 1, 't', 'success', 1),
    ('c', '01a22434-fdb7-7794-a959-1454c3dedf8c', 'b2', 0, 't', 'success', 1),
    ('d', '01a22434-fdb7-7794-a959-1454c3dedf8c', 'b3', 0, 't', 'open', 1)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.db")


@pytest.fixture
def old(path: str) -> str:
    """A file of the version before."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_5.read_text(encoding="utf-8"))
        connection.executemany(
            f"INSERT INTO messages {COLUMNS} VALUES (?, ?, 'u', 'user', ?, ?)", OLD
        )
        connection.execute(CALLS)
        connection.commit()
    return path


async def contents(log: SQLite, conversation: str = "c") -> list[str]:
    rows = (await log.read(conversation)).rows
    positions = [row["position"] for row in rows]
    assert positions == sorted(set(positions))
    return [row["content"] for row in rows]


async def test_an_old_file_is_read_by_time_until_it_is_written_and_in_the_same_order_after(old):
    before = select(old, "SELECT * FROM messages ORDER BY message_id")
    async with SQLite(old) as log:
        assert await contents(log) == list("012345")
        newest = await log.newest("c", limit=2)
        assert [(row["content"], row["position"]) for row in newest.rows] == [("4", 5), ("5", 6)]
        assert [row["content"] for row in await log.load_messages("c", "u")] == list("012345")
        assert select(old, "SELECT MAX(version) FROM cogency_rs_version") == [(5,)]
        await log.append("c", user_id="u", rows=[("user", "6", 1.0)])
        assert await contents(log) == list("0123456")
        assert [row["content"] for row in await log.load_messages("c", "u")] == list("0123456")
        assert await contents(log, "d") == ["in order", "in order too"]
    old_rows = "SELECT * FROM messages WHERE content <> '6' ORDER BY message_id"
    assert [row[:6] for row in select(old, old_rows)] == before
    numbers = select(old, "SELECT rowid FROM messages WHERE conversation_id = 'd' ORDER BY 1")
    assert numbers == [(3,), (7,)], "rows of a conversation in order stay where they are"
    [(timestamp,)] = select(old, "SELECT timestamp FROM messages WHERE content = '6'")
    assert 4_102_444_800.0 < timestamp < 4_102_444_801.0, "above all times that are numbers"


async def test_the_ids_of_providers_are_moved_once(old):
    async with SQLite(old) as log:
        await log.append("e", rows=[("user", "a write", 1.0)])
        found = [(call.id, call.provider_id) for id in "cd" for call in await log.calls(id)]
    ours, repeated = (f"01a22434-fdb7-7794-a959-1454c3dedf8{end}" for end in "bc")
    assert found == [("b1-0", "call_0"), (ours, None), ("b2-0", repeated), ("b3-0", repeated)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_an_upgrade_that_is_killed_leaves_the_file_as_it_was(old):
    program_text = """
import os, signal
from cogency_rs.storage.sqlite import schema

async def main(path):
    *others, last = schema.STEPS
    def killed(connection):
        last(connection)
        os.kill(os.getpid(), signal.SIGKILL)
    schema.STEPS = (*others, killed)
    await SQLite(path).append("c", rows=[("user", "lost", 1.0)])

asyncio.run(main(sys.argv[1]))
"""
    before = select(old, "SELECT rowid, * FROM messages ORDER BY rowid")
    ended = subprocess.run(program(program_text, old), env=environment(), check=False)
    assert ended.returncode == -signal.SIGKILL
    assert select(old, "SELECT rowid, * FROM messages ORDER BY rowid") == before
    assert select(old, "SELECT MAX(version) FROM cogency_rs_version") == [(5,)]

    async def go_on() -> None:
        async with SQLite(old) as log:
            await log.append("c", user_id="u", rows=[("user", "6", 1.0)])
            assert await contents(log) == list("0123456")

    asyncio.run(go_on())


@pytest.mark.skipif(not HAS_COGENCY, reason="cogency is not installed")
async def test_rows_of_cogency_come_where_they_were_committed(path):
    async with SQLite(path) as log:
        scene = Scene(log, path)
        await scene.cogency("c", "u", "user", "1", 50.0)
        await log.append("c", user_id="u", rows=[("respond", "2", 10.0)])
        await scene.cogency("c", "u", "user", "3", 100.0)
        await log.append("c", user_id="u", rows=[("respond", "4", 20.0), ("user", "5", 200.0)])
        assert await contents(log) == list("12345")
        by_time = "SELECT content FROM messages WHERE conversation_id = 'c' ORDER BY timestamp"
        assert [content for (content,) in select(path, by_time)] == list("12345")
        await scene.cogency("c", "u", "user", "6", 60.0)  # by a clock of its own
        assert await contents(log) == list("123456")


async def test_times_that_no_clock_shows_are_ignored(path):
    async with SQLite(path) as log:
        await log.append("c", user_id="u", rows=[("user", "a", 5.0)])
        with closing(sqlite3.connect(path)) as connection:
            connection.executemany(
                f"INSERT INTO messages {COLUMNS} VALUES (?, 'c', 'u', 'user', 'odd', ?)",
                [("1", "text"), ("2", float("inf")), ("3", 1.79e12), ("4", b"\0"), ("5", -1e300)],
            )
            connection.commit()
        await log.append("c", user_id="u", rows=[("user", "b", 1.0), ("user", "c", END_OF_TIME)])
        await log.append("c", user_id="u", rows=[("user", "d", 5.0)])
        rows = {row["content"]: row for row in (await log.read("c")).rows}
        assert rows["b"]["timestamp"] == pytest.approx(5.000001)
        assert rows["b"]["written_at"] == 1.0
        assert rows["d"]["timestamp"] == pytest.approx(5.000002)
        assert list(rows) == ["a", "odd", "b", "c", "d"]


async def test_positions_may_have_holes(path):
    async with SQLite(path) as log:
        for content in "abcdef":
            await log.append("c", user_id="u", rows=[("user", content, 1.0)])
            await log.append("d", user_id="u", rows=[("user", content, 1.0)])
        cursor = (await log.read("c")).cursor
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DELETE FROM messages WHERE content IN ('b', 'c', 'f')")
            assert await contents(log) == list("ade")
            connection.execute("VACUUM")
        page = await log.read("c", after=cursor)
        assert ([row["content"] for row in page.rows], page.is_whole) == (list("ade"), True)
        await log.append("c", user_id="u", rows=[("user", "g", 1.0)])
        assert await contents(log) == list("adeg")


async def test_parts_of_a_row_that_anybody_deletes_are_deleted(path):
    async with SQLite(path) as log:
        row = ("user", "hello", 1.0, (Part("image", "image/png", b"x", 0),))
        await log.append("c", user_id="u", rows=[row, row])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM messages WHERE rowid = 1")
        assert connection.execute("SELECT COUNT(*) FROM cogency_rs_parts").fetchone() == (1,)


@pytest.mark.parametrize("is_analyzed", [False, True])
async def test_rows_are_found_by_our_index_and_not_sorted(path, is_analyzed):
    async with SQLite(path) as log:
        rows = [("user", str(number), float(number)) for number in range(300)]
        for conversation in ("a", "b", "c"):
            await log.append(conversation, user_id="u", rows=rows)
    values = {"1": "c", "2": 5, "3": "u", "4": 10}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if is_analyzed:
            connection.execute("ANALYZE")
        words = words_of(connection)
        for query in (queries.NEWER, queries.NEWEST, queries.PARTS_OF_ROWS, queries.OWNER):
            query = query.format_map(words)
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
            assert any("cogency_rs_order" in step for step in plan), (query, plan)
            assert not any("TEMP B-TREE" in step for step in plan), (query, plan)
        latest = f"EXPLAIN QUERY PLAN {sqlite_log._LATEST}"
        [step] = [row[3] for row in connection.execute(latest, ("c",))]
        assert "COVERING INDEX idx_messages_conversation" in step


async def test_a_table_that_was_made_anew_without_our_column_gets_it_again(path):
    async with SQLite(path) as log:
        await log.append("c", user_id="u", rows=[("user", "a", 2.0), ("user", "b", 1.0)])
    names = COLUMNS.strip("()")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            f"CREATE TABLE copied AS SELECT {names} FROM messages; DROP TABLE messages;"
            "ALTER TABLE copied RENAME TO messages;"
        )
    async with SQLite(path) as log:
        await log.append("c", user_id="u", rows=[("user", "c", 1.0)])
        assert await contents(log) == ["a", "b", "c"]
