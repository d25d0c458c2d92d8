"""`agent.prompt()`: what the model will be sent, before it is."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from cogency_rs import Agent, History, Hooks, ToolContext, tool
from cogency_rs.agent import ScriptedDriver, TextDriver
from cogency_rs.errors import ConfigError
from cogency_rs.models import ModelRequest
from cogency_rs.testing import ScriptedModel
from support.agents import add

DECISION = '{"type": "final_answer", "answer": "Hi."}'

DRIVERS = {
    "cogency": "text",
    "hermes": TextDriver("hermes"),
    "constrained": TextDriver("hermes", constrain=True),
    "native": "native",
    "react": "react",
}


@tool
async def whoami(ctx: ToolContext[str]) -> str:
    """Say who the user is."""
    return ctx.deps


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
@pytest.mark.parametrize("output_type", [None, int], ids=["text", "a number"])
async def test_it_is_what_the_model_is_sent(driver, output_type):
    model = ScriptedModel([DECISION if driver == "react" else "7"])
    agent = Agent(
        model,
        tools=[add, whoami],
        driver=driver,
        output_type=output_type,
        instructions="You are a test. Be brief.",
    )
    shown = agent.prompt("Hi?", deps="Ada")
    assert model.requests == []
    await anext(agent.run("Hi?", deps="Ada").steps())
    [sent] = model.requests
    assert shown == [dict(message) for message in sent.messages]
    for field in ("tools", "tool_choice", "stop", "output_schema", "grammar"):
        assert getattr(shown.request, field) == getattr(sent, field), field


def test_printed_it_can_be_read():
    lines = str(
        Agent(ScriptedModel([]), tools=[add], dialect="hermes").prompt("2 + 3?")
    ).splitlines()
    assert lines[0] == "── system ──"
    assert lines[-2:] == ["── user ──", "2 + 3?"]
    assert any('"name": "add"' in line for line in lines)
    native = str(Agent(ScriptedModel([]), tools=[add], driver="native").prompt())
    assert native.splitlines()[-2] == "── tools, declared to the provider ──"
    assert '"name": "add"' in native.splitlines()[-1]


def test_without_a_message_it_is_what_comes_before_one():
    [only] = Agent(ScriptedModel([]), tools=[add]).prompt()
    assert only["role"] == "system"


async def test_nothing_is_kept_and_no_hook_is_asked():
    class Counts(Hooks):
        asked = 0

        def before_model_request(self, ctx: object, request: ModelRequest) -> ModelRequest:
            self.asked += 1
            return request

    hooks = Counts()
    agent = Agent(ScriptedModel(["Hi."]), hooks=[hooks])
    assert agent.prompt("Hi?") == agent.prompt("Hi?")
    assert hooks.asked == 0
    assert (await agent.run("Hi?")).output == "Hi."
    assert hooks.asked == 1


def test_what_is_changed_in_it_is_changed_there_alone():
    agent = Agent(ScriptedModel([]), tools=[add])
    shown = agent.prompt("Hi?")
    shown[0]["content"] = "changed"
    assert agent.prompt("Hi?")[0]["content"] != "changed"


def test_a_driver_without_a_model_has_no_prompt():
    agent = Agent(ScriptedModel([]), driver=ScriptedDriver(["done"]))
    with pytest.raises(ConfigError, match="asks no model, so there is no prompt"):
        agent.prompt("Hi?")


def test_a_message_is_text():
    agent = Agent(ScriptedModel([]))
    with pytest.raises(TypeError, match="message must be text"):
        agent.prompt(5)  # type: ignore[arg-type]


async def in_this_loop(ctx: object) -> str:
    assert asyncio.current_task() is not None
    return f"Be in {threading.current_thread().name}."


async def once_asked(gate: asyncio.Event) -> str:
    await gate.wait()
    return "Be patient."


async def test_in_a_loop_it_asks_for_the_instructions_there():
    here = threading.current_thread().name
    [system] = Agent(ScriptedModel([]), instructions=in_this_loop).prompt()
    assert f"Be in {here}." in system["content"]


async def test_in_a_loop_instructions_that_wait_are_not_known():
    gate = asyncio.Event()
    agent = Agent(ScriptedModel(["Hi."]), instructions=lambda ctx: once_asked(gate))
    shown = agent.prompt("Hi?")
    assert shown[-1]["content"] == "Hi?"
    assert [each.partition(":")[0] for each in shown.missing] == ["The instructions"]
    gate.set()
    assert agent.prompt("Hi?").missing == ()
    assert (await agent.run("Hi?")).output == "Hi."


def test_without_a_loop_it_waits_for_the_instructions():
    async def later(ctx: object) -> str:
        await asyncio.sleep(0)
        return "Be brief."

    shown = Agent(ScriptedModel([]), instructions=later).prompt()
    assert shown.missing == ()
    assert "Be brief." in shown[0]["content"]


async def test_a_history_that_waits_is_refused_in_a_loop():
    async def waits(messages: Any) -> Any:
        await asyncio.sleep(0)
        return messages

    agent = Agent(ScriptedModel([]), history=History(transform=waits))
    with pytest.raises(ConfigError, match=r"asyncio.to_thread\(agent.prompt"):
        agent.prompt("Hi?")
    assert await asyncio.to_thread(agent.prompt, "Hi?")
