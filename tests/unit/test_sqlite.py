"""What the SQLite log promises a program that uses it in peace; faults are in `faults/`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from cogency_rs import ids
from cogency_rs.errors import ConfigError, StorageError
from cogency_rs.storage import SQLite, writer
from cogency_rs.storage.connection import connect_to_write

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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a" / "b" / "store.db"


@pytest.fixture
async def store(path):
    async with SQLite(path) as store:
        yield store


@pytest.fixture(params=["file", "memory"])
async def log(request, path):
    """A storage of either kind, for what both must do alike."""
    async with SQLite(path if request.param == "file" else ":memory:") as store:
        yield store


@contextlib.contextmanager
def locked(path):
    """Another program's open write transaction on `path`."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def select(path, query, *values):
    """Ask the file itself, as another program would."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def writer_threads():
    return [thread for thread in threading.enumerate() if thread.name == "cogency-writer"]


async def start(*coroutines):
    """Start tasks and let each run until it waits."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def until(true):
    """Wait, at most some seconds, for what another thread is about to do."""
    for _ in range(5000):
        if true():
            return
        await asyncio.sleep(0.001)
    pytest.fail("it did not happen")


def contents(messages):
    return [message["content"] for message in messages]


# Messages


async def test_a_message_comes_back_as_type_content_timestamp(log):
    await log.save_message("c", "u", "user", "hello", 12.5)
    assert await log.load_messages("c", "u") == [
        {"type": "user", "content": "hello", "timestamp": 12.5}
    ]


async def test_a_message_without_timestamp_gets_the_time_of_the_call(log):
    before = time.time()
    await log.save_message("c", "u", "user", "hello")
    [message] = await log.load_messages("c", "u")
    assert before <= message["timestamp"] <= time.time()


@pytest.mark.parametrize("content", ["", "  \n", "héé 漢字 🦀", "nul \0 inside", "x" * 1_000_000])
async def test_content_is_kept_to_the_character(log, content):
    await log.save_message("c", "u", "user", content)
    assert contents(await log.load_messages("c", "u")) == [content]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["q1", "t1", "a1", "q2", "a2"]),
        ({"user_id": "v"}, ["other"]),
        ({"user_id": ""}, ["q1", "t1", "a1", "other", "q2", "a2"]),
        ({"user_id": None}, ["q1", "t1", "a1", "other", "q2", "a2"]),
        ({"conversation_id": "none"}, []),
        ({"include": ["user"]}, ["q1", "q2"]),
        ({"include": ["user", "respond"]}, ["q1", "a1", "q2", "a2"]),
        ({"include": []}, ["q1", "t1", "a1", "q2", "a2"]),
        ({"exclude": ["user", "think"]}, ["a1", "a2"]),
        ({"exclude": []}, ["q1", "t1", "a1", "q2", "a2"]),
        ({"include": ["user"], "exclude": ["user"]}, ["q1", "q2"]),
        ({"limit": 2}, ["q2", "a2"]),
        ({"limit": 2, "include": ["user", "think"]}, ["t1", "q2"]),
        ({"limit": 0}, []),
        ({"limit": 99}, ["q1", "t1", "a1", "q2", "a2"]),
    ],
)
async def test_load_messages_selects(log, arguments, expected):
    await log.save_messages(
        [
            ("c", "u", "respond", "a2", 6.0),  # saved first, newest by its timestamp
            ("c", "u", "user", "q1", 1.0),
            ("c", "u", "think", "t1", 2.0),
            ("c", "u", "respond", "a1", 3.0),
            ("c", "v", "user", "other", 4.0),
            ("c", "u", "user", "q2", 5.0),
            ("d", "u", "user", "elsewhere", 1.0),
        ]
    )
    arguments = {"conversation_id": "c", "user_id": "u"} | arguments
    assert contents(await log.load_messages(**arguments)) == expected


async def test_rows_of_one_timestamp_keep_the_order_they_were_saved_in(log):
    for n in range(6):
        await log.save_message("c", "u", "user", f"{n}", 1.0)
    assert contents(await log.load_messages("c", "u")) == list("012345")
    assert contents(await log.load_messages("c", "u", limit=2)) == list("45")
    assert contents(await log.load_messages_by_conversation_id("c", 2)) == list("54")
    assert await log.load_user_messages("u") == list("012345")


async def test_saves_started_together_keep_the_order_they_were_started_in(log):
    await asyncio.gather(*(log.save_message("c", "u", "user", f"{n}", 1.0) for n in range(100)))
    assert contents(await log.load_messages("c", "u")) == [f"{n}" for n in range(100)]


async def test_load_messages_by_conversation_id_gives_user_messages_newest_first(log):
    await log.save_messages(
        [("c", "u", "user", "one", 1.0), ("c", "v", "user", "two", 2.0), ("c", "u", "call", "", 3)]
    )
    assert await log.load_messages_by_conversation_id("c", 5) == [
        {"timestamp": 2.0, "content": "two"},
        {"timestamp": 1.0, "content": "one"},
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["one", "two", "three"]),
        ({"since_timestamp": 1.0}, ["two", "three"]),
        ({"since_timestamp": 3.0}, []),
        ({"limit": 2}, ["one", "two"]),
        ({"since_timestamp": 1.0, "limit": 1}, ["two"]),
        ({"user_id": "nobody"}, []),
    ],
)
async def test_user_messages_are_loaded_and_counted_over_all_conversations(
    log, arguments, expected
):
    await log.save_messages(
        [
            ("c", "u", "user", "one", 1.0),
            ("d", "u", "user", "two", 2.0),
            ("c", "u", "respond", "answer", 2.5),
            ("c", "u", "user", "three", 3.0),
            ("c", "v", "user", "other", 3.0),
        ]
    )
    arguments = {"user_id": "u"} | arguments
    assert await log.load_user_messages(**arguments) == expected
    if "limit" not in arguments:
        assert await log.count_user_messages(**arguments) == len(expected)


@pytest.mark.parametrize(
    ("query", "arguments", "expected"),
    [
        ("rust", {}, ["Rust and rust", "rust, newer", "rust, older"]),
        ("RUST", {}, ["Rust and rust", "rust, newer", "rust, older"]),
        ("rust", {"limit": 1}, ["Rust and rust"]),
        ("rust", {"exclude_conversation_id": "d"}, ["rust, newer", "rust, older"]),
        ("rust", {"exclude_conversation_id": ""}, ["Rust and rust", "rust, newer", "rust, older"]),
        ("rust", {"user_id": "v"}, ["rust of another"]),
        ("python zebra", {}, ["python"]),
        ("zebra", {}, []),
        ("' OR 1=1 --", {}, []),
        ("", {}, []),
        (" \t\n", {}, []),
        ("rust " * 3000, {"limit": 1}, ["Rust and rust"]),
    ],
)
async def test_search_messages_finds_the_best_match_first(log, query, arguments, expected):
    await log.save_messages(
        [
            ("c", "u", "user", "rust, older", 1.0),
            ("c", "u", "user", "rust, newer", 2.0),
            ("d", "u", "user", "Rust and rust", 0.5),
            ("d", "u", "user", "python", 3.0),
            ("d", "v", "user", "rust of another", 3.0),
            ("d", "u", "respond", "rust, not by the user", 4.0),
        ]
    )
    arguments = {"user_id": "u", "exclude_conversation_id": None} | arguments
    matches = await log.search_messages(query, **arguments)
    assert [match.content for match in matches] == expected


async def test_a_match_names_its_conversation_and_time(log):
    await log.save_message("c", "u", "user", "hello", 1.5)
    [match] = await log.search_messages("hell", "u", None, 3)
    assert match == ("hello", 1.5, "c")
    assert match._fields == ("content", "timestamp", "conversation_id")


# Several at once


async def test_save_messages_returns_the_ids_in_order(store, path):
    saved = await store.save_messages([("c", "u", "user", f"{n}", None) for n in range(5)])
    rows = select(path, "SELECT message_id FROM messages ORDER BY rowid")
    assert [(id,) for id in saved] == rows
    assert saved == sorted(saved)


async def test_save_messages_without_rows_does_nothing(log):
    assert await log.save_messages([]) == []


async def test_save_messages_saves_all_or_none(log):
    with pytest.raises(StorageError, match="refused a value"):
        await log.save_messages([("c", "u", "user", "fine", 1.0), ("c", "u", "user", None, 2.0)])
    assert await log.load_messages("c", "u") == []


# Events


async def test_save_event_writes_one_row(store, path):
    id = await store.save_event("c", "note", "text", 1.5)
    assert select(path, "SELECT * FROM events") == [(id, "c", "note", "text", 1.5)]


@pytest.mark.parametrize("response", ["answer", None])
async def test_save_request_writes_an_event_with_both_sides(store, path, response):
    id = await store.save_request("c", "u", '[{"role": "user"}]', response, 1.5)
    [(*row, content)] = select(
        path, "SELECT event_id, conversation_id, type, timestamp, content FROM events"
    )
    assert row == [id, "c", "request", 1.5]
    assert json.loads(content) == {"messages": '[{"role": "user"}]', "response": response}


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ([], None),
        ([""], None),
        (["{}"], {}),
        (['{"total": {"n": 2}, "step": {"n": 1}}'], {"step": {"n": 1}, "total": {"n": 2}}),
        (['{"step": {"n": 1}, "total": null, "other": 3}'], {"step": {"n": 1}}),
        (['{"step": {"n": 1}}', '{"step": {"n": 2}}'], {"step": {"n": 2}}),
    ],
)
async def test_load_latest_metric(log, stored, expected):
    for content in stored:
        await log.save_event("c", "metric", content, 1.0)
    await log.save_event("c", "request", '{"step": {"n": 9}}', 2.0)
    assert await log.load_latest_metric("c") == expected


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ("null", "Expected dict, got NoneType"),
        ("[]", "Expected dict, got list"),
        ('{"step": 1}', "Field 'step' must be dict, got int"),
        ('{"total": []}', "Field 'total' must be dict, got list"),
        ("{", "Expecting property name"),
    ],
)
async def test_a_metric_of_another_shape_is_a_value_error(log, stored, message):
    await log.save_event("c", "metric", stored)
    with pytest.raises(ValueError, match=message):
        await log.load_latest_metric("c")


# Profiles


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({}, {}),
        ({"who": "me", "style": "", "focus": "f"}, {"who": "me", "style": "", "focus": "f"}),
        ({"_meta": {"n": 1}, "misc": "m", "interests": "i"}, None),
        ({"who": None, "unknown": 1, "misc": "m"}, {"misc": "m"}),
    ],
)
async def test_a_profile_comes_back_with_the_fields_it_may_have(log, profile, expected):
    await log.save_profile("u", profile)
    assert await log.load_profile("u") == (profile if expected is None else expected)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ([], "Expected dict, got list"),
        ({"who": 1}, "Field 'who' must be str, got int"),
        ({"_meta": "x"}, "Field '_meta' must be dict, got str"),
    ],
)
async def test_a_profile_of_another_shape_is_a_value_error(log, profile, message):
    await log.save_profile("u", profile)
    with pytest.raises(ValueError, match=message):
        await log.load_profile("u")


async def test_a_profile_that_json_cannot_hold_is_a_type_error(log):
    with pytest.raises(TypeError):
        await log.save_profile("u", {"who": object()})


async def test_the_newest_profile_counts_and_older_ones_are_kept(store, path):
    for who in ("first", "second"):
        await store.save_profile("u", {"who": who})
    assert await store.load_profile("u") == {"who": "second"}
    assert select(path, "SELECT version, data, char_count FROM profiles ORDER BY version") == [
        (1, '{"who": "first"}', 16),
        (2, '{"who": "second"}', 17),
    ]


async def test_profiles_saved_together_get_a_version_each(store, path):
    await asyncio.gather(*(store.save_profile("u", {"who": f"{n}"}) for n in range(50)))
    versions = select(path, "SELECT version FROM profiles ORDER BY version")
    assert versions == [(n,) for n in range(1, 51)]


async def test_delete_profile_returns_how_many_versions_there_were(log):
    await log.save_profile("v", {})
    for _ in range(3):
        await log.save_profile("u", {})
    assert [await log.delete_profile("u"), await log.delete_profile("u")] == [3, 0]
    assert await log.load_profile("u") == {}


# The file


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
    connection.execute("INSERT INTO messages VALUES ('x', 'c', 'u', 'user', 'theirs', 2.0)")
    connection.commit()
    connection.close()
    assert contents(await store.load_messages("c", "u")) == ["ours", "theirs"]


async def test_a_file_that_was_deleted_is_begun_anew(store, path):
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
async def test_synchronous_is_as_asked(path, name, level):
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
    with pytest.raises(ConfigError, match="choose one of OFF, NORMAL, FULL, EXTRA"):
        SQLite(":memory:", synchronous=value)


async def test_memory_belongs_to_its_object(path):
    async with SQLite(":memory:") as one, SQLite(":memory:") as two:
        await one.save_message("c", "u", "user", "hello")
        assert contents(await one.load_messages("c", "u")) == ["hello"]
        assert await two.load_messages("c", "u") == []


# Ids


def test_ids_are_uuid_version_7_with_the_time_in_front():
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(ids.uuid7())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    # Ids made before, within one millisecond, may have pushed the counter into the next.
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000 + 1


@pytest.mark.parametrize("clock", [[5], [9, 8, 7, 6], [1, 1, 2, 2]])
def test_ids_increase_whatever_the_clock_does(monkeypatch, clock):
    monkeypatch.setattr(ids, "_last", 0)
    ticks = iter(clock * 500)
    monkeypatch.setattr(ids.time, "time_ns", lambda: next(ticks) * 1_000_000)
    made = [ids.uuid7() for _ in range(len(clock) * 500)]
    assert made == sorted(set(made))
    assert {uuid.UUID(id).version for id in made} == {7}


def test_ids_differ_and_increase_in_every_thread():
    made = [[] for _ in range(4)]

    def make(mine):
        mine.extend(ids.uuid7() for _ in range(2000))

    threads = [threading.Thread(target=make, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mine == sorted(mine) for mine in made)
    assert len({id for mine in made for id in mine}) == 8000


# Group commit


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "NOT NULL"),
        ({}, "type 'dict' is not supported"),
        (object(), "type 'object' is not supported"),
        ("\ud800", "surrogates not allowed"),
        (1 << 70, "too large"),
    ],
)
async def test_a_row_that_cannot_be_stored_fails_alone(log, content, reason):
    wishes = [f"{n}" for n in range(10)] + [content] + [f"{n}" for n in range(10, 20)]
    outcomes = await asyncio.gather(
        *(log.save_message("c", "u", "user", wish, 1.0) for wish in wishes), return_exceptions=True
    )
    assert contents(await log.load_messages("c", "u")) == [f"{n}" for n in range(20)]
    failure = outcomes.pop(10)
    assert all(isinstance(outcome, str) for outcome in outcomes)
    assert isinstance(failure, StorageError)
    assert reason in str(failure)
    assert log.db_path in str(failure)
    assert failure.cause is failure.__cause__ is not None
    assert not failure.retryable


async def test_many_rows_that_cannot_be_stored_fail_each_on_its_own(log):
    outcomes = await asyncio.gather(
        *(log.save_message("c", "u", "user", f"{n}" if n % 3 else None, 1.0) for n in range(60)),
        return_exceptions=True,
    )
    assert [isinstance(outcome, StorageError) for outcome in outcomes] == [
        n % 3 == 0 for n in range(60)
    ]
    assert contents(await log.load_messages("c", "u")) == [f"{n}" for n in range(60) if n % 3]


async def test_saves_that_wait_together_share_a_commit(store, path, monkeypatch):
    statements = []

    def traced(path):
        connection = connect_to_write(path)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(writer, "connect_to_write", traced)
    await store.load_messages("c", "u")  # the file exists
    with locked(path):
        saves = await start(*(store.save_message("c", "u", "user", f"{n}") for n in range(100)))
    await asyncio.gather(*saves)
    assert statements.count("COMMIT") <= 2
    assert await store.count_user_messages("u") == 100


async def test_when_the_queue_is_full_callers_wait_and_nothing_is_dropped(store, path, monkeypatch):
    monkeypatch.setattr(writer, "QUEUE_LIMIT", 4)
    await store.save_message("c", "u", "user", "first", 0.0)
    with locked(path):
        saves = await start(
            *(store.save_message("c", "u", "user", f"{n}", 1.0 + n) for n in range(50))
        )
        for _ in range(20):  # the event loop goes on meanwhile
            await asyncio.sleep(0.001)
            assert store._database._writer._queue.qsize() <= 4
        assert not any(save.done() for save in saves)
    await asyncio.gather(*saves)
    expected = ["first"] + [f"{n}" for n in range(50)]
    assert contents(await store.load_messages("c", "u")) == expected


async def test_a_cancelled_save_has_no_effect_or_its_whole_effect(store, path):
    await store.load_messages("c", "u")
    rows = [("c", "u", "user", f"{n}", None) for n in range(3)]
    with locked(path):
        [save] = await start(store.save_messages(rows))
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save
    await store.save_message("c", "u", "user", "after")
    assert await store.count_user_messages("u") in (1, 4)


async def test_a_save_cancelled_before_its_turn_is_not_written(store, path):
    await store.load_messages("c", "u")
    with locked(path):
        [ahead] = await start(store.save_message("c", "u", "user", "ahead"))
        await until(lambda: store._database._writer._queue.empty())  # the writer has `ahead`
        [save] = await start(store.save_message("c", "u", "user", "cancelled"))
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save
    await ahead
    await store.save_message("c", "u", "user", "after")
    assert contents(await store.load_messages("c", "u")) == ["ahead", "after"]


async def test_a_save_cancelled_before_the_full_queue_takes_it_is_not_written(
    store, path, monkeypatch
):
    monkeypatch.setattr(writer, "QUEUE_LIMIT", 1)
    await store.load_messages("c", "u")
    with locked(path):
        saves = await start(*(store.save_message("c", "u", "user", f"{n}") for n in range(5)))
        saves[4].cancel()
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    assert isinstance(outcomes.pop(), asyncio.CancelledError)
    assert contents(await store.load_messages("c", "u")) == list("0123")


async def test_cancelling_at_any_moment_leaves_every_save_whole(store):
    chance = random.Random(7)

    async def save(n):
        await store.save_messages([("c", "u", "user", f"{n}", None)] * 3)

    saves = [asyncio.ensure_future(save(n)) for n in range(300)]
    for task in saves:
        if chance.random() < 0.5:
            task.cancel()
        await asyncio.sleep(0 if chance.random() < 0.9 else 0.001)
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    found = contents(await store.load_messages("c", "u"))
    for n, outcome in enumerate(outcomes):
        assert found.count(f"{n}") in ((0, 3) if outcome is not None else (3,))


# Threads, event loops, processes


async def test_every_read_sees_every_acknowledged_write(store):
    async def session(name):
        for n in range(25):
            await store.save_message(name, "u", "user", f"{n}")
            assert len(await store.load_messages(name, "u")) == n + 1

    await asyncio.gather(*(session(f"{name}") for name in range(8)))


async def test_more_reads_at_once_than_connections(store):
    await store.save_message("c", "u", "user", "hello")
    loaded = await asyncio.gather(*(store.load_messages("c", "u") for _ in range(50)))
    assert [contents(messages) for messages in loaded] == [["hello"]] * 50


async def test_objects_on_one_file_share_one_writing_thread(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with SQLite("store.db") as one, SQLite(tmp_path / "x" / ".." / "store.db") as two:
        await asyncio.gather(
            *(store.save_message("c", "u", "user", "x") for store in (one, two) * 20)
        )
        assert len(writer_threads()) == 1
        assert await two.count_user_messages("u") == 40


def test_several_event_loops_in_threads_write_at_once(path):
    store = SQLite(path)

    async def session(name):
        await asyncio.gather(
            *(store.save_message(name, "u", "user", f"{n}", 1.0) for n in range(50))
        )

    threads = [
        threading.Thread(target=lambda name=name: asyncio.run(session(name))) for name in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def check():
        for name in "abcd":
            found = contents(await store.load_messages(name, "u"))
            assert found == [f"{n}" for n in range(50)]
        await store.close()

    asyncio.run(check())


def test_a_storage_goes_from_one_event_loop_to_the_next(path):
    store = SQLite(path)
    for n in range(3):
        asyncio.run(store.save_message("c", "u", "user", f"{n}", 1.0))
    assert contents(asyncio.run(store.load_messages("c", "u"))) == list("012")
    asyncio.run(store.close())


def test_a_waiter_whose_event_loop_was_closed_does_not_stop_the_writer(path):
    store = SQLite(path)
    asyncio.run(store.load_messages("c", "u"))
    with locked(path):
        loop = asyncio.new_event_loop()
        save = loop.create_task(store.save_message("c", "u", "user", "nobody waits"))
        save._log_destroy_pending = False
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    asyncio.run(store.save_message("c", "u", "user", "after"))
    assert "after" in contents(asyncio.run(store.load_messages("c", "u")))
    asyncio.run(store.close())


def in_a_fork(function):
    """Run `function` in a forked child; fail with what it raised there."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            function()
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        complaint = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    assert not complaint
    assert os.waitstatus_to_exitcode(status) == 0


def needs_fork(test):
    """Mark a test that forks this process, with its threads."""
    for mark in (
        pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
        pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
    ):
        test = mark(test)
    return test


@needs_fork
def test_parent_and_child_both_go_on(path):
    store = SQLite(path)
    asyncio.run(store.save_message("c", "u", "user", "before", 1.0))
    asyncio.run(store.load_messages("c", "u"))

    def child():
        assert contents(asyncio.run(store.load_messages("c", "u"))) == ["before"]
        asyncio.run(store.save_message("c", "u", "user", "child", 2.0))
        asyncio.run(store.close())

    in_a_fork(child)
    asyncio.run(store.save_message("c", "u", "user", "parent", 3.0))
    found = contents(asyncio.run(store.load_messages("c", "u")))
    assert found == ["before", "child", "parent"]
    asyncio.run(store.close())


@needs_fork
def test_a_fork_amid_saves_loses_and_doubles_nothing(path):
    store = SQLite(path)
    asyncio.run(store.load_messages("c", "u"))
    stop = threading.Event()
    saved = []

    async def session(name):
        n = 0
        while not stop.is_set():
            await store.save_message("parent", "u", "user", f"{name}{n}")
            saved.append(f"{name}{n}")
            await store.load_messages("parent", "u", limit=5)
            n += 1

    async def sessions():
        await asyncio.gather(*(session(name) for name in "abc"))

    thread = threading.Thread(target=lambda: asyncio.run(sessions()))
    thread.start()
    try:
        for n in range(5):
            in_a_fork(lambda n=n: asyncio.run(store.save_message("child", "u", "user", f"{n}")))
    finally:
        stop.set()
        thread.join()
    found = contents(asyncio.run(store.load_messages("parent", "u")))
    assert sorted(found) == sorted(saved)
    found = contents(asyncio.run(store.load_messages("child", "u")))
    assert found == list("01234")
    asyncio.run(store.close())


@needs_fork
def test_the_child_has_its_own_copy_of_memory():
    store = SQLite(":memory:")
    asyncio.run(store.save_message("c", "u", "user", "before"))

    def child():
        asyncio.run(store.save_message("c", "u", "user", "child"))
        assert contents(asyncio.run(store.load_messages("c", "u"))) == ["before", "child"]

    in_a_fork(child)
    assert contents(asyncio.run(store.load_messages("c", "u"))) == ["before"]
    asyncio.run(store.close())


@needs_fork
def test_ids_differ_from_the_childs():
    reading, writing = os.pipe()
    in_a_fork(lambda: os.write(writing, ids.uuid7().encode()))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() != ids.uuid7()


# The end


@pytest.mark.parametrize("queue_limit", [1, 1024])
async def test_close_waits_for_saves_under_way(path, monkeypatch, queue_limit):
    monkeypatch.setattr(writer, "QUEUE_LIMIT", queue_limit)
    store = SQLite(path)
    saves = await start(*(store.save_message("c", "u", "user", f"{n}") for n in range(20)))
    await store.close()
    assert select(path, "SELECT COUNT(*) FROM messages") == [(20,)]
    assert len(set(await asyncio.gather(*saves))) == 20


@pytest.mark.parametrize("use", ["saves", "loads", "nothing"])
async def test_the_last_close_ends_the_thread_and_leaves_the_bare_file(path, use):
    store = SQLite(path)
    if use == "saves":
        await store.save_message("c", "u", "user", "hello")
    elif use == "loads":
        await store.load_messages("c", "u")
    await store.close()
    for thread in writer_threads():
        thread.join(10)
    assert not writer_threads()
    if use != "nothing":
        assert [file.name for file in path.parent.iterdir()] == ["store.db"]


async def test_closing_one_object_leaves_the_others_on_the_file_alone(path):
    one, two = SQLite(path), SQLite(path)
    await one.save_message("c", "u", "user", "one", 1.0)
    await one.close()
    await two.save_message("c", "u", "user", "two", 2.0)
    assert contents(await two.load_messages("c", "u")) == ["one", "two"]
    await two.close()


async def test_a_closed_storage_refuses_further_calls(path):
    store = SQLite(path)
    await store.close()
    for call in (store.save_message("c", "u", "user", "x"), store.load_messages("c", "u")):
        with pytest.raises(StorageError, match="closed; open a new one"):
            await call
    await store.close()  # once more is harmless


async def test_a_file_can_be_opened_again_after_its_last_close(path):
    for n in range(3):
        async with SQLite(path) as store:
            await store.save_message("c", "u", "user", f"{n}")
            assert await store.count_user_messages("u") == n + 1


def test_objects_come_and_go_on_one_file_in_many_threads(path):
    saved = []

    async def visit(name, n):
        store = SQLite(path)
        await store.save_message(name, "u", "user", f"{n}")
        saved.append((name, f"{n}"))
        if n % 2:  # else it is dropped
            await asyncio.gather(store.close(), store.close())

    def visits(name):
        for n in range(30):
            asyncio.run(visit(name, n))

    threads = [threading.Thread(target=visits, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(saved) == 120
    assert sorted(select(path, "SELECT conversation_id, content FROM messages")) == sorted(saved)


@pytest.mark.parametrize("where", ["file", ":memory:"])
async def test_a_storage_that_is_dropped_ends_its_thread(path, where):
    store = SQLite(path if where == "file" else where)
    await store.save_message("c", "u", "user", "hello")
    await store.load_messages("c", "u")
    [thread] = writer_threads()
    del store
    gc.collect()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


@pytest.mark.parametrize("where", ["store.db", ":memory:"])
def test_a_program_ends_cleanly_without_close(tmp_path, where):
    program = f"""
import asyncio
from cogency_rs.storage import SQLite
store = SQLite({where!r})
async def main():
    await store.save_message("c", "u", "user", "hello")
    await store.load_messages("c", "u")
asyncio.run(main())
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert [file.name for file in tmp_path.iterdir()] == [where] * (where == "store.db")
