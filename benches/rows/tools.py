"""The cost of running tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from figures import Samples
from measure import Bench
from sides import OURS, THEIRS, Package, Tool, ToolCall, ToolResult, execution

from cogency_rs.hooks import Invocation, Next

PAUSE = 0.1


async def batch(bench: Bench, count: int) -> Samples:
    """Several tools, each called once."""
    tools = [Tool(f"tool_{index}") for index in range(count)]
    return await bench.timed(
        ours=_batch(OURS, tools),
        cogency=_batch(THEIRS, tools),
        floor=lambda: _gather(tools),
    )


async def one_tool(bench: Bench, count: int) -> Samples:
    """One tool, called several times."""
    tool = Tool()
    return await bench.timed(
        ours=_batch(OURS, [tool], count),
        cogency=_batch(THEIRS, [tool], count),
        floor=lambda: _gather([tool] * count),
    )


async def through_hooks(bench: Bench, count: int) -> Samples:
    """Several tools, with three hooks around each call; the floor is without hooks."""
    tools = [Tool(f"tool_{index}") for index in range(count)]
    return await bench.timed(
        ours=_batch(OURS, tools, hooks=[_pass_on] * 3),
        floor=_batch(OURS, tools),
    )


async def _pass_on(invocation: Invocation, next: Next) -> ToolResult:
    return await next(invocation)


async def blocking(bench: Bench, count: int) -> Samples:
    """Several tools that block; the floor is one of them."""
    tools = [Sleeping(f"tool_{index}") for index in range(count)]
    return await bench.timed(
        ours=_batch(OURS, tools),
        cogency=_batch(THEIRS, tools),
        floor=lambda: time.sleep(PAUSE),
    )


class Sleeping(Tool):
    """A tool that blocks its thread."""

    blocking = True

    async def execute(self, **_: Any) -> ToolResult:
        time.sleep(PAUSE)  # noqa: ASYNC251  that is the point
        return ToolResult(outcome="ok")


def _batch(package: Package, tools: Sequence[Tool], repeats: int = 1, **options: Any) -> Any:
    calls = [ToolCall(tool.name, {}) for tool in tools] * repeats
    given = execution(tools)

    def run() -> Awaitable[Any]:
        return package.execute_tools(
            calls, execution=given, user_id="u", conversation_id="c", **options
        )

    return run


async def _gather(tools: Sequence[Tool]) -> None:
    await asyncio.gather(*[tool.execute() for tool in tools])
