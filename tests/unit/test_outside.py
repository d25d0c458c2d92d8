"""What the package takes from the computer goes through one value, which a test can hand in."""

from __future__ import annotations

import ast
import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import cogency_rs
from cogency_rs import Agent, Memory, SQLite, ToolCall, tool
from cogency_rs.outside import current, time, uuid7, worker
from cogency_rs.testing import ScriptedModel, ScriptedOutside, outside
from support.agents import calls

PACKAGE = Path(cogency_rs.__file__).parent

READS = {"time", "random", "uuid", "secrets"}
"""Modules of Python that a program gets time, chance or ids from."""

ELSEWHERE = {
    "outside.py": "the one place",
    "testing/scripted.py": "draws by a seed",
    "storage/sqlite/connection.py": "waits, in the computer's time, for another program's lock",
    "telemetry/spans.py": "measures how long something took, for metrics",
    "models/local.py": "a password for a server of this process",
    "tools/folder.py": "names of temporary files",
}
"""Where they are read all the same, and why."""


@tool(requires_approval=True)
async def pay(euros: int) -> str:
    """Pay."""
    return "paid"


def read_in(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return names & READS


def test_nothing_else_reads_a_clock_or_draws_lots() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / "cli") and read_in(path)
    }
    assert found <= ELSEWHERE.keys(), found - ELSEWHERE.keys()
    assert ELSEWHERE.keys() <= found | {"outside.py"}, ELSEWHERE.keys() - found


async def conversation(make: Any, outside_of: ScriptedOutside) -> Any:
    with outside(outside_of):
        log = make()
        answers = [calls(ToolCall("pay", {"euros": 5})), "Done.", "Bye."]
        agent = Agent(ScriptedModel(answers), tools=[pay], storage=log)
        result = await agent.run("Pay.", conversation_id="c")
        outside_of.pass_time(60.0)
        await agent.resume("c", {str(result.waiting[0].id): True})
        outside_of.now -= 86_400.0
        await agent.run("And?", conversation_id="c")
        kept = (await log.read("c")).rows, await log.calls("c"), result.run_id
        if not isinstance(log, Memory):
            await log.close()
        return kept


@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_the_same_program_makes_the_same_log_to_the_last_id_and_time(kind, tmp_path) -> None:
    kept = []
    for number in (1, 2):
        make = Memory if kind == "memory" else lambda at=number: SQLite(tmp_path / f"{at}.db")
        kept.append(await conversation(make, ScriptedOutside(time=1_000.0, worker="far:7")))
    assert kept[0] == kept[1]
    rows, [record], run_id = kept[0]
    assert [row["timestamp"] // 1 for row in rows][:2] == [1_000.0, 1_000.0]
    assert (record.started_at, record.worker) == (1_060.0, "far:7")
    assert record.id.startswith("00000000-0000-7000-8000-")
    assert run_id.startswith("00000000-0000-7000-8000-")


async def test_a_storage_without_threads_works_in_the_caller_s(tmp_path) -> None:
    before = threading.active_count()
    with outside(ScriptedOutside()):
        async with SQLite(tmp_path / "a.db") as log:
            await log.append("c", rows=[("user", "?", 1.0)])
            assert len((await log.read("c")).rows) == 1
            assert threading.active_count() == before
    async with SQLite(tmp_path / "a.db") as log:
        assert len((await log.read("c")).rows) == 1


async def test_what_is_handed_in_ends_with_its_block_and_other_tasks_do_not_see_it() -> None:
    real, inside, outer = current(), ScriptedOutside(time=7.0), asyncio.Event()

    async def other() -> float:
        await outer.wait()
        return time()

    task = asyncio.create_task(other())
    with outside(inside):
        assert (current(), time(), worker()) == (inside, 7.0, "test:1")
        assert uuid7() == "00000000-0000-7000-8000-000000000001"
        outer.set()
        assert await task > 1e9
    assert current() is real
    assert time() > 1e9


async def test_the_core_asks_for_the_time_too() -> None:
    with outside(ScriptedOutside(time=500.0)):
        events = [event async for event in cogency_rs.parse_tokens("Hi.<end>")]
        assert [event["timestamp"] for event in events] == [500.0, 500.0]
    events = [event async for event in cogency_rs.parse_tokens("Hi.<end>")]
    assert events[0]["timestamp"] > 1e9


async def test_a_clock_that_raises_is_not_asked() -> None:
    class Broken(ScriptedOutside):
        def time(self) -> float:
            raise OSError("no clock")

    with outside(Broken()):
        events = [event async for event in cogency_rs.parse_tokens("Hi.<end>")]
    assert events[0]["timestamp"] > 1e9
