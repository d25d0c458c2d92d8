"""Most arguments of an agent, as a service gives them."""

from dataclasses import dataclass
from typing import assert_type

from cogency_rs import (
    Agent,
    AnthropicModel,
    Approval,
    CallOptions,
    History,
    MCPServer,
    PostgreSQL,
    RunLimits,
    ToolContext,
    tool,
)
from cogency_rs.agent import RunHandle, TextDriver
from cogency_rs.errors import BusyError, NoAnswerError
from cogency_rs.runs import RunContext
from cogency_rs.tools import Retries
from cogency_rs.types import ToolCall


@dataclass
class Shop:
    name: str

    async def owner(self) -> str:
        return self.name


@tool(requires_approval=True, timeout=20, idempotent=Retries(2))
async def refund(order: str, ctx: ToolContext[Shop]) -> str:
    """Pay an order back."""
    return f"{order} of {ctx.deps.name}"


async def instruct(run: RunContext[Shop]) -> str:
    return f"You work for {await run.deps.owner()}."


def decide(ctx: ToolContext[Shop], call: ToolCall) -> bool:
    return call.name == "refund"


model = AnthropicModel("claude-sonnet-5")
clerk: Agent[Shop, str] = Agent(model, name="clerk", instructions="You look things up.")
agent: Agent[Shop, int] = Agent(
    model,
    tools=[refund, clerk, MCPServer.stdio("npx", "server", name="disk")],
    instructions=instruct,
    output_type=int,
    storage=PostgreSQL("postgresql://ada@host/shop"),
    limits=RunLimits(steps=9, seconds=60, stop_at_tools=["refund"], on_busy="error"),
    approve=Approval(decide, timeout=600),
    history=History(window=40),
    calls=CallOptions(timeout=10, max_concurrency=4),
    driver=TextDriver(lenient=False),
    dialect="hermes",
    telemetry=True,
)


async def serve(question: str, user: str) -> int | None:
    run = agent.run(question, user_id=user, deps=Shop("Ada's"), limits=RunLimits(seconds=5))
    assert_type(run, RunHandle[int])
    try:
        return (await run).output
    except NoAnswerError as error:
        assert_type(error.status, str)
        return None
    except BusyError:
        run.cancel("somebody else is served")
        return None


def script() -> int:
    return agent.run_sync("How many?", conversation_id="c", deps=Shop("Ada's")).output
