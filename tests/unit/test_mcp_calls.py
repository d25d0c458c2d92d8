"""Calls of an MCP server's tools, over stdio and over HTTP; the server is made with the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from cogency_rs import CallOptions, Execution, MCPServer, ToolCall
from cogency_rs.errors import UnknownOutcome
from cogency_rs.execution import ToolExecution, execute_calls
from support.mcp_servers import listening, program
from support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["stdio", "http"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[MCPServer]:
    if request.param == "stdio":
        async with program(name="little") as server:
            yield server
    else:
        with listening() as (url, _):
            async with MCPServer.http(url, name="little", approve="never") as server:
                yield server


async def run(server: MCPServer, *calls: ToolCall, **options: Any) -> list[ToolExecution]:
    execution = Execution(tools=await server.tools(), storage=object())
    return await execute_calls(calls, execution=execution, user_id="ada", **options)


async def test_tools_are_listed_in_the_server_s_order_with_its_descriptions(server):
    tools = await server.tools()
    assert [tool.name for tool in tools][:3] == ["add", "greet", "letters"]
    add = tools[0]
    assert (add.server, add.remote_name, add.description) == ("little", "add", "Adds two numbers.")
    assert add.schema["properties"]["a"]["type"] == "integer"
    assert add.schema["required"] == ["a", "b"]


async def test_a_server_gives_its_instructions(server):
    assert await server.instructions() == "Ask little."


@pytest.mark.parametrize(
    ("call", "status", "content"),
    [
        (ToolCall("add", {"a": 1, "b": 2}), "success", 3),
        (ToolCall("greet", {"name": "you"}), "success", "hello you"),
        (ToolCall("letters", {"word": "ab"}), "success", ["a", "b"]),
        (ToolCall("letters", {"word": ""}), "success", []),
        (ToolCall("person", {}), "success", {"age": 40}),
        (ToolCall("picture", {}), "success", "a dot\n[image: image/png, 4 bytes]"),
        (
            ToolCall("page", {}),
            "success",
            {
                "text": "1 page\n[resource: file:///a.md, text/markdown]\n# A",
                "structured": {"pages": 1},
            },
        ),
        (ToolCall("refuse", {}), "failure", "Error executing tool refuse: no such person"),
        (
            ToolCall("add", {"a": "x"}),
            "failure",
            "Invalid arguments for tool 'add': argument 'a' must be an integer, got a string: "
            "\"x\"; argument 'b' is required, but was not given",
        ),
        (ToolCall("add", {"a": 1, "b": 2}, server="little"), "success", 3),
        (
            ToolCall("add", {}, server="big"),
            "failure",
            "Server 'big' of tool 'add' is not known. Known servers: local, little",
        ),
    ],
)
async def test_the_result_of_a_call(server, call, status, content):
    [execution] = await run(server, call)
    assert (execution.status, execution.error or execution.value) == (status, content)


async def test_calls_run_at_the_same_time_with_results_in_call_order(server):
    calls = [ToolCall("add", {"a": number, "b": 1}) for number in range(10)]
    assert [each.value for each in await run(server, *calls)] == [*range(1, 11)]


async def test_the_progress_of_a_call_is_an_event(server):
    events: list[dict[str, Any]] = []
    await run(server, ToolCall("count", {"to": 3}), on_event=events.append)
    progress = [(event["progress"], event["total"], event["message"]) for event in events]
    assert progress == [(number, 3.0, f"step {number}") for number in (1, 2, 3)]
    assert {(event["type"], event["tool"]) for event in events} == {("progress", "count")}


async def test_a_tool_that_comes_later_is_seen_by_the_next_step(server):
    assert "late" not in [tool.name for tool in await server.tools()]
    await run(server, ToolCall("grow", {"name": "late"}))

    async def is_there() -> bool:
        return "late" in [tool.name for tool in await server.tools()]

    await until(is_there, "the new tool is not listed")
    [execution] = await run(server, ToolCall("late", {"name": "me"}))
    assert execution.value == "hello me"


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
async def test_the_server_is_told_that_a_call_was_cancelled(server, how):
    call = ToolCall("wait", {"name": how})

    async def was_told() -> bool:
        waiting = asyncio.Event()
        if how == "cancelled":
            task = asyncio.create_task(run(server, call, on_event=lambda _: waiting.set()))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:  # try again: on a slow machine, a call may time out before it was sent
            [execution] = await run(server, call, calls=CallOptions(timeout=0.3))
            assert execution.status == "unknown"
        [execution] = await run(server, ToolCall("was_cancelled", {}))
        return how in execution.value

    await until(was_told, "the server was not told")


async def test_a_tool_that_is_run_outside_of_a_batch_keeps_its_timeout(server):
    [wait] = [tool for tool in await server.tools() if tool.name == "wait"]
    wait = replace(wait, options=replace(wait.options, timeout=0.1))
    with pytest.raises(UnknownOutcome, match=r"Tool 'wait' timed out after 0\.1 s, so whether"):
        await wait.execute(name="alone")


async def test_a_server_may_be_entered_again_and_left_from_another_task(server):
    async def use() -> list[Any]:
        async with server:
            return await run(server, ToolCall("process", {}))

    [[first], [second]] = await asyncio.gather(*map(asyncio.create_task, (use(), use())))
    [third] = await run(server, ToolCall("process", {}))
    assert first.value == second.value == third.value
