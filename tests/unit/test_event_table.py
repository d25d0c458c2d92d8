"""Events have the names and keys of one table, the core's: those that it makes, and those that type checkers know."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from cogency_rs import Parser, parse_tokens, types
from cogency_rs._core import EVENTS
from support.tools import FAIL, OK, with_tools
from support.turns import MODES, Log, accumulator

TYPED = (*get_args(types.TurnEvent), types.WrittenResultEvent)
TEXT = (
    "<think>hm</think>So.<execute>[7]</execute>"
    '<execute>[{"name": "fail", "args": {}}, {"name": "ok", "args": {}}]</execute>'
)


def shape(event: type[Any]) -> tuple[str, tuple[str, ...]]:
    hints = get_type_hints(event)
    [kind] = get_args(hints["type"])
    return kind, tuple(hints)


def test_the_types_of_events_are_the_rows_of_the_table():
    assert sorted(map(shape, TYPED)) == sorted(EVENTS)
    assert {*get_args(types.Event)} == {*TYPED}


@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_makes_events_of_the_table_and_every_kind_of_them(mode):
    turns = accumulator(with_tools(FAIL, OK, storage=Log()), stream=mode, max_failures=1)
    made = []
    for text in (TEXT, "Done.<end>", TEXT.replace(', {"name": "ok", "args": {}}', "")):
        source = parse_tokens(text, calls="stream", errors="event")
        made += [event async for event in turns.process(source)]
    shapes = {(event["type"], tuple(event)) for event in made}
    assert shapes == {row for row in EVENTS if row[1] != shape(types.WrittenResultEvent)[1]}
    counts, opened = types.ResultCounts, types.BreakerOpened
    assert {tuple(event["payload"]) for event in made if event["type"] == "result"} == {
        tuple(get_type_hints(payload)) for payload in (counts, opened)
    }


def test_a_parser_makes_an_event_of_the_table_of_results_that_the_model_writes():
    parser = Parser()
    made = [*parser.feed("<results>[1]</results>"), *parser.finish()]
    assert [(event["type"], tuple(event)) for event in made] == [shape(types.WrittenResultEvent)]
