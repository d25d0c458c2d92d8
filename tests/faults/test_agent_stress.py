"""Many agents run at once in one process: each gives its own answer, and nothing is left over.

`make stress` runs 1,000 of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, Memory, SQLite, ToolCall, tool
from cogency_rs.execution import worker_threads
from cogency_rs.testing import ScriptedModel
from support.aftermath import pool_threads
from support.tools import block
from support.ways import Way, in_both_ways

AGENTS = int(os.environ.get("COGENCY_RS_STRESS_AGENTS", "60"))

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(60 + AGENTS // 2)]


@tool
async def double(n: int) -> int:
    """Double a number."""
    await asyncio.sleep(0)
    return 2 * n


@tool
def halve(n: int) -> float:
    """Halve a number, in a worker thread."""
    return n / 2


@tool
async def fail(n: int) -> None:
    """Fail."""
    raise ValueError(f"no {n}")


class OneRun(Hooks):
    """Checks that the state of a run sees no call of another run."""

    async def around_call(self, invocation: Any, next: Any) -> Any:
        state, conversation_id = invocation.state, invocation.context.conversation_id
        result = await next(invocation)
        state.setdefault("conversation", conversation_id)
        assert state["conversation"] == conversation_id
        return result


def answer_of(number: int) -> Any:
    def answer(request: Any) -> str:
        turns = (len(request.messages) - 2) // 2
        if turns < 2:
            n = 10 * number + turns
            names = ("double", "halve", "fail")
            return f"Step {turns}.\n" + block(*(ToolCall(name, {"n": n}) for name in names))
        return f"answer {number}"

    return answer


async def run_one(number: int, storage: Any, hooks: list[Hooks]) -> str:
    agent = Agent(
        ScriptedModel(answer_of(number), chunk=60),
        tools=[double, halve, fail],
        hooks=hooks,
        storage=storage,
    )
    conversation = f"conversation {number}"
    run = asyncio.ensure_future(agent.run(f"question {number}", conversation_id=conversation))
    if number % 3 == 0:  # this run is cancelled somewhere, and resumed until it is over
        for _ in range(random.Random(number).randrange(40)):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait([run])
        if run.cancelled():
            rows = (await storage.read(conversation)).rows
            again = (
                agent.resume(conversation) if rows else agent.run("?", conversation_id=conversation)
            )
            return (await again).output
    result = await run
    for step, n in zip(result.steps, (10 * number, 10 * number + 1), strict=False):
        assert [each.value for each in step.executions] == [2 * n, n / 2, None]
    return result.output


@pytest.mark.parametrize("where", ["memory", "SQLite"])
async def test_many_agents_at_once(
    where: str, both_ways: Way, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("CRITICAL")  # a thousand failing tools would be logged
    storage: Any = Memory() if where == "memory" else SQLite(tmp_path / "log.db", synchronous="OFF")
    this_task = asyncio.current_task()
    # Hooks around calls keep the calls from beginning early.
    hooks = [] if both_ways.is_eager else [OneRun()]
    outputs = await asyncio.gather(*(run_one(number, storage, hooks) for number in range(AGENTS)))
    for number, output in enumerate(outputs):
        *interrupted, answer = output.split(
            "\n"
        )  # the answer goes on with the text that it was interrupted in
        assert answer == f"answer {number}"
        assert not interrupted or (number % 3 == 0 and interrupted[0] in ("Step 0.", "Step 1."))
    assert asyncio.all_tasks() == {this_task}, "a task is left"
    for number in range(AGENTS):
        rows = (await storage.read(f"conversation {number}")).rows
        found = [json.loads(row["content"]) for row in rows if row["type"] == "result"]
        calls = [row for row in rows if row["type"] == "call"]
        assert len(calls) == sum(len(each) for each in found)
    if isinstance(storage, SQLite):
        await storage.close()
    assert 0 < pool_threads() <= worker_threads()
