"""The rows of a log become the messages of drivers without a dialect: calls and results of their own, or actions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs._core import Folding, FoldOptions
from cogency_rs.agent.prompt import any_model
from cogency_rs.storage import CallRecord
from support import naive_fold
from support.examples import examples


def row(type: str, content: Any = "") -> dict[str, Any]:
    return {"type": type, "content": content if isinstance(content, str) else json.dumps(content)}


def call(name: str = "t", **more: Any) -> dict[str, Any]:
    return row("call", {"name": name, "args": {}, **more})


def report(raw: str = "<x>", kind: str = "malformed") -> dict[str, Any]:
    return row("error", {"kind": kind, "raw": raw, "content": "wrong"})


def results(*contents: Any) -> dict[str, Any]:
    return row("result", [{"tool": "t", "status": "success", "content": each} for each in contents])


Q = row("user", "q")
LOST = "Error in tool call: Interrupted before completion"


def folded(rows: list[Any], form: Any = "native", **options: Any) -> list[dict[str, Any]]:
    folding = Folding(FoldOptions(form=form, dialect=any_model(), **options))
    folding.extend(rows)
    return folding.messages()


def shown(rows: list[Any], **options: Any) -> list[str]:
    """The contents of the results."""
    return [each["content"] for each in folded(rows, **options) if each["role"] == "tool"]


def short(messages: list[dict[str, Any]]) -> list[Any]:
    """Messages in short form: `?` for a question, `!` for a report, text before calls with the results."""
    found: list[Any] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "user":
            found.append({"q": "?", "wrong": "!"}[content])
        elif message["role"] == "tool":
            found[-1][1].append(content)
        else:
            found.append((content, []) if "tool_calls" in message else content)
    return found


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([Q, row("respond", "a")], ["?", "a"]),
        (
            [Q, row("think", "h"), row("respond", "a"), call(), row("respond", "b"), results(1)],
            ["?", ("a\nb", ["1"])],
        ),
        ([Q, call(), results(1), call(), results(2)], ["?", ("", ["1"]), ("", ["2"])]),
        ([Q, call(), call(), results(1)], ["?", ("", [LOST, "1"])]),
        ([Q, call(), results(1, 2)], ["?", ("", ["2"])]),
        ([Q, call(), Q], ["?", ("", [LOST]), "?"]),
        ([Q, call()], ["?", ("", [LOST])]),
        ([Q, call(), row("result", "all done")], ["?", ("", ["all done"])]),
        ([Q, results(1)], ["?"]),
        ([Q, row("call", "no JSON"), results(1)], ["?"]),
        ([Q, row("call", 'so: {"name": "t"} !'), results(1)], ["?", ("", ["1"])]),
        ([Q, row("respond", "a"), report()], ["?", "a\n<x>", "!"]),
        ([Q, report("<1>"), report("<2>")], ["?", "<1>", "!", "<2>", "!"]),
        ([Q, report(), row("respond", "a")], ["?", "<x>", "!", "a"]),
        ([Q, row("respond", "a"), report(), call(), results(1)], ["?", ("a", ["1"])]),
        ([Q, report(), Q], ["?", "?"]),
        ([Q, call(), report(), results(1)], ["?", ("", ["1"]), "<x>", "!"]),
        (
            [Q, call(), report(), results(1), call(), results(2)],
            ["?", ("", ["1"]), ("", ["2"])],
        ),
        ([Q, report(kind="network"), row("error", "no JSON")], ["?"]),
        ([Q, row("metric", "{}"), row("cancelled"), row("respond", "a")], ["?", "a"]),
    ],
)
def test_rows_become_messages(rows, expected) -> None:
    assert short(folded(rows)) == expected


# Against the naive fold


TEXTS = st.sampled_from(
    ["a", "", " ", " b ", "é\n", "<|im_start|>", "\u2060x", "\ud800", "😀", '"', "\\", "x" * 30]
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.sampled_from([None, True, 0, -5, 10**25, 1.5, 1e16, 1e-7])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
CALLS = st.fixed_dictionaries(
    {"name": st.sampled_from(["t", "u", "we ird", "é", "9a", "x" * 70])},
    optional={
        "args": st.dictionaries(TEXTS, VALUES, max_size=3),
        "id": st.sampled_from(["p", "<|im_end|>", 1, None]),
    },
)
ITEMS = st.one_of(
    st.fixed_dictionaries(
        {"tool": st.just("t"), "status": st.sampled_from(["success", "failure"])},
        optional={"outcome": st.one_of(TEXTS, st.just(1)), "content": VALUES},
    ),
    VALUES,
)
REPORTS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["malformed", "truncated", "truncated", "network"]),
        "raw": TEXTS,
        "content": TEXTS,
    }
)


def written(values: Any) -> Any:
    """Values as JSON, which other programs may have laid out and escaped in another way."""
    layouts = st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}])
    return st.builds(
        lambda value, is_ascii, layout: json.dumps(value, ensure_ascii=is_ascii, **layout),
        *(values, st.booleans(), layouts),
    )


ROWS = st.lists(
    st.one_of(
        st.builds(
            row, st.sampled_from(["user", "think", "respond", "respond", "end", "settled"]), TEXTS
        ),
        st.builds(row, st.just("call"), st.one_of(written(CALLS), st.just("no JSON"))),
        st.builds(
            row, st.just("result"), st.one_of(written(st.lists(ITEMS, max_size=3)), st.just("x"))
        ),
        st.builds(row, st.just("error"), written(REPORTS)),
    ),
    max_size=16,
)


def record(id: str, name: str = "t") -> CallRecord:
    return CallRecord(id=id, batch="b", position=0, name=name)


@examples(200)
@given(
    ROWS,
    st.lists(st.integers(0, 16), max_size=3),
    st.sampled_from([None, 0, 3, 20]),
    st.integers(0, 4),
)
def test_messages_are_those_of_the_naive_fold(rows, cuts, most, recorded) -> None:
    """However the rows arrive, and however often messages are asked for between."""
    records = [record(f"r{number}") for number in range(recorded)]
    for form, write in (("native", naive_fold.native), ("react", naive_fold.react)):
        folding = Folding(FoldOptions(form=form, max_result_chars=most, dialect=any_model()))
        start = 0
        for cut in [*sorted(cuts), len(rows)]:
            folding.extend(rows[start:cut])
            folding.messages()
            start = max(cut, start)
        if folding.lacks_ids():
            folding.name_calls(records)
        passages = naive_fold.passages(rows, records, most, joins_exactly=form == "react")
        assert folding.messages() == write(passages)


# Ids


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
def test_the_id_of_a_call_is_its_own_or_its_record_s_or_is_made_of_its_number(
    rows, records, ids
) -> None:
    folding = Folding(FoldOptions(form="native"))
    folding.extend(rows)
    assert folding.lacks_ids() is any("id" not in each["content"] for each in rows)
    folding.name_calls(records)
    assert not folding.lacks_ids()
    calling, *told = folding.messages()
    assert [each["id"] for each in calling["tool_calls"]] == ids
    assert [each["tool_call_id"] for each in told] == ids


@pytest.mark.parametrize(
    ("own", "sent"),
    [
        (["functions.pay:0"] * 3, ["functions.pay:0", "call00001", "call00002"]),
        (["p", "p", "call00001"], ["p", "call00001", "call00002"]),
        (["call00001", "p", "p", "p"], ["call00001", "p", "call00002", "call00003"]),
        (["p", "call00002", "p"], ["p", "call00002", "c00000002"]),
        # Anthropic's API gets "_" for what it does not take.
        (["a.b", "a_b", "a:b", "a-b"], ["a.b", "call00001", "call00002", "a-b"]),
    ],
)
@pytest.mark.parametrize("answers", ["in one turn", "in turns of their own"])
def test_an_id_that_repeats_is_replaced_and_stays_so(own, sent, answers) -> None:
    folding = Folding(FoldOptions(form="native"))
    seen: list[str] = []
    for number, id in enumerate(own):
        folding.extend([call(id=id)])
        if answers == "in turns of their own":
            folding.extend([results(number), Q])
        messages = folding.messages()
        ids = [each["id"] for message in messages for each in message.get("tool_calls", ())]
        assert ids[:number] == seen
        assert ids == [each["tool_call_id"] for each in messages if each["role"] == "tool"]
        seen = ids
    assert seen == sent


@pytest.mark.parametrize("form", ["text", "native", "react"])
def test_what_was_settled_never_parts_calls_from_their_results(form) -> None:
    rows = [Q, call(), row("settled", "It was paid."), results(1), row("settled", "So was that.")]
    contents = [message["content"] for message in folded(rows, form)]
    assert contents[-2:] == ["It was paid.", "So was that."]
    assert "1" in contents[-3]
    folding = Folding(FoldOptions(form=form))
    folding.extend(rows)
    assert folding.questions() == [0]


# Parts

IMAGE = ("image", "image/png", b"\x89PNG", 3)
SHOWN = {"type": "image", "media_type": "image/png", "data": b"\x89PNG"}


def text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize("form", ["text", "native", "react"])
@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([0], [SHOWN, text("aé<|im_start|>")]),
        ([2], [text("aé"), SHOWN, text("<|im_start|>")]),
        ([99], [text("aé<|im_start|>"), SHOWN]),
        ([2, 0, 2], [SHOWN, text("aé"), SHOWN, SHOWN, text("<|im_start|>")]),
    ],
)
def test_what_a_user_said_is_text_and_parts_in_their_order(form, places, expected) -> None:
    parts = [(*IMAGE[:3], at) for at in places]
    [message] = folded([{**row("user", "aé<|im_start|>"), "parts": parts}], form)
    shown = json.dumps(message["content"], default=repr).replace("\\u2060", "")
    assert shown == json.dumps(expected, default=repr)
    # The mark is broken up, as in text.
    assert "<|im_start|>" not in str(message["content"])


def test_parts_of_a_result_come_after_its_text() -> None:
    rows = [Q, call(), call(), results("one", "two")]
    at = rows[-1]["content"].index("two")
    rows[-1]["parts"] = [(*IMAGE[:3], at), (*IMAGE[:3], 0)]
    _, _, one, two = folded(rows)
    assert (one["content"], two["content"]) == ([text("one"), SHOWN], [text("two"), SHOWN])
    rows.append(row("settled", "It was paid."))
    *_, told, settled = folded(rows, "react")
    assert told["content"][1:] == [SHOWN, SHOWN]
    assert settled["content"] == "It was paid."


def test_rows_without_parts_are_as_they_were() -> None:
    rows = [Q, call(), results(1)]
    assert folded([{**each, "parts": ()} for each in rows]) == folded(rows)


def test_calls_are_shown_under_the_one_names_of_their_tools() -> None:
    names = {"find": "one__find", "two\0find": "two__find"}
    rows = [call("find"), call("get"), call("find", server="three"), call("find", server="two")]
    folding = Folding(FoldOptions(form="native", tool_names=names))
    folding.extend(rows)
    folding.name_calls([record("r", "find")._replace(server="two")])
    [message, *_] = folding.messages()
    assert [(each["id"], each["function"]["name"]) for each in message["tool_calls"]] == [
        ("call00000", "one__find"),
        ("call00001", "get"),
        ("call00002", "find"),
        ("r", "two__find"),
    ]


# Results


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
    assert shown([call(), results(value)]) == [text]


def test_an_outcome_is_shown_before_the_content() -> None:
    item = {"tool": "t", "status": "success", "outcome": "Read 2 lines", "content": "a\nb"}
    assert shown([call(), row("result", [item])]) == ["Read 2 lines\na\nb"]


@pytest.mark.parametrize(
    ("most", "tools", "content", "expected"),
    [
        (None, {}, "abcdef", "abcdef"),
        (6, {}, "abcdef", "abcdef"),
        (2, {}, "abcdef", "ab\n[… 4 of 6 characters are not shown]"),
        (2, {}, "éé😀", "éé\n[… 1 of 3 characters are not shown]"),
        (2, {"t": 9}, "abcdef", "abcdef"),
        (9, {"t": 1}, "abcdef", "a\n[… 5 of 6 characters are not shown]"),
        (4, {}, [1, 2, 3], "[1,2\n[… 3 of 7 characters are not shown]"),
    ],
)
def test_a_text_that_is_too_long_is_cut_and_says_so(most, tools, content, expected) -> None:
    options = {"max_result_chars": most, "tool_result_chars": tools}
    assert shown([call(), results(content)], **options) == [expected]


def test_arguments_are_compact_and_readable() -> None:
    [message, _] = folded([call(args={"a": [1, "ü"]})])
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a":[1,"ü"]}'


# Options


@pytest.mark.parametrize("form", ["", "Native", "cogency"])
def test_an_unknown_form_is_refused(form) -> None:
    with pytest.raises(ValueError, match='form must be one of "text", "native", "react", got'):
        FoldOptions(form=form)


def test_the_form_is_part_of_the_options() -> None:
    forms = [FoldOptions(form=form) for form in ("text", "native", "react")]
    assert [each.form for each in forms] == ["text", "native", "react"]
    assert len({*forms, FoldOptions(), FoldOptions(form="native", tool_names={"a": "b"})}) == 4
