"""Events, metrics and profiles in a SQLite log."""

from __future__ import annotations

import asyncio
import json

import pytest

from support.log_files import select


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
async def test_a_profile_is_loaded_with_its_known_fields_only(log, profile, expected):
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
