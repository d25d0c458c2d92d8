"""What a batch of async tools that do nothing costs on asyncio, as `benches/python_tools.rs` measures it on Tokio."""

from __future__ import annotations

import asyncio
import statistics
import time
from types import SimpleNamespace
from typing import ClassVar

from cogency_rs import ToolCall, execute_tools


class Nothing:
    """A tool that does nothing."""

    name = "nothing"
    description = "does nothing"
    schema: ClassVar[dict[str, object]] = {}

    async def execute(self, **_: object) -> None:
        """Do nothing."""


async def main() -> None:
    """Print the median of 100 batches of each size, in microseconds."""
    execution = SimpleNamespace(
        tools=[Nothing()], storage=None, sandbox_dir="", access="sandbox", shell_timeout=30
    )
    for count in (1, 8, 64, 1000):
        calls = [ToolCall("nothing", {}) for _ in range(count)]
        took = []
        for _ in range(100):
            began = time.perf_counter()
            await execute_tools(calls, execution=execution)
            took.append(time.perf_counter() - began)
        print(f"{count:>5} calls: {statistics.median(took) * 1e6:.1f} µs")


asyncio.run(main())
