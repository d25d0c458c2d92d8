"""How the rows of a log become turns: which results belong to which calls, and which times are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs.cli.log import Row
from cogency_rs.cli.turns import Entry, LoggedBatch, LoggedText, turns_of
from support.logs import call, failure, success


def row(kind: str, content: str, at: float = 0.0, saved: float | None = None) -> Row:
    return Row(kind, content, 1000.0 + at, 1000.0 + (at if saved is None else saved))


def undated(kind: str, content: str, at: float = 0.0) -> Row:
    return Row(kind, content, 1000.0 + at, None)


def results(*items: dict[str, Any]) -> str:
    return json.dumps(list(items))


def outline(entry: Entry) -> Any:
    """`(type, content)` of a text, `[(call, result)]` of a batch."""
    if isinstance(entry, LoggedText):
        return entry.type, entry.content
    return [
        (call.content if call.name is None else call.name, shown_result(call.result))
        for call in entry.calls
    ]


def shown_result(result: dict[str, Any] | None) -> str | None:
    return None if result is None else result.get("outcome") or result["content"]


A, B = call("a"), call("b")


@pytest.mark.parametrize(
    ("rows", "turns"),
    [
        ([], []),
        ([row("user", "Hi")], [[("user", "Hi")]]),
        (
            [row("user", "1"), row("respond", "2"), row("user", "3"), row("think", "4")],
            [[("user", "1"), ("respond", "2")], [("user", "3"), ("think", "4")]],
        ),
        ([row("think", "before"), row("user", "u")], [[("think", "before")], [("user", "u")]]),
        (
            [
                row("call", A),
                row("call", B),
                row("result", results(success("a", "1"), failure("b", "2"))),
            ],
            [[[("a", "1"), ("b", "2")]]],
        ),
        (  # the same tool twice
            [
                row("call", A),
                row("call", A),
                row("result", results(success("a", "1"), success("a", "2"))),
            ],
            [[[("a", "1"), ("a", "2")]]],
        ),
        (  # text that was written after a call
            [row("call", A), row("respond", "b"), row("result", results(success("a", "1")))],
            [[("respond", "b"), [("a", "1")]]],
        ),
        (  # a turn that was stopped, as cogency 3.3.0 leaves it
            [
                row("call", A),
                row("user", "again"),
                row("call", A),
                row("result", results(success("a", "1"))),
            ],
            [[[("a", None)]], [("user", "again"), [("a", "1")]]],
        ),
        (  # the breaker opened, and the conversation went on without a user
            [
                row("call", A),
                row("respond", "r"),
                row("call", B),
                row("result", results(success("b", "2"))),
            ],
            [[[("a", None)], ("respond", "r"), [("b", "2")]]],
        ),
        ([row("call", A), row("cancelled", "")], [[[("a", None)], ("cancelled", "")]]),
        (  # results of another tool
            [row("call", A), row("result", results(success("b", "1")))],
            [[[("a", None)], ("result", results(success("b", "1")))]],
        ),
        (
            [row("call", A), row("result", results(success("a", "1"), success("a", "2")))],
            [[[("a", None)], ("result", results(success("a", "1"), success("a", "2")))]],
        ),
        ([row("result", results(success("a", "1")))], [[("result", results(success("a", "1")))]]),
        (  # results that a model made up, which cogency 3.3.0 stores
            [
                row("result", "I made it up"),
                row("call", A),
                row("result", results(success("a", "1"))),
            ],
            [[("result", "I made it up"), [("a", "1")]]],
        ),
        ([row("call", A), row("result", "[]")], [[[("a", None)], ("result", "[]")]]),
        ([row("call", A), row("result", "[1]")], [[[("a", None)], ("result", "[1]")]]),
        (
            [row("call", A), row("result", "[" * 99_999)],
            [[[("a", None)], ("result", "[" * 99_999)]],
        ),
        (  # calls that cannot be read keep their place
            [
                row("call", "no JSON"),
                row("call", "{}"),
                row("result", results(success("x", "1"), success("y", "2"))),
            ],
            [[[("no JSON", "1"), ("{}", "2")]]],
        ),
        (
            [row("call", json.dumps({"name": "a", "args": 9})), row("call", "9" * 5000)],
            [[[('{"name": "a", "args": 9}', None), ("9" * 5000, None)]]],
        ),
        ([row("metric", ""), row("", "")], [[("metric", ""), ("", "")]]),
    ],
)
def test_rows_are_grouped_into_turns_and_batches(rows, turns):
    found = turns_of(rows)
    assert [[outline(entry) for entry in turn.entries] for turn in found] == turns
    assert [turn.number for turn in found] == list(range(1, len(turns) + 1))


def times(rows: list[Row]) -> list[tuple[float, float | None]]:
    """When each entry began and ended, in seconds."""
    return [
        (
            round(entry.began - 1000, 3),
            None if entry.ended is None else round(entry.ended - 1000, 3),
        )
        for turn in turns_of(rows)
        for entry in turn.entries
    ]


ANSWER = results(success("a", "1"))


@pytest.mark.parametrize(
    ("rows", "known"),
    [
        # Text lasts until it is saved; a batch lasts from when it is handed out until its results are saved.
        (
            [
                row("user", "u", 0),
                row("think", "t", 1, 2),
                row("respond", "r", 2, 4.002),
                row("call", A, 4, 4.002),
                row("result", ANSWER, 4, 7),
                row("respond", "r", 8, 9),
            ],
            [(0, 0), (1, 2), (2, 4.002), (4.002, 7), (8, 9)],
        ),
        # A slow reader delays saves: an entry that was saved after the next one began ends when the next one began.
        ([row("think", "t", 1, 5), row("respond", "r", 2, 6)], [(1, 2), (2, 6)]),
        # A batch whose calls were handed out late begins when they were saved.
        ([row("call", A, 1, 1.9), row("result", ANSWER, 1, 3)], [(1.9, 3)]),
        # Without results the duration is unknown.
        ([row("call", A, 1, 1.5)], [(1.5, None)]),
        # A time in whole milliseconds may be earlier than the same time in microseconds.
        ([row("respond", "r", 1.0009, 1.0)], [(1.001, 1.001)]),
    ],
)
def test_the_times_of_rows_give_the_times_of_turns(rows, known):
    assert times(rows) == known
    assert all(turn.dated for turn in turns_of(rows))


DAY = 86400.0


@pytest.mark.parametrize(
    "rows",
    [
        [row("user", "u", 0), undated("think", "t", 1), row("respond", "r", 2)],
        # Copied a day later, all at once: the times of each row alone are possible.
        [row("user", "u", 0, DAY), row("think", "t", 1, DAY)],
        [row("call", A, 0, DAY), row("result", ANSWER, 0, DAY)],
        [row("call", A, 0, DAY), row("call", B, 0, DAY)],
        [row("call", A, 0, 0), row("result", ANSWER, 0, DAY), row("respond", "r", 2, DAY)],
        # Timestamps that are later than the time of saving.
        [row("user", "u", 0, -DAY)],
        [row("user", "u", 0, 0), row("think", "t", 5, 3)],
    ],
)
def test_times_that_cannot_be_those_of_the_saves_are_not_used(rows):
    assert not any(turn.dated for turn in turns_of(rows))
    assert {ended for _, ended in times(rows)} == {None}


def test_a_turn_lasts_from_its_first_time_to_its_last():
    [turn] = turns_of([row("user", "u", 0), row("think", "t", 1, 3), row("respond", "r", 3, 3.5)])
    assert (turn.began, turn.ended) == (1000.0, 1003.5)


def test_the_calls_of_a_turn_are_in_order():
    [turn] = turns_of([row("call", A), row("result", ANSWER), row("call", B)])
    assert [(call.name, call.failed) for call in turn.calls] == [("a", False), ("b", False)]
    assert [entry.answered for entry in turn.entries if isinstance(entry, LoggedBatch)] == [
        True,
        False,
    ]
