"""The next prompt shows the log as it is, whatever program changed it, and in whichever way, since the last prompt."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Memory, PostgreSQL, SQLite
from cogency_rs.storage.queries import check_cursor, read_tail
from cogency_rs.storage.sqlite.connection import connect
from cogency_rs.storage.sqlite.queries import run_query
from cogency_rs.storage.sqlite.schema import upgrade
from support.changed_logs import HAS_COGENCY, Scene, contents

pytestmark = pytest.mark.timeout(120)

ROWS = [("user", "a", 1.0), ("user", "b", 2.0), ("user", "c", 3.0)]


async def filled(log: Any) -> Any:
    """The rows a, b and c in conversation "c", and one in "d"."""
    await log.append("c", user_id="u", rows=ROWS)
    await log.append("d", user_id="u", rows=[("user", "in d", 1.0)])
    return log


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[Scene]:
    path = str(tmp_path / "log.db")
    async with SQLite(path, synchronous="OFF") as log:
        yield Scene(await filled(log), path)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Scene]:
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    async with PostgreSQL(dsn) as log:
        yield Scene(await filled(log), dsn)


Change = tuple[str, list[str], list[str]]
"""What another program does, the statements, and the contents of "c" after them."""

ANYWHERE: list[Change] = [
    ("deletes a row", ["DELETE FROM {}.messages WHERE content = 'b'"], ["a", "c"]),
    ("deletes the last row", ["DELETE FROM {}.messages WHERE content = 'c'"], ["a", "b"]),
    ("deletes every row", ["DELETE FROM {}.messages"], []),
    (
        "changes a row",
        ["UPDATE {}.messages SET content = 'B' WHERE content = 'b'"],
        ["a", "B", "c"],
    ),
    (
        "changes the last row",
        ["UPDATE {}.messages SET content = 'C' WHERE content = 'c'"],
        ["a", "b", "C"],
    ),
    (
        "changes a time",
        ["UPDATE {}.messages SET timestamp = 0.0 WHERE content = 'c'"],
        ["a", "b", "c"],
    ),
    (
        "moves a row to another conversation",
        ["UPDATE {}.messages SET conversation_id = 'new' WHERE content = 'b'"],
        ["a", "c"],
    ),
    (
        "moves a row back again",
        [
            "UPDATE {}.messages SET conversation_id = 'new' WHERE content = 'b'",
            "UPDATE {}.messages SET content = 'B', conversation_id = 'c' WHERE conversation_id = 'new'",
        ],
        ["a", "B", "c"],
    ),
]

COLUMNS = "(message_id, conversation_id, user_id, type, content, timestamp)"
INSERT = f"INSERT INTO messages {COLUMNS} VALUES"

IN_A_FILE: list[Change] = [
    *ANYWHERE,
    ("appends a row", [f"{INSERT} ('m', 'c', 'u', 'user', 'x', 4.0)"], ["a", "b", "c", "x"]),
    ("appends a row of the last time", [f"{INSERT} ('m', 'c', 'u', 'user', 'x', 3.0)"], ["a", "b", "c", "x"]),
    ("appends a row of an older time", [f"{INSERT} ('m', 'c', 'u', 'user', 'x', 1.5)"], ["a", "b", "c", "x"]),
    (
        "appends a row of an older time, ignoring conflicts",
        [f"INSERT OR IGNORE INTO messages {COLUMNS} VALUES ('m', 'c', 'u', 'user', 'x', 1.5)"],
        ["a", "b", "c", "x"],
    ),
    (
        "inserts a row of a smaller number",
        ["INSERT INTO messages (rowid, message_id, conversation_id, user_id, type, content, timestamp)"
         " VALUES (-5, 'm', 'c', 'u', 'user', 'x', 3.0)"],
        ["x", "a", "b", "c"],
    ),
    (
        "writes a row under the number of the one it deleted",
        ["DELETE FROM messages WHERE content = 'in d'", "DELETE FROM messages WHERE content = 'c'",
         f"{INSERT} ('m', 'c', 'u', 'user', 'x', 3.0)"],
        ["a", "b", "x"],
    ),
    (
        "replaces a row",
        [f"INSERT OR REPLACE INTO messages {COLUMNS} SELECT message_id, conversation_id, user_id, type, 'B', timestamp"
         " FROM messages WHERE content = 'b'"],
        ["a", "c", "B"],
    ),
    (
        "replaces a row by one in another conversation",
        [f"REPLACE INTO messages {COLUMNS} SELECT message_id, 'd', user_id, type, 'B', timestamp FROM messages"
         " WHERE content = 'b'"],
        ["a", "c"],
    ),
    (
        "replaces the row of a number",
        ["INSERT OR REPLACE INTO messages (rowid, message_id, conversation_id, user_id, type, content, timestamp)"
         " SELECT rowid, 'm', 'd', user_id, type, 'B', timestamp FROM messages WHERE content = 'b'"],
        ["a", "c"],
    ),
    (
        "inserts a row that is there, changing it",
        [f"INSERT INTO messages {COLUMNS} SELECT message_id, conversation_id, user_id, type, 'B', timestamp"
         " FROM messages WHERE content = 'b' ON CONFLICT (message_id) DO UPDATE SET content = 'B'"],
        ["a", "B", "c"],
    ),
    (
        "replaces a row by giving its id to another",
        ["UPDATE OR REPLACE messages SET message_id = (SELECT message_id FROM messages WHERE content = 'b')"
         " WHERE content = 'in d'"],
        ["a", "c"],
    ),
    (
        "replaces a row by giving its number to another",
        ["UPDATE OR REPLACE messages SET rowid = (SELECT rowid FROM messages WHERE content = 'b')"
         " WHERE content = 'in d'"],
        ["a", "c"],
    ),
    (
        "gives a row another number",
        ["UPDATE messages SET rowid = 99, timestamp = 3.0 WHERE content = 'a'"],
        ["b", "c", "a"],
    ),
    (
        "deletes a row, and lets the file be packed",
        ["DELETE FROM messages WHERE content = 'a'", "VACUUM"],
        ["b", "c"],
    ),
    (
        "drops a trigger and changes a row",
        ["DROP TRIGGER cogency_rs_updated", "UPDATE messages SET content = 'B' WHERE content = 'b'"],
        ["a", "B", "c"],
    ),
    (
        "drops the index of the rows' order",
        ["DROP INDEX cogency_rs_order"],
        ["a", "b", "c"],
    ),
    (
        "makes the table of messages anew, without triggers",
        ["CREATE TABLE copied AS SELECT * FROM messages WHERE content <> 'b'", "DROP TABLE messages",
         "ALTER TABLE copied RENAME TO messages"],
        ["a", "c"],
    ),
]  # fmt: skip

PUT = (
    "INSERT INTO {}.messages (conversation_id, number, message_id, user_id, type, content, timestamp)"
    " VALUES ('%s', %d, 'm', 'u', 'user', 'x', %s)"
)

IN_A_DATABASE: list[Change] = [
    *ANYWHERE,
    ("appends a row", [PUT % ("c", 4, 4.0)], ["a", "b", "c", "x"]),
    ("appends a row of the largest number so far", [PUT % ("c", 1000, 4.0)], ["a", "b", "c", "x"]),
    ("appends a row of an older time", [PUT % ("c", 4, 1.5)], ["a", "b", "c", "x"]),
    ("inserts a row of a smaller number", [PUT % ("c", 0, 4.0)], ["x", "a", "b", "c"]),
    ("inserts a row of a number below zero", [PUT % ("c", -7, 1.5)], ["x", "a", "b", "c"]),
    (
        "writes a row under the number of the one it deleted",
        ["DELETE FROM {}.messages WHERE content = 'c'", PUT % ("c", 3, 3.0)],
        ["a", "b", "x"],
    ),
    ("empties the table", ["TRUNCATE {}.messages"], []),
    (
        "empties the table and writes it anew",
        ["TRUNCATE {}.messages", PUT % ("c", 3, 3.0)],
        ["x"],
    ),
    (
        "disables the triggers while it changes a row",
        [
            "ALTER TABLE {}.messages DISABLE TRIGGER USER",
            "UPDATE {}.messages SET content = 'B' WHERE content = 'b'",
            "ALTER TABLE {}.messages ENABLE TRIGGER USER",
        ],
        ["a", "B", "c"],
    ),
    (
        "disables the triggers and changes a row",
        [
            "ALTER TABLE {}.messages DISABLE TRIGGER USER",
            "UPDATE {}.messages SET content = 'B' WHERE content = 'b'",
        ],
        ["a", "B", "c"],
    ),
    ("deletes the head", ["DELETE FROM {}.conversations WHERE conversation_id = 'c'"], ["a", "b", "c"]),
    (
        "deletes the head and a row",
        ["DELETE FROM {}.conversations", "DELETE FROM {}.messages WHERE content = 'b'"],
        ["a", "c"],
    ),
]  # fmt: skip


def named(changes: list[Change]) -> Any:
    return pytest.mark.parametrize(
        ("statements", "expected"), [pytest.param(*rest, id=name) for name, *rest in changes]
    )


async def notices(scene: Scene, statements: list[str], expected: list[str]) -> None:
    for user in ("", "u"):
        assert await contents(scene.log, "c", user) == ["a", "b", "c"]
    await contents(scene.log, "d")
    await scene.sql(*statements)
    for _ in range(2):
        for user in ("", "u"):
            assert await contents(scene.log, "c", user) == expected
    await scene.check("c", "d", "new")


@named(IN_A_FILE)
async def test_a_prompt_notices_that_another_program_on_the_file(file, statements, expected):
    await notices(file, statements, expected)
    await file.log.append("c", user_id="u", rows=[("user", "next", 5.0)])
    assert await contents(file.log) == [*expected, "next"]


@named(IN_A_DATABASE)
async def test_a_prompt_notices_that_another_program_on_the_database(
    database, statements, expected
):
    await notices(database, statements, expected)


@named([change for change in IN_A_DATABASE if "head" not in change[0]])
async def test_a_database_goes_on_after_another_program(database, statements, expected):
    await database.sql(*statements)
    await database.log.append("c", user_id="u", rows=[("user", "next", 5.0)])
    assert await contents(database.log) == [*expected, "next"]
    await database.log.append("c", user_id="u", rows=[("user", "last", 6.0)])
    assert await contents(database.log) == [*expected, "next", "last"]


async def test_a_deleted_text_does_not_come_back_under_the_number_that_it_had(tmp_path):
    path = str(tmp_path / "log.db")
    async with SQLite(path) as log:
        await log.append("c", rows=[("user", "first", 2.0)])
        await log.append("c", rows=[("user", "deleted", 1.0)])
        assert await contents(log) == ["first", "deleted"]
        await Scene(log, path).sql("DELETE FROM messages WHERE content = 'deleted'")
        await log.append("c", rows=[("user", "new", 1.0)])
        assert await contents(log) == ["first", "new"]


@pytest.mark.skipif(not HAS_COGENCY, reason="cogency is not installed")
async def test_a_row_that_cogency_saves_is_noticed_and_is_news(file):
    cursor = (await file.log.read("c")).cursor
    await file.cogency("c", "u", "user", "x", 4.0)
    page = await file.log.read("c", after=cursor)
    assert ([row["content"] for row in page.rows], page.is_whole) == (["x"], False)
    await file.cogency("c", "u", "user", "y", 1.5)
    page = await file.log.read("c", after=page.cursor)
    assert ([row["content"] for row in page.rows], page.is_whole) == (["y"], False)


@pytest.mark.parametrize("time", [0.5, 3.0, 4.0])
async def test_a_row_that_another_program_appends_to_a_file_does_not_make_the_page_whole(
    file, time
):
    cursor = (await file.log.read("c")).cursor
    await file.sql(f"{INSERT} ('m', 'c', NULL, 'user', 'x', {time})")
    page = await file.log.read("c", after=cursor)
    assert ([row["content"] for row in page.rows], page.is_whole) == (["x"], False)


async def test_a_change_of_one_conversation_leaves_the_pages_of_others(file, database):
    for scene in (file, database):
        cursor = (await scene.log.read("d")).cursor
        await scene.sql("UPDATE {}.messages SET content = 'B' WHERE content = 'b'")
        assert not (await scene.log.read("d", after=cursor)).is_whole


# Backups


async def test_a_backup_that_is_written_into_the_file_is_noticed(file, tmp_path):
    file.back_up(backup := tmp_path / "backup.db")
    for content in ("first", "second"):  # another row of the same id, time and number
        await file.sql(f"{INSERT} ('m1', 'c', 'u', 'user', '{content}', 4.0)")
        await file.sql(f"{INSERT} ('m2', 'c', 'u', 'user', 'last', 5.0)")
        assert await contents(file.log) == ["a", "b", "c", content, "last"]
        file.restore(backup)


async def test_a_backup_that_takes_the_place_of_the_file_is_noticed(file, tmp_path):
    file.back_up(backup := tmp_path / "backup.db")
    for content in ("first", "second"):
        file.replace_file(Path(shutil.copy(backup, tmp_path / "copy.db")))
        await file.sql(f"{INSERT} ('m1', 'c', 'u', 'user', '{content}', 4.0)")
        await file.sql(f"{INSERT} ('m2', 'c', 'u', 'user', 'last', 5.0)")
        assert await contents(file.log) == ["a", "b", "c", content, "last"]


async def test_a_backup_of_rows_that_were_deleted_since_is_noticed(file, tmp_path):
    file.back_up(backup := tmp_path / "backup.db")
    await file.sql("DELETE FROM messages WHERE content = 'a'")
    assert await contents(file.log) == ["b", "c"]
    file.restore(backup)
    await file.sql("DELETE FROM messages WHERE content = 'b'")  # as many changes as before
    assert await contents(file.log) == ["a", "c"]


async def test_a_restored_database_that_gives_numbers_again_is_noticed(database):
    await database.log.append("c", user_id="u", rows=[("user", "lost", 4.0)])
    assert await contents(database.log) == ["a", "b", "c", "lost"]
    # What a restored backup looks like: no trigger has fired, and the head is as it was.
    await database.sql(
        "DO $$ BEGIN SET LOCAL session_replication_role = replica;"
        " DELETE FROM {}.messages WHERE content = 'lost'; UPDATE {}.conversations SET last = 3, latest = 3.0"
        " WHERE conversation_id = 'c'; END $$".replace(
            "{}", '"' + database.place.partition("&schema=")[2] + '"'
        )
    )
    await database.log.append("c", user_id="u", rows=[("user", "new", 4.0)])
    assert await contents(database.log) == ["a", "b", "c", "new"]


# Transactions that are open at the same time


async def test_a_row_of_a_smaller_number_that_is_committed_later_is_noticed(
    database, other_connection
):
    schema = database.place.partition("&schema=")[2]
    await database.sql("DELETE FROM {}.messages WHERE content = 'a'")
    transaction = other_connection.transaction()
    await transaction.start()
    await other_connection.execute((PUT % ("c", 1, 9.0)).format(schema))
    page = await database.log.read("c")
    assert [row["content"] for row in page.rows] == ["b", "c"]
    save = database.log.append("c", user_id="u", rows=[("user", "next", 5.0)])
    await transaction.commit()
    await save
    assert await contents(database.log) == ["x", "b", "c", "next"]
    assert (await database.log.read("c", after=page.cursor)).is_whole


async def test_rows_of_a_transaction_that_is_rolled_back_are_never_shown(
    database, other_connection
):
    schema = database.place.partition("&schema=")[2]
    transaction = other_connection.transaction()
    await transaction.start()
    await other_connection.execute((PUT % ("c", 4, 4.0)).format(schema))
    save = database.log.append("c", user_id="u", rows=[("user", "next", 5.0)])
    assert await contents(database.log) == ["a", "b", "c"]
    await transaction.rollback()
    await save
    assert await contents(database.log) == ["a", "b", "c", "next"]


async def test_a_row_in_the_transaction_of_an_append_is_noticed_too(database, other_connection):
    """An append says for its own rows alone that they are in order."""
    schema = database.place.partition("&schema=")[2]
    cursor = (await database.log.read("c")).cursor
    none = ", ".join(["'{}'"] * 38)
    async with other_connection.transaction():
        await other_connection.execute(f"SELECT {schema}.append('w', 1, {none})")
        await other_connection.execute((PUT % ("c", 4, 1.5)).format(schema))
    page = await database.log.read("c", after=cursor)
    assert ([row["content"] for row in page.rows], page.is_whole) == (["a", "b", "c", "x"], True)


# Files that nothing watches


async def test_a_file_of_plain_cogency_is_read_whole_until_our_first_write(tmp_path):
    path = str(tmp_path / "log.db")
    connect(path).close()  # cogency's tables alone
    async with SQLite(path) as log:
        scene = Scene(log, path)
        await scene.sql(f"{INSERT} ('m', 'c', 'u', 'user', 'x', 1.0)")
        page = await log.read("c", after=(await log.read("c")).cursor)
        assert ([row["content"] for row in page.rows], page.is_whole) == (["x"], True)
        await log.append("d", rows=[("user", "a first write", 1.0)])
        page = await log.read("c", after=(await log.read("c")).cursor)
        assert (page.rows, page.is_whole) == ([], False)


async def test_triggers_that_were_dropped_are_made_again_by_the_next_program(file):
    before = (await file.log.read("c")).cursor
    await file.sql(
        "DROP TRIGGER cogency_rs_inserted", f"{INSERT} ('m', 'c', 'u', 'user', 'x', 1.5)"
    )
    await file.log.close()
    async with SQLite(file.place) as log:
        await log.append("d", rows=[("user", "x", 9.0)])
        page = await log.read("c", after=before)
        contents = [row["content"] for row in page.rows]
        assert (contents, page.is_whole) == (["a", "b", "c", "x"], True)
        assert not (await log.read("c", after=page.cursor)).is_whole


async def test_triggers_that_were_dropped_in_a_database_can_be_made_again(database):
    before = (await database.log.read("c")).cursor
    await database.sql(
        "DROP TRIGGER messages_changed ON {}.messages",
        "UPDATE {}.messages SET content = 'B' WHERE content = 'b'",
        "DELETE FROM {}.schema_version WHERE version >= 4",
    )
    await database.log.close()
    async with PostgreSQL(database.place) as log:
        page = await log.read("c", after=before)
        assert ([row["content"] for row in page.rows], page.is_whole) == (["a", "B", "c"], True)
        assert not (await log.read("c", after=page.cursor)).is_whole


async def test_a_conversation_that_is_deleted_leaves_no_trace_of_its_id(file):
    await file.log.append("a secret name", rows=[("user", "x", 1.0), ("user", "y", 2.0)])
    await file.log.delete_conversation("a secret name")
    with closing(sqlite3.connect(file.place)) as connection:
        found = connection.execute("SELECT conversation_id FROM cogency_rs_revisions ORDER BY 1")
        assert found.fetchall() == [("c",), ("d",)]


# Cost


def instructions(rows: int, times: int) -> int:
    """How many of SQLite's instructions a page without news takes after this many rows of this many times."""
    with closing(connect(":memory:")) as connection:
        upgrade(connection, ":memory:")
        connection.executemany(
            f"{INSERT} (?, 'c', 'u', 'user', 'x', ?)",
            [(str(number), float(number % times)) for number in range(rows)],
        )
        cursor = check_cursor(run_query(connection, read_tail("c", "", None)).cursor)
        count = 0

        def one_more() -> int:
            nonlocal count
            count += 1
            return 0

        connection.set_progress_handler(one_more, 1)
        page = run_query(connection, read_tail("c", "", cursor))
        assert (page.rows, page.is_whole) == ([], False)
        return count


@pytest.mark.parametrize("times", [1, 10**9])
def test_a_page_without_news_costs_the_same_after_any_number_of_rows(times):
    """Also if all rows have one time."""
    few, many = instructions(50, times), instructions(5000, times)
    assert many == few


# A log in memory


async def test_a_conversation_in_memory_that_is_written_anew_is_noticed():
    log = await filled(Memory())
    assert await contents(log) == ["a", "b", "c"]
    await log.delete_conversation("c")
    await log.append("c", rows=[("user", content, time) for _, content, time in ROWS[:2]])
    await log.append("c", rows=[("user", "x", 3.0)])
    assert await contents(log) == ["a", "b", "x"]


async def test_the_cursor_of_another_log_in_memory_gives_the_whole_conversation():
    first, second = await asyncio.gather(filled(Memory()), filled(Memory()))
    page = await second.read("c", after=(await first.read("c")).cursor)
    assert (len(page.rows), page.is_whole) == (3, True)
