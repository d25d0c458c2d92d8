"""The wait for results after the model has written a batch of calls that may begin before the batch is complete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from figures import Samples
from measure import Bench
from sides import OURS, block, cut

from cogency_rs import CallOptions, Execution, Memory, tool

TOKENS_A_SECOND = 50
PAUSE = 0.05
MOST_ROUNDS = 5


@tool(read_only=True)
async def read(n: int) -> int:
    """Read something that takes its time."""
    await asyncio.sleep(PAUSE)
    return n


async def from_last_token_to_results(bench: Bench, count: int) -> Samples:
    """The floor is the same turn in which no call begins early."""
    samples: Samples = {"ours": [], "floor": []}
    for _ in range(min(bench.rounds, MOST_ROUNDS)):
        samples["ours"].append(await _waited(count, eager=True))
        samples["floor"].append(await _waited(count, eager=False))
    return samples


async def _waited(count: int, *, eager: bool) -> float:
    """The seconds from the last token to the results."""
    tokens, last = cut(block([("read", {"n": n}) for n in range(count)]), 4), 0.0

    async def written() -> AsyncIterator[str]:
        nonlocal last
        for token in tokens:
            await asyncio.sleep(1 / TOKENS_A_SECOND)
            last = time.perf_counter()
            yield token

    turns = OURS.accumulator(
        "u",
        "c",
        execution=Execution(storage=Memory(), tools=[read]),
        calls=CallOptions(eager=eager),
    )
    async for event in turns.process(OURS.parse_tokens(written())):
        if event["type"] == "result":
            return time.perf_counter() - last
    raise AssertionError("a turn without results")
