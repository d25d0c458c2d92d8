"""`AnthropicModel`, against a server on 127.0.0.1: what is read from the stream, and how turns end."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing

import pytest

from cogency_rs.testing import HOLD, ModelServer, Reply
from support.anthropic_served import (
    ADD,
    ENDING,
    ESTIMATE,
    HI,
    answer,
    ask,
    block,
    body,
    end,
    event,
    key_of,
    plain_environment,  # noqa: F401  # a fixture of every test
    served,
    start,
    text,
    thinking,
    tool_use,
)
from support.chunks import joined

pytest.importorskip("anthropic")

from anthropic import AsyncAnthropic

from cogency_rs import AnthropicModel, parse_tokens
from cogency_rs.errors import ConfigError
from cogency_rs.models import Finish, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from support.waiting import until

# What is read


async def test_an_answer_is_text_in_pieces_then_the_usage_then_the_finish():
    seen = await answer(start(), event("ping"), *text(0, "Hel", "lo ☃"), *end())
    assert seen[0] == ESTIMATE
    assert joined(seen) == [TextDelta("Hello ☃"), *ENDING]


async def test_a_block_of_thinking_ends_with_its_signature():
    seen = await answer(start(), *thinking(0, "c2ln", "h", "m"), *text(1, "Hi"), *end())
    thought = [ReasoningDelta("hm"), ReasoningDelta("", "c2ln")]
    assert joined(seen) == [*thought, TextDelta("Hi"), *ENDING]


async def test_encrypted_thinking_is_kept_and_sent_back():
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
                ToolCallDelta(0, "x", "add", '{"a": 1}'),
                ToolCallDelta(1, "y", "add", "{}"),
            ],
        ),
        (tool_use(0, "x"), [ToolCallDelta(0, "x", "add", "{}")]),
        (tool_use(0, "x", a=1), [ToolCallDelta(0, "x", "add", '{"a": 1}')]),
    ],
    ids=["in pieces", "without arguments", "whole"],
)
async def test_calls_are_numbered_from_0_whatever_stands_before_them(blocks, expected):
    assert joined(await answer(start(), *blocks, *end("tool_use"))) == [
        *expected,
        Usage(5, 7),
        Finish("tool_calls"),
    ]


async def test_the_parts_of_the_usage_do_not_overlap():
    begun = start(cache_read_input_tokens=70, cache_creation_input_tokens=20)
    over = end(output_tokens=50, output_tokens_details={"thinking_tokens": 40}, input_tokens=None)
    seen = [piece for piece in await answer(begun, *text(0, "a"), *over) if piece != TextDelta("a")]
    assert seen[:-1] == [Usage(5, 1, 70, 20, is_estimate=True), Usage(5, 10, 70, 20, 40)]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("tool_use", "tool_calls"),
     ("model_context_window_exceeded", "length"), ("pause_turn", "pause_turn")],
)  # fmt: skip
async def test_finish_reasons_have_the_names_of_chat_completions(reason, expected):
    assert (await answer(start(), *end(reason)))[-1] == Finish(expected)


async def test_a_refusal_is_a_finish_with_its_explanation_and_its_usage_is_counted():
    details = {"type": "refusal", "category": "bio", "explanation": "not this"}
    async with served(Reply([start(), *text(0, "I"), *end("refusal", details=details)])) as (
        _,
        model,
    ):
        seen = [piece async for piece in model.stream(ModelRequest(HI))]
    refusal = Finish("refusal", details="bio: not this")
    assert seen == [ESTIMATE, TextDelta("I"), Usage(5, 7), refusal]
    assert refusal.kind == "refused"


async def test_unknown_kinds_of_events_and_blocks_are_left_out():
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
    ReasoningDelta("é"),
    ReasoningDelta("", "c2ln"),
    TextDelta("☃"),
    ToolCallDelta(0, "x", "add", '{"a": "ü"}'),
    Usage(5, 7),
    Finish("tool_calls"),
]


async def test_the_bytes_of_a_stream_may_be_cut_anywhere():
    found = await answer(*(STREAM[at : at + 1] for at in range(len(STREAM))))
    assert found[0] == ESTIMATE
    assert joined(found) == READ
    cuts = range(1, len(STREAM), 7)
    async with served(*(Reply([STREAM[:cut], STREAM[cut:]]) for cut in cuts)) as (_, model):
        for cut in cuts:
            assert joined(await ask(model)) == READ, cut


# Turns


async def test_each_turn_has_a_connection_of_its_own_without_tls():
    first = Reply([start(), *tool_use(0, "x", "{}"), *end("tool_use")])
    async with served(first, Reply([start(), *text(0, "2"), *end()])) as (server, model):
        assert (await ask(model, tools=(ADD,)))[-1] == Finish("tool_calls")
        assert (await ask(model))[1] == TextDelta("2")
        assert server.connections == 2


async def test_called_as_a_function_it_yields_text_and_reasoning():
    pieces = [start(), *thinking(0, "c2ln", "hm"), *text(1, "Hi"), *end()]
    async with served(Reply(pieces), Reply(pieces)) as (_, model):
        assert [piece async for piece in model(HI)] == [ReasoningDelta("hm"), "Hi", Finish("stop")]
        events = [event async for event in parse_tokens(model(HI))]
    assert [(event["type"], event["content"]) for event in events] == [
        ("think", "hm"),
        ("respond", "Hi"),
    ]


async def test_closing_the_stream_ends_the_request():
    async with served(Reply([start(), *text(0, "Hi")[:2], HOLD])) as (server, model):
        async with aclosing(model.stream(ModelRequest(HI))) as pieces:
            assert [await anext(pieces), await anext(pieces)] == [ESTIMATE, TextDelta("Hi")]
        await server.left()


async def test_a_cancellation_is_raised_and_ends_the_request():
    async with served(Reply([start(), HOLD])) as (server, model):
        asking = asyncio.ensure_future(ask(model))
        await until(lambda: server.requests, "the server is not asked")
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


async def test_a_connection_that_drops_after_the_reason_has_no_effect():
    pieces = [start(), *text(0, "Hi"), end()[0]]
    async with served(Reply(pieces, ending="dropped")) as (_, model):
        assert await ask(model) == [ESTIMATE, TextDelta("Hi"), *ENDING]


# Arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "https://api.anthropic.com needs a key: set ANTHROPIC_API_KEY, or give api_key="),
        (
            {"api_key": "k", "thinking": 100},
            "thinking must be a number of tokens of at least 1024 and below max_tokens",
        ),
        ({"api_key": "k", "thinking": 9000}, "(8192), got 9000"),
        ({"client": object(), "api_key": "k"}, "client has its own base_url and api_key"),
        ({"api_key": "k", "stream": False}, "stream is not a setting of a model"),
        (
            {"api_key": "k", "base_url": "http://[::1"},
            "base_url has an invalid host or port",
        ),
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


def test_without_the_sdk_a_client_of_it_is_refused_and_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(
        ConfigError,
        match=r"one of the package anthropic; run: pip install 'cogency-rs\[anthropic\]'",
    ):
        AnthropicModel("m", client=object())
