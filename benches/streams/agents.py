"""Runs many agents at once, each with a log in SQLite, and prints how late they were and what they held, as JSON.

    python benches/streams/agents.py URL [--certificate FILE] [--streams 1000] [--every 50] [--answer 5] [--seconds 60]
        [--collects 1] [--alone 0]

Each agent asks again as soon as its answer is over. A delta's text is the time at which it was written. With
`--alone 1`, answers of the model are read without agents and logs.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from statistics import mean
from typing import Any

from side import HI, TIMES, headers, model

from cogency_rs import Agent, SQLite
from cogency_rs.models import ModelRequest, TextDelta

BEAT = 0.005
"""Seconds between two looks at the clock by the event loop, which is held while it looks late."""

SETTLED = 15.0
"""Seconds until each agent has had its first answers, and memory should grow no more."""


Ask = Callable[[], AsyncIterator[Any]]


class Watched:
    """What was seen of the answers, of the event loop and of memory. It does not grow with the answers."""

    def __init__(self) -> None:
        self.late: Counter[int] = Counter()  # deltas, by tenths of a millisecond
        self.missing = 0
        self.held = 0.0
        self.answers = 0
        self.collection = 0.0
        self._collecting = 0.0
        self.memory: list[tuple[float, int]] = []

    def collected(self, phase: str, seen: dict[str, int]) -> None:
        """Look how long full garbage collections take; see `gc.callbacks`."""
        now = time.perf_counter()
        if seen["generation"] == 2 and phase == "stop":
            self.collection = max(self.collection, now - self._collecting)
        self._collecting = now

    async def read(self, ask: Ask, deltas: int) -> None:
        """Read one answer.

        Raises:
            AssertionError: its deltas are not in order.
        """
        last = seen = 0
        rest = ""
        async for item in ask():
            text = text_of(item)
            now = time.time_ns()
            whole = rest + text
            found = TIMES.findall(whole.encode())
            rest = whole if not found else whole.rpartition(" ")[2]
            for written in map(int, found):
                assert last < written
                last = written
                seen += 1
                self.late[(now - written) // 100_000] += 1
        self.missing += deltas - seen
        self.answers += 1

    async def beat(self) -> None:
        """Look how long the event loop is held, and how much memory there is."""
        begin = last = time.perf_counter()
        seen = -1
        while True:
            await asyncio.sleep(BEAT)
            now = time.perf_counter()
            self.held = max(self.held, now - last - BEAT)
            last = now
            if int(now - begin) > seen:
                seen = int(now - begin)
                self.memory.append((now - begin, resident()))

    def late_ms(self, share: float) -> float:
        """How late this share of the deltas was at most, in milliseconds."""
        left = share * self.late.total()
        for tenths, count in sorted(self.late.items()):
            left -= count
            if left <= 0:
                return tenths / 10
        return 0.0


def text_of(item: Any) -> str:
    """The text of an agent's event, or of a model's delta; "" if it has no text for the user."""
    if isinstance(item, dict):
        return item["content"] if item["type"] == "respond" else ""
    return item.text if isinstance(item, TextDelta) else ""


def collected_in() -> float:
    """Seconds of a full garbage collection."""
    begin = time.perf_counter()
    gc.collect()
    return time.perf_counter() - begin


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


async def main(options: Any) -> None:
    """Run the agents."""
    if not options.collects:
        gc.disable()
    seconds, options.seconds = options.seconds, options.answer
    deltas = int(headers(options)["x-deltas"])
    with tempfile.TemporaryDirectory() as folder:
        storage = SQLite(Path(folder) / "log.db")
        asked: Any = model(options)
        agent: Any = Agent(asked, storage=storage)
        ask: Ask = (
            (lambda: asked.stream(ModelRequest(HI)))
            if options.alone
            else lambda: aiter(agent.run("Hi"))
        )
        await Watched().read(ask, deltas)  # what is loaded and made once does not count
        alone = collected_in()
        watched = Watched()
        gc.callbacks.append(watched.collected)
        before = resident()
        end = time.perf_counter() + seconds

        async def one(at: float) -> None:
            await asyncio.sleep(at)
            while time.perf_counter() < end:
                await watched.read(ask, deltas)

        beating = asyncio.create_task(watched.beat())
        await asyncio.gather(
            *(one(number / options.streams * options.answer) for number in range(options.streams))
        )
        beating.cancel()
        gc.callbacks.clear()
    settled = [memory for at, memory in watched.memory if SETTLED < at < seconds]
    half = len(settled) // 2
    result = {
        "answers": watched.answers,
        "deltas": watched.late.total(),
        "lost": watched.missing,
        "late_ms": watched.late_ms(0.5),
        "late_p99_ms": watched.late_ms(0.99),
        "held_ms": watched.held * 1e3,
        "collection_ms": watched.collection * 1e3,
        "collection_alone_ms": alone * 1e3,
        "kb_a_stream": (max(settled, default=0) - before) / options.streams / 1024,
        "growth": mean(settled[half:]) / mean(settled[:half]) if half else 1.0,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--certificate")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--every", type=float, default=50, help="milliseconds between two deltas")
    parser.add_argument("--answer", type=float, default=5, help="how long an answer takes")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--collects", type=int, default=1, help="0: without garbage collection")
    parser.add_argument("--alone", type=int, default=0, help="1: without agents")
    asyncio.run(main(parser.parse_args()))
