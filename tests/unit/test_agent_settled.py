"""Whatever happens in a run, each call in the log has one result, and the conversation goes on."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import CallOptions, Hooks, Memory, RunLimits, ToolCall, ToolContext, tool
from cogency_rs.errors import BlockTool, SkipTool, StopRun, ToolError
from support.agents import agent, calls
from support.examples import examples

pytestmark = pytest.mark.timeout(120)

DEEDS = [
    "ok",
    "raise",
    "stop",
    "ask to stop",
    "give up",
    "odd",
    "block",
    "skip",
    "hook stop",
    "hook raise",
]


@tool
async def act(deed: str, context: ToolContext[Any]) -> Any:
    """Do this deed."""
    await asyncio.sleep(0)
    match deed:
        case "raise":
            raise ValueError("no")
        case "stop":
            raise StopRun("a tool said so")
        case "ask to stop":
            context.stop("a tool asked")
        case "give up":
            raise asyncio.CancelledError
        case "odd":
            return {1, 2}
    return deed


class Interferes(Hooks):
    async def around_call(self, invocation: Any, next: Any) -> Any:
        match invocation.call.args.get("deed"):
            case "block":
                raise BlockTool("blocked")
            case "skip":
                raise SkipTool("skipped")
            case "hook stop":
                raise StopRun("a hook said so")
            case "hook raise":
                raise OSError("a hook broke")
        return await next(invocation)


BATCHES = st.lists(st.sampled_from(DEEDS), min_size=1, max_size=4)
STEPS = st.lists(
    BATCHES | st.sampled_from(["<execute>[{]</execute>", "<think>hm</think>"]), max_size=4
)
OPTIONS = st.fixed_dictionaries(
    {
        "calls": st.builds(
            CallOptions,
            on_failure=st.sampled_from(["continue", "raise"]),
            on_block=st.sampled_from(["continue", "stop"]),
            max_concurrency=st.sampled_from([None, 1, 2]),
        ),
        "limits": st.builds(
            RunLimits, steps=st.integers(1, 5), tool_calls=st.none() | st.integers(1, 5)
        ),
    }
)


@examples(150)
@given(steps=STEPS, options=OPTIONS)
async def test_each_call_has_one_result_and_the_conversation_goes_on(steps, options):
    logging.disable(logging.CRITICAL)  # the faults here are on purpose
    try:
        answers = [
            each if isinstance(each, str) else calls(*(ToolCall("act", {"deed": d}) for d in each))
            for each in steps
        ]
        log = Memory()
        mine = agent(*answers, "done", tools=[act], hooks=[Interferes()], storage=log, **options)
        stream = mine.run("?", conversation_id="c")
        try:
            async with stream:
                [_ async for _ in stream]
        except ToolError:
            assert stream.result.status == "failed"
        result = stream.result
        rows = (await log.read("c")).rows
        found = [json.loads(row["content"]) for row in rows if row["type"] == "result"]
        executions = [each for step in result.steps for each in step.executions]
        assert (
            [row["type"] for row in rows].count("call") == sum(map(len, found)) == len(executions)
        )
        records = await log.calls("c")
        assert [record.status for record in records] == [each.status for each in executions]
        assert [record.id for record in records] == [each.id for each in executions]
        assert result.status in ("completed", "stopped", "failed")
        assert (result.stop is None) == (result.status == "completed")
        assert len(result.steps) <= options["limits"].steps
        again = agent(lambda _: "goes on", storage=log)
        output = (await again.resume("c")).output
        assert output == (result.output if result.status == "completed" else "goes on")
        assert (await again.run("And?", conversation_id="c")).output == "goes on"
    finally:
        logging.disable(logging.NOTSET)
