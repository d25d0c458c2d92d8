"""The file of a SQLite log: its schema, its journal, and how other programs read and change it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from cogency_rs import SQLite
from cogency_rs.errors import ConfigError
from support.log_files import contents, select

SCHEMA = """
events
    event_id TEXT PRIMARY KEY
    conversation_id TEXT NOT NULL
    type TEXT NOT NULL
    content TEXT NOT NULL
    timestamp REAL NOT NULL
  idx_events_conversation (conversation_id, timestamp)
messages
    message_id TEXT PRIMARY KEY
    conversation_id TEXT NOT NULL
    user_id TEXT
    type TEXT NOT NULL
    content TEXT NOT NULL
    timestamp REAL NOT NULL
  idx_messages_conversation (conversation_id, timestamp)
  idx_messages_type (type)
  idx_messages_user (user_id)
  idx_messages_user_type (user_id, type, timestamp)
profiles
    user_id TEXT NOT NULL PRIMARY KEY
    version INTEGER NOT NULL PRIMARY KEY
    data TEXT NOT NULL
    created_at REAL NOT NULL
    char_count INTEGER NOT NULL
  idx_profiles_cleanup (created_at)
  idx_profiles_user_latest (user_id, version DESC)
"""


async def test_the_schema_is_the_one_cogency_knows(store, path):
    await store.count_user_messages("u")
    lines = []
    for (table,) in select(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"):
        lines.append(table)
        for _, name, kind, not_null, _, key in select(path, f"PRAGMA table_info({table})"):
            lines.append(f"    {name} {kind}{' NOT NULL' * not_null}{' PRIMARY KEY' * bool(key)}")
        for _, index, _, origin, _ in sorted(select(path, f"PRAGMA index_list({table})")):
            if origin == "c":  # made by CREATE INDEX
                columns = [
                    name + " DESC" * descending
                    for _, _, name, descending, _, key in select(
                        path, f"PRAGMA index_xinfo({index})"
                    )
                    if key
                ]
                lines.append(f"  {index} ({', '.join(columns)})")
    expected = SCHEMA.strip().splitlines()
    assert sorted(lines) == sorted(expected)


@pytest.mark.parametrize("first", ["save", "load"])
async def test_the_first_call_makes_directories_file_and_tables(path, first):
    async with SQLite(path) as store:
        assert not path.parent.exists()
        if first == "save":
            await store.save_message("c", "u", "user", "hello")
        else:
            assert await store.load_messages("c", "u") == []
        assert select(path, "SELECT COUNT(*) FROM profiles") == [(0,)]


async def test_db_path_is_absolute_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert SQLite().db_path == str(tmp_path.resolve() / ".cogency" / "store.db")
    assert SQLite("x.db").db_path == str(tmp_path.resolve() / "x.db")
    assert SQLite(Path("x.db")).db_path == str(tmp_path.resolve() / "x.db")
    assert SQLite(":memory:").db_path == ":memory:"
    assert list(tmp_path.iterdir()) == []


async def test_the_journal_is_a_wal(store, path):
    await store.save_message("c", "u", "user", "hello")
    assert select(path, "PRAGMA journal_mode") == [("wal",)]


async def test_rows_outlive_the_storage(path):
    async with SQLite(path) as store:
        await store.save_message("c", "u", "user", "hello")
    async with SQLite(path) as store:
        assert contents(await store.load_messages("c", "u")) == ["hello"]


async def test_a_row_of_another_program_is_seen_at_once(store, path):
    await store.save_message("c", "u", "user", "ours", 1.0)
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp)"
        " VALUES ('x', 'c', 'u', 'user', 'theirs', 2.0)"
    )
    connection.commit()
    connection.close()
    assert contents(await store.load_messages("c", "u")) == ["ours", "theirs"]


async def test_a_file_that_was_deleted_is_made_again(store, path):
    await store.save_message("c", "u", "user", "old")
    await store.load_messages("c", "u")
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    await store.save_message("c", "u", "user", "new")
    assert select(path, "SELECT content FROM messages") == [("new",)]
    assert contents(await store.load_messages("c", "u")) == ["new"]


async def synchronous_of(store):
    return await store._database.write(lambda connection: connection.synchronous)


@pytest.mark.parametrize(("name", "level"), [("OFF", 0), ("NORMAL", 1), ("FULL", 2), ("EXTRA", 3)])
async def test_synchronous_sets_the_level_of_the_connection(path, name, level):
    async with SQLite(path, synchronous=name) as store:
        assert await store._database.write(
            lambda connection: connection.execute("PRAGMA synchronous").fetchone()
        ) == (level,)


async def test_synchronous_is_full_unless_asked(store):
    assert await synchronous_of(store) == 2


async def test_the_safest_synchronous_on_one_file_is_in_force(path):
    async with SQLite(path, synchronous="OFF") as fast:
        assert await synchronous_of(fast) == 0
        async with SQLite(path) as safe:
            assert await synchronous_of(safe) == 2
            assert await synchronous_of(fast) == 2


@pytest.mark.parametrize("value", ["full", "", "SAFE", 2, None])
def test_an_unknown_synchronous_is_a_config_error(value):
    with pytest.raises(
        ConfigError, match='synchronous must be "OFF" or "NORMAL" or "FULL" or "EXTRA", got'
    ):
        SQLite(":memory:", synchronous=value)


async def test_each_object_in_memory_has_its_own_rows(path):
    async with SQLite(":memory:") as one, SQLite(":memory:") as two:
        await one.save_message("c", "u", "user", "hello")
        assert contents(await one.load_messages("c", "u")) == ["hello"]
        assert await two.load_messages("c", "u") == []
