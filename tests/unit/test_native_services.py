"""The providers' own tool calls, end to end: an agent, the SDKs, and servers on 127.0.0.1."""

from __future__ import annotations

import pytest

from cogency_rs import Agent
from cogency_rs.testing import Reply
from support import anthropic_served, openai_served
from support.anthropic_served import end, start, text, thinking, tool_use
from support.native_calls import add
from support.openai_served import DONE, STOP, call, calls, delta, reply

THOUGHT = "c2ln"

anthropic_environment = anthropic_served.plain_environment
openai_environment = openai_served.plain_environment


async def test_a_request_to_openai_has_the_calls_and_their_results():
    pytest.importorskip("openai")
    asks = reply(
        delta(role="assistant", content="Adding."),
        calls(call(0, "call_1", name="add", arguments='{"a": 19, ')),
        calls(call(0, arguments='"b": 23}')),
        calls(call(1, "call_2", name="add", arguments='{"a": 1}')),
        delta("tool_calls"),
        DONE,
    )
    async with openai_served.served(asks, reply(delta(content="It is 42."), STOP, DONE)) as (
        server,
        model,
    ):
        result = await Agent(model, tools=[add], driver="native").run("19 + 23?")
    assert result.output == "It is 42."
    first, second = (asked.body for asked in server.requests)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["add"]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assistant, right, wrong = second["messages"][2:]
    assert (assistant["role"], assistant["content"]) == ("assistant", "Adding.")
    assert [each["id"] for each in assistant["tool_calls"]] == ["call_1", "call_2"]
    assert right == {"role": "tool", "tool_call_id": "call_1", "content": "42"}
    assert wrong["tool_call_id"] == "call_2"
    assert wrong["content"].startswith("Error in tool call: ")


async def test_a_broken_call_is_sent_to_openai_as_text():
    pytest.importorskip("openai")
    broken = reply(calls(call(0, "call_1", name="add", arguments='{"a": 1,}')), DONE)
    async with openai_served.served(broken, reply(delta(content="No."), STOP, DONE)) as (
        server,
        model,
    ):
        result = await Agent(model, tools=[add], driver="native").run("19 + 23?")
    assert [step.kind for step in result.steps] == ["error", "final_response"]
    assistant, report = server.requests[1].body["messages"][2:]
    assert assistant == {"role": "assistant", "content": 'add {"a": 1,}'}
    assert report["role"] == "user"


async def test_a_request_to_anthropic_has_the_signed_thinking_the_calls_and_their_results():
    pytest.importorskip("anthropic")
    asks = Reply(
        [
            start(),
            *thinking(0, THOUGHT, "It is ", "a sum."),
            *text(1, "Adding."),
            *tool_use(2, "toolu_1", '{"a": 19, ', '"b": 23}'),
            *end("tool_use"),
        ]
    )
    answers = Reply([start(), *text(0, "It is 42."), *end()])
    async with anthropic_served.served(asks, answers, cache=False) as (server, model):
        result = await Agent(model, tools=[add], driver="native").run("19 + 23?")
    assert result.output == "It is 42."
    assert result.steps[0].thoughts == "It is a sum."
    assistant, results = server.requests[1].body["messages"][1:]
    assert assistant["content"] == [
        {"type": "thinking", "thinking": "It is a sum.", "signature": THOUGHT},
        {"type": "text", "text": "Adding."},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 19, "b": 23}},
    ]
    [block] = results["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_1")
    assert "42" in str(block["content"])
