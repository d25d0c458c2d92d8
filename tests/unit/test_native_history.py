"""A stored conversation in the form for a provider with its own tool calls: calls, results and reasoning."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
from typing import Any

import pytest

from cogency_rs import Agent, History, Memory, tool
from cogency_rs.models import Finish, ReasoningDelta
from support.native_calls import agent_of, calling, last, run

# Calls and results


def test_c13_calls_are_sent_back_with_their_ids_and_a_message_for_each_result() -> None:
    answer = ["Adding.", calling(), calling("fail", "{}", "c2", 1), Finish("tool_calls")]
    result, model = run(answer, "It is 42.")
    assert result.output == "It is 42."
    assert last(model) == [
        {"role": "user", "content": "19 + 23?"},
        {
            "role": "assistant",
            "content": "Adding.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":19,"b":23}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "fail", "arguments": "{}"}},
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "tool_execution_id": "c1",
            "is_error": False,
            "content": "42",
        },
        {
            "role": "tool",
            "tool_call_id": "c2",
            "tool_execution_id": "c2",
            "is_error": True,
            "content": "Error in tool call: Tool execution failed: ValueError: no",
        },
    ]
    records = [each.record for each in result.steps[0].executions]
    assert [record.provider_id for record in records] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (False, "false"), (1.5, "1.5"), ([1], "[1]"), ({"a": None}, '{"a":null}')],
    ids=["C11 string", "C11 boolean", "C11 number", "C11 array", "C11 object"],
)
def test_c11_a_text_result_is_sent_as_it_is_and_any_other_as_json(value, text) -> None:
    _, model = run([calling("echo", json.dumps({"value": value}))], "done")
    assert last(model)[-1]["content"] == text


def test_c12_a_failure_is_flagged_and_its_text_says_so() -> None:
    _, model = run([calling("nothing", "{}")], "done")
    message = last(model)[-1]
    assert message["is_error"] is True
    assert message["content"].startswith("Error in tool call: ")


def test_two_requests_of_a_run_share_all_up_to_the_first_new_message() -> None:
    history = History(window=4)
    _, model = run(
        ["a", calling()], [ReasoningDelta("hm"), calling(id="c2")], "42", history=history
    )
    first, second, third = [list(request.messages) for request in model.requests]
    assert second[: len(first)] == first
    assert third[: len(second)] == second


def test_a_conversation_may_change_its_driver() -> None:
    storage = Memory()
    text = '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]</execute>'
    agent, _ = agent_of(text, "3.", driver="text", storage=storage)
    agent.run_sync("1 + 2?", conversation_id="c")
    agent, model = agent_of([calling()], "42.", storage=storage)
    agent.run_sync("And 19 + 23?", conversation_id="c")
    records = asyncio.run(storage.calls("c"))
    shown = [call["id"] for each in last(model) for call in each.get("tool_calls", ())]
    assert shown == [records[0].id, "c1"]
    agent, model = agent_of("Bye.", driver="text", storage=storage)
    agent.run_sync("Bye.", conversation_id="c")
    assert last(model)[-3]["content"].startswith("<results>")


def test_each_call_that_was_interrupted_gets_a_failure() -> None:
    storage = Memory()
    rows = [("user", "q", 1.0), ("call", '{"name": "add", "args": {}}', 2.0)]

    async def fill() -> None:
        await storage.append("c", user_id="", rows=rows)

    asyncio.run(fill())
    agent, model = agent_of("42", storage=storage)
    agent.run_sync("again", conversation_id="c")
    shown = [(each["role"], each["content"]) for each in last(model)]
    assert shown == [
        ("user", "q"),
        ("assistant", ""),
        ("tool", "Error in tool call: Interrupted before completion"),
        ("user", "again"),
    ]


def test_a_model_may_change_the_messages_that_it_is_given() -> None:
    asked: list[list[dict[str, Any]]] = []

    async def model(messages: list[dict[str, Any]]) -> Any:
        asked.append(copy.deepcopy(messages))
        for message in messages:
            for call in message.get("tool_calls", ()):
                call["function"]["name"] = "changed"
            message.clear()
        yield f"Bye {len(asked)}."

    storage = Memory()
    agent, _ = agent_of([calling()], "42.", storage=storage)
    agent.run_sync("19 + 23?", conversation_id="c")
    agent = Agent(model, driver="native", storage=storage)
    for _ in range(3):
        agent.run_sync("Bye.", conversation_id="c")
    for before, after in itertools.pairwise(asked):
        assert after[: len(before)] == before


# Reasoning


def signed(*blocks: tuple[str, str | None]) -> list[dict[str, Any]]:
    return [{"text": text, "signature": signature} for text, signature in blocks]


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([ReasoningDelta("a"), ReasoningDelta("b", "s")], signed(("ab", "s"))),
        (
            [ReasoningDelta("a", "s"), ReasoningDelta("", "t"), ReasoningDelta("c")],
            signed(("a", "s"), ("", "t"), ("c", None)),
        ),
        ([ReasoningDelta("a")], signed(("a", None))),
    ],
)
def test_reasoning_is_sent_back_with_its_signatures(deltas, expected) -> None:
    _, model = run([*deltas, calling()], [ReasoningDelta("more", "u"), calling(id="c2")], "42")
    first, second = (each["reasoning"] for each in last(model) if "tool_calls" in each)
    assert first == expected
    assert second == signed(("more", "u"))


def test_reasoning_of_an_earlier_question_is_left_out() -> None:
    storage = Memory()
    agent, model = agent_of([ReasoningDelta("a", "s"), calling()], "42", "Bye.", storage=storage)
    agent.run_sync("19 + 23?", conversation_id="c")
    agent.run_sync("Bye.", conversation_id="c")
    assert not any("reasoning" in each for each in last(model))


def test_reasoning_is_sent_back_signed_after_a_restart() -> None:
    storage = Memory()

    @tool(requires_approval=True)
    async def drop() -> str:
        """Drop it."""
        return "dropped"

    answer = [ReasoningDelta("hm", "s"), calling("drop", "{}")]
    agent, _ = agent_of(answer, tools=[drop], storage=storage)
    waiting = agent.run_sync("Drop it.", conversation_id="c")
    assert waiting.status == "waiting"
    agent, model = agent_of("Done.", tools=[drop], storage=storage)
    result = asyncio.run(agent.resume("c", {str(waiting.waiting[0].id): True}))
    assert result.output == "Done."
    assert last(model)[1]["reasoning"] == signed(("hm", "s"))
