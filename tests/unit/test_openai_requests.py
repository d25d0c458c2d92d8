"""The requests that are sent to a server with OpenAI's API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cogency_rs import OpenAIModel, parse_tokens
from cogency_rs.errors import ConfigError, LLMError
from cogency_rs.models import Finish, SpecificTool, TextDelta, Usage
from cogency_rs.testing import Reply, sse
from support.chunks import joined
from support.openai_served import (
    ADD,
    DONE,
    HI,
    STOP,
    ask,
    body,
    plain_environment,  # noqa: F401  # a fixture of every test
    reply,
    served,
    usage,
)

# What is sent


async def test_a_request_without_tools_has_only_the_messages_and_asks_for_the_usage():
    options = {"include_usage": True, "continuous_usage_stats": True}
    assert await body() == {"model": "m", "messages": HI, "stream_options": options}


async def test_messages_are_sent_without_our_own_fields():
    call = {"id": "x", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    sent = await body(
        [
            {"role": "system", "content": "Be."},
            *HI,
            {"role": "assistant", "content": "So", "tool_calls": [call], "reasoning": [{"text": "hm"}]},
            {"role": "tool", "tool_call_id": "x", "content": "5", "tool_execution_id": "e", "is_error": False},
        ]
    )  # fmt: skip
    assert sent["messages"] == [
        {"role": "system", "content": "Be."},
        *HI,
        {"role": "assistant", "content": "So", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "5"},
    ]


@pytest.mark.parametrize("ours", [{}, {"reasoning": [{"text": "hm"}]}])
async def test_an_answer_of_calls_alone_has_no_content_rather_than_an_empty_text(ours):
    call = {"id": "x", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    sent = await body([*HI, {**message, **ours}])
    assert sent["messages"] == [*HI, {**message, "content": None}]


async def test_what_only_the_service_reads_is_sent_back_where_it_was():
    call = {"id": "x", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    returned = {
        "order": [],
        "fields": {"details": [1], "role": "x"},
        "calls": [{"extra": {"s": 1}, "id": "z"}],
    }
    message = {"role": "assistant", "content": "So", "tool_calls": [call], "returned": returned}
    [sent] = (await body([message]))["messages"]
    signed = [{**call, "extra": {"s": 1}}]
    assert sent == {"role": "assistant", "content": "So", "details": [1], "tool_calls": signed}
    assert call.keys() == {"id", "type", "function"}
    [sent] = (await body([{**message, "tool_calls": [call, call]}]))["messages"]
    assert sent["tool_calls"] == [call, call]


async def test_reasoning_is_sent_back_in_the_field_that_reasoning_key_names():
    parts = [{"text": "h", "signature": None}, {"text": "m", "signature": None}]
    message = {"role": "assistant", "content": "So", "reasoning": parts}
    sent = await body([message], model={"reasoning_key": "reasoning_content"})
    assert sent["messages"] == [{"role": "assistant", "content": "So", "reasoning_content": "hm"}]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ("none", "none"),
        (SpecificTool("add"), {"type": "function", "function": {"name": "add"}}),
    ],
)
async def test_tools_are_declared_with_the_tool_choice(choice, sent):
    fields = await body(tools=(ADD,), tool_choice=choice)
    function = {"name": "add", "description": "Adds.", "parameters": ADD.parameters}
    assert fields["tools"] == [{"type": "function", "function": function}]
    assert fields["tool_choice"] == sent
    assert "parallel_tool_calls" not in fields
    assert (await body(tools=(ADD,), parallel_tool_calls=False))["parallel_tool_calls"] is False
    assert "tool_choice" not in await body(tool_choice=choice, parallel_tool_calls=False)


async def test_stop_strings_are_sent():
    assert (await body(stop=("</execute>", "<end>")))["stop"] == ["</execute>", "<end>"]


OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CLOSED = OPEN | {"additionalProperties": False}
OPTIONAL = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "additionalProperties": False,
}
NULLABLE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"stop": ["END"]}, ["\nObservation:", "END"]),
        ({"stop": "END"}, ["\nObservation:", "END"]),
        ({"extra_body": {"stop": ["END", "\nObservation:"]}}, ["\nObservation:", "END"]),
        ({"stop": None}, ["\nObservation:"]),
        ({"extra_body": {"stop": None}}, None),
    ],
)
async def test_stop_strings_of_the_settings_are_sent_with_those_of_the_request(given, sent):
    assert (await body(model=given, stop=("\nObservation:",)))["stop"] == sent
    assert (await body(settings=given, stop=("\nObservation:",)))["stop"] == sent


async def test_tools_of_the_settings_are_sent_with_those_of_the_request():
    search = {"type": "web_search"}
    sent = await body(model={"extra_body": {"tools": [search]}}, tools=(ADD,))
    assert [each["type"] for each in sent["tools"]] == ["function", "web_search"]


@pytest.mark.parametrize(
    "name", ["temperature", "seed", "extra_body", "extra_headers", "extra_query"]
)
async def test_a_setting_that_is_none_is_not_sent(name):
    assert await body(model={name: None}) == await body()
    assert name not in await body(model={"temperature": 1.0, "seed": 1}, settings={name: None})


async def test_none_for_the_retries_is_as_if_they_were_not_given():
    body = b'{"error": {"message": "the disk is full"}}'
    full = Reply([body], status=500, headers={"retry-after": "0"})
    async with served(full, full, full, max_retries=None) as (_, model):
        with pytest.raises(LLMError, match="the disk is full"):
            await ask(model)


@pytest.mark.parametrize("retries", [-1, 1.5, "2", True])
async def test_retries_that_are_not_a_number_of_times_are_refused(retries):
    with pytest.raises(ConfigError, match="max_retries must be a whole number"):
        OpenAIModel("m", base_url="http://127.0.0.1/v1", max_retries=retries)
    async with served() as (_, model):
        with pytest.raises(ConfigError, match="max_retries must be a whole number"):
            await ask(model, settings={"max_retries": retries})


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, CLOSED),
        (OPEN, CLOSED),
        (OPTIONAL, None),
        (OPEN | {"additionalProperties": True}, None),
        ({"type": "object", "properties": {"a": NULLABLE | {"default": None}}},
         CLOSED | {"properties": {"a": NULLABLE}}),
        ({"type": "object", "properties": {"a": {"type": "integer", "default": 3}}},
         CLOSED | {"properties": {"a": {"type": "integer", "default": 3}}}),
        ({"type": "array", "items": OPEN}, {"type": "array", "items": CLOSED}),
        ({"$ref": "#/$defs/A", "$defs": {"A": OPEN}}, {"$ref": "#/$defs/A", "$defs": {"A": CLOSED}}),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, None),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, None),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
        ({"const": {"type": "object", "properties": {}}}, {"const": {"type": "object", "properties": {}}}),
    ],
)  # fmt: skip
async def test_a_schema_is_strict_if_the_api_can_enforce_it(schema, strict):
    given = json.dumps(schema)
    sent = await body(output_schema=schema)
    form = {"name": "answer", "schema": strict or schema, "strict": strict is not None}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}
    assert json.dumps(schema) == given


async def test_a_request_s_settings_override_the_model_s():
    sent = await body(
        model={"temperature": 0, "top_k": 4, "extra_body": {"min_p": 0.1}}, settings={"top_k": 7}
    )
    assert (sent["temperature"], sent["top_k"], sent["min_p"]) == (0, 7, 0.1)


async def test_headers_query_and_timeout_are_not_part_of_the_body():
    settings = {"extra_headers": {"X-Title": "t"}, "extra_query": {"v": "2"}, "timeout": 50}
    async with served(reply(STOP), **settings) as (server, model):
        await ask(model)
    [asked] = server.requests
    assert (asked.path, asked.headers["x-title"]) == ("/v1/chat/completions?v=2", "t")
    assert asked.body.keys() == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize("name", ["messages", "prompt", "stream"])
def test_a_field_of_a_request_is_not_a_setting(name):
    with pytest.raises(ConfigError, match=f"{name} is not a setting of a model"):
        OpenAIModel("m", base_url="http://localhost/v1", **{name: 1})


REFUSED = Reply({"error": {"message": "Unknown field: stream_options", "code": 400}}, 400)


async def test_a_server_that_refuses_stream_options_is_asked_without_them_from_then_on():
    async with served(REFUSED, REFUSED, reply(STOP), reply(STOP)) as (server, model):
        assert await ask(model) == await ask(model) == [Finish("stop")]
    asked = [request.body.get("stream_options", {}).keys() for request in server.requests]
    assert asked == [{"include_usage", "continuous_usage_stats"}, {"include_usage"}, set(), set()]


async def test_a_server_that_gives_the_usage_only_at_the_end_is_asked_for_it_there():
    refused = Reply({"error": {"message": "extra field continuous_usage_stats"}}, 422)
    async with served(refused, reply(STOP), reply(STOP)) as (server, model):
        assert await ask(model) == await ask(model) == [Finish("stop")]
    asked = [request.body["stream_options"].keys() for request in server.requests]
    assert asked == [
        {"include_usage", "continuous_usage_stats"},
        {"include_usage"},
        {"include_usage"},
    ]


@pytest.mark.parametrize(
    ("url", "is_asked"), [("https://api.openai.com/v1", False), ("http://10.0.0.7:8000/v1", True)]
)
async def test_only_a_self_hosted_server_is_asked_for_the_usage_in_each_chunk(url, is_asked):
    sent: list[Any] = []

    class Client:
        base_url = url
        api_key = "k"

        class chat:  # noqa: N801
            class completions:  # noqa: N801
                @staticmethod
                async def create(**fields: Any) -> Any:
                    sent.append(fields["extra_body"])
                    raise LookupError("no network here")

    client: Any = Client()
    with pytest.raises(LLMError, match="no network here"):
        await ask(OpenAIModel("m", client=client))
    assert ("continuous_usage_stats" in sent[0]["stream_options"]) is is_asked


async def test_a_refusal_of_something_else_keeps_stream_options():
    other = Reply({"error": {"message": "bad temperature"}}, 400)
    async with served(other, reply(STOP)) as (server, model):
        with pytest.raises(LLMError, match="bad temperature"):
            await ask(model)
        await ask(model)
    assert ["stream_options" in asked.body for asked in server.requests] == [True, True]


# Plain completions


def chatml(messages: Sequence[Mapping[str, Any]]) -> str:
    turns = [
        f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages
    ]
    return "".join([*turns, "<|im_start|>assistant\n"])


async def test_a_plain_completion_is_asked_with_the_prompt_of_the_template():
    pieces = [
        sse({"choices": [{"index": 0, "text": "Hel", "finish_reason": None}]}),
        sse({"choices": [{"index": 0, "text": "lo", "finish_reason": None}]}),
        sse({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}),
        usage(prompt_tokens=5, completion_tokens=2),
        DONE,
    ]
    options = {"endpoint": "completions", "template": chatml, "skip_special_tokens": False}
    async with served(reply(*pieces), **options) as (server, model):
        seen = await ask(model, stop=("<|im_end|>",))
    assert joined(seen) == [TextDelta("Hello"), Usage(5, 2), Finish("stop")]
    [asked] = server.requests
    assert asked.path == "/v1/completions"
    assert asked.body == {
        "model": "m",
        "prompt": "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        "stop": ["<|im_end|>"],
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "skip_special_tokens": False,
    }


@pytest.mark.parametrize("fields", [{"tools": (ADD,)}, {"output_schema": {}}])
async def test_a_plain_completion_cannot_be_asked_for_tools_or_a_schema(fields):
    async with served(endpoint="completions", template=chatml) as (_, model):
        with pytest.raises(ConfigError, match="plain completions take no"):
            await ask(model, **fields)


async def test_a_dialect_reads_what_a_plain_completion_writes():
    written = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    pieces = [sse({"choices": [{"index": 0, "text": part}]}) for part in (written[:9], written[9:])]
    end = sse({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
    async with served(reply(*pieces, end), endpoint="completions", template=chatml) as (_, model):
        events = [event async for event in parse_tokens(model(HI), dialect="hermes")]
    assert [event["type"] for event in events] == ["call", "execute"]
    assert json.loads(events[0]["content"]) == {"name": "add", "args": {"a": 1}}
