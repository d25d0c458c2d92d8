"""The outcome of a turn, for the program that may ask the model again; and rows that lose no text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import parse_tokens
from cogency_rs.errors import StorageError
from cogency_rs.models import Finish
from cogency_rs.types import TurnOutcome
from support.tools import FAIL, OK, block, with_tools
from support.turns import LOGS, MODES, Chunks, Log, accumulator, carry_out, event, events_of, types

BAD = "<execute>[7]</execute>"
OPEN = '<execute>[{"name": "ok"'

ACTED, ANSWERED, ENDED, MALFORMED, TRUNCATED, REFUSED, WAITING, FAILED = TurnOutcome


def test_an_outcome_is_equal_to_its_value():
    assert [str(outcome) for outcome in TurnOutcome] == [
        *("acted", "answered", "ended", "malformed", "truncated", "refused", "waiting", "failed")
    ]
    assert TurnOutcome("acted") is TurnOutcome.ACTED == "acted"


@pytest.mark.parametrize(
    ("chunks", "outcome"),
    [
        (["hi"], ANSWERED),
        ([], ANSWERED),
        (["<think>hm</think>"], ANSWERED),
        (["hi", Finish("stop")], ANSWERED),
        (["hi<end>"], ENDED),
        (["<end>"], ENDED),
        (["so ", block("ok")], ACTED),
        ([block("ok", "fail")], ACTED),
        ([block("fail")], ACTED),
        ([BAD], MALFORMED),
        (["Sure. ", BAD], MALFORMED),
        ([BAD, " That is it."], MALFORMED),
        ([BAD, "<end>"], MALFORMED),
        ([BAD, block("ok")], ACTED),
        ([OPEN], TRUNCATED),
        ([OPEN, Finish("length")], TRUNCATED),
        ([OPEN, Finish("stop")], MALFORMED),
        ([BAD, OPEN], TRUNCATED),
        (["hi", Finish("length")], TRUNCATED),
        (["<think>hm", Finish("length")], TRUNCATED),
        ([Finish("length")], TRUNCATED),
        (["hi<end>", Finish("length")], ENDED),
        ([block("ok")[: -len("</execute>")]], ACTED),
        ([block("ok")[: -len("</execute>")], Finish("length")], TRUNCATED),
        (["The tag <results> holds them. 42."], ANSWERED),
    ],
)
@pytest.mark.parametrize("errors", ["event", "respond"])
@pytest.mark.parametrize("mode", MODES)
async def test_each_answer_has_its_outcome(chunks, outcome, errors, mode):
    turns = accumulator(with_tools(OK, FAIL, storage=Log()), stream=mode)
    await carry_out(turns, parse_tokens(Chunks(*chunks), errors=errors))
    assert turns.last.outcome is outcome
    reasons = [chunk.reason for chunk in chunks if isinstance(chunk, Finish)]
    assert turns.last.finish_reason == (None if outcome == ENDED else (reasons or [None])[0])


@pytest.mark.parametrize("mode", MODES)
async def test_events_of_another_parser_have_an_outcome_too(mode):
    for items, outcome in [
        (["respond"], ANSWERED),
        (["respond", "error"], MALFORMED),
        (["call", "execute"], ACTED),
        (["call", "execute", "respond"], ANSWERED),
        (["error", "call", "execute"], ACTED),
        (["respond", "end"], ENDED),
    ]:
        call = '{"name": "ok", "args": {}}'
        events = [event(kind, call if kind == "call" else "x") for kind in items]
        turns = accumulator(with_tools(OK, storage=Log()), stream=mode)
        await carry_out(turns, Chunks(*events))
        assert turns.last.outcome is outcome, items


@pytest.mark.parametrize("text", ["", "hi", OPEN, "<think>hm"])
@pytest.mark.parametrize("errors", ["event", "respond"])
async def test_the_outcome_after_a_source_that_raises_is_truncated(text, errors):
    turns = accumulator(with_tools(OK, storage=Log()))
    with pytest.raises(ConnectionError, match="reset"):
        await carry_out(turns, parse_tokens(Chunks(text, ConnectionError("reset")), errors=errors))
    assert turns.last.outcome is TRUNCATED


async def test_the_outcome_after_a_log_that_fails_is_failed():
    log = Log(fault=lambda _: StorageError("full"))
    turns = accumulator(with_tools(OK, storage=log))
    with pytest.raises(StorageError, match="full"):
        await carry_out(turns, parse_tokens("hi"))
    assert turns.last.outcome is FAILED


async def test_a_turn_that_is_not_read_to_its_end_has_no_outcome():
    turns = accumulator(with_tools(OK, storage=Log()))
    await carry_out(turns, parse_tokens("hi"))
    stream = turns.process(parse_tokens("a<think>b</think>c"))
    await anext(stream)
    await stream.aclose()
    assert turns.last.outcome is None


# What is saved and emitted


def rows_of(log: Log) -> list[tuple[str, Any]]:
    return [
        (row.type, json.loads(row.content) if row.type == "error" else row.content)
        for row in log.rows
    ]


@pytest.mark.parametrize("kind_of_log", LOGS)
@pytest.mark.parametrize("mode", MODES)
async def test_the_log_has_the_model_s_text_and_the_report_about_it(mode, kind_of_log):
    log = kind_of_log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    events = await carry_out(turns, parse_tokens(f"Sure. {BAD}", errors="event"))
    assert types(events) == types(log.rows) == ["respond", "error"]
    error = events[1]
    (_, sure), (_, row) = rows_of(log)
    assert sure.strip() == events[0]["content"].strip() == "Sure."
    assert row == {
        **{key: error[key] for key in ("kind", "code", "raw", "line", "column")},
        "content": "Malformed tool call syntax: call 0 must be an object, found a number at line 1, column 11. "
        "No call in it was run.",
        "advice": "again",
        "dialect": "cogency",
        "problem": "call 0 must be an object, found a number",
    }
    assert (row["kind"], row["raw"]) == ("malformed", BAD)


@pytest.mark.parametrize("mode", MODES)
async def test_text_after_a_malformed_block_is_in_the_block_s_row(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    text = f"a {BAD} b <think>c</think>{BAD} d"
    events = await carry_out(turns, parse_tokens(text, errors="event"))
    assert types(events) == ["respond", "error", "respond", "think", "error", "respond"]
    assert types(log.rows) == ["respond", "error", "error"]
    assert "".join(
        row["raw"] if kind == "error" else row for kind, row in rows_of(log)
    ) == text.replace("a ", "a" if mode == "event" else "a ", 1)


@pytest.mark.parametrize("mode", MODES)
async def test_text_after_a_malformed_block_is_a_row_of_its_own_if_calls_follow(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    events = await carry_out(turns, parse_tokens(f"{BAD}b{block('ok')}", errors="event"))
    assert types(events) == ["error", "respond", "call", "execute", "result"]
    assert types(log.rows) == ["error", "respond", "call", "result"]
    assert rows_of(log)[0][1]["raw"] == BAD


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["hi", OPEN])
async def test_the_log_says_that_the_source_failed_and_how(mode, text):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    with pytest.raises(ConnectionError):
        source = Chunks(text, ConnectionError("reset"))
        await carry_out(turns, parse_tokens(source, errors="event"))
    kind, row = rows_of(log)[-1]
    assert (kind, row["kind"]) == ("error", "truncated")
    assert "ConnectionError: reset" in row["why"]
    assert "reset" not in row["content"]  # which a model is told
    assert "".join(row if isinstance(row, str) else row["raw"] for _, row in rows_of(log)) == text


@pytest.mark.parametrize("mode", MODES)
async def test_reports_stay_in_the_answer_unless_they_are_asked_for(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    events = await carry_out(turns, parse_tokens(f"Sure. {BAD}"))
    assert set(types(events)) == set(types(log.rows)) == {"respond"}
    assert "Error: Malformed tool call syntax." in log.rows[0].content
    assert turns.last.outcome is MALFORMED


@pytest.mark.parametrize("mode", MODES)
async def test_an_error_of_another_parser_is_saved_and_emitted_as_it_is(mode):
    log, seen = Log(), []
    source = parse_tokens(f"a {BAD}b", errors="event")
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    async for item in turns.process(events_of(source)):
        seen += [item]
    (_, said), (_, row) = rows_of(log)
    error = seen[1]
    assert said.strip() == "a"
    assert row == {
        **{key: error[key] for key in ("kind", "code", "content", "line", "column")},
        "raw": f"{BAD}b",
    }
    assert types(seen) == ["respond", "error", "respond"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_keeps_the_parser_s_options(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    text = 'hm</think><execute>```json\n{"name": "ok", "arguments": {}}```</execute>'
    source = parse_tokens(text, lenient=True, begins_in_think=True)
    assert types(await carry_out(turns, source))[-3:] == ["call", "execute", "result"]
    assert types(log.rows) == ["think", "call", "result"]
