"""Output that cannot be read: the kind of error, its message and its place, and what still runs."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from cogency_rs import Parser, parse_tokens
from cogency_rs.errors import ConfigError
from cogency_rs.models import Finish
from cogency_rs.protocol import Limits
from support.cost import is_linear
from support.outlines import timeless
from support.texts import texts
from support.turns import Chunks

ONE = '[{"name": "t", "args": {"x": 1}}]'
RUNS = ["call", "execute"]
REASONS = [None, "stop", "length", ConnectionError("reset")]


def read(*chunks: str, end: Any = None, **options: Any) -> list[dict[str, Any]]:
    parser = Parser(**{"errors": "event", **options})
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    if isinstance(end, Exception):
        return events + parser.finish(error=end)
    return events + parser.finish(end)


def names(events: list[dict[str, Any]]) -> list[str]:
    """The types of events; the kinds of errors."""
    return [event.get("kind") or event["type"] for event in events]


# Malformed blocks


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("<execute>[7]</execute>", 1, 11, "call 0 must be an object, found a number"),
        ("hi\n<execute>\n[\n  {]\n</execute>", 3, 4, "expected a key in double quotes"),
        ("<execute>[{'name': 1}]</execute>", 1, 12, "expected a key in double quotes"),
        ("<execute></execute>", 1, 10, "expected a JSON value"),
        ('<execute>["é", "a</execute>', 1, 16, "the text ended inside a string"),
        ("<execute>\n{}\n</execute>", 2, 1, "expected a JSON array of calls, found an object"),
    ],
)
def test_an_error_says_what_is_wrong_and_where_in_the_raw_text(text, line, column, words):
    error = read(text)[-1]
    assert (error["type"], error["kind"]) == ("error", "malformed")
    assert (error["line"], error["column"]) == (line, column)
    assert f"{words} at line {line}, column {column}." in " ".join(
        error["content"].replace(" that was opened", "").split()
    )
    assert error["raw"] == text[text.index("<execute>") :]
    assert "No call in it was run" in error["content"]


def test_an_error_s_text_is_not_joined_to_other_text():
    events = read("Sure. <execute>[7]</execute> And on.")
    assert names(events) == ["respond", "malformed", "respond"]
    assert [event["content"] for event in events[::2]] == ["Sure. ", " And on."]


def test_a_respond_report_has_the_same_place_counted_from_the_end_of_the_tag():
    [report] = read("<execute>[7]</execute>", errors="respond")
    assert report["type"] == "respond"
    assert report["content"].startswith("Error: Malformed tool call syntax.")
    assert "at line 1, column 2." in report["content"]


@pytest.mark.parametrize("errors", ["Event", "", 1, b"event"])
def test_an_unknown_mode_of_errors_is_refused(errors):
    with pytest.raises(ConfigError, match='errors must be "respond" or "event", got '):
        Parser(errors=errors)


def test_the_raw_text_of_a_block_that_is_too_long_is_bounded():
    limits = Limits(max_block_bytes=50)
    events = read("<execute>[", *["x" * 7] * 1000, "</execute>ok", limits=limits)
    assert names(events) == ["malformed", "respond"]
    assert events[0]["raw"] == ("<execute>[" + "x" * 7000)[: 50 + len("<execute></execute>")]


# The report is the same however the text is cut.


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


@given(cut_texts(), st.sampled_from(REASONS), st.booleans(), st.booleans())
@example(["<results>", '["a', "</results>"], None, False, False)
@example(["<execute>```", "json[]``", "`</execute>"], None, True, False)
@example(["<execute>`", "``\n``` []</execute>"], None, True, False)
def test_any_chunks_give_the_same_errors(chunks, end, lenient, begins_in_think):
    options = {"end": end, "lenient": lenient, "begins_in_think": begins_in_think}
    whole = timeless(read("".join(chunks), **options))
    assert timeless(read(*chunks, **options)) == whole
    assert timeless(read(*"".join(chunks), **options)) == whole


@given(cut_texts(), st.sampled_from(REASONS))
def test_any_chunks_give_the_same_errors_under_small_limits(chunks, end):
    limits = Limits(max_block_bytes=40, max_depth=4, max_calls=2)
    whole = timeless(read("".join(chunks), end=end, limits=limits))
    assert timeless(read(*chunks, end=end, limits=limits)) == whole


@given(texts)
def test_error_events_stand_where_reports_stand_and_nothing_else_differs(text):
    def shape(events: list[dict[str, Any]]) -> list[Any]:
        prefix = "Error: Malformed tool call syntax."
        return [
            "error"
            if event["type"] == "error" or event.get("content", "").startswith(prefix)
            else (event["type"], event.get("content"))
            for event in events
            if event.get("raw") != ""  # a call inside reasoning, which cogency does not report
        ]

    assert shape(read(text)) == shape(read(text, errors="respond"))


@given(texts)
def test_an_error_s_place_lies_in_its_raw_text_which_is_part_of_the_text(text):
    for event in read(text):
        if event["type"] == "error" and event["raw"]:
            lines = event["raw"].split("\n")
            assert event["raw"].startswith("<execute>")
            assert event["raw"] in text
            assert 1 <= event["column"] <= len(lines[event["line"] - 1]) + 1


# How a text ended


@pytest.mark.parametrize(
    ("text", "unknown", "stop", "cut"),
    [
        (f"<execute>{ONE}</execute>", RUNS, RUNS, RUNS),
        (f"<execute>{ONE}", RUNS, RUNS, ["truncated"]),
        (f"<execute>{ONE} \n</exec", RUNS, RUNS, ["truncated"]),
        ("<execute>[]", ["execute"], ["execute"], ["truncated"]),
        ("<execute>[7]", ["malformed"], ["malformed"], ["malformed"]),
        ('<execute>[{"name": "t"', ["truncated"], ["unfinished"], ["truncated"]),
        ('<execute>[{"name": "t', ["truncated"], ["unfinished"], ["truncated"]),
        ("<execute>", ["truncated"], ["unfinished"], ["truncated"]),
        ("<execute>[}", ["malformed"], ["malformed"], ["malformed"]),
        ("hi", ["respond"], ["respond"], ["respond", "truncated"]),
        ("<think>hm", ["think"], ["think"], ["think", "truncated"]),
        ("hi<end>", ["respond", "end"], ["respond", "end"], ["respond", "end"]),
        (
            "<end>hi",
            ["end", "respond"],
            ["end", "respond"],
            ["end", "respond", "truncated"],
        ),
        ("a<execute>[7]</execute>", ["respond", "malformed"], ["respond", "malformed"],
         ["respond", "malformed", "truncated"]),
    ],
)  # fmt: skip
def test_the_kind_of_an_open_block_s_error_depends_on_how_the_text_ended(text, unknown, stop, cut):
    assert names(read(text)) == unknown
    assert names(read(text, end="no known word")) == unknown
    assert names(read(text, end="stop")) == names(read(text, end="end_turn")) == stop
    assert names(read(text, end="length")) == names(read(text, end="max_tokens")) == cut
    assert names(read(text, end=ConnectionError("reset"))) == cut


@pytest.mark.parametrize("at", range(len(ONE)))
def test_a_block_that_is_cut_anywhere_runs_nothing_and_keeps_what_was_written(at):
    text = f"<execute>{ONE[:at]}"
    for end in ("length", ConnectionError("reset"), None):
        [error] = read(text, end=end)
        assert (error["kind"], error["raw"]) == ("truncated", text)
        assert "No call in it was run" in error["content"]


def test_an_error_of_the_source_is_not_blamed_on_the_model():
    for text in ("<execute>[", "hi"):
        report = read(text, end=ConnectionError("reset"))[-1]["content"]
        assert "The stream broke off" in report
        assert "ConnectionError: reset" in report
        assert "you did nothing wrong" in report
    assert "length" in read("<execute>[", end="length")[-1]["content"]
    assert names(read(end=ConnectionError("refused"))) == []


def test_a_closing_tag_in_a_string_that_was_cut_belongs_to_the_string():
    text = '<execute>[{"name": "write", "args": {"text": "a block ends with </execute> and'
    for end in ("length", ConnectionError("reset")):
        [error] = read(text, end=end)
        assert (error["kind"], error["raw"]) == ("truncated", text)
    assert names(read(text)) == ["malformed", "respond"]


def test_an_exception_whose_str_fails_is_named_by_its_class():
    class MuteError(Exception):
        def __str__(self) -> str:
            raise LookupError("no text")

    assert "(MuteError)" in read("<execute>[", end=MuteError())[-1]["content"]


@pytest.mark.parametrize("reason", [1, b"stop", []])
def test_a_reason_that_is_not_text_is_refused(reason):
    with pytest.raises(TypeError, match="reason must be str, not "):
        Parser().finish(reason)
    with pytest.raises(TypeError, match="reason must be str, not "):
        Finish(reason)


def test_a_finish_is_a_value():
    assert Finish("stop") == Finish("stop") != Finish(None)
    assert (repr(Finish("stop")), repr(Finish(None))) == ('Finish("stop")', "Finish(None)")
    assert len({Finish("stop"), Finish("stop")}) == 1
    match Finish("length"):
        case Finish(reason):
            assert reason == "length"


@pytest.mark.parametrize("stream", ["event", "token"])
async def test_a_finish_among_the_chunks_says_how_the_text_ended(stream):
    source = Chunks("<execute>[", Finish("length"), "")
    events = [event async for event in parse_tokens(source, stream=stream, errors="event")]
    assert names(events) == ["truncated"]
    assert "length" in events[0]["content"]
    source = Chunks(f"<execute>{ONE}", Finish("stop"))
    assert names([event async for event in parse_tokens(source, stream=stream)]) == RUNS


@pytest.mark.parametrize("errors", ["event", "respond"])
async def test_a_source_that_raises_is_reported_and_then_raises(errors):
    events = []
    with pytest.raises(ConnectionError, match="reset"):
        async for event in parse_tokens(
            Chunks("a<execute>[", ConnectionError("reset")), errors=errors
        ):
            events += [event]
    assert names(events) == ["respond", {"event": "truncated", "respond": "respond"}[errors]]
    assert "Malformed" not in events[-1]["content"]


# Reasoning that the prompt has opened


@pytest.mark.parametrize("stream", ["event", "token"])
def test_a_text_may_begin_inside_reasoning(stream):
    events = read("hm</think>yes", stream=stream, begins_in_think=True)
    assert [(event["type"], event["content"]) for event in events] == [
        ("think", "hm"),
        ("respond", "yes"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<execute>{ONE}</execute>", ["think", "unfinished"]),
        (f"so\n<execute>{ONE}</execute>", ["think", "unfinished"]),
        (f"so <execute>{ONE}</execute>", ["think"]),  # a mention
        (f"<execute>{ONE}</execute></think>yes", ["think", "respond"]),
    ],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_nothing_inside_reasoning_is_ever_a_call(stream, text, expected):
    events = read(text, stream=stream, begins_in_think=True)
    assert list(dict.fromkeys(names(events))) == expected
    if "unfinished" in expected:
        assert "</think>" in events[-1]["content"]


# Lenient reading


@pytest.mark.parametrize(
    "body",
    [
        f"```json\n{ONE}\n```",
        f"```\n{ONE}\n```\n",
        f"\n ```python {ONE} ```",
        f"````json\n{ONE}````",
        f"```json\n{ONE}",
        f"{ONE}\n```",
        '{"name": "t", "args": {"x": 1}}',
        '```json\n{"name": "t", "args": {"x": 1}}\n```',
        '[{"name": "t", "arguments": {"x": 1}}]',
        '[{"parameters": {"x": 1}, "name": "t"}]',
        '[{"name": "t", "input": {"x": 1}}]',
        '[{"name": "t", "args": "{\\"x\\": 1}"}]',
        '[{"name": "t", "args": null, "input": {"x": 1}}]',
        '[{"name": "t", "args": {"x": 1},},]',
        '[{"name": "t", "args": {"x": 1,}}]',
    ],
)
def test_lenient_reading_accepts_blocks_as_small_models_write_them(body):
    text = f"<execute>{body}</execute>"
    assert names(read(text)) == ["malformed"]
    events = read(text, lenient=True)
    assert names(events) == RUNS
    assert json.loads(events[0]["content"]) == json.loads(ONE)[0]


@pytest.mark.parametrize(
    "body",
    [
        "``[]``",
        "```json",
        "``` ``` []",
        f"```{ONE}``` ```",
        "[,]",
        '[{"name": "t", "args": {},,}]',
        '{"name": "t"}',
        '{"args": {}}',
        '{"name": "t", "args": {}} {"name": "t", "args": {}}',
        '[{"name": "t", "arguments": "{"}]',
        '[{"name": "t", "arguments": "[]"}]',
        '[{"name": "t", "arguments": "{} {}"}]',
        "```" + "j" * 40 + f"\n{ONE}",
        "`" * 20 + ONE,
        "'[]'",
    ],
)
def test_blocks_too_far_from_the_format_are_malformed(body):
    assert names(read(f"<execute>{body}</execute>", lenient=True)) == ["malformed"]


@pytest.mark.parametrize("text", ["<execute>```json\n[]", "<execute>```\n[]\n``"])
def test_a_fenced_block_without_its_closing_tag_runs(text):
    assert names(read(text, lenient=True)) == ["execute"]


@given(texts, st.sampled_from(REASONS))
def test_lenient_reading_does_not_change_valid_blocks(text, end):
    strict, lenient = read(text, end=end), read(text, end=end, lenient=True)
    if not any(event["type"] == "error" for event in strict):
        assert timeless(lenient) == timeless(strict)


@pytest.mark.parametrize("filler", ["`", " ", "```\n", "x", "\n```json"])
@pytest.mark.parametrize("begin", ["", "[]"])
def test_lenient_reading_is_linear(begin, filler):
    def read_characters(count: int) -> None:
        read("<execute>", *(begin + filler * count)[:count], lenient=True)

    assert is_linear(read_characters, 200_000)
