"""Tools that are slow, fail or block: each call has its own result, and no call affects another.

    python examples/tool_timeouts.py

At most two calls run at once. One never ends, and is cancelled after a second. One raises. One is a plain function,
which runs in a worker thread. One has arguments that the tool's schema does not allow, so the tool never runs. A
function around the calls sees each start and each end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from cogency_rs import CallOptions, Execution, ToolCall, ToolResult, execute_tools
from cogency_rs.hooks import Invocation, Next


class Wait:
    """Never answers."""

    name, description, schema = "wait", "Wait for an answer.", {}

    async def execute(self, **_: object) -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            print("         wait puts its things away")


class Divide:
    """Raises if `b` is 0: a tool need not catch its exceptions."""

    name, description = "divide", "Divide a by b."
    schema = {
        "a": {"type": "number", "required": True},
        "b": {"type": "number", "required": True},
    }

    async def execute(self, a: float, b: float, **_: object) -> ToolResult:
        return ToolResult(outcome=f"{a / b:g}")


class CountLines:
    """A plain `def`: it may block, because it runs in a worker thread."""

    name, description = "count_lines", "Count the lines of a text file."
    schema = {"file": {"type": "string", "required": True}}

    def execute(self, file: str, **_: object) -> int:
        return len(Path(file).read_text(encoding="utf-8").splitlines())  # the content of a success


CALLS = [
    ToolCall("wait", {}),
    ToolCall("divide", {"a": 1, "b": 0}),
    ToolCall("count_lines", {"file": __file__}),
    ToolCall("divide", {"a": "one", "b": 2}),
    ToolCall("divide", {"a": 1, "b": 4}),
]


async def watch(invocation: Invocation, next: Next) -> ToolResult:
    name, began = invocation.call.name, time.perf_counter()
    print(f"start    {name}")
    result = await next(invocation)
    print(f"end      {name} after {time.perf_counter() - began:.1f} s")
    return result


async def main() -> None:
    results = await execute_tools(
        CALLS,
        execution=Execution(storage=None, tools=[Wait(), Divide(), CountLines()]),
        user_id="",
        conversation_id="demo",
        calls=CallOptions(timeout=1, max_concurrency=2),
        hooks=[watch],
    )
    print()
    for call, result in zip(CALLS, results, strict=True):  # in the order of the calls
        content = "" if result.content is None else f": {result.content}"
        print(
            f"{'failure' if result.error else 'success':8} {call.name}: {result.outcome}{content}"
        )


if __name__ == "__main__":
    # The exception of a tool is in its result; the traceback is in Python's log, which is left out here.
    logging.getLogger("cogency_rs").setLevel(logging.CRITICAL)
    asyncio.run(main())
