"""Every call has its own asyncio task, and a tool can rely on everything that asyncio promises about tasks."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from typing import Any, ClassVar

import pytest

from cogency_rs import CallOptions, ToolResult, execute_tools
from support.clock import in_exact_time
from support.tools import OK, FunctionTool, Waiting, call, outcomes, rounds, with_tools
from support.waiting import until

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(20)]


async def execute(*tools: Any, names: list[str] | None = None, **options: Any) -> list[ToolResult]:
    calls = [call(name) for name in names or [tool.name for tool in tools]]
    return await execute_tools(calls, execution=with_tools(*tools), **options)


async def through(invocation: Any, next: Any) -> ToolResult:
    return await next(invocation)


LIMITS = pytest.mark.parametrize(
    "options",
    [
        {},
        {"calls": CallOptions(max_concurrency=1)},
        {"calls": CallOptions(timeout=60)},
        {"hooks": [through]},
    ],
    ids=["plain", "one at a time", "timed", "with a hook"],
)


@LIMITS
async def test_a_tool_may_cancel_and_uncancel_its_task(options):
    async def first(**_: Any) -> str:
        me = asyncio.current_task()
        me.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            me.uncancel()
        return "first"

    waiting = Waiting()
    asyncio.get_running_loop().call_later(0.01, waiting.release.set)
    results = await execute(FunctionTool("first", first), waiting, **options)
    assert outcomes(results) == [(False, "Success"), (False, "waited")]


@LIMITS
@in_exact_time
async def test_a_cancellation_that_comes_too_late_does_not_reach_another_task(options):
    async def first(**_: Any) -> str:
        asyncio.get_running_loop().call_later(0.001, asyncio.current_task().cancel)
        return "first"

    async def second(**_: Any) -> str:
        await asyncio.sleep(1)
        return "second"

    tools = FunctionTool("first", first), FunctionTool("second", second)
    results = await execute(*tools, **options)
    assert [result.content for result in results] == ["first", "second"]


@LIMITS
async def test_a_done_callback_fires_when_its_own_call_is_over(options):
    journal: list[str] = []

    async def first(**_: Any) -> None:
        asyncio.current_task().add_done_callback(lambda _: journal.append("first is over"))

    async def second(**_: Any) -> None:
        await rounds(10)
        journal.append("second")

    await execute(FunctionTool("first", first), FunctionTool("second", second), **options)
    assert journal == ["first is over", "second"]


async def test_debuggers_see_the_tool():
    seen: dict[str, Any] = {}

    async def look(**_: Any) -> None:
        await asyncio.sleep(0)
        seen["task"] = asyncio.current_task()
        await asyncio.sleep(10)

    batch = asyncio.ensure_future(execute(FunctionTool("look", look)))
    await until(lambda: "task" in seen, "the tool does not begin")
    await rounds(2)
    task = seen["task"]
    assert task in asyncio.all_tasks()
    assert task.get_name() == "look"
    assert len(task.get_stack()) == 1
    awaited = task.get_coro().cr_await  # only one frame is around the tool's own
    assert awaited.cr_code is look.__code__
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch


async def test_the_message_of_a_cancellation_before_the_first_step_is_kept():
    seen: list[Any] = []

    async def first(**_: Any) -> None:
        [sibling] = [task for task in asyncio.all_tasks() if task.get_name() == "second"]
        sibling.cancel("why")

    async def second(**_: Any) -> None:
        seen.append("it ran")

    results = await execute(FunctionTool("first", first), FunctionTool("second", second))
    assert [result.error for result in results] == [False, True]
    assert results[1].outcome.endswith(": why")
    assert (results[1].exception.args, seen) == (("why",), [])


async def test_the_message_of_a_cancellation_reaches_the_tool():
    seen: list[Any] = []

    async def waits(**_: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            seen.append(error.args)
            raise

    async def cancels(**_: Any) -> None:
        [sibling] = [task for task in asyncio.all_tasks() if task.get_name() == "waits"]
        sibling.cancel("stop it")

    await execute(FunctionTool("waits", waits), FunctionTool("cancels", cancels))
    assert seen == [("stop it",)]


async def test_each_call_has_its_own_task():
    seen: list[Any] = []

    async def look(**_: Any) -> None:
        seen.append(asyncio.current_task())

    await execute(FunctionTool("look", look), names=["look"] * 20)
    assert len({id(task) for task in seen}) == 20
    assert all(task.done() for task in seen)


THREADS = """
import asyncio, sys, threading
from cogency_rs import Execution, ToolCall, execute_tools

class Tool:
    description, schema = "", {}
    def __init__(self, name, execute):
        self.name, self.execute = name, lambda **_: execute()

async def run(*tools):
    for tool in tools:
        calls = [ToolCall(tool.name, {})]
        [result] = await execute_tools(calls, execution=Execution(tools=[tool]))
        print(result.content)
"""


def printed(code: str) -> list[str]:
    """What this code prints in a new interpreter, where no worker thread has started yet."""
    done = subprocess.run(
        [sys.executable, "-c", THREADS + code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_thread_locals_last_from_call_to_call_in_a_thread_with_a_name():
    code = """
local = threading.local()
def count():
    local.calls = getattr(local, "calls", 0) + 1
    return f"{threading.current_thread().name}:{local.calls}"
asyncio.run(run(*[Tool("count", count)] * 4))
"""
    assert printed(code) == [f"cogency-rs-1:{calls}" for calls in (1, 2, 3, 4)]


def test_profilers_see_a_tool_in_its_thread():
    code = """
seen = set()
threading.setprofile(lambda frame, event, argument: seen.add(frame.f_code.co_name))
def work():
    return "work" in seen
asyncio.run(run(Tool("work", work)))
"""
    assert printed(code) == ["True"]


async def test_a_tool_s_error_is_named_by_class_and_kept(caplog):
    error = KeyError("missing")

    async def raises(**_: Any) -> None:
        raise error

    [result] = await execute(FunctionTool("raises", raises))
    assert result == ToolResult("Tool execution failed: KeyError: 'missing'", error=True)
    assert result.exception is error
    [record] = caplog.records
    assert record.exc_info[1] is error


async def test_an_argument_that_a_tool_declares_comes_from_the_model():
    class Tool:
        name, description = "t", ""
        schema: ClassVar = {"user_id": {"type": "string"}, "access": {"type": "string"}}

        async def execute(self, **given: Any) -> Any:
            return {name: value for name, value in given.items() if isinstance(value, str)}

    execution = with_tools(Tool(), sandbox_dir="box", access="system")
    calls = [call("t", user_id="theirs", access="mine"), call("t")]
    results = await execute_tools(
        calls, execution=execution, user_id="the turn's", conversation_id="c"
    )
    turn = {"sandbox_dir": "box", "conversation_id": "c"}
    assert results[0].content == {"user_id": "theirs", "access": "mine", **turn}
    assert results[1].content == turn


async def test_a_tool_that_forbids_further_arguments_gets_only_the_model_s():
    """For example, a tool of an MCP server."""
    given: list[dict[str, Any]] = []

    class Tool:
        name, description = "t", ""
        schema: ClassVar = {
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "additionalProperties": False,
        }

        async def execute(self, **arguments: Any) -> None:
            given.append(arguments)

    await execute_tools([call("t", x=1)], execution=with_tools(Tool()), user_id="u")
    assert given == [{"x": 1}]


# What is freed after a batch


async def test_a_batch_that_is_over_is_collected():
    watched: list[Any] = []

    class Tool:
        name, description, schema = "t", "", {}

        async def execute(self, **_: Any) -> None:
            watched.append(weakref.ref(asyncio.current_task()))

    tool = Tool()
    watched.append(weakref.ref(tool))
    await execute(tool, calls=CallOptions(timeout=60), hooks=[through])
    del tool
    await rounds(2)
    gc.collect()
    assert [reference() for reference in watched] == [None, None]


@pytest.mark.parametrize(
    "options", [{}, {"calls": CallOptions(timeout=60, max_concurrency=1)}], ids=repr
)
def test_a_loop_that_is_abandoned_is_collected_with_its_tools(options):
    loop = asyncio.new_event_loop()
    tool = Waiting()
    watched = [weakref.ref(tool), weakref.ref(loop)]

    async def begin(tool: Waiting) -> None:
        batch = asyncio.ensure_future(execute(tool, names=["wait"] * 2, **options))
        await tool.started.wait()
        for task in asyncio.all_tasks():
            task._log_destroy_pending = False
        watched.append(weakref.ref(batch))

    loop.run_until_complete(begin(tool))
    loop.close()
    del loop, tool
    for _ in range(2):  # closed coroutines use their event loop once more
        gc.collect()
    assert [reference() for reference in watched] == [None, None, None]


async def test_the_program_s_task_factory_makes_the_tasks():
    made: list[asyncio.Task[Any]] = []

    def factory(loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        made.append(task)
        return task

    asyncio.get_running_loop().set_task_factory(factory)
    try:
        await execute(OK, names=["ok", "ok"])
    finally:
        asyncio.get_running_loop().set_task_factory(None)
    # Read at the end: older versions of Python name a task only after the factory has made it.
    assert [task.get_name() for task in made] == ["ok", "ok"]
