"""Cancellation: the log is complete, nothing goes on running, and the caller gets the `CancelledError`.

`test_cancelled_anywhere.py` cancels at every suspension.
"""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import CallOptions, ToolResult, execute_tools, parse_tokens
from support.aftermath import SQLITE_STORAGES
from support.tools import FAIL, OK, FunctionTool, Waiting, block, call, rounds, with_tools
from support.turns import (
    CONVERSATION,
    LOGS,
    USER,
    BatchLog,
    Chunks,
    Log,
    accumulator,
    carry_out,
    check_answered,
    results_in,
    types,
)
from support.ways import Way, in_both_ways, only_at_the_end

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(60)]

# While tools run


async def turn_that_waits(
    way: Way,
    tools: list[Any],
    names: list[str],
    until: asyncio.Event,
    kind: type[Log] = Log,
    **options: Any,
) -> tuple[asyncio.Task[Any], Log]:
    """Run a turn until its batch is complete and the event `until` is set."""
    log = kind()
    turns = accumulator(with_tools(*tools, storage=log), **options)
    task = asyncio.create_task(carry_out(turns, parse_tokens(block(*names))))
    await way.until_complete(until)
    return task, log


def statuses(log: Log) -> list[tuple[str, Any]]:
    [array] = results_in(log.rows)
    return [(item["status"], item["content"]) for item in array]


@pytest.mark.parametrize("kind", LOGS)
async def test_finished_calls_keep_their_result_and_the_others_read_as_cancelled(kind, both_ways):
    slow = Waiting()
    names = ["ok", "wait", "fail", "wait"]
    task, log = await turn_that_waits(both_ways, [OK, FAIL, slow], names, slow.started, kind)
    await rounds(3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert statuses(log) == [
        ("success", {}),
        ("failure", "Cancelled"),
        ("failure", "it failed"),
        ("failure", "Cancelled"),
    ]
    assert types(log.rows) == ["call"] * 4 + ["result"]


async def test_the_results_of_a_cancelled_batch_are_an_ordinary_row(both_ways):
    slow = Waiting()
    task, log = await turn_that_waits(both_ways, [slow], ["wait"], slow.started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    expected = [{"tool": "wait", "status": "failure", "content": "Cancelled"}]
    assert log.rows[-1].content == json.dumps(expected)


async def test_calls_that_had_not_started_read_as_cancelled_and_never_start(both_ways):
    slow, ran = Waiting(), []

    async def late(**_: Any) -> None:
        ran.append(True)

    tools = [OK, slow, FunctionTool("late", late)]
    names = ["ok", "wait", "late", "late"]
    task, log = await turn_that_waits(
        both_ways, tools, names, slow.started, calls=CallOptions(max_concurrency=1)
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [status for status, _ in statuses(log)] == ["success", "failure", "failure", "failure"]
    assert {content for _, content in statuses(log)[1:]} == {"Cancelled"}
    assert ran == []


async def test_the_results_row_is_saved_before_the_cancellation_is_raised(both_ways):
    slow, log = Waiting(), BatchLog(before=5, after=5)
    turns = accumulator(with_tools(slow, storage=log))
    task = asyncio.create_task(carry_out(turns, parse_tokens(block("wait"))))
    await both_ways.until_complete(slow.started)
    task.cancel()
    seen: list[list[str]] = []
    task.add_done_callback(lambda _: seen.append(types(log.rows)))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [["call", "result"]]


async def test_no_event_follows_a_cancellation(both_ways):
    slow, journal = Waiting(), []
    turns = accumulator(with_tools(slow, storage=Log()))
    task = asyncio.create_task(carry_out(turns, parse_tokens(block("wait")), journal))
    await both_ways.until_complete(slow.started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type for _, type, _ in journal] == ["call", "execute"]


async def test_the_cancellation_s_message_reaches_the_caller(both_ways):
    slow = Waiting()
    task, _ = await turn_that_waits(both_ways, [slow], ["wait"], slow.started)
    task.cancel("the user pressed stop")
    with pytest.raises(asyncio.CancelledError, match="the user pressed stop"):
        await task


def tool_that(on_cancel: Callable[[], Any], started: asyncio.Event) -> FunctionTool:
    """A tool that waits, and calls `on_cancel` when it is cancelled."""

    async def execute(**_: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await on_cancel()

    return FunctionTool("t", execute)


async def test_a_tool_that_returns_when_it_is_cancelled_keeps_its_result(both_ways):
    async def answer() -> ToolResult:
        await rounds(3)
        return ToolResult(outcome="half done")

    started = asyncio.Event()
    task, log = await turn_that_waits(both_ways, [tool_that(answer, started)], ["t", "t"], started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert statuses(log) == [("success", "half done")] * 2


async def test_a_tool_that_fails_while_it_is_cancelled_has_failed(both_ways):
    async def fail() -> None:
        raise OSError("no")

    started = asyncio.Event()
    task, log = await turn_that_waits(
        both_ways, [tool_that(fail, started), OK], ["t", "ok"], started
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [status for status, _ in statuses(log)] == ["failure", "success"]


async def test_a_cancelled_tool_is_waited_for_until_it_ends(both_ways):
    release, resisting, started = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def resist() -> ToolResult:
        resisting.set()
        await release.wait()
        return ToolResult(outcome="in the end")

    task, log = await turn_that_waits(both_ways, [tool_that(resist, started)], ["t"], started)
    task.cancel()
    await resisting.wait()
    await rounds(20)
    assert (task.done(), types(log.rows)) == (False, ["call"])
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert statuses(log) == [("success", "in the end")]


async def test_a_second_cancellation_does_not_cut_the_cleanup_short(both_ways):
    release, cleaning, started = asyncio.Event(), asyncio.Event(), asyncio.Event()
    steps: list[str] = []

    async def clean_up() -> None:
        cleaning.set()
        await release.wait()
        steps.append("cleaned up")
        raise asyncio.CancelledError

    task, log = await turn_that_waits(both_ways, [tool_that(clean_up, started)], ["t"], started)
    task.cancel()
    await cleaning.wait()
    for _ in range(3):
        task.cancel()
        await rounds(3)
    assert (task.done(), steps) == (False, [])
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (steps, statuses(log)) == (["cleaned up"], [("failure", "Cancelled")])


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_cancelling_while_the_row_is_saved_loses_nothing(times, both_ways):
    saving, release = asyncio.Event(), asyncio.Event()

    class Held(Log):
        async def _save(self, rows: Any) -> None:
            rows = list(rows)
            if rows[0][2] == "result":
                saving.set()
                await release.wait()
            await super()._save(rows)

    slow, log = Waiting(), Held()
    turns = accumulator(with_tools(slow, storage=log))
    task = asyncio.create_task(carry_out(turns, parse_tokens(block("wait"))))
    await both_ways.until_complete(slow.started)
    task.cancel()
    await saving.wait()
    for _ in range(times):
        task.cancel()
        await rounds(2)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    check_answered(log.rows)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_batch_within_a_batch_is_cancelled_with_it(both_ways):
    slow = Waiting()

    async def nest(**_: Any) -> Any:
        inner = with_tools(slow)
        calls = [call("wait"), call("wait")]
        return await execute_tools(calls, execution=inner, user_id="u", conversation_id="c")

    task, log = await turn_that_waits(
        both_ways, [FunctionTool("nest", nest)], ["nest"], slow.started
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(slow.journal) == ["started", "started", "stopped", "stopped"]
    assert statuses(log) == [("failure", "Cancelled")]


async def test_a_turn_within_a_turn_is_cancelled_with_it(both_ways):
    """A tool that runs an agent."""
    slow, inner = Waiting(), Log()

    async def agent(**_: Any) -> Any:
        turns = accumulator(with_tools(slow, storage=inner))
        await carry_out(turns, parse_tokens(block("wait", "wait")))

    task, log = await turn_that_waits(
        both_ways, [FunctionTool("agent", agent)], ["agent"], slow.started
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    check_answered(inner.rows)
    check_answered(log.rows)
    assert statuses(inner) == [("failure", "Cancelled")] * 2


@only_at_the_end("a call that stops its turn before its batch is complete does not count")
async def test_a_tool_may_cancel_the_turn_it_runs_in():
    turn: list[asyncio.Task[Any]] = []

    async def stop(**_: Any) -> str:
        turn[0].cancel()
        return "stopped"

    log = Log()
    turns = accumulator(with_tools(FunctionTool("stop", stop), OK, storage=log))
    turn.append(asyncio.create_task(carry_out(turns, parse_tokens(block("stop", "ok")))))
    with pytest.raises(asyncio.CancelledError):
        await turn[0]
    check_answered(log.rows)
    assert statuses(log)[0] == ("success", "stopped")


async def test_a_plain_function_that_blocks_is_not_waited_for(both_ways):
    """A blocking tool cannot be interrupted: its call is cancelled, and the tool is left to end on its own."""
    started, release, over = threading.Event(), threading.Event(), threading.Event()

    def blocks(**_: Any) -> str:
        started.set()
        release.wait(10)
        over.set()
        return "too late"

    log = Log()
    turns = accumulator(with_tools(FunctionTool("t", blocks), OK, storage=log))
    task = asyncio.create_task(carry_out(turns, parse_tokens(block("t", "ok"))))
    assert await asyncio.to_thread(started.wait, 10)
    await both_ways.until_complete()
    task.cancel()
    try:
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not over.is_set()
        assert statuses(log) == [("failure", "Cancelled"), ("success", {})]
    finally:
        release.set()
    assert await asyncio.to_thread(over.wait, 10)
    await carry_out(turns, parse_tokens(block("ok")))
    assert types(log.rows) == ["call", "call", "result", "call", "result"]


async def test_a_call_that_is_cancelled_just_as_it_starts_leaves_no_coroutine_unawaited():
    """Python would warn of such a coroutine."""

    async def first(**_: Any) -> None:
        asyncio.get_running_loop().call_soon(task.cancel)

    tools = [FunctionTool("first", first), FunctionTool("second", first)]
    task = asyncio.create_task(
        execute_tools(
            [call("first"), call("second")],
            execution=with_tools(*tools),
            user_id="u",
            conversation_id="c",
            calls=CallOptions(max_concurrency=1),
        )
    )
    await asyncio.wait([task])
    gc.collect()
    assert task.done()


async def test_other_turns_run_on(both_ways):
    slow, other = Waiting(), Waiting("other")
    log = Log()
    turns = accumulator(with_tools(slow, other, storage=log))
    tasks = [
        asyncio.create_task(carry_out(turns, parse_tokens(block(name))))
        for name in ("wait", "other")
    ]
    await both_ways.until_complete(slow.started)
    await other.started.wait()
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    other.release.set()
    assert types(await tasks[1]) == ["call", "execute", "result"]


# Ways to be cancelled


async def test_a_timeout_around_a_turn(both_ways):
    slow, log = Waiting(), Log()
    turns = accumulator(with_tools(slow, OK, storage=log))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:

            async def expire() -> None:
                await both_ways.until_complete(slow.started)
                limit.reschedule(asyncio.get_running_loop().time())

            watcher = asyncio.create_task(expire())
            await carry_out(turns, parse_tokens(block("ok", "wait")))
    await watcher
    assert statuses(log) == [("success", {}), ("failure", "Cancelled")]
    assert asyncio.current_task().cancelling() == 0
    await carry_out(turns, parse_tokens(block("ok")))
    check_answered(log.rows)


async def test_a_timeout_around_a_batch():
    slow = Waiting()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await execute_tools(
                [call("wait")], execution=with_tools(slow), user_id="u", conversation_id="c"
            )
    assert slow.journal == ["started", "stopped"]


async def test_a_group_whose_other_task_fails(both_ways):
    slow, log = Waiting(), Log()
    turns = accumulator(with_tools(slow, storage=log))

    async def fail() -> None:
        await both_ways.until_complete(slow.started)
        raise OSError("no")

    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            group.create_task(carry_out(turns, parse_tokens(block("wait"))))
            group.create_task(fail())
    assert [str(error) for error in caught.value.exceptions] == ["no"]
    assert statuses(log) == [("failure", "Cancelled")]


async def test_a_wait_for_that_runs_out_of_time():
    slow, log = Waiting(), Log()
    turns = accumulator(with_tools(slow, storage=log))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(carry_out(turns, parse_tokens(block("wait"))), timeout=0.02)
    check_answered(log.rows)


def test_a_program_that_ends_while_a_turn_runs(both_ways):
    log = Log(before=2)

    async def main() -> asyncio.Task[Any]:
        slow = Waiting()
        turns = accumulator(with_tools(slow, OK, storage=log))
        task = asyncio.create_task(carry_out(turns, parse_tokens(block("ok", "wait"))))
        await both_ways.until_complete(slow.started)
        return task

    assert asyncio.run(main()).cancelled()
    assert statuses(log) == [("success", {}), ("failure", "Cancelled")]


async def test_a_turn_that_is_cancelled_before_it_begins_leaves_nothing():
    source, log = Chunks("a"), Log()
    turns = accumulator(with_tools(storage=log))
    task = asyncio.create_task(carry_out(turns, parse_tokens(source)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (source.asked, log.rows) == (0, [])


# The storage


@pytest.mark.parametrize("kind", LOGS)
async def test_a_storage_that_fails_during_a_cancellation_does_not_hide_the_cancellation(
    kind, both_ways
):
    slow = Waiting()
    log = kind(fault=lambda attempt: OSError("disk full") if attempt > 1 else None)
    turns = accumulator(with_tools(slow, storage=log))
    task = asyncio.create_task(carry_out(turns, parse_tokens(block("wait"))))
    await both_ways.until_complete(slow.started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.journal == ["started", "stopped"]


async def test_text_that_is_being_saved_when_the_turn_is_cancelled():
    """The save is cancelled too; the storage may or may not have saved the row."""
    entered = asyncio.Event()

    class Held(Log):
        async def save_message(self, *row: Any) -> str:
            entered.set()
            await asyncio.Event().wait()
            return "id"

    source = Chunks("a<end>")
    turns = accumulator(with_tools(storage=Held()))
    task = asyncio.create_task(carry_out(turns, parse_tokens(source)))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed == 1


# Cancelled again by the end of the program


@pytest.mark.parametrize("wait", range(8))
def test_a_cancelled_turn_that_the_end_of_its_loop_cancels_again_saves_its_results(
    tmp_path, wait, both_ways
):
    """At its end `asyncio.run` cancels every task that is left, perhaps also the task that saves the results."""

    async def end(storage: Any) -> None:
        slow = Waiting()
        turns = accumulator(with_tools(slow, storage=storage))
        running = asyncio.create_task(carry_out(turns, parse_tokens(block(call("wait")))))
        await both_ways.until_complete(slow.started)
        running.cancel()
        await rounds(wait)

    storage = SQLITE_STORAGES[0](tmp_path)
    asyncio.run(end(storage))
    rows = asyncio.run(storage.load_messages(CONVERSATION, USER))
    assert [row["type"] for row in rows] == ["call", "result"]
    asyncio.run(storage.close())
