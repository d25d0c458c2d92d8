"""Models behind Anthropic's API: what is sent, and what is read from the stream, against a server on 127.0.0.1."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from model_server import HOLD, Asked, Ending, ModelServer, Reply, sse

pytest.importorskip("anthropic")

from anthropic import AsyncAnthropic

from cogency_rs import (
    AnthropicModel,
    ConfigError,
    Finish,
    LLMError,
    ModelRequest,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    ToolDeclaration,
    Usage,
    parse_tokens,
)
from cogency_rs._core import Thought

HI = [{"role": "user", "content": "Hi"}]
ADD = ToolDeclaration("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_PROFILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # where the SDK looks for keys, too


def event(type: str, **fields: Any) -> bytes:
    return sse({"type": type, **fields}, type)


def start(**counts: int) -> bytes:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1, **counts},
    }  # fmt: skip
    return event("message_start", message=message)


def block(index: int, content: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[bytes]:
    return [
        event("content_block_start", index=index, content_block=content),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def text(index: int, *pieces: str) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, signature: str, *pieces: str) -> list[bytes]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def tool_use(index: int, id: str, *pieces: str, **given: Any) -> list[bytes]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": id, "name": "add", "input": given}, *deltas)


def end(reason: str = "end_turn", *, details: Any = None, **counts: Any) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    usage = {"output_tokens": 7, **counts}
    return [event("message_delta", delta=delta, usage=usage), event("message_stop")]


ESTIMATE = Usage(5, 1, is_estimate=True)
ENDING = [Usage(5, 7), Finish("stop")]


@asynccontextmanager
async def served(
    *replies: Reply, **settings: Any
) -> AsyncIterator[tuple[ModelServer, AnthropicModel]]:
    options = {"max_retries": 0, **settings}
    async with (
        ModelServer(replies) as server,
        AnthropicModel("m", base_url=server.url, **options) as model,
    ):
        yield server, model


async def ask(
    model: AnthropicModel, messages: Sequence[Mapping[str, Any]] = HI, **fields: Any
) -> list[Any]:
    return [piece async for piece in model.stream(ModelRequest(messages, **fields))]


async def answer(*pieces: bytes) -> list[Any]:
    async with served(Reply(pieces)) as (_, model):
        return await ask(model)


async def body(
    messages: Sequence[Mapping[str, Any]] = HI,
    *,
    model: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """What is sent for a request, without marks for the cache unless they are asked for."""
    options = {"cache": False, **(model or {})}
    async with served(Reply([start(), *end()]), **options) as (server, asked):
        await ask(asked, messages, **fields)
    sent = server.requests[0].body
    assert sent.pop("stream") is True
    return sent


def key_of(asked: Asked) -> str:
    """The key of a request; SDKs differ in how they send it."""
    return asked.headers.get("x-api-key") or asked.headers["authorization"].removeprefix("Bearer ")


# What is read


async def test_an_answer_is_text_in_pieces_then_the_usage_then_the_finish():
    seen = await answer(start(), event("ping"), *text(0, "Hel", "lo ☃"), *end())
    assert seen == [ESTIMATE, TextDelta("Hel"), TextDelta("lo ☃"), *ENDING]


async def test_a_block_of_thinking_ends_with_its_signature():
    seen = await answer(start(), *thinking(0, "c2ln", "h", "m"), *text(1, "Hi"), *end())
    thought = [ReasoningDelta("h"), ReasoningDelta("m"), ReasoningDelta("", "c2ln")]
    assert seen == [ESTIMATE, *thought, TextDelta("Hi"), *ENDING]


async def test_thinking_that_came_encrypted_is_kept_to_be_sent_back():
    redacted = block(0, {"type": "redacted_thinking", "data": "ZGF0YQ=="})
    seen = await answer(start(), *redacted, *text(1, "Hi"), *end())
    [kept] = [piece for piece in seen if isinstance(piece, ReasoningDelta)]
    assert kept.text == ""
    message = {
        "role": "assistant",
        "content": "Hi",
        "reasoning": [{"text": "", "signature": kept.signature}],
    }
    sent = await body([*HI, message, *HI])
    assert sent["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": "ZGF0YQ=="}


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (
            [*text(0, "So"), *tool_use(1, "x", "", '{"a"', ": 1}"), *tool_use(2, "y", "{}")],
            [
                TextDelta("So"),
                ToolCallDelta(0, "x", "add"),
                ToolCallDelta(0, arguments='{"a"'),
                ToolCallDelta(0, arguments=": 1}"),
                ToolCallDelta(1, "y", "add"),
                ToolCallDelta(1, arguments="{}"),
            ],
        ),
        (tool_use(0, "x"), [ToolCallDelta(0, "x", "add"), ToolCallDelta(0, arguments="{}")]),
        (tool_use(0, "x", a=1), [ToolCallDelta(0, "x", "add", '{"a": 1}')]),
    ],
    ids=["in pieces", "without arguments", "whole"],
)
async def test_calls_are_numbered_from_0_whatever_stands_before_them(blocks, expected):
    assert await answer(start(), *blocks, *end("tool_use")) == [
        ESTIMATE,
        *expected,
        Usage(5, 7),
        Finish("tool_calls"),
    ]


async def test_the_parts_of_the_usage_do_not_overlap():
    begun = start(cache_read_input_tokens=70, cache_creation_input_tokens=20)
    over = end(output_tokens=50, output_tokens_details={"thinking_tokens": 40}, input_tokens=None)
    seen = await answer(begun, *over)
    assert seen[:-1] == [Usage(5, 1, 70, 20, is_estimate=True), Usage(5, 10, 70, 20, 40)]


@pytest.mark.parametrize(
    ("said", "read"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("tool_use", "tool_calls"),
     ("model_context_window_exceeded", "length"), ("pause_turn", "pause_turn")],
)  # fmt: skip
async def test_why_it_ended_is_said_in_the_words_of_chat_completions(said, read):
    assert (await answer(start(), *end(said)))[-1] == Finish(read)


async def test_a_refusal_is_an_error_and_its_usage_is_counted():
    details = {"type": "refusal", "category": "bio", "explanation": "not this"}
    async with served(Reply([start(), *text(0, "I"), *end("refusal", details=details)])) as (
        _,
        model,
    ):
        seen = []
        with pytest.raises(
            LLMError, match=r"the model m refused to answer \(bio: not this\); ask in another way"
        ):
            async for piece in model.stream(ModelRequest(HI)):
                seen.append(piece)  # noqa: PERF401  # what came before counts
    assert seen == [ESTIMATE, TextDelta("I"), Usage(5, 7)]


async def test_kinds_of_events_and_blocks_that_are_not_known_are_left_out():
    server_tool = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    odd = block(0, server_tool, {"type": "odd_delta"})
    assert await answer(start(), event("odd"), *odd, *text(1, "Hi"), *end()) == [
        ESTIMATE,
        TextDelta("Hi"),
        *ENDING,
    ]


STREAM = b"".join(
    [
        start(),
        *thinking(0, "c2ln", "é"),
        *text(1, "☃"),
        *tool_use(2, "x", '{"a": "ü"}'),
        *end("tool_use"),
    ]
)
READ = [
    ESTIMATE,
    ReasoningDelta("é"),
    ReasoningDelta("", "c2ln"),
    TextDelta("☃"),
    ToolCallDelta(0, "x", "add"),
    ToolCallDelta(0, arguments='{"a": "ü"}'),
    Usage(5, 7),
    Finish("tool_calls"),
]


async def test_the_bytes_of_a_stream_may_be_cut_anywhere():
    assert await answer(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == READ
    cuts = range(1, len(STREAM), 7)
    async with served(*(Reply([STREAM[:cut], STREAM[cut:]]) for cut in cuts)) as (_, model):
        for cut in cuts:
            assert await ask(model) == READ, cut


# What is sent


async def test_a_request_is_messages_and_how_long_the_answer_may_be():
    content = [{"type": "text", "text": "Hi"}]
    assert await body() == {
        "model": "m",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": content}],
    }
    assert (await body(model={"max_tokens": 9}))["max_tokens"] == 9
    assert (await body(settings={"max_tokens": 9, "top_k": 4}))["top_k"] == 4


def asked(id: str, arguments: str = '{"a": 1}') -> dict[str, Any]:
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
                "tool_calls": [asked("x"), asked("call.y:1", "")],
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


async def test_results_stand_before_what_the_user_says():
    late = [
        {"role": "assistant", "content": None, "tool_calls": [asked("x")]},
        {"role": "user", "content": "Hurry"},
        result("x", ""),
    ]
    [_, turn] = (await body(late, tools=(ADD,)))["messages"]
    assert turn["content"] == [
        {"type": "tool_result", "tool_use_id": "x"},
        {"type": "text", "text": "Hurry"},
    ]


@pytest.mark.parametrize("arguments", ['{"a"', "[1]", "3"])
async def test_arguments_that_are_no_object_are_kept_as_text(arguments):
    history = [
        *HI,
        {"role": "assistant", "content": "", "tool_calls": [asked("x", arguments)]},
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
    asked = await body(tools=(ADD,), tool_choice=choice)
    assert asked["tools"] == [
        {"name": "add", "description": "Adds.", "input_schema": ADD.parameters}
    ]
    assert asked["tool_choice"] == sent
    alone = {} if choice == "none" else {"disable_parallel_tool_use": True}
    asked = await body(tools=(ADD,), tool_choice=choice, parallel_tool_calls=False)
    assert asked["tool_choice"] == sent | alone
    assert "tool_choice" not in await body(tool_choice=choice, parallel_tool_calls=False)


async def test_without_tools_those_of_the_history_are_declared_and_cannot_be_called():
    history = [*HI, {"role": "assistant", "content": "", "tool_calls": [asked("x"), asked("y")]}]
    sent = await body([*history, result("x", "1"), result("y", "2")])
    assert sent["tools"] == [{"name": "add", "input_schema": {"type": "object"}}]
    assert sent["tool_choice"] == {"type": "none"}


async def test_stop_strings_are_sent_but_for_white_space_which_is_refused():
    assert (await body(stop=("</execute>", "\n\n")))["stop_sequences"] == ["</execute>"]
    assert "stop_sequences" not in await body(stop=("\n",))


async def test_a_schema_goes_beside_the_effort():
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
    {"role": "assistant", "content": "", "tool_calls": [asked("x")]},
    result("x", "5"),
]


async def test_the_cache_is_told_where_the_next_question_will_begin():
    sent = await body(TURNS, tools=(ADD, ADD), model={"cache": True})
    assert [MARK.items() <= tool.items() for tool in sent["tools"]] == [False, True]
    assert MARK.items() <= sent["system"][0].items()
    marked = [MARK.items() <= turn["content"][-1].items() for turn in sent["messages"]]
    assert marked == [False, False, True, False, True]


async def test_the_cache_may_be_kept_longer_or_not_used():
    long = await body(TURNS, model={"cache": "1h"})
    assert long["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in str(await body(TURNS, tools=(ADD,)))


async def test_what_the_caller_handed_over_is_not_changed():
    message = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    await body([message], model={"cache": True})
    assert message == {"role": "user", "content": [{"type": "text", "text": "Hi"}]}


# Turns


async def test_several_turns_go_over_one_connection():
    first = Reply([start(), *tool_use(0, "x", "{}"), *end("tool_use")])
    async with served(first, Reply([start(), *text(0, "2"), *end()])) as (server, model):
        assert (await ask(model, tools=(ADD,)))[-1] == Finish("tool_calls")
        assert (await ask(model))[1] == TextDelta("2")
        assert len(server._connections) == 1


async def test_as_a_function_it_gives_the_text_and_what_the_provider_takes_for_reasoning():
    pieces = [start(), *thinking(0, "c2ln", "hm"), *text(1, "Hi"), *end()]
    async with served(Reply(pieces), Reply(pieces)) as (_, model):
        assert [piece async for piece in model(HI)] == [Thought("hm"), "Hi", Finish("stop")]
        events = [event async for event in parse_tokens(model(HI))]
    assert [(event["type"], event["content"]) for event in events] == [
        ("think", "hm"),
        ("respond", "Hi"),
    ]


async def test_closing_ends_the_request():
    async with served(Reply([start(), *text(0, "Hi")[:2], HOLD])) as (server, model):
        async with aclosing(model.stream(ModelRequest(HI))) as pieces:
            assert [await anext(pieces), await anext(pieces)] == [ESTIMATE, TextDelta("Hi")]
        await server.left()


async def test_cancelling_passes_on_and_ends_the_request():
    async with served(Reply([start(), HOLD])) as (server, model):
        asking = asyncio.ensure_future(ask(model))
        while not server.requests:
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.left()


async def test_a_client_of_the_caller_s_own_is_used_and_left_open():
    over = Reply([start(), *end()])
    async with (
        ModelServer([over, over]) as server,
        AsyncAnthropic(base_url=server.url, api_key="mine") as client,
    ):
        async with AnthropicModel("m", client=client) as model:
            await ask(model)
        await ask(model)
    assert [key_of(asked) for asked in server.requests] == ["mine", "mine"]


async def test_a_connection_that_drops_behind_the_reason_has_lost_nothing():
    pieces = [start(), *text(0, "Hi"), end()[0]]
    async with served(Reply(pieces, ending=Ending.DROPPED)) as (_, model):
        assert await ask(model) == [ESTIMATE, TextDelta("Hi"), *ENDING]


# Made wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "https://api.anthropic.com needs a key: set ANTHROPIC_API_KEY, or give api_key="),
        (
            {"api_key": "k", "thinking": 100},
            "thinking must be a number of tokens from 1024 on and below max_tokens",
        ),
        ({"api_key": "k", "thinking": 9000}, "(8192), got 9000"),
        ({"client": object(), "api_key": "k"}, "client has its own base_url and api_key"),
        ({"api_key": "k", "stream": False}, "stream is no setting of a model"),
        ({"api_key": "k", "base_url": "http://[::1"}, "the SDK's client cannot be made (Invalid"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments, message):
    with pytest.raises(ConfigError) as refused:
        AnthropicModel("m", **arguments)
    assert message in str(refused.value)


async def test_the_environment_has_the_address_and_the_key(monkeypatch):
    async with ModelServer([Reply([start(), *end()])]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
        async with AnthropicModel("m") as model:
            await ask(model)
    assert key_of(server.requests[0]) == "sk-env"
    assert server.requests[0].path == "/v1/messages"
    assert (model.name, model.provider) == ("m", "anthropic")


def test_without_the_sdk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(
        ConfigError,
        match=r"needs the package anthropic; run: pip install 'cogency-rs\[anthropic\]'",
    ):
        AnthropicModel("m", base_url="http://localhost")
