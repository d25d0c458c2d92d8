"""Carries out many turns at once, all in one log, and prints how long they took and how much memory, as JSON.

    python benches/load.py ours|cogency|floor [--turns 1000]

The model and its network take no time here; every turn calls four tools that wait 20 ms. The floor is the tools alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rows.turns import CALLS, text, turn
from sides import OURS, THEIRS, Tool, ToolResult, cut

WAIT = 0.02
PACKAGES = {"ours": OURS, "cogency": THEIRS}


class Waiting(Tool):
    async def execute(self, **_: Any) -> ToolResult:
        await asyncio.sleep(WAIT)
        return ToolResult(outcome="ok")


async def timed(work: Callable[[str], Awaitable[Any]], turns: int, name: str) -> list[float]:
    """Carry out the turns; returns the seconds from the start of all to the end of each."""
    begin = time.perf_counter()

    async def one(conversation: str) -> float:
        await work(conversation)
        return time.perf_counter() - begin

    return list(await asyncio.gather(*[one(f"{name}-{index}") for index in range(turns)]))


def forget_peak() -> None:
    """Let `peak` count from now on, if the system allows that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The most memory that this process has used, in bytes."""
    with suppress(OSError):
        # Not `ru_maxrss`, which on Linux begins with the memory of the process that started this one.
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("side", choices=["ours", "cogency", "floor"])
    arguments.add_argument("--turns", type=int, default=1_000)
    options = arguments.parse_args()
    tools, chunks = [Waiting()], cut(text(2_000), 4)
    with tempfile.TemporaryDirectory() as folder:

        async def tools_alone(_: str) -> None:
            await asyncio.gather(*[tool.execute() for tool in tools * CALLS])

        async def whole_turn(conversation: str) -> None:
            await turn(PACKAGES[options.side], chunks, storage, tools, conversation)

        work = tools_alone
        if options.side != "floor":
            storage = PACKAGES[options.side].sqlite(str(Path(folder, "log.db")))
            work = whole_turn
        await timed(work, 1, "first")
        gc.collect()
        gc.freeze()
        forget_peak()
        before = peak()
        seconds = await timed(work, options.turns, "turn")
        memory = peak() - before
        if options.side == "ours":
            await storage.close()
    percentiles = statistics.quantiles(seconds, n=100, method="inclusive")
    figures = {
        "seconds": max(seconds),
        "p50": percentiles[49],
        "p99": percentiles[98],
        "memory": memory / options.turns,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    asyncio.run(main())
