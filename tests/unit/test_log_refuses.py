"""What is not a row or a call is refused where it comes in, in every storage alike, and nothing of it is stored."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from cogency_rs.calls.record import CallRecord
from cogency_rs.errors import ConfigError
from cogency_rs.storage import Part
from support.storages import every_log

__all__ = ["every_log"]

pytestmark = pytest.mark.concurrency

GOOD = ("user", "hello", 1.0)
CALL = CallRecord("i", "b", 0, "tool")
HUGE = 10**400

WRONG_CONTENT = {
    "bytes": b"text",
    "a dict": {"a": {"b": 1}},
    "a list": ["text"],
    "a number": 1,
    "a huge number": HUGE,
    "not a number": float("nan"),
    "nothing": None,
}
WRONG_ROWS: dict[str, Any] = {
    **{f"content: {what}": ("user", content, 1.0) for what, content in WRONG_CONTENT.items()},
    **{
        f"time: {time!r:.20}": ("user", "a", time)
        for time in ("1", b"1", None, True, HUGE, float("nan"), float("inf"), Decimal(1), [])
    },
    **{f"type: {type!r:.20}": (type, "a", 1.0) for type in (None, b"user", 1, ["user"], "odd")},
    "a text": "abc",
    "a dict": {"type": "user"},
    "too short": ("user", "a"),
    "too long": ("user", "a", 1.0, (), ()),
    "parts: a text": ("user", "a", 1.0, "abc"),
    "parts: no Part": ("user", "a", 1.0, (("image", "image/png", b"", 0),)),
    "part: its type": ("user", "a", 1.0, (Part(b"image", "image/png", b"", 0),)),  # type: ignore[arg-type]
    "part: its data": ("user", "a", 1.0, (Part("image", "image/png", "text", 0),)),  # type: ignore[arg-type]
    "part: its place": ("user", "a", 1.0, (Part("image", "image/png", b"", HUGE),)),
}
WRONG_CALLS: dict[str, Any] = {
    "no record": ("i", "b", 0, "tool"),
    **{
        f"{name}: {value!r:.20}": CALL._replace(**{name: value})
        for name, values in {
            "id": (1, None),
            "batch": (b"b", None),
            "name": (b"tool", {"a": 1}),
            "position": ("0", 0.5, True, -1, HUGE, float("nan")),
            "attempt": ("0", HUGE),
            "status": ("odd", 1, None, []),
            "started_at": ("1", HUGE, float("nan"), True),
            "completed_at": ({}, float("inf")),
            "decision": ({"approved": True}, b"{}"),
            "result": ({"a": float("nan")}, 1),
            "server": (1,),
            "digest": (b"",),
        }.items()
        for value in values
    },
}
WRONG: dict[str, dict[str, Any]] = {
    **{f"row: {what}": {"rows": [GOOD, row]} for what, row in WRONG_ROWS.items()},
    **{f"call: {what}": {"rows": [], "calls": [CALL, call]} for what, call in WRONG_CALLS.items()},
    "user: bytes": {"rows": [GOOD], "user_id": b"u"},
    "user: nothing": {"rows": [GOOD], "user_id": None},
}


async def test_what_is_not_a_row_or_a_call_is_refused_and_nothing_is_stored(every_log):
    accepted = []
    for what, given in WRONG.items():
        try:
            await every_log.append("c", **({"user_id": "u"} | given))
        except ConfigError:
            continue
        accepted.append(what)
    assert accepted == []
    assert (await every_log.read("c")).rows == []
    assert await every_log.calls("c") == []


@pytest.mark.parametrize("id", [None, b"c", 1, ["c"]])
async def test_the_id_of_a_conversation_is_text(every_log, id):
    with pytest.raises(ConfigError, match="conversation_id must be text"):
        await every_log.append(id, user_id="u", rows=[GOOD])


async def test_messages_are_refused_alike(every_log):
    if not hasattr(every_log, "save_messages"):
        pytest.skip("it has only rows")
    for row in (each for each in WRONG_ROWS.values() if isinstance(each, tuple) and len(each) == 3):
        if row[2] is None:
            continue  # the log takes the time itself
        with pytest.raises(ConfigError):
            await every_log.save_messages([("c", "u", *GOOD), ("c", "u", *row)])
    assert (await every_log.read("c")).rows == []


async def test_what_a_log_holds_is_taken(every_log):
    parts = (Part("image", "image/png", b"\0\xff", 5),)
    rows = [GOOD, ("respond", "\0\x01é😀", 2), ("user", "", -1.5, parts), ["think", "a", 4.0]]
    await every_log.append("c", user_id="", rows=rows, calls=[])
    page = await every_log.read("c")
    assert [row["content"] for row in page.rows] == [row[1] for row in rows]
