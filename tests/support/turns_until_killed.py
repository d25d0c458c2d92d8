"""A program whose turns fill a log until it is killed: `python -m support.turns_until_killed KIND PLACE GENERATION`.

Its three conversations are named after the generation. For every row of a type in `REPORTED` that the log has
acknowledged, it prints the conversation and the type.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from cogency_rs import Accumulator, Execution, PostgreSQL, SQLite, ToolResult, parse_tokens
from support.programs import environment

LOGS: dict[str, Any] = {"SQLite": SQLite, "PostgreSQL": PostgreSQL}

REPORTED = ("user", "call", "result")


class Tool:
    """Takes `x` times 0.1 ms."""

    name, description, schema = "t", "", {}

    async def execute(self, x: int, **_: object) -> ToolResult:
        await asyncio.sleep(x / 10000)
        return ToolResult("ok", x)


CALLS = [{"name": "t", "args": {"x": number}} for number in range(4)]
TEXT = f"<think>hm</think>so<execute>{json.dumps(CALLS)}</execute>"


def reports_until_killed(kind: str, place: Any, generation: int) -> Counter[tuple[str, str]]:
    """Run the program and kill it a moment after its first row; returns how many rows of each sort it reported."""
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, kind, str(place), str(generation)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    reports = child.stdout.readline()
    time.sleep(random.uniform(0, 0.05))
    child.kill()
    reports += child.stdout.read()
    child.stdout.close()
    child.wait()
    pairs = (line.split() for line in reports.splitlines())
    return Counter((conversation, type) for conversation, type in pairs)


async def talk(log: Any, name: str) -> None:
    turn = Accumulator("u", name, execution=Execution(storage=log, tools=[Tool()]))
    while True:
        await log.save_message(name, "u", "user", "go on")
        report(name, "user")
        async for event in turn.process(parse_tokens(TEXT)):
            if event["type"] in REPORTED:  # its row is safe
                report(name, event["type"])


def report(name: str, type: str) -> None:
    os.write(1, f"{name} {type}\n".encode())  # a buffer would be lost with the process


async def main(kind: str, place: str, generation: str) -> None:
    async with LOGS[kind](place) as log:
        await asyncio.gather(*(talk(log, f"{generation}{name}") for name in "abc"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
