"""Shows where a batch of tools that do nothing spends its bytecodes, next to `asyncio.gather` of the same functions.

    python benches/batch_lines.py

Python counts them itself, so they are the same in every run; each version of Python has its own.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

from cogency_rs import Execution, ToolCall, execute_tools, tool

COUNTS = (1, 64)
WARM = 10
"""How often a batch is run first, which imports and keeps what the next one needs."""
LEAST = 0.02
"""The part of a single call's bytecodes that a file needs to have a line of its own."""
LOOP = "the event loop and its tasks"
REST = "the rest, in files of less than 2 % each"


@tool
async def nothing() -> str:
    """Do nothing."""
    return ""


async def bare() -> str:
    return ""


async def gathered(count: int) -> None:
    await asyncio.gather(*[bare() for _ in range(count)])


async def batch(count: int) -> None:
    calls = [ToolCall("nothing", {})] * count
    await execute_tools(calls, execution=Execution(tools=[nothing]))


def counted(work: Callable[[int], Awaitable[object]], count: int) -> Counter[str]:
    """The bytecodes that each file's functions run in a batch of so many calls."""
    found: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            found[_place_of(frame)] += 1
        return trace

    async def main() -> None:
        for _ in range(WARM):
            await work(count)
        sys.settrace(trace)
        try:
            await work(count)
        finally:
            sys.settrace(None)

    asyncio.run(main())
    return found


def _place_of(frame: FrameType) -> str:
    """The file of a frame in this package, or whose it is."""
    file = Path(frame.f_code.co_filename)
    if "cogency_rs" in file.parts:
        return f"`{file.parent.name}/{file.name}`"
    return "the tool and the program" if file.name == Path(__file__).name else LOOP


def main() -> None:
    floors = [counted(gathered, count) for count in COUNTS]
    ours = [counted(batch, count) for count in COUNTS]
    least = LEAST * ours[0].total()
    shown = [name for name, of_one in ours[0].most_common() if of_one >= least or name == LOOP]
    rows = {
        "`gather`, all of it": [floor.total() for floor in floors],
        "`execute_tools`, all of it": [each.total() for each in ours],
        **{name: [each[name] for each in ours] for name in shown},
        REST: [each.total() - sum(each[name] for name in shown) for each in ours],
    }
    print("| bytecodes | one call | each of 64 |\n| --- | ---: | ---: |")
    for name, totals in rows.items():
        each = " | ".join(
            f"{total / count:,.0f}" for total, count in zip(totals, COUNTS, strict=True)
        )
        print(f"| {name} | {each} |")


if __name__ == "__main__":
    main()
