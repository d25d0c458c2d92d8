"""Events have the names and keys of one table, the core's: in turns, in runs, to type checkers, and in the guide."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from cogency_rs import (
    Agent,
    CallOptions,
    Parser,
    RunLimits,
    ToolCall,
    ToolContext,
    ToolResult,
    parse_tokens,
    tool,
    types,
)
from cogency_rs._core import EVENTS
from cogency_rs.agent import NativeDriver, RunHandle, ScriptedDriver, TextDriver
from cogency_rs.errors import BlockTool, CogencyError, LLMError
from cogency_rs.models import Finish, ReasoningDelta, TextDelta, ToolCallDelta
from cogency_rs.testing import ScriptedModel
from support.tools import FAIL, OK, block, with_tools
from support.turns import MODES, Log, accumulator

ROOT = Path(__file__).resolve().parents[2]
TYPED = (*get_args(types.RunEvent), types.WrittenResultEvent)
TEXT = (
    "<think>hm</think>So.<execute>[7]</execute>"
    '<execute>[{"name": "fail", "args": {"a": 1}}, {"name": "ok", "args": {}}]</execute>'
)


def shape(event: type[Any]) -> tuple[str, tuple[str, ...]]:
    hints = get_type_hints(event)
    [kind] = get_args(hints["type"])
    return kind, tuple(hints)


def test_the_types_of_events_are_the_rows_of_the_table():
    assert sorted(map(shape, TYPED)) == sorted(EVENTS)
    assert {*get_args(types.Event)} == {*get_args(types.TurnEvent), types.WrittenResultEvent}


async def meddle(invocation: Any, next: Any) -> ToolResult:
    """Block one of the tools, and change what the other returns."""
    if invocation.call.name == "ok":
        raise BlockTool("not today")
    await next(invocation)
    return ToolResult("changed", error=True)


@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_makes_events_of_the_table_and_every_kind_of_them(mode):
    tools = with_tools(FAIL, OK, storage=Log())
    turns = accumulator(tools, stream=mode, max_failures=1, hooks=[meddle])
    made = []
    for text in (TEXT, "Done.<end>", TEXT.replace(', {"name": "ok", "args": {}}', "")):
        source = parse_tokens(text, calls="stream", errors="event")
        made += [event async for event in turns.process(source)]
    shapes = {(event["type"], tuple(event)) for event in made}
    assert shapes == {shape(event) for event in get_args(types.TurnEvent)}
    counts, opened = types.ResultCounts, types.BreakerOpened
    assert {tuple(event["payload"]) for event in made if event["type"] == "result"} == {
        tuple(get_type_hints(payload)) for payload in (counts, opened)
    }


def test_a_parser_makes_an_event_of_the_table_of_results_that_the_model_writes():
    parser = Parser()
    made = [*parser.feed("<results>[1]</results>"), *parser.finish()]
    assert [(event["type"], tuple(event)) for event in made] == [shape(types.WrittenResultEvent)]


# Runs of agents


@tool
async def change(to: str = "") -> str:
    """A tool whose result a hook changes."""
    return f"tool's{to}"


@tool
async def blocked() -> str:
    """A tool that a hook blocks."""
    return "never"


@tool
async def fails() -> str:
    """Fail."""
    raise ValueError("no")


@tool
async def says(context: ToolContext[Any]) -> str:
    """Emit an event of its own."""
    context.emit({"type": "progress", "done": 0.5})
    return "said"


@tool(requires_approval=True)
async def pay() -> str:
    """Pay."""
    return "paid"


async def guard(invocation: Any, next: Any) -> ToolResult:
    if invocation.call.name == "blocked":
        raise BlockTool("not today")
    result: ToolResult = await next(invocation)
    return ToolResult("hook's") if invocation.call.name == "change" else result


NAMES = ("change", "blocked", "fails", "says")
ARGS = dict.fromkeys([*NAMES, "pay", "in"], "{}") | {
    "change": '{"to": "x"}',
    "in": '{"question": "?"}',
}


# Models, each in the form of a driver: how its answers call tools, a broken answer, an answer, and the events that it
# cannot make.


class Text:
    lacks = frozenset[str]()
    driver = TextDriver()
    broken = "<execute>[7]</execute>"
    answer = "<think>hm</think>Done.<end>"

    def call(self, *names: str) -> list[Any]:
        calls = [{"name": name, "args": json.loads(ARGS[name])} for name in names]
        return [f"<think>hm</think>So.<execute>{json.dumps(calls)}</execute>"]


class Native:
    driver = NativeDriver()
    lacks = frozenset({"end"})
    broken = (ToolCallDelta(0, "c", "change", "{"), Finish("tool_calls"))
    answer = (ReasoningDelta("hm"), TextDelta("Done."))

    def call(self, *names: str) -> list[Any]:
        called = [ToolCallDelta(at, f"c{at}", name, ARGS[name]) for at, name in enumerate(names)]
        return [(ReasoningDelta("hm"), TextDelta("So."), *called, Finish("tool_calls"))]


class ReAct:
    driver = "react"
    lacks = frozenset({"end", "tool_call_start", "tool_call_delta"})
    broken = "{"
    answer = '{"thought": "hm", "type": "final_answer", "answer": "Done."}'

    def call(self, *names: str) -> list[Any]:
        decision = {"thought": "hm", "type": "call_tool", "args": {}}
        return [json.dumps({**decision, "tool": name}) for name in names]


class Scripted:
    def __init__(self, script: list[Any]) -> None:
        self.driver = ScriptedDriver(script)


MODELS = (Text(), Native(), ReAct())


def made_by(model: Any, answers: Sequence[Any], **options: Any) -> Agent[Any, Any]:
    tools = (change, blocked, fails, says, pay, *options.pop("tools", ()))
    return Agent(ScriptedModel(answers), driver=model.driver, tools=tools, hooks=[guard], **options)


async def seen(run: RunHandle[Any], mode: Any) -> list[dict[str, Any]]:
    """The events of a run to its end, whatever that is."""
    events: list[Any] = []
    with suppress(CogencyError):
        async for event in run.events(mode, calls="stream"):
            events.append(dict(event))  # noqa: PERF401  (events before an error count, too)
    return events


async def everything(model: Any, mode: Any) -> list[dict[str, Any]]:
    """The events of runs that call, fail, are blocked, are broken off, are asked about and go on."""

    async def of(*answers: Any, **options: Any) -> list[dict[str, Any]]:
        return await seen(made_by(model, answers, **options).run("?"), mode)

    called, answer = model.call(*NAMES), model.answer
    events = await of(*called, model.broken, answer)
    events += await of(*called, answer, calls=CallOptions(on_block="stop"))
    events += await of(*called, answer, calls=CallOptions(eager=True))
    events += await of(*called, answer, limits=RunLimits(steps=1))
    events += await of(*model.call("fails") * 9, answer, limits=RunLimits(same_errors=2))
    events += await of(answer, answer, output_type=int, limits=RunLimits(steps=2))
    events += await of(LLMError("gone"))

    for reason in ("length", "content_filter"):
        cut = answer if isinstance(answer, tuple) else (TextDelta(answer),)
        events += await of((*cut, Finish(reason)), answer)

    outer = Agent(ScriptedModel([*called, answer]), driver=model.driver, tools=[blocked], name="in")
    events += await of(*model.call("in"), answer, tools=[outer])

    agent = made_by(model, [*model.call("pay"), answer])
    waiting = agent.run("?", conversation_id="c")
    events += await seen(waiting, mode)
    [paid] = waiting.result.waiting
    events += await seen(agent.resume("c", {paid.id: True}), mode)
    events += await seen(agent.resume("c"), mode)

    for ask in (RunHandle.stop, RunHandle.cancel):
        run = made_by(model, [*called, answer]).run("?")
        async for event in run.events(mode):
            events.append(dict(event))
            if event["type"] == "call":
                ask(run, "enough")
    return events


KEYS = {(kind, frozenset(keys)) for kind, keys in EVENTS}
OF_RUNS = {shape(event)[0] for event in get_args(types.RunEvent)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
async def test_a_run_makes_events_of_the_table_and_every_kind_of_them(model, mode):
    made = await everything(model, mode)
    own = [event for event in made if event["type"] == "progress"]
    assert own, "what tools emit of their own comes too"
    assert {(event["type"], frozenset(event)) for event in made if event not in own} <= KEYS
    assert {event["type"] for event in made} - {"progress"} == OF_RUNS - model.lacks


@pytest.mark.parametrize("mode", MODES)
async def test_a_scripted_run_makes_events_of_the_table(mode):
    script = [[ToolCall(name, {}) for name in NAMES], "Done."]
    made = await seen(made_by(Scripted(script), ()).run("?"), mode)
    assert {(event["type"], frozenset(event)) for event in made} - KEYS == {
        ("progress", frozenset(("type", "execution_id", "timestamp", "done")))
    }
    assert {"tool_blocked", "tool_changed", "metric", "user"} <= {event["type"] for event in made}


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in EVENTS}))
async def test_no_tool_makes_an_event_that_is_in_the_table(kind):
    @tool
    async def forge(context: ToolContext[Any]) -> str:
        """Emit an event that looks like one of the run's."""
        context.emit({"type": kind})
        return "forged"

    made = await seen(made_by(Text(), [block("forge"), "Done."], tools=[forge]).run("?"), "event")
    [result] = [event for event in made if event["type"] == "result"]
    assert f"events of the type '{kind}' are the turn's own" in result["content"]


def test_the_documentation_s_table_of_events_has_every_kind_and_no_other():
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = page.partition("## Events\n")[2].partition("\n### ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall("`([a-z_]+)`", "".join(rows))) == sorted({kind for kind, _ in EVENTS})


async def test_the_program_that_matches_every_kind_of_event_meets_no_other():
    """To type checkers, no event is left at the end of its `match`; nor is one when it runs."""
    program: Any = runpy.run_path(str(ROOT / "tests" / "typing" / "passes" / "run_events.py"))
    for model in MODELS:
        made = await everything(model, "token")
        shown = [program["shown"](event) for event in made if event["type"] != "progress"]
        assert all(isinstance(text, str) for text in shown)
