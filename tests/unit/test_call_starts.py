"""Who started a call, when, and how often: only a start writes it, and a run that does not start the call leaves it."""

from __future__ import annotations

import asyncio
from time import time
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Hooks, tool
from cogency_rs.errors import BlockTool
from cogency_rs.outside import uuid7, worker
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Retries
from support.agents import calls
from support.storages import every_log

__all__ = ["every_log"]

STARTED = 1_000.5
"""When another process started the calls, long ago."""

ELSEWHERE = "elsewhere:17"

Start = tuple[str, int, str | None, bool]
"""Status, attempt, worker, and whether the start is that of the other process."""


def as_start(record: CallRecord) -> Start:
    return record.status, record.attempt, record.worker, record.started_at == STARTED


async def leave(log: Any, *records: CallRecord) -> None:
    """Leave a conversation as a program that was killed leaves it: with a batch that has no results."""
    rows = [("user", "Go.", 1.0)]
    rows += [("call", f'{{"name": "{record.name}", "args": {{}}}}', 2.0) for record in records]
    await log.append("c", user_id="", rows=rows, calls=records)


def batch(**names: CallRecord | dict[str, Any]) -> list[CallRecord]:
    """A batch of calls with these names and fields."""
    id = uuid7()
    return [
        CallRecord(uuid7(), id, position, name, **fields)
        for position, (name, fields) in enumerate(names.items())
    ]


OPEN = {"status": "open", "attempt": 1, "started_at": STARTED, "worker": ELSEWHERE}


@tool
async def send() -> str:
    """Send a letter."""
    return "sent"


@tool(read_only=True)
async def look() -> str:
    """Look."""
    return "seen"


def resuming(log: Any, *tools: Any, **options: Any) -> Agent[Any, str]:
    return Agent(ScriptedModel(["Done."]), tools=tools or [send, look], storage=log, **options)


HERE = worker()

RESUMED = {
    "a call that may have begun keeps its start": (OPEN, "send", ("unknown", 1, ELSEWHERE, True)),
    "one that began three times, too": (
        {**OPEN, "attempt": 3},
        "send",
        ("unknown", 3, ELSEWHERE, True),
    ),
    "one whose start was not noted": (
        {"status": "open", "worker": ELSEWHERE},
        "send",
        ("unknown", 1, ELSEWHERE, False),
    ),
    "one that is run again has its new start": (OPEN, "look", ("success", 2, HERE, False)),
    "one that had not begun begins here": (
        {"status": "saved", "worker": ELSEWHERE},
        "send",
        ("success", 1, HERE, False),
    ),
}


@pytest.mark.parametrize(("fields", "name", "expected"), RESUMED.values(), ids=RESUMED)
async def test_after_a_resume(every_log, fields, name, expected):
    before = time()
    await leave(every_log, *batch(**{name: fields}))
    assert (await resuming(every_log).resume("c")).output == "Done."
    [record] = await every_log.calls("c")
    assert as_start(record) == expected
    assert record.completed_at >= before
    if expected[2] == HERE:
        assert record.started_at >= before


async def test_a_question_that_comes_instead_of_a_resume_leaves_the_start_as_it_was(every_log):
    await leave(every_log, *batch(send=OPEN))
    await resuming(every_log).run("Go on.", conversation_id="c")
    [record] = await every_log.calls("c")
    assert as_start(record) == ("unknown", 1, ELSEWHERE, True)


async def test_a_call_that_is_run_again_is_noted_as_started_before_it_runs(every_log):
    """So that another crash leaves it with the start that may have happened."""
    seen: list[CallRecord] = []

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        seen.extend(await every_log.calls("c"))
        return "seen"

    await leave(every_log, *batch(send=OPEN, look=OPEN))
    await resuming(every_log, send, look).resume("c")
    assert [as_start(record) for record in seen] == [
        ("open", 1, ELSEWHERE, True),
        ("open", 2, HERE, False),
    ]
    assert [as_start(record) for record in await every_log.calls("c")] == [
        ("unknown", 1, ELSEWHERE, True),
        ("success", 2, HERE, False),
    ]


class Passing(Hooks):
    async def around_call(self, invocation, next):
        return await next(invocation)


WAYS = {
    "a call that starts at once": {},
    "a call that is noted before it starts": {"hooks": [Passing()]},
    "a call that starts while the model writes": {"calls": CallOptions(eager=True)},
    "a call that starts when its batch is complete": {"calls": CallOptions(eager=False)},
}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
async def test_a_call_that_runs_has_its_start_and_keeps_it(every_log, options):
    seen: list[CallRecord] = []
    before = time()

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        seen.extend(await every_log.calls("c"))
        await asyncio.sleep(0)
        return "seen"

    model = ScriptedModel([calls("look"), "Done."])
    await Agent(model, tools=[look], storage=every_log, **options).run("?", conversation_id="c")
    [running], [over] = seen, await every_log.calls("c")
    assert running.status in ("open", "early")
    for record in (running, over):
        assert (record.attempt, record.worker) == (1, HERE)
        assert before <= record.started_at <= time()
    assert over.status == "success"


async def test_each_attempt_is_noted_before_it_starts(every_log, monkeypatch):
    """So that after a crash the log says how often the tool was started, or may have been."""
    monkeypatch.setattr("cogency_rs.hooks.chain.pause", lambda attempt: 0.0)
    seen: list[CallRecord] = []

    @tool(idempotent=Retries(2))
    async def send() -> str:
        """Send a letter."""
        seen.extend(await every_log.calls("c"))
        if len(seen) < 3:
            raise OSError("no")
        return "sent"

    model = ScriptedModel([calls("send"), "Done."])
    await Agent(model, tools=[send], storage=every_log).run("?", conversation_id="c")
    is_durable = getattr(every_log, "is_durable", True)
    assert [each.attempt for each in seen] == ([1, 2, 3] if is_durable else [1, 1, 1])
    assert {each.worker for each in seen} == {HERE}
    [record] = await every_log.calls("c")
    assert (record.status, record.attempt) == ("success", 3)
    if is_durable:
        assert (
            seen[1].started_at == seen[2].started_at == pytest.approx(record.started_at, abs=1e-5)
        )


async def test_a_call_that_is_blocked_was_never_started(every_log):
    class Blocking(Hooks):
        async def around_call(self, invocation, next):
            raise BlockTool("no")

    model = ScriptedModel([calls("send"), "Done."])
    await Agent(model, tools=[send], storage=every_log, hooks=[Blocking()]).run(
        "?", conversation_id="c"
    )
    [record] = await every_log.calls("c")
    assert (record.attempt, record.completed_at is not None) == (0, True)
