"""The accumulator makes cogency's events and rows in both modes, except for the named differences."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cogency_rs
from cogency_rs import Execution, ToolResult
from cogency_rs.errors import ConfigError

from . import differences
from .oracle import (
    MALFORMED,
    OUR_REPORT,
    Log,
    Raised,
    Scenario,
    Script,
    Scripted,
    Sleeper,
    ToolClass,
    Turn,
    cogency,
    content_of,
    joined,
    our_turns,
    skip_without_cogency,
    stream,
    their_turns,
    with_content,
)
from .pieces import generous
from .recorded import texts_of
from .strategies import blocks, cut, good_turns, parity, scenarios, texts, toolboxes, words

skip_without_cogency()

modes = st.sampled_from(["event", "token"])


def comparable(turns: list[Turn], names: set[str]) -> list[Any]:
    """What turns emit, save and raise; of a `TypeError` whose text is our own, only the type."""
    words_differ = differences.event_without_text.name in names

    def raised(error: Raised | None) -> Any:
        return error.kind if words_differ and error and error.kind == "TypeError" else error

    return [(turn.events, turn.rows, raised(turn.raised)) for turn in turns]


@parity(800)
@given(scenarios)
def test_events_of_any_parser_give_cogency_s_events_and_rows(scenario):
    wanted, names = differences.promised_turns(scenario)
    found = our_turns(scenario)
    assert comparable(found, names) == comparable(wanted, names)
    if not names:
        assert comparable(found, names) == comparable(their_turns(scenario), names)


# From a model's text to events and rows.


def check_text(chunks: list[str], scripts: dict[str, Script], mode: str) -> None:
    """Compare a turn over our parser with cogency's accumulator over the events that we promise."""
    parsed, names = differences.promised_parse("".join(chunks))
    with generous() if differences.integer_beyond_python.name in names else nullcontext():
        events = tuple({**dict(event), "timestamp": 1.0} for event in parsed.events)
        scenario = Scenario((events,), scripts, mode)
        [wanted], more = differences.promised_turns(scenario)
    found = our_turn(chunks, scenario)
    assert found == replace(wanted, events=joined(wanted.events))
    if not names and not more and mode == "event":
        [theirs] = their_turns(scenario)
        assert found == replace(theirs, events=joined(theirs.events))


def our_turn(chunks: list[str], scenario: Scenario) -> Turn:
    """A turn of our accumulator over our parser, with its events joined and `MALFORMED` for each report of a block."""
    [turn] = our_turns(scenario, [cogency_rs.parse_tokens(stream(chunks))])

    def named(content: Any) -> Any:
        return OUR_REPORT.sub(MALFORMED, content) if isinstance(content, str) else content

    events = [with_content(event, named(content_of(event))) for event in turn.events]
    rows = [(*row[:3], named(row[3]), row[4]) for row in turn.rows]
    return replace(turn, events=joined(events), rows=rows)


one_block = st.builds("{}{}{}".format, words, blocks, words)


@parity(400)
@given(st.one_of(texts, one_block).flatmap(cut), toolboxes, modes)
def test_a_text_gives_cogency_s_events_and_rows(chunks, scripts, mode):
    check_text(chunks, scripts, mode)


@pytest.mark.parametrize("mode", ["event", "token"])
@pytest.mark.parametrize("name", ["agent_turns", "wild_turns", "streams"])
def test_a_recorded_text_gives_cogency_s_events_and_rows(recordings, name, mode):
    tools = {"python": Script(ToolResult("ran", content={"stdout": "4\n"}))}
    for _, chunks in texts_of(recordings, name):
        check_text(chunks, tools, mode)


# Storages that fail, executions that are refused, turns that are cancelled.


@parity(200)
@given(good_turns, modes, st.integers(0, 5))
def test_a_storage_that_fails_leaves_what_cogency_leaves(events, mode, failing_save):
    scripts = {name: Script(ToolResult("done", content=[name])) for name in "ab"}
    whole = Scenario((events,), scripts, mode)
    [wanted], names = differences.promised_turns(whole)
    failing = replace(whole, failing_save=failing_save)
    [found] = our_turns(failing)
    kinds = [row[2] for row in wanted.rows]
    is_last = failing_save == len(kinds) - 1
    if is_last and differences.calls_without_execute.name in names:
        assert found == replace(wanted, rows=wanted.rows[:-1])
        return
    if failing_save >= len(kinds):
        assert found == wanted
        return
    assert found.raised == Raised("OSError", "disk full")
    saved = wanted.rows[:failing_save]
    assert found.rows[: len(saved)] == saved
    open_calls = differences.open_calls(saved) if kinds[failing_save] != "result" else []
    cancelled = [ToolResult("Cancelled", error=True)] * len(open_calls)
    arrays = [differences.promised_array(open_calls, cancelled)] if open_calls else []
    assert [row[3] for row in found.rows[len(saved) :]] == arrays
    assert found.events == wanted.events[: len(found.events)]
    if not differences.storage_that_fails_at_a_call(kinds, failing_save):
        promised = differences.promised_events(events, mode).events
        [theirs] = their_turns(replace(failing, turns=(promised,), max_failures=float("inf")))
        assert len(found.events) == len(theirs.events)


def test_the_state_of_a_turn_is_not_shown():
    def public(accumulator: Any) -> set[str]:
        execution = Execution(Log(None), [])
        if accumulator is not cogency_rs.Accumulator:
            execution = Execution(Log(None), [], 30, "", "sandbox")
        made = accumulator("user", "conversation", execution=execution)
        return {name for name in vars(made) if not name.startswith("_")}

    theirs = public(cogency("core.accumulator").Accumulator)
    ours = public(cogency_rs.Accumulator)
    assert ours - theirs == {"claim", "state"}
    kept = [
        {name for name in names if not differences.state_of_the_turn(name)}
        for names in (ours, theirs)
    ]
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("storage", "tools", "mode"),
    [
        (None, [], "event"),
        (object(), [], "event"),
        (Log(None), [5], "event"),
        (Log(None), [object()], "token"),
        (Log(None), [SimpleNamespace(name="t")], "event"),
        (Log(None), [Scripted], "event"),
        (Log(None), [ToolClass], "event"),
        (Log(None), [], "tokens"),
        (Log(None), [], None),
    ],
)
def test_an_execution_that_cannot_carry_a_turn_is_refused(storage, tools, mode):
    execution = Execution(storage, tools)
    assert differences.execution_that_cannot_carry_a_turn(execution, mode)
    with pytest.raises(ConfigError):
        cogency_rs.Accumulator("user", "conversation", execution=execution, stream=mode)


def test_tools_of_one_name_are_refused_and_under_install_the_first_counts():
    tools = [Scripted("t", Script(ToolResult(each))) for each in ("first", "second")]
    assert differences.tools_of_one_name(tools)
    with pytest.raises(ConfigError, match="two tools are named 't'"):
        cogency_rs.Accumulator("user", "conversation", execution=Execution(Log(None), tools))

    async def saved(make: Any) -> list[Any]:
        log = Log(None)
        execution = Execution(log, tools, 7, "sandbox", "system")
        events = [{"type": "call", "content": '{"name": "t", "args": {}}'}, {"type": "execute"}]
        async for _ in make("user", "conversation", execution=execution).process(stream(events)):
            pass
        return [row[2:4] for row in log.rows]

    theirs = asyncio.run(saved(cogency("core.accumulator").Accumulator))
    with cogency_rs.install():
        assert asyncio.run(saved(cogency("core.accumulator").Accumulator)) == theirs
    assert "first" in theirs[1][1]


@pytest.mark.parametrize("mode", ["event", "token"])
def test_a_turn_that_is_cancelled_has_all_its_results(mode):
    """When the turn is cancelled, one tool is done and one sleeps."""
    call = '{"name": "%s", "args": {}}'
    events = [
        {"type": "call", "content": call % "done", "timestamp": 1.0},
        {"type": "call", "content": call % "asleep", "timestamp": 1.0},
        {"type": "execute", "timestamp": 1.0},
    ]

    async def rows(make: Any) -> list[Any]:
        log, asleep = Log(None), Sleeper("asleep")
        tools = [Scripted("done", Script(ToolResult("ok"))), asleep]
        execution = Execution(log, tools, 7, "sandbox", "system")
        accumulator = make("user", "conversation", execution=execution, stream=mode)

        async def consume() -> None:
            async for _ in accumulator.process(stream(events)):
                pass

        turn = asyncio.create_task(consume())
        await asleep.started.wait()
        turn.cancel()
        await asyncio.wait([turn])
        assert turn.cancelled()
        return [row[2:4] for row in log.rows]

    theirs = asyncio.run(rows(cogency("core.accumulator").Accumulator))
    results = differences.promised_array(
        ["done", "asleep"], [ToolResult("ok"), ToolResult("Cancelled", error=True)]
    )
    assert differences.turn_that_is_cancelled(1)
    assert asyncio.run(rows(cogency_rs.Accumulator)) == [*theirs, ("result", results)]
