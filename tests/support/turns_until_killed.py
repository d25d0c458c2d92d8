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
from collections import Counter
from typing import Any

from cogency_rs import Accumulator, Execution, PostgreSQL, SQLite, ToolResult, parse_tokens
from support.programs import environment
from support.tools import rounds

LOGS: dict[str, Any] = {"SQLite": SQLite, "PostgreSQL": PostgreSQL}

REPORTED = ("user", "call", "result")


class Tool:
    """Waits for `x` rounds of the event loop."""

    name, description, schema = "t", "", {}

    async def execute(self, x: int, **_: object) -> ToolResult:
        await rounds(x)
        return ToolResult("ok", x)


CALLS = [{"name": "t", "args": {"x": number}} for number in range(4)]
TEXT = f"<think>hm</think>so<execute>{json.dumps(CALLS)}</execute>"


def reports_until_killed(kind: str, place: Any, generation: int) -> Counter[tuple[str, str]]:
    """Run the program and kill it after some rows; returns how many rows of each sort it reported.

    The generation decides how many rows; where the program is when it is killed depends on the machine.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, kind, str(place), str(generation)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    count = random.Random(generation).randrange(1, 100)
    reports = "".join(child.stdout.readline() for _ in range(count))
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
