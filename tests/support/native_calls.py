"""Agents whose model makes native tool calls: their tools, the calls, and runs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from cogency_rs import tool
from cogency_rs.models import ToolCallDelta
from cogency_rs.testing import ScriptedModel
from support.agents import add, agent_and_model, fail, run_and_model
from support.chunks import cut


@tool
async def echo(value: Any = None) -> Any:
    """Return a value."""
    return value


@tool(visible=False)
async def hidden() -> str:
    """Stay unseen."""
    return "seen"


TOOLS = [add, echo, fail, hidden]
ARGS = '{"a": 19, "b": 23}'


def calling(
    name: str = "add", arguments: str = ARGS, id: str | None = "c1", index: int | None = 0
) -> ToolCallDelta:
    return ToolCallDelta(index, id, name, arguments)


def pieces(delta: ToolCallDelta, size: int = 3) -> list[ToolCallDelta]:
    """The deltas of a call in pieces, as providers stream it."""
    return [
        ToolCallDelta(delta.index, delta.id, delta.name),
        *(ToolCallDelta(delta.index, arguments=piece) for piece in cut(delta.arguments, size)),
    ]


agent_of = partial(agent_and_model, tools=TOOLS, driver="native")
run = partial(run_and_model, "19 + 23?", tools=TOOLS, driver="native")


def events(
    *answers: Any, mode: Any = "token", calls: Any = "whole", **options: Any
) -> list[dict[str, Any]]:
    agent, _ = agent_of(*answers, **options)

    async def collect() -> list[dict[str, Any]]:
        return [event async for event in agent.run("19 + 23?").events(mode, calls=calls)]

    return asyncio.run(collect())


def last(model: ScriptedModel) -> list[dict[str, Any]]:
    """The last request's messages, without the system prompt."""
    return [dict(message) for message in model.requests[-1].messages[1:]]
