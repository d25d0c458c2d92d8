"""The usage of an answer that is closed before its end, since its calls run at once."""

from __future__ import annotations

from typing import Any

from cogency_rs import Agent, ToolCall
from cogency_rs.models import Usage
from cogency_rs.testing import HOLD, ScriptedModel
from support import openai_served
from support.native_calls import add
from support.openai_served import DONE, STOP, delta, reply, served, usage
from support.tools import block

openai_environment = openai_served.plain_environment

CALL = block(ToolCall("add", {"a": 1, "b": 2}))


def counted(content: str, tokens: int) -> bytes:
    """A chunk as vLLM sends it if it is asked for the usage in each chunk."""
    return openai_served.sse(
        {
            "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}],
            "usage": {"prompt_tokens": 50, "completion_tokens": tokens},
        }
    )


async def steps(*replies: Any) -> list[Usage]:
    async with served(*replies) as (_, model):
        result = await Agent(model, tools=[add]).run("1 + 2?")
    return [step.usage for step in result.steps]


async def test_the_usage_in_the_last_chunk_read_counts():
    """The last figure that had come when the answer was closed counts, and nothing is estimated."""
    first = reply(
        counted(CALL[:9], 3), counted(CALL[9:], 20), counted("<results>[]", 25), STOP, DONE
    )
    last = reply(
        counted("It is ", 2),
        counted("3.", 4),
        STOP,
        usage(prompt_tokens=80, completion_tokens=4),
        DONE,
    )
    closed, whole = await steps(first, last)
    assert closed in (Usage(50, 20), Usage(50, 25))
    assert whole == Usage(80, 4)


async def test_usage_is_an_estimate_if_the_server_counts_only_at_the_end():
    first = reply(delta(content=CALL), HOLD)
    last = reply(delta(content="3."), STOP, usage(prompt_tokens=80, completion_tokens=4), DONE)
    [closed, whole] = await steps(first, last)
    assert closed.is_estimate
    assert closed.output_tokens == -(-len(CALL) // 4)
    assert whole == Usage(80, 4)


async def test_the_server_s_usage_is_read_if_calls_run_when_the_answer_ends():
    call = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    model = ScriptedModel([[call, Usage(50, 30)], ["3.", Usage(80, 4)]])
    result = await Agent(model, tools=[add], dialect="hermes").run("1 + 2?")
    assert [step.usage for step in result.steps] == [Usage(50, 30), Usage(80, 4)]
