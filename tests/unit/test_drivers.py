"""What holds for every driver: how an agent is given one, and that all make the same events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given, strategies as st

from cogency_rs import Agent, AnthropicModel, Dialect, OpenAIModel, RunLimits, ToolCall, tool
from cogency_rs.agent import Driver, NativeDriver, ReActDriver, Runtime, ScriptedDriver, TextDriver
from cogency_rs.errors import ConfigError
from cogency_rs.models import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from cogency_rs.runs import RunContext
from cogency_rs.testing import ScriptedModel
from support.native_calls import add, echo, fail

TOOLS = [add, echo, fail]
UNASKED = ScriptedModel([])


def agent_of(driver: Any, **options: Any) -> Agent:
    return Agent(options.pop("model", UNASKED), tools=TOOLS, driver=driver, **options)


# How an agent takes a driver


@pytest.mark.parametrize(
    ("driver", "answer"),
    [
        ("text", "hi"),
        (TextDriver("hermes"), "hi"),
        ("native", "hi"),
        (NativeDriver(), "hi"),
        ("react", '{"type": "final_answer", "answer": "hi"}'),
        (ReActDriver(), '{"type": "final_answer", "answer": "hi"}'),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_agent_takes_a_driver_or_its_name(driver, answer) -> None:
    model = ScriptedModel([answer])
    result = agent_of(driver, model=model).run_sync("q")
    assert (result.output, len(result.steps)) == ("hi", 1)


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        ("nativ", 'no driver \'nativ\'; choose one of "text", "native", "react"'),
        (NativeDriver, "it needs a method step"),
        (5, "it needs a method step"),
    ],
)
def test_anything_but_a_driver_is_refused(driver, message) -> None:
    with pytest.raises(ConfigError, match=message):
        agent_of(driver)


@pytest.mark.parametrize("driver", ["native", "react"])
def test_only_the_text_driver_takes_a_dialect(driver) -> None:
    with pytest.raises(ConfigError, match='dialect is what the driver "text" speaks'):
        agent_of(driver, dialect="hermes")


# Prompts, scripted drivers, and drivers that a program defines


@pytest.mark.parametrize("driver", ["text", "native", "react"])
def test_every_driver_s_prompt_begins_with_instructions_and_has_guidance_for_tools(driver) -> None:
    @tool
    async def recall(about: str) -> str:
        """Recall."""
        return about

    model = ScriptedModel(['{"thought": "t", "type": "final_answer", "answer": "fine"}'])
    instructions = "You are Ada.\n\n# Tools\n\nPrefer none of them."
    agent = Agent(
        model,
        tools=[recall],
        driver=driver,
        instructions=instructions,
    )
    agent.run_sync("?")
    prompt = model.requests[0].messages[0]["content"]
    assert prompt.startswith(f"{instructions}\n\n")
    assert "The tool `recall` finds what the user said" in prompt


def test_c1_a_script_that_answers_is_one_step() -> None:
    result = agent_of(ScriptedDriver(["hi"])).run_sync("q")
    assert (result.output, result.status) == ("hi", "completed")
    assert [step.kind for step in result.steps] == ["final_response"]


def test_c2_the_runtime_is_made_once_per_run_before_its_first_step() -> None:
    driver = ScriptedDriver([ToolCall("fail", {}), "a", ToolCall("fail", {}), "b"])
    agent = agent_of(driver)
    agent.run_sync("q")
    assert len(driver.runtimes) == 1
    agent.run_sync("q")
    assert len(driver.runtimes) == 2
    assert [each.name for each in driver.runtimes[0].execution.tools] == ["add", "echo", "fail"]


class Countdown:
    """A driver that a program defines: it calls a tool, and then answers with the result."""

    async def step(self, run: RunContext[Any], runtime: Runtime) -> AsyncIterator[dict[str, Any]]:
        if not run.steps:
            yield {"type": "call", "content": '{"name": "add", "args": {"a": 1, "b": 2}}'}
            yield {"type": "execute"}
        else:
            [execution] = run.steps[-1].executions
            yield {"type": "respond", "content": f"{runtime.ctx.question} {execution.value}"}


def test_c3_a_driver_that_a_program_defines_runs() -> None:
    driver: Driver = Countdown()
    result = agent_of(driver).run_sync("1 + 2 is")
    assert result.output == "1 + 2 is 3"


def test_c4_a_batch_has_one_execution_per_call_in_call_order() -> None:
    calls = [ToolCall("echo", {"value": 1}), ToolCall("fail", {}), ToolCall("echo", {"value": 2})]
    result = agent_of(ScriptedDriver([calls, "done"])).run_sync("q")
    made = [(each.name, each.status, each.value) for each in result.steps[0].executions]
    assert made == [("echo", "success", 1), ("fail", "failure", None), ("echo", "success", 2)]


def test_c56_the_last_step_of_a_script_repeats() -> None:
    agent = agent_of(ScriptedDriver([ToolCall("fail", {})]), limits=RunLimits(steps=3))
    assert len(agent.run_sync("q").steps) == 3


def test_c56_a_script_that_is_exhausted_says_so() -> None:
    driver = ScriptedDriver([ToolCall("fail", {})], repeat_last=False)
    with pytest.raises(ConfigError, match="the script is exhausted: it has 1 steps"):
        agent_of(driver).run_sync("q")


def test_pieces_of_calls_pass_through_in_their_place() -> None:
    step = [
        {"type": "respond", "content": "a"},
        {"type": "tool_call_start", "index": 0, "name": "fail", "timestamp": 1.0},
        {"type": "tool_call_delta", "index": 0, "content": "1", "path": ["a"], "timestamp": 1.0},
        {"type": "call", "content": '{"name": "fail", "args": {}}'},
        {"type": "execute"},
        {"type": "tool_call_start", "index": 1, "name": "fail", "timestamp": 1.0},
    ]
    stream = agent_of(ScriptedDriver([step, "done"])).run("q")

    async def all() -> list[str]:
        return [event["type"] async for event in stream]

    assert asyncio.run(all()) == [
        "user", "respond", "tool_call_start", "tool_call_delta", "call", "execute", "result",
        "tool_call_start", "metric", "respond", "metric",
    ]  # fmt: skip


# The same events from calls in text and from native calls

WORDS = st.text("ab .,\n", min_size=1, max_size=8).filter(str.strip)
VALUES = st.none() | st.booleans() | st.integers() | st.text("a<&>\"'\\é", max_size=5)
CALLS = st.one_of(
    st.builds(lambda a, b: ("add", {"a": a, "b": b}), st.integers(), st.integers()),
    st.builds(
        lambda value: ("echo", {"value": value}),
        st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2), max_leaves=3),
    ),
    st.just(("fail", {})),
    st.just(("unknown", {"x": 1})),
)
STEPS = st.tuples(st.none() | WORDS, st.none() | WORDS, st.lists(CALLS, min_size=1, max_size=3))
SCRIPTS = st.tuples(st.lists(STEPS, max_size=3), WORDS)


def as_text(step: Any) -> list[str | Delta]:
    """A step as a model writes it as text."""
    thought, text, calls = step
    block = json.dumps([{"name": name, "args": args} for name, args in calls])
    return [
        *([ReasoningDelta(thought)] if thought else []),
        f"{text or ''}<execute>{block}</execute>",
    ]


def as_deltas(step: Any, size: int) -> list[str | Delta]:
    """The same step as a provider sends it."""
    thought, text, calls = step
    deltas: list[str | Delta] = [ReasoningDelta(thought)] if thought else []
    deltas += [TextDelta(character) for character in text or ""]
    for index, (name, args) in enumerate(calls):
        written = json.dumps(args)
        deltas.append(ToolCallDelta(index, f"id{index}", name))
        deltas += [
            ToolCallDelta(index, arguments=written[at : at + size])
            for at in range(0, len(written), size)
        ]
    return deltas


def events_of(driver: str, answers: list[Any]) -> list[tuple[Any, ...]]:
    """The events of a run, without times, tokens and the provider's ids."""
    agent = agent_of(driver, model=ScriptedModel(answers))

    async def all() -> list[dict[str, Any]]:
        return [event async for event in agent.run("q").events("event")]

    seen: list[tuple[Any, ...]] = []
    for event in asyncio.run(all()):
        content = event.get("content")
        if event["type"] == "call":
            content = {**json.loads(content), "id": None}
        if event["type"] != "metric":
            seen.append((event["type"], content, event.get("payload")))
    return seen


@given(SCRIPTS, st.integers(1, 9))
def test_a_script_gives_the_same_run_by_text_and_by_native_calls(script, size) -> None:
    steps, answer = script
    by_text = events_of("text", [*map(as_text, steps), answer])
    by_calls = events_of("native", [*(as_deltas(step, size) for step in steps), answer])
    assert by_text == by_calls


def served(kind: type[Any], **options: Any) -> Any:
    return kind("m", api_key="k", **options)


@pytest.mark.parametrize(
    ("model", "options", "described"),
    [
        (served(OpenAIModel), {}, ("native", None)),
        (served(AnthropicModel), {}, ("native", None)),
        (served(OpenAIModel, base_url="http://localhost:1/v1"), {}, ("text", "cogency")),
        (served(OpenAIModel), {"dialect": "hermes"}, ("text", "hermes")),
        (served(AnthropicModel), {"driver": "text"}, ("text", "cogency")),
        (served(OpenAIModel), {"driver": "react"}, ("react", None)),
        (ScriptedModel(["hi"]), {}, ("text", "cogency")),
        (SimpleNamespace(stream=str, dialect=Dialect("phi4")), {}, ("text", "phi4")),
        (
            SimpleNamespace(stream=str, dialect=Dialect("phi4")),
            {"driver": "native"},
            ("native", None),
        ),
        (SimpleNamespace(stream=str, dialect="phi4"), {}, ("text", "cogency")),
        (MagicMock(), {}, ("text", "cogency")),
    ],
    ids=[
        *("OpenAI", "Anthropic", "another server", "a dialect", "a driver", "another driver"),
        *("a script", "a dialect that was taught", "a driver that was named"),
        *("no such dialect", "a mock"),
    ],
)
def test_an_agent_has_the_driver_that_suits_its_model(model, options, described):
    told = Agent(model, **options).describe()
    assert (told["driver"], told.get("dialect")) == described


# A driver around another


@pytest.mark.parametrize("dialect", ["cogency", "hermes"])
async def test_a_driver_of_your_own_can_pass_on_the_events_of_a_text_driver(dialect) -> None:
    inner = TextDriver(dialect)
    seen: list[str] = []

    class Watching:
        async def step(self, run: RunContext[Any], runtime: Runtime) -> AsyncIterator[Any]:
            async for event in inner.step(run, runtime):
                seen.append(event["type"])
                yield event

    calls = Dialect(dialect).write_calls([ToolCall("add", {"a": 2, "b": 3})])
    run = await agent_of(Watching(), model=ScriptedModel([calls, "five"])).run("q")

    assert [each.value for each in run.steps[0].executions] == [5]
    assert (run.output, seen) == ("five", ["call", "execute", "respond"])
