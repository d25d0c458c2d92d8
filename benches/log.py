"""What the log costs: time and commits of a turn, and of assembling after one more event, beside cogency 3.3.0.

    python benches/log.py [--rounds 30]

Both sides take turns in one process, on the same disk, with `synchronous=FULL`. Needs the extra `parity`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import cogency_rs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from cogency.context.assembly import assemble as their_assemble
    from cogency.core.accumulator import Accumulator as TheirAccumulator
    from cogency.core.config import Execution
    from cogency.core.parser import parse_tokens as their_parse_tokens
    from cogency.core.protocols import ToolResult
    from cogency.lib.sqlite import SQLite as TheirSQLite

CALLS = json.dumps([{"name": "t", "args": {"text": "x" * 300}}] * 4)
TURN = f"<think>{'hm ' * 60}</think>{'So. ' * 90}<execute>{CALLS}</execute>"
EVENTS = 7_500


class Tool:
    """A tool that does nothing."""

    name, description, schema = "t", "", {}

    def describe(self, args: dict[str, Any]) -> str:
        return self.name

    async def execute(self, **_: Any) -> ToolResult:
        return ToolResult(outcome="ok")


class Counted(TheirSQLite):
    """cogency's storage, which commits once for every save."""

    commits = 0

    async def save_message(self, *args: Any) -> str:
        self.commits += 1
        return await super().save_message(*args)


async def chunks(text: str) -> AsyncIterator[str]:
    for start in range(0, len(text), 4):
        yield text[start : start + 4]


def execution(storage: Any) -> Execution:
    return Execution(
        storage=storage, tools=(Tool(),), shell_timeout=1, sandbox_dir="", access="sandbox"
    )


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


def row(name: str, ours: list[float], theirs: list[float], commits: str) -> None:
    mine, other = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
    print(f"{name:34} {mine:8.2f} {other:8.2f} {other / mine:6.1f}x   {commits}")


async def turns(folder: Path, rounds: int) -> None:
    """A 2 KB turn with four calls."""
    theirs = Counted(str(folder / "theirs.db"))
    statements: list[str] = []
    times: tuple[list[float], list[float]] = ([], [])
    async with cogency_rs.SQLite(folder / "ours.db") as ours:
        await ours.save_message("c", "u", "user", "go")
        await ours._database.write(lambda writing: writing.set_trace_callback(statements.append))
        del statements[:]

        async def our_turn() -> None:
            turn = cogency_rs.Accumulator("u", "c", execution=execution(ours))
            async for _ in turn.process(cogency_rs.parse_tokens(chunks(TURN))):
                pass

        async def their_turn() -> None:
            turn = TheirAccumulator("u", "c", execution=execution(theirs))
            async for _ in turn.process(their_parse_tokens(chunks(TURN))):
                pass

        for _ in range(rounds):
            times[0].append(await timed(our_turn))
            times[1].append(await timed(their_turn))
    commits = f"{statements.count('COMMIT') / rounds:g} and {theirs.commits / rounds:g} a turn"
    row(f"turn, {len(TURN):,} characters, 4 calls", *times, commits)


async def assembling(folder: Path, rounds: int) -> None:
    """One more event after many."""
    path = folder / "log.db"
    theirs = TheirSQLite(str(path))
    call = json.dumps({"name": "t", "args": {"text": "x" * 100}})
    rows = [("user", "hello"), ("think", "hm"), ("respond", "so"), ("call", call), ("result", "[]")]
    times: tuple[list[float], list[float]] = ([], [])
    async with cogency_rs.SQLite(path) as ours:
        for _ in range(EVENTS // len(rows)):
            await ours.save_messages([("c", "u", kind, content, None) for kind, content in rows])
        for _ in range(rounds):
            await ours.save_message("c", "u", "respond", "more")
            times[0].append(
                await timed(lambda: cogency_rs.assemble("u", "c", tools=[], storage=ours))
            )
            times[1].append(
                await timed(
                    lambda: their_assemble(
                        "u",
                        "c",
                        tools=[],
                        storage=theirs,
                        history_window=None,
                        history_transform=None,
                        profile_enabled=False,
                    )
                )
            )
    row(f"assemble, one more after {EVENTS:,}", *times, "")


async def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=30)
    rounds = arguments.parse_args().rounds
    print(f"{'work (medians, ms)':34} {'ours':>8} {'cogency':>8} {'ratio':>7}   commits")
    with tempfile.TemporaryDirectory() as folder:
        await turns(Path(folder), rounds)
        await assembling(Path(folder), rounds)


if __name__ == "__main__":
    asyncio.run(main())
