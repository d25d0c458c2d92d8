"""What a run does to the context of its consumer, which is nothing, and which code counts as part of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextvars import copy_context
from typing import Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    Execution,
    Hooks,
    Memory,
    RunLimits,
    SQLite,
    ToolCall,
    parse_tokens,
    tool,
)
from cogency_rs.errors import BusyError
from cogency_rs.testing import ScriptedModel
from support.agents import add, calls
from support.mcp_servers import small
from support.tools import with_tools

ASKED = calls(ToolCall("add", {"a": 1, "b": 2}), "slow", "plain", "note", "other", "echo")


@tool(read_only=True)
async def slow() -> str:
    """May begin while the model still writes."""
    await asyncio.sleep(0)
    return "slow"


@tool
def plain() -> str:
    """Runs in a thread."""
    return "plain"


@tool
async def note(context: Any) -> str:
    """Says something while it runs."""
    context.emit({"type": "note"})
    return "noted"


class Watching(Hooks):
    """Has every method that is asked."""

    async def before_run(self, ctx):
        pass

    async def before_step(self, ctx):
        pass

    async def around_call(self, invocation, next):
        return await next(invocation)


async def passing(invocation, next):
    return await next(invocation)


def an_agent(*hooks: Hooks, **options: Any) -> Agent[Any, str]:
    other = Agent(ScriptedModel(lambda _: "other"), storage=Memory()).as_tool("other", "Answers.")
    return Agent(
        ScriptedModel([f"<think>Add.</think>I add.{ASKED}", "3."]),
        tools=[add, slow, plain, note, other, small("echo", name="web")],
        hooks=[*hooks, passing],
        limits=RunLimits(seconds=60),
        **options,
    )


def an_accumulator() -> AsyncGenerator[Any, None]:
    log = Memory()
    turn = Accumulator(
        "", "c", execution=with_tools(add, slow, plain, note, storage=log), on_busy="wait"
    )
    return turn.process(parse_tokens(ASKED))


STREAMS = {
    "a run": lambda traces: an_agent().run("?"),
    "a run with calls that are shown early": lambda traces: (
        an_agent().run("?").events(calls="stream")
    ),
    "a run with hooks": lambda traces: an_agent(Watching()).run("?"),
    "a run with traces": lambda traces: an_agent(telemetry=traces.provider).run("?"),
    "steps of a run": lambda traces: an_agent(telemetry=traces.provider).run("?").steps(),
    "a run in SQLite": lambda traces: an_agent(storage=SQLite(":memory:")).run("?"),
    "a turn": lambda traces: an_accumulator(),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
async def test_the_context_of_the_consumer_is_the_same_between_any_two_events(stream, traces):
    before, seen = dict(copy_context().items()), []
    async for event in stream(traces):
        seen.append(event)
        assert dict(copy_context().items()) == before
    assert len(seen) > 1
    assert dict(copy_context().items()) == before


# What is part of a run


async def run_again(agent: Agent[Any, str]) -> Any:
    """Run the conversation that has a run, with another agent on the same log."""
    other = Agent(ScriptedModel(lambda _: "again"), storage=agent.storage)
    return (await other.run("And?", conversation_id="c")).output


def logs() -> dict[str, Any]:
    return {"Memory": Memory, "SQLite": lambda: SQLite(":memory:")}


@pytest.fixture(params=logs())
def log(request) -> Any:
    return logs()[request.param]()


async def test_a_task_that_the_consumer_makes_waits_for_the_run_and_then_has_its_turn(log):
    agent, answers = Agent(ScriptedModel(lambda _: "first"), storage=log), []
    async for _ in agent.run("?", conversation_id="c"):
        if not answers:
            answers.append(asyncio.create_task(run_again(agent)))
    assert await answers[0] == "again"
    rows = [(row["type"], row["content"]) for row in (await log.read("c")).rows]
    assert rows == [("user", "?"), ("respond", "first"), ("user", "And?"), ("respond", "again")]


async def test_a_task_that_the_consumer_of_a_turn_makes_waits_for_the_turn(log):
    turn = Accumulator("", "c", execution=Execution(storage=log, tools=[]), on_busy="wait")
    agent, answers = Agent(ScriptedModel(lambda _: "first"), storage=log), []
    async for _ in turn.process(parse_tokens("a<think>b</think>c")):
        if not answers:
            answers.append(asyncio.create_task(run_again(agent)))
    assert await answers[0] == "again"


async def test_the_consumer_itself_is_refused_at_once_since_the_run_would_wait_for_it(log):
    agent = Agent(ScriptedModel(lambda _: "first"), storage=log)
    async with agent.run("?", conversation_id="c") as events:
        await anext(events)
        with pytest.raises(BusyError, match="this is part of a run of conversation 'c'"):
            await run_again(agent)
    assert await run_again(agent) == "again"


WAYS = {
    "awaits it": lambda run: run,
    "awaits a task of it": asyncio.ensure_future,
    "gathers it": lambda run: asyncio.gather(run),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "with a hook"])
async def test_a_tool_that_runs_its_own_conversation_is_refused_at_once(log, way, wrapped):
    @tool
    async def again() -> Any:
        """Run it again."""
        return await way(run_again(agent))

    agent: Agent[Any, str] = Agent(
        ScriptedModel([calls("again"), "Done."]),
        tools=[again],
        storage=log,
        hooks=[passing] if wrapped else [],
    )
    result = await agent.run("?", conversation_id="c")
    [execution] = result.steps[0].executions
    assert (execution.status, result.output) == ("failure", "Done.")
    assert "this is part of a run of conversation 'c'" in str(execution.error)


async def test_a_tool_in_a_thread_that_runs_its_own_conversation_is_refused_at_once(log):
    @tool
    def again() -> Any:
        """Run it again, on an event loop of its own."""
        return asyncio.run(run_again(agent))

    agent: Agent[Any, str] = Agent(
        ScriptedModel([calls("again"), "Done."]), tools=[again], storage=log
    )
    [execution] = (await agent.run("?", conversation_id="c")).steps[0].executions
    assert "this is part of a run of conversation 'c'" in str(execution.error)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_a_hook_that_runs_its_own_conversation_is_refused_at_once(log, way):
    class Again(Hooks):
        refused: str = ""

        async def before_step(self, ctx):
            try:
                await way(run_again(agent))
            except BusyError as error:
                self.refused = str(error)

    hooks = Again()
    agent: Agent[Any, str] = Agent(ScriptedModel(["Done."]), storage=log, hooks=[hooks])
    await agent.run("?", conversation_id="c")
    assert "this is part of a run of conversation 'c'" in hooks.refused
