"""The cost of running tools on Ray; only where Ray is installed."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import secrets
import tempfile
from collections.abc import Awaitable
from typing import Any

from figures import Samples
from measure import Bench

from cogency_rs import Execution, ToolCall, execute_tools, tool
from cogency_rs.executors.ray import RayExecutor

IS_THERE = importlib.util.find_spec("ray") is not None

SETTINGS = {
    "num_cpus": 2,
    "object_store_memory": 80_000_000,
    "include_dashboard": False,
    "log_to_driver": False,
    "logging_level": "ERROR",
}


@tool(remote=True)
def nothing() -> None:
    """Do nothing."""


async def batch(bench: Bench, count: int) -> Samples:
    """Many calls of a tool on Ray; the floor is as many bare Ray tasks."""
    # Otherwise Ray keeps a token in ~/.ray.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        async with RayExecutor("local", settings={**SETTINGS, "_temp_dir": folder}) as executor:
            import ray

            bare: Any = ray.remote(max_retries=0)(_nothing)
            execution = Execution(tools=[nothing])
            calls = [ToolCall("nothing", {})] * count

            def ours() -> Awaitable[Any]:
                return execute_tools(calls, execution=execution, hooks=[executor])

            async def floor() -> None:
                await asyncio.gather(*[bare.remote() for _ in range(count)])

            for _ in range(5):  # workers start, and load what they need
                await ours()
                await floor()
            return await bench.timed(ours=ours, floor=floor)


def _nothing() -> None: ...
