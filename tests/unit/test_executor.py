"""The executor: the calls of a batch run at the same time, and their results come in call order."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest

from cogency_rs import CallOptions, ToolResult
from cogency_rs.execution import execute_tool
from support.batches import execute
from support.tools import FAIL, OK, FunctionTool, Waiting, call, outcomes, rounds, with_tools

pytestmark = pytest.mark.timeout(20)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
async def test_results_are_in_call_order_whatever_the_order_of_completion(order):
    turns = [asyncio.Event() for _ in order]
    turns.append(asyncio.Event())
    completed: list[int] = []

    async def wait(n: int, **_: Any) -> int:
        place = order.index(n)
        await turns[place].wait()
        completed.append(n)
        turns[place + 1].set()
        return n

    turns[0].set()
    results = await execute([call("wait", n=n) for n in range(4)], FunctionTool("wait", wait))
    assert [result.content for result in results] == [0, 1, 2, 3]
    assert completed == list(order)


async def test_calls_start_in_call_order():
    started: list[int] = []

    async def note(n: int, **_: Any) -> None:
        started.append(n)
        await rounds(1)

    await execute([call("note", n=n) for n in range(20)], FunctionTool("note", note))
    assert started == list(range(20))


async def test_an_empty_batch_has_no_results():
    assert await execute([], OK) == []


async def test_a_call_can_be_executed_alone():
    result = await execute_tool(
        call("ok", a=1), execution=with_tools(OK), user_id="u", conversation_id="c"
    )
    assert result == ToolResult(outcome="ok", content={"a": 1})


async def test_calls_may_be_a_tuple():
    assert outcomes(await execute((call("ok"), call("fail")), OK, FAIL)) == [
        (False, "ok"),
        (True, "it failed"),
    ]


@pytest.mark.parametrize(
    "options",
    [{}, {"calls": CallOptions(max_concurrency=10)}, {"calls": CallOptions(timeout=60)}],
    ids=repr,
)
async def test_a_thousand_calls_are_executed(options):
    async def echo(n: int, **_: Any) -> int:
        await rounds(n % 3)
        return n

    calls = [call("echo", n=n) for n in range(1000)]
    results = await execute(calls, FunctionTool("echo", echo), **options)
    assert [result.content for result in results] == list(range(1000))


# At the same time


@pytest.mark.parametrize("count", [2, 50])
async def test_all_calls_of_a_batch_run_at_once(count):
    barrier = asyncio.Barrier(count)

    async def meet(**_: Any) -> bool:
        await barrier.wait()
        return True

    results = await execute([call("meet")] * count, FunctionTool("meet", meet))
    assert [result.content for result in results] == [True] * count


async def test_the_loop_goes_on_while_tools_wait():
    tool = Waiting()
    batch = asyncio.create_task(execute([call("wait")], tool))
    await tool.started.wait()
    tool.release.set()
    assert outcomes(await batch) == [(False, "waited")]


async def test_two_batches_run_at_once():
    barrier = asyncio.Barrier(4)

    async def meet(**_: Any) -> bool:
        await barrier.wait()
        return True

    tool = FunctionTool("meet", meet)
    batches = await asyncio.gather(*(execute([call("meet")] * 2, tool) for _ in range(2)))
    assert [[result.content for result in batch] for batch in batches] == [[True, True]] * 2


async def test_a_tool_may_run_a_batch():
    async def nest(depth: int, **_: Any) -> Any:
        await rounds(1)
        if depth == 0:
            return ["bottom"]
        results = await execute([call("nest", depth=depth - 1)] * 2, tool)
        return [*results[0].content, *results[1].content]

    tool = FunctionTool("nest", nest)
    [result] = await execute([call("nest", depth=5)], tool)
    assert result.content == ["bottom"] * 32


async def test_a_tool_may_run_a_batch_before_it_waits_for_anything():
    async def nest(depth: int, **_: Any) -> Any:
        if depth == 0:
            return "bottom"
        return (await execute([call("nest", depth=depth - 1)], tool))[0].content

    tool = FunctionTool("nest", nest)
    [result] = await execute([call("nest", depth=20)], tool)
    assert result.content == "bottom"


def test_one_event_loop_may_follow_another():
    async def meet(**_: Any) -> str:
        await rounds(1)
        return "met"

    for _ in range(20):
        [result] = asyncio.run(
            execute([call("meet")], FunctionTool("meet", meet), calls=CallOptions(timeout=60))
        )
        assert result.content == "met"


def test_loops_in_several_threads_run_at_once():
    met: list[list[Any]] = []
    all_threads = threading.Barrier(4)

    async def main() -> list[Any]:
        barrier = asyncio.Barrier(20)

        async def meet(n: int, **_: Any) -> int:
            if n == 0:
                await asyncio.to_thread(all_threads.wait)
            await barrier.wait()
            return n

        calls = [call("meet", n=n) for n in range(20)]
        results = await execute(calls, FunctionTool("meet", meet), calls=CallOptions(timeout=60))
        return [result.content for result in results]

    threads = [threading.Thread(target=lambda: met.append(asyncio.run(main()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [list(range(20))] * 4
