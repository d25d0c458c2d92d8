"""`dialogue` turns the rows of a log into passages, by the rules of the core's fold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import CallRecord
from cogency_rs._core import Folding, FoldOptions
from cogency_rs.agent.dialogue import (
    Bounds,
    CallOutcome,
    ModelPassage,
    Question,
    Report,
    compact_json,
    dialogue,
    shown_text,
    stored_calls,
    with_ids,
)


def row(type: str, content: Any = "") -> dict[str, Any]:
    return {"type": type, "content": content if isinstance(content, str) else json.dumps(content)}


def call(name: str = "t", **more: Any) -> dict[str, Any]:
    return row("call", {"name": name, "args": {}, **more})


def report(raw: str = "<x>", kind: str = "malformed") -> dict[str, Any]:
    return row("error", {"kind": kind, "raw": raw, "content": "wrong"})


def results(*contents: Any) -> dict[str, Any]:
    return row("result", [{"tool": "t", "status": "success", "content": each} for each in contents])


Q = row("user", "q")


def short(passages: list[Any]) -> list[Any]:
    """Passages in short form: `?` for a question, `!` for a report, calls with their outcomes."""
    shown: list[Any] = []
    for passage in passages:
        match passage:
            case Question():
                shown.append("?")
            case Report(raw):
                shown.append(f"!{raw}")
            case ModelPassage():
                values = [each.value for each in passage.outcomes]
                shown.append((passage.thoughts, passage.texts, values))
    return shown


LOST = "Interrupted before completion"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([Q, row("respond", "a")], ["?", ((), ("a",), [])]),
        (
            [Q, row("think", "h"), row("respond", "a"), call(), row("respond", "b"), results(1)],
            ["?", (("h",), ("a", "b"), [1])],
        ),
        ([Q, call(), results(1), call(), results(2)], ["?", ((), (), [1]), ((), (), [2])]),
        ([Q, call(), call(), results(1)], ["?", ((), (), [LOST, 1])]),
        ([Q, call(), results(1, 2)], ["?", ((), (), [2])]),
        ([Q, call(), Q], ["?", ((), (), [LOST]), "?"]),
        ([Q, call()], ["?", ((), (), [LOST])]),
        ([Q, call(), row("result", "all done")], ["?", ((), (), ["all done"])]),
        ([Q, results(1)], ["?"]),
        ([Q, row("call", "no JSON"), results(1)], ["?"]),
        ([Q, row("respond", "a"), report()], ["?", ((), ("a",), []), "!<x>"]),
        ([Q, report("<1>"), report("<2>")], ["?", "!<1>", "!<2>"]),
        ([Q, report(), row("respond", "a")], ["?", "!<x>", ((), ("a",), [])]),
        ([Q, row("respond", "a"), report(), call(), results(1)], ["?", ((), ("a",), [1])]),
        ([Q, report(), Q], ["?", "?"]),
        ([Q, call(), report(), results(1)], ["?", ((), (), [1]), "!<x>"]),
        (
            [Q, call(), report(), results(1), call(), results(2)],
            ["?", ((), (), [1]), ((), (), [2])],
        ),
        ([Q, report(kind="network"), row("error", "no JSON")], ["?"]),
        ([Q, row("metric", "{}"), row("cancelled"), row("respond", "a")], ["?", ((), ("a",), [])]),
    ],
)
def test_rows_become_passages(rows, expected) -> None:
    assert short(dialogue(rows)) == expected


ROWS = st.lists(
    st.sampled_from(
        [Q, row("respond", "a"), call(), call("u"), results(1), results(1, 2), report(), row("end")]
    ),
    max_size=12,
)


@given(ROWS)
def test_passages_agree_with_the_core_s_folding(rows) -> None:
    folding = Folding(FoldOptions())
    folding.extend(rows)
    of_the_core = [
        ("user" if message["role"] == "user" else "model", message["content"].count('"name": "'))
        for message in folding.messages()
    ]
    of_dialogue = []
    for passage in dialogue(rows):
        match passage:
            case Question():
                of_dialogue.append(("user", 0))
            case ModelPassage(calls=()):
                of_dialogue.append(("model", 0))
            case ModelPassage():
                of_dialogue += [("model", len(passage.calls)), ("user", 0)]
            case Report():
                # In the core's messages, a report and the text before it are one.
                if not of_dialogue or of_dialogue[-1] != ("model", 0):
                    of_dialogue.append(("model", 0))
                of_dialogue.append(("user", 0))
    assert of_dialogue == of_the_core


def record(id: str, name: str = "t") -> CallRecord:
    return CallRecord(id=id, batch="b", position=0, name=name)


@pytest.mark.parametrize(
    ("rows", "records", "ids"),
    [
        ([call(id="p"), call(id="q")], [], ["p", "q"]),
        ([call(), call()], [], ["call00000", "call00001"]),
        ([call(), call()], [record("x"), record("y")], ["x", "y"]),
        ([call()], [record("x"), record("y")], ["y"]),
        ([call(id="p"), call()], [record("p"), record("y")], ["p", "y"]),
        ([call("a"), call("b")], [record("x", "c"), record("y", "b")], ["call00000", "y"]),
    ],
)
def test_the_id_of_a_call_is_its_own_or_its_record_s_or_is_made_of_its_place(
    rows, records, ids
) -> None:
    assert [each.id for each in with_ids(stored_calls(rows), records).values()] == ids


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.5, "1.5"),
        ([1, "é"], '[1,"é"]'),
        ({"a": {"b": []}}, '{"a":{"b":[]}}'),
        (["\ud800"], '["\\ud800"]'),
    ],
    ids=lambda value: f"C11 {value!r}"[:20].encode("ascii", "replace").decode(),
)
def test_c11_a_result_is_shown_as_its_string_or_as_json(value, text) -> None:
    assert shown_text(CallOutcome(value)) == text


def test_an_outcome_is_shown_before_the_content() -> None:
    item = {"tool": "t", "status": "success", "outcome": "Read 2 lines", "content": "a\nb"}
    passage = dialogue([call(), row("result", [item])])[0]
    assert isinstance(passage, ModelPassage)
    assert shown_text(passage.outcomes[0]) == "Read 2 lines\na\nb"


@pytest.mark.parametrize(
    ("bounds", "content", "shown"),
    [
        (Bounds(), "abcdef", "abcdef"),
        (Bounds(6), "abcdef", "abcdef"),
        (Bounds(2), "abcdef", "ab\n[… 4 of 6 characters are not shown]"),
        (Bounds(2, {"t": 9}), "abcdef", "abcdef"),
        (Bounds(9, {"t": 1}), "abcdef", "a\n[… 5 of 6 characters are not shown]"),
        (Bounds(4), [1, 2, 3], "[1,2\n[… 3 of 7 characters are not shown]"),
    ],
)
def test_a_text_that_is_too_long_is_cut_and_says_so(bounds, content, shown) -> None:
    passage = dialogue([call(), results(content)], None, bounds)[0]
    assert isinstance(passage, ModelPassage)
    assert passage.outcomes[0].value == shown


def test_json_is_compact_and_not_escaped() -> None:
    assert compact_json({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'
