"""Leaks: very many runs of an agent in one process, and what the process holds while they are carried out.

    python benches/soak_runs.py [--runs 100000] [--only LOG ...] [--postgres DSN] [--json] [--write]

LOG is `Memory`, `SQLite` or `PostgreSQL`; the last one gets a tenth of the runs. Every run calls a tool: a coroutine,
one in a thread, or one that raises. Some runs are streamed, some are left in the middle, and some are cancelled in
their tool. What the process holds is sampled 40 times, while no run is under way. The first quarter of the samples is
the warm-up. The program fails if something has grown after that: if its median in the last quarter is above that of
the second quarter by more than its bound in `BOUNDS`.

`--json` prints all samples, `--write` puts the table into docs/reliability.md. `--postgres` names the database; without
it a server is started. Needs Linux, which says in /proc what a process holds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import platform
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from soak import count, resident_megabytes, write
from soak_logs import InPostgreSQL, InSQLite

from cogency_rs import Agent, Memory, tool
from cogency_rs.storage.memory import MAX_BYTES

BEGIN = "<!-- soak of runs: written by `make soak-runs`, do not edit -->"
END = "<!-- soak of runs: end -->"

SAMPLES = 40
LEAST_RUNS = 10 * SAMPLES
AT_ONCE = 8
"""How many runs are under way at once."""

TURNS = 4
"""How many runs a conversation gets."""

BYTES_A_RUN = 500
"""The bound of `Memory` for each run, in bytes, up to its default. A run takes several times as much, so that the bound
is reached in the warm-up: until then `Memory` grows because it keeps conversations, as it should."""


# What is run


async def model(messages: list[dict[str, str]]) -> AsyncGenerator[str, None]:
    """Plays the model: it calls the tool that the question names, and then answers."""
    last = messages[-1]["content"]
    if last.endswith("</results>"):
        for piece in ("It is ", "done.", "<end>"):
            yield piece
        return
    name = last.split()[-1]
    yield "I look.<execute>"
    yield json.dumps([{"name": name, "args": {"text": "of some length " * 10}}])
    yield "</execute>"


@tool
async def awaits(text: str) -> str:
    """Return a text, later."""
    await asyncio.sleep(0)
    return text


@tool
def blocks(text: str) -> str:
    """Return a text, from a thread."""
    return text


@tool
async def fails(text: str) -> None:
    """Fail."""
    raise LookupError(text)


@tool
async def hangs(text: str) -> None:
    """Wait until it is cancelled."""
    await asyncio.Event().wait()


TOOLS = [awaits, blocks, fails, hangs]


async def runs(agent: Agent[Any, str], conversation: str, name: str) -> None:
    """Await a run."""
    result = await agent.run(f"Call {name}", conversation_id=conversation)
    if result.output != "It is done.":
        raise RuntimeError(f"the answer of a run is wrong: {result}")


async def streams(agent: Agent[Any, str], conversation: str, name: str) -> None:
    """Read the events of a run."""
    async with agent.run(f"Call {name}", conversation_id=conversation) as events:
        async for _ in events:
            pass


async def leaves(agent: Agent[Any, str], conversation: str, name: str) -> None:
    """Leave a run after its results."""
    async with agent.run(f"Call {name}", conversation_id=conversation) as events:
        async for event in events:
            if event["type"] == "result":
                break


async def cancels(agent: Agent[Any, str], conversation: str, _: str) -> None:
    """Cancel a run in its tool."""
    async with agent.run("Call hangs", conversation_id=conversation) as events:
        async for event in events:
            if event["type"] == "execute":
                break
        else:
            raise RuntimeError("a run called no tool")
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


WAYS: list[Callable[[Agent[Any, str], str, str], Awaitable[None]]] = [
    *(runs, runs, runs, streams, runs, runs, leaves, runs, runs, cancels)
]
KINDS = ["awaits", "blocks", "awaits", "fails"]


async def carry_out(number: int, shared: Agent[Any, str], storage: Any) -> None:
    """Carry out one run. Every other one has an agent of its own, as a request to a server may have."""
    agent = shared if number % 2 else Agent(model, tools=TOOLS, storage=storage)
    conversation = f"conversation {number // TURNS}"
    await WAYS[number // TURNS % len(WAYS)](agent, conversation, KINDS[number % len(KINDS)])


# What the process holds


class Sample(NamedTuple):
    """What the process holds after a number of runs.

    Attributes:
        runs: how many runs are over.
        memory: resident, in MB.
        objects: those that Python's garbage collector knows.
        tasks: of asyncio.
        threads: of the system.
        files: open ones, and sockets.
    """

    runs: int
    memory: float
    objects: int
    tasks: int
    threads: int
    files: int

    @classmethod
    def now(cls, runs: int) -> Sample:
        """Collect garbage first: what is only waiting for the collector is not a leak."""
        gc.collect()
        return cls(
            runs=runs,
            memory=resident_megabytes(),
            objects=len(gc.get_objects()),
            tasks=len(asyncio.all_tasks()),
            threads=count("task"),
            files=count("fd"),
        )


BOUNDS = {"memory": 2.0, "objects": 500, "tasks": 0, "threads": 4, "files": 0}
"""By how much the median of the last quarter may be above that of the second. A pool of threads, which has a limit,
starts another one whenever all are busy."""


def quarters(samples: list[Sample]) -> list[dict[str, float]]:
    """The median of each resource in each quarter of the samples."""
    size = len(samples) // 4
    return [
        {
            name: median(getattr(sample, name) for sample in samples[start : start + size])
            for name in BOUNDS
        }
        for start in range(0, 4 * size, size)
    ]


def grown(samples: list[Sample]) -> list[str]:
    """A sentence for each resource that has grown."""
    _, second, _, last = quarters(samples)
    return [
        f"{name} grew from {second[name]:,g} to {last[name]:,g}"
        for name, bound in BOUNDS.items()
        if last[name] - second[name] > bound
    ]


# The program around it


async def soak(opened: AbstractAsyncContextManager[Any], total: int) -> list[Sample]:
    """Carry out this many runs on a log, or a few less so that each sample has as many."""
    samples: list[Sample] = []
    share = total // SAMPLES
    async with opened as storage:
        shared = Agent(model, tools=TOOLS, storage=storage)
        for start in range(0, share * SAMPLES, share):
            numbers = iter(range(start, start + share))

            async def work(numbers: Iterator[int] = numbers) -> None:
                for number in numbers:
                    await carry_out(number, shared, storage)

            await asyncio.gather(*(work() for _ in range(AT_ONCE)))
            samples.append(Sample.now(start + share))
            print(samples[-1], file=sys.stderr, flush=True)
    return samples


def soaked(log: str, total: int, dsn: str) -> list[Sample]:
    """Carry out the runs on a new log of this kind, which is removed afterwards."""
    if log == "Memory":
        log_in_memory = Memory(max_bytes=min(BYTES_A_RUN * total, MAX_BYTES))
        return asyncio.run(soak(nullcontext(log_in_memory), total))
    with (
        tempfile.TemporaryDirectory() as folder,
        InSQLite(Path(folder) / "log.db") if log == "SQLite" else InPostgreSQL(dsn) as place,
    ):
        return asyncio.run(soak(place.open(), total))


def table(samples: dict[str, list[Sample]], seconds: float) -> str:
    """The figures for a reader."""

    def row(log: str, sampled: list[Sample]) -> str:
        _, second, _, last = quarters(sampled)
        cells = [f"{second[name]:,.0f} / {last[name]:,.0f}" for name in BOUNDS if name != "memory"]
        memory = f"{second['memory']:,.1f} / {last['memory']:,.1f} MB"
        return f"| {log} | {sampled[-1].runs:,} | {memory} | {' | '.join(cells)} |"

    return "\n".join(
        [
            f"Medians of the second and of the last quarter, Python {platform.python_version()}, "
            f"{seconds / 60:,.0f} minutes:",
            "",
            "| log | runs | resident memory | objects of Python | tasks | threads | open files |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(row(log, sampled) for log, sampled in samples.items()),
        ]
    )


LOGS = {"Memory": 1, "SQLite": 1, "PostgreSQL": 10}
"""The logs, and by how much the number of runs is divided for each."""


def main() -> None:
    """Run, print, and fail if anything has grown."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--only", nargs="+", choices=LOGS, default=[*LOGS], metavar="LOG")
    arguments.add_argument("--postgres", default="", metavar="DSN")
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--write", action="store_true")
    options = arguments.parse_args()
    if options.runs < LEAST_RUNS:
        arguments.error(f"--runs must be {LEAST_RUNS} or more, got {options.runs}")
    logging.getLogger("cogency_rs").setLevel(logging.CRITICAL)  # tools that fail are a part of it
    began = time.monotonic()
    samples = {
        log: soaked(log, options.runs // LOGS[log], options.postgres) for log in options.only
    }
    text = table(samples, time.monotonic() - began)
    if options.write:
        write(text, BEGIN, END)
    print(json.dumps(samples) if options.json else text)
    sys.exit("\n".join(f"{log}: {each}" for log in samples for each in grown(samples[log])) or 0)


if __name__ == "__main__":
    main()
