"""Events come in the order in which the model wrote, also if calls are shown while they arrive."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cogency_rs import Agent, Dialect, Memory, Parser, ToolCall, parse_tokens
from cogency_rs.agent import NativeDriver, TextDriver
from cogency_rs.models import TextDelta, ToolCallDelta
from cogency_rs.testing import ScriptedModel
from support.agents import add
from support.tools import with_tools
from support.turns import MODES, Chunks, Log, accumulator, carry_out

SHOWN = ("think", "respond", "tool_call_start")
NAMES = sorted(Dialect.presets())
CALLS = [ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})]


def order(events: list[Any]) -> list[Any]:
    """Each text whole, and where a call begins."""
    found: list[Any] = []
    for event in events:
        kind = event["type"]
        if kind == "tool_call_start":
            found.append(("call", event["index"]))
        elif found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + event["content"])
        else:
            found.append((kind, event["content"]))
    stripped = [(kind, each.strip() if isinstance(each, str) else each) for kind, each in found]
    return [each for each in stripped if each[1] != ""]


def written(name: str) -> str:
    calls = Dialect(name).write_calls(CALLS)
    [*marks] = Dialect(name).to_dict().get("reasoning", [])
    thought = marks[0].replace("{}", "hm") if marks and not marks[0].endswith("{}") else ""
    return f"{thought}Before.\n{calls}"


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % len(text) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("mode", MODES)
@given(name=st.sampled_from(NAMES), places=st.lists(st.integers(0, 400), max_size=8))
@settings(deadline=None, max_examples=120)
async def test_text_comes_before_the_calls_that_follow_it_in_every_dialect(mode, name, places):
    chunks = cut(written(name), places)
    parser = Parser(dialect=name, calls="stream", errors="event")
    read = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish("stop")
    turns = accumulator(with_tools(add, storage=Log()), stream=mode)
    source = parse_tokens(Chunks(*chunks), dialect=name, calls="stream", errors="event")
    events = await carry_out(turns, source)
    expected = order([event for event in read if event["type"] in SHOWN])
    assert order([event for event in events if event["type"] in SHOWN]) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("driver", [TextDriver, NativeDriver])
async def test_a_run_shows_text_before_the_call_that_follows_it(driver, mode):
    call = '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]</execute>'
    answer = (
        f"Before. {call}"
        if driver is TextDriver
        else [TextDelta("Before. "), ToolCallDelta(0, "1", "add", '{"a": 1, "b": 2}')]
    )
    storage = Memory()
    agent = Agent(ScriptedModel([answer, "3."]), tools=[add], driver=driver(), storage=storage)
    async with agent.run("?", conversation_id="c") as run:
        events = [event async for event in run.events(mode, calls="stream")]
    shown = order([event for event in events if event["type"] in SHOWN])
    assert shown == [("respond", "Before."), ("call", 0), ("respond", "3.")]
    assert [row["type"] for row in (await storage.read("c")).rows] == [
        *("user", "respond", "call", "result", "respond")
    ]


@pytest.mark.parametrize("broken", ["<execute>[7]</execute>", "<execute>[7]</execute> Well."])
async def test_what_could_not_be_read_comes_before_the_call_that_follows_it_too(broken):
    call = '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]</execute>'
    turns = accumulator(with_tools(add, storage=Log()), stream="event")
    source = parse_tokens(Chunks(f"So. {broken}{call}"), calls="stream", errors="event")
    events = await carry_out(turns, source)
    kinds = [event["type"] for event in events]
    assert kinds.count("error") == kinds.count("call") == 1
    before = kinds[: kinds.index("tool_call_start")]
    assert before == ["respond", "error", *(["respond"] if "Well" in broken else [])]
    assert [row.type for row in turns.storage.rows].count("respond") == before.count("respond")
