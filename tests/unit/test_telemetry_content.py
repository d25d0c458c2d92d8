"""Spans hold messages only if that is asked for, and then in the form of the conventions."""

from __future__ import annotations

import json

import pytest

from cogency_rs import tool
from cogency_rs.errors import LLMError
from cogency_rs.models import (
    Finish,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolDeclaration,
)
from cogency_rs.telemetry import Telemetry, conventions as content
from support.agents import agent, calls
from support.tools import call
from support.traces import attributes, text_of

pytestmark = pytest.mark.timeout(30)


@tool
async def tell(word: str) -> str:
    """Tell."""
    if word == "secret-3":
        raise ValueError("secret-4")
    return "secret-2"


SECRETS = calls(call("tell", word="secret-1"), call("tell", word="secret-3"))


async def test_spans_hold_no_content_unless_that_is_asked_for(traces):
    answers = ["<think>secret-5</think>" + SECRETS, LLMError("secret-6")]
    mine = agent(*answers, tools=[tell], telemetry=traces.provider, instructions="secret-7")
    with pytest.raises(LLMError):
        await mine.run("secret-8")
    assert "secret" not in text_of(traces)


async def test_spans_hold_messages_arguments_and_results_if_that_is_asked_for(traces):
    telemetry = Telemetry(traces.provider, capture_content=True)
    mine = agent(
        SECRETS, [TextDelta("secret-6"), Finish("stop")], tools=[tell], telemetry=telemetry
    )
    await mine.run("secret-8")
    run, first, succeeded, failed, last = map(attributes, traces.spans)
    assert json.loads(run["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "secret-8"}]}
    ]
    assert json.loads(run["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "secret-6"}]}
    ]
    system, question = json.loads(first["gen_ai.input.messages"])
    assert system["role"] == "system"
    assert question == {"role": "user", "parts": [{"type": "text", "content": "secret-8"}]}
    assert json.loads(last["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "secret-6"}],
            "finish_reason": "stop",
        }
    ]
    assert json.loads(succeeded["gen_ai.tool.call.arguments"]) == {"word": "secret-1"}
    assert json.loads(succeeded["gen_ai.tool.call.result"]) == "secret-2"
    assert "gen_ai.tool.call.result" not in failed
    assert "secret-4" in (traces.spans[3].status.description or "")


def test_messages_have_the_parts_that_the_conventions_name():
    function = {"name": "look", "arguments": '{"x": 1}'}
    given = [
        {"role": "user", "content": "?"},
        {
            "role": "assistant",
            "content": "",
            "reasoning": [{"text": "hm", "signature": "…"}],
            "tool_calls": [{"id": "1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "seen"},
        {"role": "user", "content": [{"type": "image"}]},
    ]
    assert json.loads(content.messages(given)) == [
        {"role": "user", "parts": [{"type": "text", "content": "?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "1", **function},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "seen"}]},
        {"role": "user", "parts": [{"type": "text", "content": '[{"type": "image"}]'}]},
    ]


def test_an_answer_is_put_together_from_its_pieces():
    answer = content.AnswerContent()
    for delta in (
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        TextDelta("a"),
        "b",
        ToolCallDelta(0, "1", "look", '{"x"'),
        ToolCallDelta(0, arguments=": 1}"),
        ToolCallDelta(1, "2", "look"),
    ):
        answer.take(delta)
    [message] = json.loads(answer.message("tool_calls"))
    assert message["finish_reason"] == "tool_calls"
    assert message["parts"] == [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "ab"},
        {"type": "tool_call", "id": "1", "name": "look", "arguments": '{"x": 1}'},
        {"type": "tool_call", "id": "2", "name": "look", "arguments": ""},
    ]


def test_declared_tools_are_content():
    request = ModelRequest([], tools=(ToolDeclaration("look", "Looks.", {"type": "object"}),))
    assert json.loads(content.definitions(request)) == [
        {
            "type": "function",
            "name": "look",
            "description": "Looks.",
            "parameters": {"type": "object"},
        }
    ]


@pytest.mark.parametrize("value", [{1, 2}, {(1, 2): 3}, object(), float("nan"), "\ud800"])
def test_any_value_can_be_content(value):
    assert isinstance(content.in_json(value), str)
