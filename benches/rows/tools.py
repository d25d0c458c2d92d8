"""The cost of running tools."""

from __future__ import annotations

import asyncio

from figures import Samples
from measure import Bench
from sides import OURS, THEIRS, Package, Tool, ToolCall, execution


async def batch(bench: Bench, count: int) -> Samples:
    """So many tools, each called once."""
    tools = [Tool(f"tool_{index}") for index in range(count)]
    calls = [ToolCall(tool.name, {}) for tool in tools]
    given = execution(tools)

    def run(package: Package):
        return package.execute_tools(calls, execution=given, user_id="u", conversation_id="c")

    return await bench.timed(
        ours=lambda: run(OURS),
        cogency=lambda: run(THEIRS),
        floor=lambda: _gather(tools),
    )


async def _gather(tools: list[Tool]) -> None:
    await asyncio.gather(*[tool.execute() for tool in tools])
