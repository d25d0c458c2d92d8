"""Messages in a SQLite log: which ones are loaded, in which order, and which ones a search finds."""

from __future__ import annotations

import asyncio
import time

import pytest

from cogency_rs.errors import StorageError
from support.log_files import contents, select


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
            ("c", "u", "user", "q1", 6.0),  # saved first, newest by its timestamp
            ("c", "u", "think", "t1", 2.0),
            ("c", "u", "respond", "a1", 3.0),
            ("c", "v", "user", "other", 4.0),
            ("c", "u", "user", "q2", 5.0),
            ("c", "u", "respond", "a2", 1.0),  # saved last, oldest by its timestamp
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


@pytest.mark.parametrize(
    ("query", "found"), [("Öhringen", 1), ("IN École", 1), ("öhringen", 0), ("OHRINGEN", 0)]
)
async def test_letters_outside_a_to_z_match_as_they_are(log, query, found):
    await log.save_message("c", "u", "user", "Die École in Öhringen")
    assert len(await log.search_messages(query, "u", None)) == found


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
        await log.save_messages(
            [("c", "u", "user", "fine", 1.0), ("c", "u", "user", "\ud800", 2.0)]
        )
    assert await log.load_messages("c", "u") == []
