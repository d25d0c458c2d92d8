"""The requests that are sent to a server with Anthropic's API."""

from __future__ import annotations

from typing import Any

import pytest

from cogency_rs.models import SpecificTool
from support.anthropic_served import (
    ADD,
    HI,
    MARK,
    body,
    plain_environment,  # noqa: F401  # a fixture of every test
)

# What is sent


async def test_a_request_has_the_messages_and_the_greatest_length_of_the_answer():
    assert await body() == {
        "model": "m",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    assert (await body(model={"max_tokens": 9}))["max_tokens"] == 9
    assert (await body(settings={"max_tokens": 9, "top_k": 4}))["top_k"] == 4


def tool_call(id: str, arguments: str = '{"a": 1}') -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}}


def result(id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": id,
        "content": content,
        "tool_execution_id": "e",
        **fields,
    }


async def test_history_is_sent_as_alternating_turns_of_blocks():
    sent = await body(
        [
            {"role": "system", "content": "Be."},
            {"role": "user", "content": "Add"},
            {"role": "user", "content": "these"},
            {
                "role": "assistant",
                "content": "So",
                "reasoning": [
                    {"text": "hm", "signature": "c2ln"},
                    {"text": "not signed", "signature": None},
                ],
                "tool_calls": [tool_call("x"), tool_call("call.y:1", "")],
            },
            result("x", "5", is_error=False),
            result("call.y:1", "no", is_error=True),
            {"role": "user", "content": "Go on"},
            {"role": "system", "content": "Briefly."},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": "It is "},
        ],
        tools=(ADD,),
    )
    assert sent["system"] == [{"type": "text", "text": "Be."}, {"type": "text", "text": "Briefly."}]
    assert sent["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Add"}, {"type": "text", "text": "these"}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "So"},
                {"type": "tool_use", "id": "x", "name": "add", "input": {"a": 1}},
                {"type": "tool_use", "id": "call_y_1", "name": "add", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "x",
                    "content": [{"type": "text", "text": "5"}],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "call_y_1",
                    "content": [{"type": "text", "text": "no"}],
                    "is_error": True,
                },
                {"type": "text", "text": "Go on"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It is"}]},
    ]


async def test_results_stand_before_the_user_s_text():
    late = [
        {"role": "assistant", "content": None, "tool_calls": [tool_call("x")]},
        {"role": "user", "content": "Hurry"},
        result("x", ""),
    ]
    [_, turn] = (await body(late, tools=(ADD,)))["messages"]
    assert turn["content"] == [
        {"type": "tool_result", "tool_use_id": "x"},
        {"type": "text", "text": "Hurry"},
    ]


@pytest.mark.parametrize("arguments", ['{"a"', "[1]", "3"])
async def test_arguments_that_are_not_an_object_are_kept_as_text(arguments):
    history = [
        *HI,
        {"role": "assistant", "content": "", "tool_calls": [tool_call("x", arguments)]},
        result("x", "no"),
    ]
    [_, turn, _] = (await body(history, tools=(ADD,)))["messages"]
    assert turn["content"][0]["input"] == {"arguments": arguments}


async def test_pictures_are_sent_as_they_are_or_by_their_address():
    urls = ["data:image/png;base64,iVBO", "https://example.com/a.png"]
    parts = [
        {"type": "text", "text": "Look"},
        *({"type": "image_url", "image_url": {"url": url}} for url in urls),
    ]
    [turn] = (await body([{"role": "user", "content": parts}]))["messages"]
    assert turn["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        (SpecificTool("add"), {"type": "tool", "name": "add"}),
    ],
)
async def test_tools_are_declared_with_the_choice_among_them(choice, sent):
    request = await body(tools=(ADD,), tool_choice=choice)
    assert request["tools"] == [
        {"name": "add", "description": "Adds.", "input_schema": ADD.parameters}
    ]
    assert request["tool_choice"] == sent
    alone = {} if choice == "none" else {"disable_parallel_tool_use": True}
    request = await body(tools=(ADD,), tool_choice=choice, parallel_tool_calls=False)
    assert request["tool_choice"] == sent | alone
    assert "tool_choice" not in await body(tool_choice=choice, parallel_tool_calls=False)


async def test_without_tools_those_of_the_history_are_declared_and_cannot_be_called():
    history = [
        *HI,
        {"role": "assistant", "content": "", "tool_calls": [tool_call("x"), tool_call("y")]},
    ]
    sent = await body([*history, result("x", "1"), result("y", "2")])
    assert sent["tools"] == [{"name": "add", "input_schema": {"type": "object"}}]
    assert sent["tool_choice"] == {"type": "none"}


async def test_stop_strings_are_sent_except_those_of_white_space_which_the_api_refuses():
    assert (await body(stop=("</execute>", "\n\n")))["stop_sequences"] == ["</execute>"]
    assert "stop_sequences" not in await body(stop=("\n",))


async def test_stop_strings_and_tools_of_the_settings_are_sent_with_those_of_the_request():
    search = {"type": "web_search_20250305", "name": "web_search"}
    given = {"stop_sequences": ["END"], "extra_body": {"tools": [search]}}
    sent = await body(model=given, stop=("\nObservation:",), tools=(ADD,))
    assert sent["stop_sequences"] == ["\nObservation:", "END"]
    assert [each["name"] for each in sent["tools"]] == ["add", "web_search"]
    assert "stop_sequences" not in await body(model={"stop_sequences": None, "output_config": None})


async def test_a_schema_is_sent_beside_the_effort():
    schema = {"type": "object", "additionalProperties": False}
    sent = await body(output_schema=schema, model={"output_config": {"effort": "low"}})
    assert sent["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": schema},
    }


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (1024, {"type": "enabled", "budget_tokens": 1024}),
        ({"type": "adaptive"}, {"type": "adaptive"}),
    ],
)
async def test_thinking_is_asked_for(thinking, sent):
    assert (await body(model={"thinking": thinking}))["thinking"] == sent
    assert "thinking" not in await body()


TURNS = [
    {"role": "system", "content": "Be."},
    *HI,
    {"role": "assistant", "content": "Yes?"},
    {"role": "user", "content": "Add"},
    {"role": "assistant", "content": "", "tool_calls": [tool_call("x")]},
    result("x", "5"),
]


async def test_prefixes_of_the_next_question_are_marked_for_the_cache():
    sent = await body(TURNS, tools=(ADD, ADD), model={"cache": True})
    assert [MARK.items() <= tool.items() for tool in sent["tools"]] == [False, True]
    assert MARK.items() <= sent["system"][0].items()
    marked = [
        type(turn["content"]) is list and MARK.items() <= turn["content"][-1].items()
        for turn in sent["messages"]
    ]
    assert marked == [False, False, True, False, True]


async def test_the_cache_may_be_kept_longer_or_not_used():
    long = await body(TURNS, model={"cache": "1h"})
    assert long["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in str(await body(TURNS, tools=(ADD,)))


async def test_the_caller_s_messages_are_not_changed():
    message = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    await body([message], model={"cache": True})
    assert message == {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    texts = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Go on: "}]
    sent = await body(texts, model={"cache": True})
    assert texts == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Go on: "}]
    assert sent["messages"][1]["content"] == [{"type": "text", "text": "Go on:"}]
