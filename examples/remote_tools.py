"""Tools on Ray: in separate processes, on this machine or on a cluster.

    python examples/remote_tools.py [ADDRESS]

Two tools compute at the same time in two processes. One tool has state, which an actor keeps from call to call. One
loses its worker in the middle of a call: it is not known whether the call had its effect, so it is not run again, and
the other calls are not affected. Without an ADDRESS, Ray is started on this machine, and stopped at the end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from cogency_rs import Execution, ToolCall, tool
from cogency_rs.execution import execute_calls
from cogency_rs.executors.ray import Actor, RayExecutor


@tool(remote={"num_cpus": 1})
def count_primes(below: int) -> int:
    """Count prime numbers. A plain `def` may compute for a long time, since it has its own process."""
    return sum(
        all(number % divisor for divisor in range(2, int(number**0.5) + 1))
        for number in range(2, below)
    )


@tool(remote={"num_cpus": 1})
def pay(amount: int) -> str:
    """Pay an amount, on a machine that fails."""
    os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {amount}"


class Notebook:
    """State: the tools of this class run in one actor, which holds the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @tool(remote=Actor(num_cpus=0))
    def write(self, note: str) -> int:
        """Write a note, and say how many there are."""
        self.notes.append(note)
        return len(self.notes)


async def main() -> None:
    notebook = Notebook()
    calls = [
        ToolCall("count_primes", {"below": 30_000}),
        ToolCall("count_primes", {"below": 20_000}),
        ToolCall("pay", {"amount": 10}),
        ToolCall("write", {"note": "milk"}),
        ToolCall("write", {"note": "tea"}),
    ]
    address = sys.argv[1] if len(sys.argv) > 1 else "local"
    settings = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        settings |= {"num_cpus": 2, "object_store_memory": 80_000_000, "include_dashboard": False}
    async with RayExecutor(address, settings=settings) as ray:
        executions = await execute_calls(
            calls,
            execution=Execution(tools=[count_primes, pay, notebook.write]),
            hooks=[ray],
        )
    for each in executions:
        print(f"{each.status:8} {each.name}: {each.error or each.value}")
    print(f"the notebook here: {notebook.notes}")


if __name__ == "__main__":
    # Lost workers are also reported in Python's log, which is left out here.
    logging.getLogger("cogency_rs").setLevel(logging.CRITICAL)
    asyncio.run(main())
