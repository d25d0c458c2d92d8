"""What a run holds while its model answers: with a thousand of them, Python's garbage collector visits all of it."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from cogency_rs import Agent, Memory
from support.agents import add
from support.waiting import until

FIRST = 10
"""Runs that are not counted: what is made once is made in them, or after a few of them."""

RUNS = 20

TRACKED = 95
"""How many objects of a run, and of its task, the garbage collector knows at most; 84 on Python 3.11."""


@asynccontextmanager
async def waiting(
    agent_of: Callable[[Any], Agent[Any, Any]], pieces: int, size: Callable[[], int]
) -> AsyncGenerator[float, None]:
    """How much `size` grows for each run whose model has written so many pieces and then waits."""
    written, gate = 0, asyncio.Event()

    async def model(messages: Any) -> AsyncGenerator[str, None]:
        nonlocal written
        for number in range(pieces):
            yield f"{number:04} "
        written += 1
        await gate.wait()

    agent = agent_of(model)

    async def watch() -> None:
        async for _ in agent.run("Hello?"):
            pass

    first = [asyncio.create_task(watch()) for _ in range(FIRST)]
    await until(lambda: written == FIRST, "a first run does not wait")
    before = size()
    runs = [asyncio.create_task(watch()) for _ in range(RUNS)]
    await until(lambda: written == FIRST + RUNS, "a run does not wait")
    try:
        yield (size() - before) / RUNS
    finally:
        gate.set()
        await asyncio.gather(*first, *runs)


def tracked() -> int:
    gc.collect()
    return len(gc.get_objects())


def traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_a_run_that_waits_holds_few_objects():
    async with waiting(
        lambda model: Agent(model, tools=[add], storage=Memory()), 2, tracked
    ) as objects:
        assert objects <= TRACKED


async def test_an_answer_that_comes_in_small_pieces_takes_little_more_memory_than_its_text():
    tracemalloc.start()
    try:
        async with waiting(lambda model: Agent(model, storage=Memory()), 200, traced) as short:
            pass
        async with waiting(lambda model: Agent(model, storage=Memory()), 1_200, traced) as long:
            pass
    finally:
        tracemalloc.stop()
    assert (long - short) / (1_000 * len("0000 ")) <= 4  # a list of the pieces takes 25
