"""The executor: how many calls run at once and for how long, blocking tools, and what is left afterwards."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import CallOptions, ToolResult
from cogency_rs.errors import ConfigError, ToolError
from cogency_rs.execution import execute_tool
from support.batches import execute, executions
from support.tools import (
    FAIL,
    OK,
    SOON,
    FunctionTool,
    Waiting,
    call,
    raises,
    rounds,
    with_tools,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(20)]


# How many at once


class Counting:
    """Counts how many calls run at once; call n waits n rounds of the loop, modulo 4."""

    name = "count"
    description = "counts"
    schema: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.running = self.most = 0
        self.started: list[int] = []

    async def execute(self, n: int, **_: Any) -> int:
        self.started.append(n)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await rounds(n % 4)
        finally:
            self.running -= 1
        return n


@pytest.mark.parametrize("most", [1, 2, 3, 9, 10, 11])
async def test_at_most_max_concurrency_calls_run_at_once_and_they_start_in_order(most):
    tool = Counting()
    calls = [call("count", n=n) for n in range(10)]
    results = await execute(calls, tool, calls=CallOptions(max_concurrency=most))
    assert [result.content for result in results] == list(range(10))
    assert tool.started == list(range(10))
    assert tool.most <= most


async def test_as_many_calls_run_at_once_as_max_concurrency_allows():
    barrier = asyncio.Barrier(3)

    async def meet(**_: Any) -> bool:
        await barrier.wait()
        return True

    results = await execute(
        [call("meet")] * 9, FunctionTool("meet", meet), calls=CallOptions(max_concurrency=3)
    )
    assert [result.content for result in results] == [True] * 9


async def test_a_call_that_fails_makes_room_for_the_next():
    tools = [FAIL, OK, raises(ValueError("no")), raises(asyncio.CancelledError(), "c")]
    calls = [call(name) for name in ("nobody", "fail", "t", "c", "ok") * 3]
    results = await execute(calls, *tools, calls=CallOptions(max_concurrency=1))
    assert [result.error for result in results] == [True, True, True, True, False] * 3


# How long a call may take


async def test_a_call_that_takes_too_long_does_not_fail_the_others():
    slow = Waiting()
    results = await execute(
        [call("ok"), call("wait"), call("fail")], OK, slow, FAIL, calls=CallOptions(timeout=SOON)
    )
    assert [result.error for result in results] == [False, True, True]
    assert "timed out" in results[1].outcome


async def test_a_call_that_takes_too_long_is_cancelled_and_awaited():
    steps: list[str] = []

    async def clean_up(**_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await rounds(5)
            steps.append("cleaned up")

    tools = [FunctionTool("t", clean_up)]
    for way in ("a batch", "one call"):
        if way == "a batch":
            [result] = await execute([call("t")], *tools, calls=CallOptions(timeout=SOON))
        else:
            result = await execute_tool(
                call("t"),
                execution=with_tools(*tools),
                user_id="u",
                conversation_id="c",
                calls=CallOptions(timeout=SOON),
            )
        assert result.error
        assert steps.pop() == "cleaned up"
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def _returns_anyway() -> Any:
    return ToolResult("done anyway")


async def _raises_instead() -> Any:
    raise ValueError("instead")


@pytest.mark.parametrize("then", [_returns_anyway, _raises_instead])
async def test_a_call_that_takes_too_long_has_failed_whatever_it_does_afterwards(then):
    async def resist(**_: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await then()

    [result] = await execute(
        [call("t")], FunctionTool("t", resist), calls=CallOptions(timeout=SOON)
    )
    assert result.error
    assert "timed out" in result.outcome


async def test_the_time_limit_of_a_call_starts_when_the_call_starts():
    slow = Waiting()
    calls = [call("wait"), call("ok"), call("wait"), call("ok")]
    results = await execute(calls, slow, OK, calls=CallOptions(timeout=SOON, max_concurrency=1))
    assert [result.error for result in results] == [True, False, True, False]


async def test_calls_that_are_in_time_are_not_cut_short():
    async def quick(n: int, **_: Any) -> int:
        await rounds(n)
        return n

    calls = [call("quick", n=n) for n in range(50)]
    results = await execute(calls, FunctionTool("quick", quick), calls=CallOptions(timeout=60))
    assert [result.content for result in results] == list(range(50))


async def test_a_timeout_is_not_the_caller_s_cancellation():
    slow = Waiting()
    await execute([call("wait")], slow, calls=CallOptions(timeout=SOON))
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timeout", 0),
        ("timeout", -0.5),
        ("timeout", math.nan),
        ("max_concurrency", 0),
        ("max_concurrency", -3),
    ],
)
def test_a_limit_with_an_impossible_value_is_refused_by_name(option, value):
    with pytest.raises(ConfigError, match=option):
        CallOptions(**{option: value})


@pytest.mark.parametrize("batch", [[], [call("ok")]], ids=["no call", "a call"])
async def test_anything_but_options_is_refused(batch):
    with pytest.raises(ConfigError, match="calls must be a CallOptions, got 5"):
        await execute(batch, OK, calls=5)


async def test_a_call_that_fails_is_raised_if_asked_once_the_others_are_over():
    over: list[int] = []

    async def slow(n: int, **_: Any) -> None:
        await rounds(5)
        over.append(n)

    fails = raises(OSError("no"), "fails")
    batch = [call("slow", n=1), call("fails"), call("slow", n=2)]
    options = CallOptions(on_failure="raise")
    for run in (execute, executions):
        over.clear()
        with pytest.raises(ToolError, match=r"Tool 'fails' failed: .*OSError: no") as raised:
            await run(batch, FunctionTool("slow", slow), fails, calls=options)
        assert over == [1, 2]
        assert [each.status for each in raised.value.executions] == [
            "success",
            "failure",
            "success",
        ]
        assert isinstance(raised.value.__cause__, OSError)
    assert len(await execute([call("ok")], OK, calls=options)) == 1


# Tools that block


@dataclass
class Blocking(FunctionTool):
    """A tool that is marked as blocking."""

    blocking: bool = True


class Gate:
    """A gate at which threads wait until it is opened; the fixture opens it at the end of the test."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        assert self._open.wait(10)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


async def reached(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 10)


def plain(execute_: Any) -> Any:
    def in_a_thread(**arguments: Any) -> Any:
        return execute_(**arguments)

    return FunctionTool("t", in_a_thread)


def marked(execute_: Any) -> Any:
    async def on_a_loop_of_its_own(**arguments: Any) -> Any:
        return execute_(**arguments)

    return Blocking("t", on_a_loop_of_its_own)


def marked_plain(execute_: Any) -> Any:
    return Blocking("t", plain(execute_).execute)


in_a_worker_thread = pytest.mark.parametrize("kind", [plain, marked, marked_plain])


@in_a_worker_thread
async def test_results_of_blocking_and_other_tools_are_in_call_order(kind, gate):
    async def open_the_gate(**_: Any) -> str:
        await reached(gate)
        gate.open()
        return "other"

    tools = [kind(lambda **_: gate.wait() or "blocked"), FunctionTool("other", open_the_gate)]
    results = await execute([call("t"), call("other"), call("t")], *tools)
    assert [result.content for result in results] == ["blocked", "other", "blocked"]


@in_a_worker_thread
@pytest.mark.parametrize(
    "error",
    [ValueError("no"), asyncio.CancelledError("no"), SystemExit("no"), StopIteration("no")],
    ids=lambda error: type(error).__name__,
)
async def test_a_tool_that_raises_in_its_thread_fails_only_its_call(error, kind):
    def execute_(fail: bool, **_: Any) -> str:
        if fail:
            raise error
        return "text"

    results = await execute([call("t", fail=True), call("t", fail=False)], kind(execute_))
    assert [result.error for result in results] == [True, False]
    assert results[1].content == "text"


@in_a_worker_thread
async def test_a_tool_that_blocks_may_use_the_caller_s_loop(kind):
    loop = asyncio.get_running_loop()

    def ask(**_: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(OK.execute(a=1), loop).result(10).content

    [result] = await execute([call("t")], kind(ask))
    assert result.content == {"a": 1}


@in_a_worker_thread
async def test_many_blocking_calls_are_executed(kind):
    results = await execute([call("t", n=n) for n in range(300)], kind(lambda n, **_: n))
    assert [result.content for result in results] == list(range(300))


async def test_a_marked_coroutine_is_cancelled_with_its_batch():
    started, steps = threading.Event(), []

    async def clean_up(**_: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await rounds(5)
            steps.append("cleaned up")

    batch = asyncio.create_task(execute([call("t")], Blocking("t", clean_up)))
    await asyncio.to_thread(started.wait, 10)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert steps == ["cleaned up"]


async def test_a_cancelled_batch_does_not_wait_for_a_plain_function(gate):
    batch = asyncio.create_task(execute([call("t")], plain(lambda **_: gate.wait())))
    await reached(gate)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch


async def test_a_tool_that_blocks_may_run_a_batch_of_such_tools():
    def nest(depth: int, **_: Any) -> Any:
        if depth == 0:
            return ["bottom"]
        results = asyncio.run(execute([call("t", depth=depth - 1)] * 2, tool))
        return [*results[0].content, *results[1].content]

    tool = plain(nest)
    [result] = await execute([call("t", depth=4)], tool)
    assert result.content == ["bottom"] * 16


# Callers that are cancelled or gone


async def test_a_cancelled_batch_has_stopped_before_its_caller_goes_on():
    slow, steps = Waiting(), []

    async def clean_up(**_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await rounds(5)
            steps.append("cleaned up")

    tools = [slow, FunctionTool("t", clean_up)]
    batch = asyncio.create_task(execute([call("wait"), call("t")], *tools))
    await slow.started.wait()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert (slow.journal, steps) == (["started", "stopped"], ["cleaned up"])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_batch_starts_no_further_call():
    slow, started = Waiting(), []
    tools = [slow, FunctionTool("t", lambda **_: started.append(True))]
    batch = asyncio.create_task(
        execute([call("wait"), call("t"), call("t")], *tools, calls=CallOptions(max_concurrency=1))
    )
    await slow.started.wait()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert started == []


async def test_a_batch_that_is_dropped_stops_its_tools():
    """The task that awaited the batch has gone without being cancelled."""
    slow = Waiting()
    batch = execute([call("wait"), call("wait")], slow)
    batch.send(None)
    await slow.started.wait()
    batch.close()
    del batch
    gc.collect()
    await rounds(5)
    journal, slow.journal = slow.journal, []
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await rounds(5)
    assert sorted(journal) == ["started", "started", "stopped", "stopped"]


# What a batch keeps alive


class Payload(list):
    """A list to which weak references can be made."""


async def alive_after(batch: Callable[[Payload], Awaitable[Any]]) -> int:
    """How many of 20 batches keep their argument alive when they are over.

    One may: the last, whose exception the interpreter may still hold.
    """
    watched = []
    for _ in range(20):
        given = Payload()
        watched.append(weakref.ref(given))
        await batch(given)
    del given
    gc.collect()
    return sum(payload() is not None for payload in watched)


@pytest.mark.parametrize(
    "options",
    [{}, {"calls": CallOptions(max_concurrency=1)}, {"calls": CallOptions(timeout=60)}],
    ids=lambda options: repr(options),
)
@pytest.mark.parametrize("pause", [0, 2])
async def test_a_batch_that_is_over_keeps_nothing_alive(pause, options):
    async def echo(given: Payload, **_: Any) -> Payload:
        await rounds(pause)
        return given

    async def batch(given: Payload) -> None:
        calls = [call("echo", given=given)] * 2
        await execute(calls, FunctionTool("echo", echo), **options)

    assert await alive_after(batch) <= 1


async def test_a_batch_whose_tools_fail_keeps_nothing_alive(caplog):
    caplog.set_level("CRITICAL", "cogency_rs")  # pytest would keep captured records

    async def batch(given: Payload) -> None:
        calls = [call("t", given=given), call("c", given=given)]
        await execute(calls, raises(ValueError("no")), raises(asyncio.CancelledError("no"), "c"))

    assert await alive_after(batch) <= 1


async def test_a_batch_that_was_cancelled_keeps_nothing_alive():
    async def batch(given: Payload) -> None:
        slow = Waiting()
        work = asyncio.create_task(execute([call("wait", given=given)] * 2, slow))
        await slow.started.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    assert await alive_after(batch) <= 1


async def test_a_batch_that_timed_out_keeps_nothing_alive():
    async def batch(given: Payload) -> None:
        await execute([call("wait", given=given)] * 2, Waiting(), calls=CallOptions(timeout=0.002))

    assert await alive_after(batch) <= 1


# Eager tasks


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
class TestALoopWithEagerTasks:
    @pytest.fixture(autouse=True)
    async def eager(self):
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        yield
        loop.set_task_factory(None)

    @pytest.mark.parametrize("waits", [0, 1, 3])
    async def test_results_are_in_call_order(self, waits):
        async def echo(n: int, **_: Any) -> int:
            await rounds(waits * (3 - n))
            return n

        results = await execute([call("echo", n=n) for n in range(4)], FunctionTool("echo", echo))
        assert [result.content for result in results] == [0, 1, 2, 3]

    async def test_a_failing_tool_does_not_affect_other_calls(self):
        tools = [raises(ValueError("no")), raises(asyncio.CancelledError(), "c"), OK]
        results = await execute([call("t"), call("c"), call("ok")], *tools)
        assert [result.error for result in results] == [True, True, False]

    async def test_a_tool_runs_as_a_task_of_its_own(self):
        async def look(**_: Any) -> bool:
            return asyncio.current_task() is caller

        caller = asyncio.current_task()
        [result] = await execute([call("look")], FunctionTool("look", look))
        assert (result.content, asyncio.current_task()) == (False, caller)

    async def test_a_cancelled_batch_has_stopped_before_its_caller_goes_on(self):
        slow = Waiting()
        batch = asyncio.create_task(execute([call("wait")] * 2, slow))
        await slow.started.wait()
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        assert sorted(slow.journal) == ["started", "started", "stopped", "stopped"]


@pytest.mark.parametrize(
    "options",
    [{}, {"calls": CallOptions(timeout=60)}, {"calls": CallOptions(max_concurrency=1)}],
    ids=repr,
)
async def test_a_tool_runs_as_a_task_of_its_own(options):
    async def look(**_: Any) -> bool:
        return asyncio.current_task() in {None, caller}

    caller = asyncio.current_task()
    results = await execute([call("look")] * 2, FunctionTool("look", look), **options)
    assert [result.content for result in results] == [False, False]
    assert asyncio.current_task() is caller


async def test_a_loop_with_a_task_factory_of_its_own():
    made: list[Any] = []

    def factory(loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(work)
        return asyncio.Task(work, loop=loop, **options)

    async def echo(n: int, **_: Any) -> int:
        await rounds(1)
        return n

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    try:
        calls = [call("echo", n=n) for n in range(3)]
        results = await execute(calls, FunctionTool("echo", echo))
    finally:
        loop.set_task_factory(None)
    assert [result.content for result in results] == [0, 1, 2]


async def _in_debug_mode(work: Callable[[], Awaitable[Any]]) -> Any:
    asyncio.get_running_loop().set_debug(True)
    return await work()


def test_a_loop_in_debug_mode():
    tools = [OK, raises(asyncio.CancelledError())]
    calls = [call("ok"), call("t")]
    results = asyncio.run(
        _in_debug_mode(lambda: execute(calls, *tools, calls=CallOptions(timeout=60)))
    )
    assert [result.error for result in results] == [False, True]
