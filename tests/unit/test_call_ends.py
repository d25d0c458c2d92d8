"""Each call's result is durable when the call ends, while others of its batch still run."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from typing import Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    Execution,
    Hooks,
    Memory,
    ToolCall,
    ToolContext,
    parse_tokens,
    tool,
)
from cogency_rs.errors import StorageError, ToolError
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.agents import calls
from support.storages import every_log
from support.tools import rounds
from support.waiting import until

__all__ = ["every_log"]

pytestmark = pytest.mark.timeout(60)


class Durable(Memory):
    """A log that outlives the program; each save waits for `flush`, unless `is_slow` is false.

    Attributes:
        saves: the types of the rows and the states of the calls of each save.
    """

    is_durable = True

    def __init__(self, *, is_slow: bool = False) -> None:
        super().__init__()
        self.is_slow = is_slow
        self.saves: list[tuple[list[str], list[str]]] = []
        self._waiting: list[asyncio.Future[None]] = []

    def append(self, *args: Any, **options: Any) -> Any:
        records = options.get("calls", ())
        self.saves.append(([row[0] for row in options["rows"]], [call.status for call in records]))
        saved = super().append(*args, **options)
        if not (self.is_slow and records):
            return saved
        self._waiting.append(asyncio.get_running_loop().create_future())
        return self._waiting[-1]

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for save in waiting:
            save.set_result(None)

    @property
    def notes(self) -> list[int]:
        """How many calls each save between the calls and their results was about."""
        return [len(states) for types, states in self.saves if not types]


@tool
async def wait_rounds(n: int) -> int:
    """Take some rounds of the event loop."""
    await rounds(n)
    return n


def batch_of(*numbers: int) -> str:
    return calls(*(ToolCall("wait_rounds", {"n": n}) for n in numbers))


@pytest.mark.parametrize("count", [1, 8, 64])
async def test_calls_that_end_at_once_cost_no_further_save(count):
    log = Durable()
    await Agent(
        ScriptedModel([batch_of(*[3] * count), "done"]), tools=[wait_rounds], storage=log
    ).run("?")
    assert log.notes == []
    assert [types[0] for types, _ in log.saves] == ["user", "call", "result", "respond"]


@pytest.mark.parametrize("count", [8, 64])
async def test_calls_that_end_within_one_flush_cost_one_further_save(count):
    log = Durable(is_slow=True)
    agent = Agent(
        ScriptedModel([batch_of(*range(0, 2 * count, 2)), "done"]), tools=[wait_rounds], storage=log
    )
    run = asyncio.ensure_future(_awaited(agent.run("?")))
    await until(lambda: len(log.saves) == 2, "the calls are not saved")
    log.flush()
    await until(lambda: log.notes != [], "no result is saved")
    await rounds(3 * count)  # all calls are over
    assert sum(log.notes) < count
    log.is_slow = False
    log.flush()
    await run
    assert len(log.notes) == 1


async def test_calls_that_end_while_a_save_runs_are_saved_together():
    gates = [asyncio.Event() for _ in range(4)]

    @tool
    async def wait(n: int) -> int:
        """Wait for a gate."""
        await gates[n].wait()
        return n

    log = Durable(is_slow=True)
    batch = calls(*(ToolCall("wait", {"n": n}) for n in range(4)))
    agent = Agent(ScriptedModel([batch, "done"]), tools=[wait], storage=log)
    run = asyncio.ensure_future(_awaited(agent.run("?")))
    await until(lambda: len(log.saves) == 2, "the calls are not saved")
    log.flush()
    gates[0].set()
    await until(lambda: log.notes == [1], "the results are not saved together")
    gates[1].set()
    gates[2].set()
    await rounds(10)
    assert log.notes == [1]
    log.flush()
    await until(lambda: log.notes == [1, 2], "the results are not saved together")
    log.is_slow = False
    log.flush()
    gates[3].set()
    await run
    assert log.notes == [1, 2]


async def test_a_log_that_ends_with_the_program_costs_no_further_save():
    class Counting(Durable):
        is_durable = False

    log = Counting()
    await Agent(ScriptedModel([batch_of(0, 9), "done"]), tools=[wait_rounds], storage=log).run("?")
    assert log.notes == []


async def one_ended(log: Any) -> tuple[asyncio.Task[Any], asyncio.Event]:
    """Run a batch until two of its calls are over and known; returns the run, and what lets the third end."""
    gate = asyncio.Event()

    @tool
    async def act(n: int) -> dict[str, int]:
        """Act; the first never ends by itself."""
        if n == 0:
            await gate.wait()
        if n == 2:
            raise ToolError("not today")
        return {"n": n}

    batch = calls(*(ToolCall("act", {"n": n}) for n in range(3)))
    agent = Agent(ScriptedModel([batch, "done"]), tools=[act], storage=log)
    task = asyncio.ensure_future(_awaited(agent.run("?", conversation_id="c")))

    async def are_known() -> bool:
        return [each.status for each in await log.calls("c")] == ["open", "ended", "ended"]

    await until(are_known, "the results of two calls are not saved")
    return task, gate


async def _awaited(run: Any) -> Any:
    return await run


async def test_the_record_of_a_call_has_its_result_until_the_row_of_results_is_saved(every_log):
    if not getattr(every_log, "is_durable", True):
        pytest.skip("its calls are gone with the program")
    task, gate = await one_ended(every_log)
    _, second, third = await every_log.calls("c")
    assert json.loads(second.result)["content"] == {"n": 1}
    assert json.loads(third.result)["status"] == "failure"
    assert second.completed_at >= second.started_at
    assert len(await every_log.open_calls("c")) == 3
    gate.set()
    assert (await task).output == "done"
    records = await every_log.calls("c")
    assert [each.status for each in records] == ["success", "success", "failure"]
    assert [each.result for each in records] == [None] * 3
    assert records[1].completed_at == second.completed_at
    [row] = [each for each in (await every_log.read("c")).rows if each["type"] == "result"]
    assert [each.get("content") for each in json.loads(row["content"])] == [
        {"n": 0},
        {"n": 1},
        "Tool execution failed: not today",
    ]


# What a program leaves that is killed next to a call that has ended

STARTED, ENDED = 1_000.5, 1_001.5


def stored(status: str, outcome: str, content: Any = None, kind: str = "") -> str:
    is_error = status != "success"
    exception = [kind, outcome] if is_error else ["", ""]
    return json.dumps(
        {
            "status": status,
            "outcome": outcome,
            "content": content,
            "error": is_error,
            "exception": exception,
        }
    )


ENDS = {
    "a success": stored("success", "Success", [1, "é"]),
    "a failure": stored("failure", "Tool execution failed: no", kind="ToolError"),
    "a call that ran out of time": stored(
        "timeout", "Tool 'act' timed out after 1 s", kind="ToolError"
    ),
    "one that a hook blocked": stored("blocked", "Tool 'act' was blocked: no", kind="BlockTool"),
    "one that was denied": stored("denied", "Tool 'act' was denied", kind="DeniedError"),
    "one that was cancelled": stored("cancelled", "Cancelled", kind="CancelledError"),
    "one whose connection broke": stored("unknown", "It is not known", kind="UnknownOutcome"),
}


async def leave(log: Any, *results: str | None) -> None:
    """Leave a conversation as a killed program does: with a batch of calls that have ended, and one that has not."""
    batch = uuid7()
    records = [
        CallRecord(
            uuid7(), batch, place, "act", None, "ended", 1, STARTED, ENDED, "far:1", result=result
        )
        for place, result in enumerate(results)
    ]
    records.append(
        CallRecord(uuid7(), batch, len(results), "act", None, "open", 1, STARTED, None, "far:1")
    )
    rows = [("user", "Go.", 1.0)] + [("call", '{"name": "act", "args": {}}', 2.0)] * len(records)
    await log.append("c", user_id="", rows=rows[:1], calls=())
    opened = [record._replace(status="open", result=None) for record in records]
    await log.append("c", user_id="", rows=rows[1:], calls=opened)
    await log.append("c", user_id="", rows=(), calls=records)


def shown(rows: list[Any]) -> list[Any]:
    [row] = [row for row in rows if row["type"] == "result"]
    return json.loads(row["content"])


class Counted(Hooks):
    """Notes the calls that it is around."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def around_call(self, invocation: Any, next: Any) -> Any:
        self.asked.append("around")
        return await next(invocation)


@pytest.mark.parametrize("then", ["resume", "question"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_a_result_that_is_known_is_kept_and_its_call_is_not_run_again(every_log, end, then):
    ran: list[str] = []

    @tool
    async def act() -> None:
        """Act."""
        ran.append("act")

    await leave(every_log, end)
    agent = Agent(ScriptedModel(["done"]), tools=[act], storage=every_log)
    result = await (
        agent.resume("c") if then == "resume" else agent.run("And?", conversation_id="c")
    )
    assert (result.output, ran) == ("done", [])
    known, lost = await every_log.calls("c")
    expected = json.loads(end)
    assert (known.status, lost.status) == (expected["status"], "unknown")
    assert (known.attempt, known.started_at, known.completed_at) == (1, STARTED, ENDED)
    assert (known.worker, known.result) == ("far:1", None)
    told = shown((await every_log.read("c")).rows)[0]
    assert told["content"] == (expected["outcome"] if expected["error"] else expected["content"])
    if then == "resume":
        [execution, _] = result.steps[0].executions
        assert (execution.status, execution.record.completed_at) == (expected["status"], ENDED)


@pytest.mark.parametrize("damaged", [None, "", "{", "[]", '{"status": "success"}', "3"])
async def test_a_result_that_cannot_be_read_is_an_unknown_outcome(every_log, damaged):
    await leave(every_log, damaged)
    assert (await Agent(ScriptedModel(["done"]), storage=every_log).resume("c")).output == "done"
    assert [each.status for each in await every_log.calls("c")] == ["unknown", "unknown"]
    assert "its result cannot be read" in shown((await every_log.read("c")).rows)[0]["content"]


async def test_a_resume_that_is_left_before_its_calls_keeps_what_is_known(every_log):
    await leave(every_log, ENDS["a success"])
    run = Agent(ScriptedModel([]), storage=every_log).resume("c")
    async with run:
        async for _ in run:
            break
    assert [each.status for each in await every_log.calls("c")] == ["success", "unknown"]
    known, lost = shown((await every_log.read("c")).rows)
    assert known["content"] == [1, "é"]
    assert "It is not known whether the call to 'act' happened" in lost["content"]


async def test_hooks_are_not_asked_again_about_a_call_that_has_ended(every_log):
    hooks = Counted()
    await leave(every_log, ENDS["a success"])
    await Agent(ScriptedModel(["done"]), storage=every_log, hooks=[hooks]).resume("c")
    assert hooks.asked == ["around"]  # about the other: nothing can block what may have happened


async def test_a_call_that_ended_stays_ended_while_another_waits_for_agreement(every_log):
    batch = uuid7()

    @tool(requires_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    records = [
        CallRecord(
            uuid7(),
            batch,
            0,
            "act",
            None,
            "ended",
            1,
            STARTED,
            ENDED,
            "far:1",
            result=ENDS["a success"],
        ),
        CallRecord(uuid7(), batch, 1, "pay", None, "saved", worker="far:1"),
    ]
    rows = [
        ("user", "Go.", 1.0),
        *(("call", json.dumps({"name": each.name, "args": {}}), 2.0) for each in records),
    ]
    await every_log.append(
        "c", user_id="", rows=rows, calls=[records[0]._replace(status="open"), records[1]]
    )
    await every_log.append("c", user_id="", rows=(), calls=records[:1])
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)
    waits = await agent.resume("c")
    assert [each.status for each in await every_log.calls("c")] == ["ended", "waiting"]
    result = await agent.resume("c", {str(call.id): True for call in waits.waiting})
    assert [each.status for each in result.steps[0].executions] == ["success", "success"]


# What may go wrong


async def test_a_failed_save_of_a_result_does_not_end_the_turn(caplog):
    class Failing(Durable):
        def append(self, *args: Any, **options: Any) -> Any:
            if not options["rows"]:
                failed = asyncio.get_running_loop().create_future()
                failed.set_exception(StorageError("the disk is full"))
                return failed
            return super().append(*args, **options)

    log = Failing()
    agent = Agent(ScriptedModel([batch_of(0, 20), "done"]), tools=[wait_rounds], storage=log)
    with caplog.at_level(logging.WARNING):
        assert (await agent.run("?", conversation_id="c")).output == "done"
    assert "Results could not be saved before their batch was over: the disk is full" in caplog.text
    assert [each.status for each in await log.calls("c")] == ["success", "success"]


async def test_the_row_of_results_follows_a_note_that_is_still_being_saved():
    class Coroutines(Durable):
        """A log whose saves are coroutines, of which nobody says that they are carried out in order."""

        async def append(self, *args: Any, **options: Any) -> Any:
            if not options["rows"]:
                await rounds(50)
            return super().append(*args, **options)

    log = Coroutines()
    agent = Agent(ScriptedModel([batch_of(0, 20), "done"]), tools=[wait_rounds], storage=log)
    assert (await agent.run("?", conversation_id="c")).output == "done"
    assert [each.status for each in await log.calls("c")] == ["success", "success"]
    assert log.notes == [1]


async def test_a_result_is_saved_even_if_the_consumer_does_not_take_the_events_before_it():
    """The row of results follows the events of the tools, for which the consumer may take any time."""

    @tool
    async def tell(context: ToolContext[Any]) -> str:
        """Tell."""
        context.emit({"type": "told"})
        await rounds(3)
        return "told"

    log = Durable()
    turn = Accumulator("u", "c", execution=Execution(storage=log, tools=[tell]))
    async with aclosing(turn.process(parse_tokens(calls("tell")))) as events:
        async for event in events:
            if event["type"] == "told":
                await rounds(10)
                [record] = await log.calls("c")
                assert record.status == "ended"
    assert [each.status for each in await log.calls("c")] == ["success"]


async def test_a_turn_that_is_cancelled_keeps_the_results_that_there_are(every_log):
    if not getattr(every_log, "is_durable", True):
        pytest.skip("its calls are gone with the program")
    task, _ = await one_ended(every_log)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    records = await every_log.calls("c")
    assert [each.status for each in records] == ["cancelled", "success", "failure"]
    assert [each.result for each in records] == [None] * 3
