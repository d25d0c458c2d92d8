"""64 async tools that do nothing, run at the same time."""

from __future__ import annotations

import asyncio

from side import OURS, Run, Side

COUNT = 64


async def look(text: str) -> str:
    """Look."""
    return text


def ours() -> Run:
    from cogency_rs import Execution, ToolCall, execute_tools, tool

    calls = [ToolCall("look", {"text": "x"}) for _ in range(COUNT)]
    execution = Execution(tools=[tool(look)])

    async def run() -> None:
        results = await execute_tools(calls, execution=execution)
        assert len(results) == COUNT

    return run


def gather() -> Run:
    async def run() -> None:
        assert len(await asyncio.gather(*[look(text="x") for _ in range(COUNT)])) == COUNT

    return run


def task_group() -> Run:
    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(look(text="x")) for _ in range(COUNT)]
        assert len([task.result() for task in tasks]) == COUNT

    return run


def anyio_group() -> Run:
    import anyio

    async def run() -> None:
        results: list[str] = []

        async def one() -> None:
            results.append(await look(text="x"))

        async with anyio.create_task_group() as group:
            for _ in range(COUNT):
                group.start_soon(one)
        assert len(results) == COUNT

    return run


BATCH = (
    Side(OURS, ours, OURS),
    Side("`asyncio.gather`", gather),
    Side("`asyncio.TaskGroup`", task_group),
    Side("anyio's task group", anyio_group, "anyio"),
)
