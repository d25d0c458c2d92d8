"""Calls that failed are tried again, if their tool allows it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cogency_rs import CallOptions, ToolResult
from cogency_rs.errors import ToolError
from cogency_rs.tools import Retries, ToolOptions
from support.batches import execute, executions
from support.clock import in_exact_time
from support.ids import shown
from support.tools import (
    FunctionTool,
    call,
    rounds,
)

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(20)]


class Flaky:
    """Fails several times, then succeeds."""

    description, schema = "", {}

    def __init__(self, *failures: Any, **options: Any) -> None:
        self.name = "flaky"
        self.failures = list(failures)
        self.options = ToolOptions(**{"idempotent": Retries(2), **options})

    async def execute(self, **_: Any) -> Any:
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, BaseException):
                raise failure
            return await failure() if callable(failure) else failure
        return "at last"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr("cogency_rs.hooks.chain.FIRST_PAUSE", 0.001)


@pytest.mark.parametrize(
    ("failures", "attempts", "status"),
    [
        ([], 1, "success"),
        ([OSError("1")], 2, "success"),
        ([OSError("1"), KeyError("2")], 3, "success"),
        ([OSError("1"), OSError("2"), OSError("3")], 3, "failure"),
        ([ToolError("busy")], 2, "success"),
        ([asyncio.Event().wait], 2, "success"),
        ([ToolResult("it says no", error=True)], 1, "failure"),
        ([asyncio.CancelledError()], 1, "cancelled"),
    ],
    ids=shown,
)
@in_exact_time
async def test_a_call_that_raised_or_ran_out_of_time_is_tried_again(failures, attempts, status):
    [made] = await executions([call("flaky")], Flaky(*failures, timeout=0.1))
    assert (made.record.attempt, made.status) == (attempts, status)


async def test_refused_calls_are_not_tried_again():
    tool = Flaky()
    tool.schema = {"x": {"required": True}}
    [made] = await executions([call("flaky")], tool)
    assert (made.record.attempt, made.status) == (0, "failure")


async def test_between_attempts_a_call_makes_room_for_others():
    journal: list[str] = []

    async def other(**_: Any) -> None:
        journal.append("other")

    class Watched(Flaky):
        async def execute(self, **given: Any) -> Any:
            journal.append("flaky")
            return await super().execute(**given)

    calls = [call("flaky"), call("other")]
    await execute(
        calls,
        Watched(OSError()),
        FunctionTool("other", other),
        calls=CallOptions(max_concurrency=1),
    )
    assert journal == ["flaky", "other", "flaky"]


@in_exact_time
async def test_the_pause_between_attempts_does_not_count_towards_the_timeout(monkeypatch):
    monkeypatch.setattr("cogency_rs.hooks.chain.FIRST_PAUSE", 4)
    loop = asyncio.get_running_loop()
    began = loop.time()
    [made] = await executions([call("flaky")], Flaky(OSError(), timeout=1))
    assert (made.status, loop.time() - began > 1) == ("success", True)


async def test_a_retry_is_not_made_once_its_batch_is_cancelled(monkeypatch):
    monkeypatch.setattr("cogency_rs.hooks.chain.FIRST_PAUSE", 20)
    tool = Flaky(OSError())
    batch = asyncio.ensure_future(execute([call("flaky")], tool))
    await rounds(10)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert tool.failures == []
