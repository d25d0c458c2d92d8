"""Agents whose model makes its provider's own tool calls: their tools, the calls, and runs of them."""

from __future__ import annotations

import asyncio
from typing import Any

from cogency_rs import Agent, ToolCallDelta, tool
from cogency_rs.testing import ScriptedModel
from support.agents import add, fail


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
    text = delta.arguments
    return [
        ToolCallDelta(delta.index, delta.id, delta.name),
        *(
            ToolCallDelta(delta.index, arguments=text[at : at + size])
            for at in range(0, len(text), size)
        ),
    ]


def agent_of(*answers: Any, driver: Any = "native", **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(list(answers))
    return Agent(model, tools=options.pop("tools", TOOLS), driver=driver, **options), model


def run(*answers: Any, **options: Any) -> tuple[Any, ScriptedModel]:
    agent, model = agent_of(*answers, **options)
    return agent.run_sync("19 + 23?"), model


def events(*answers: Any, mode: Any = "token", **options: Any) -> list[dict[str, Any]]:
    agent, _ = agent_of(*answers, **options)

    async def all() -> list[dict[str, Any]]:
        return [event async for event in agent.stream("19 + 23?", mode=mode)]

    return asyncio.run(all())


def last(model: ScriptedModel) -> list[dict[str, Any]]:
    """The last request's messages, without the system prompt."""
    return [dict(message) for message in model.requests[-1].messages[1:]]
