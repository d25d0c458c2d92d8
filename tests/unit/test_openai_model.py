"""`OpenAIModel`, against a server on 127.0.0.1: what is read from the stream, and how turns end."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import aclosing
from typing import Any

import pytest

from cogency_rs.testing import HOLD, ModelServer, sse
from support.openai_served import (
    ADD,
    DONE,
    HI,
    STOP,
    answer,
    ask,
    call,
    calls,
    delta,
    plain_environment,  # noqa: F401  # a fixture of every test
    reply,
    served,
    usage,
)

pytest.importorskip("openai")

from openai import AsyncOpenAI

from cogency_rs import Agent, Dialect, OpenAIModel, parse_tokens, tool
from cogency_rs.errors import ConfigError, LLMError
from cogency_rs.models import Finish, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from support.chunks import joined
from support.waiting import until

# What is read


async def test_an_answer_is_text_in_pieces_then_the_usage_then_the_finish():
    counts = usage(prompt_tokens=9, completion_tokens=2, total_tokens=11)
    pieces = [
        delta(role="assistant", content=""),
        delta(content="Hel"),
        delta(content="lo ☃"),
        STOP,
    ]
    assert joined(await answer(*pieces, counts, DONE)) == [
        TextDelta("Hello ☃"),
        Usage(input_tokens=9, output_tokens=2),
        Finish("stop"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ],
    ids=["vLLM, DeepSeek, llama.cpp", "Ollama, OpenRouter", "both", "Mistral"],
)
async def test_reasoning_is_read_wherever_a_server_puts_it(fields):
    seen = await answer(delta(**fields), delta(content="Hi"), STOP, DONE)
    assert seen == [ReasoningDelta("hm"), TextDelta("Hi"), Finish("stop")]


async def test_content_may_be_a_list_of_parts():
    assert await answer(delta(content=[{"type": "text", "text": "Hi"}]), STOP) == [
        TextDelta("Hi"),
        Finish("stop"),
    ]


WHOLE = '{"a": 1}'
CALL = {"name": "add", "arguments": WHOLE}
TWO = [ToolCallDelta(0, "x", "add", WHOLE), ToolCallDelta(1, "y", "add", WHOLE)]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (
            [
                calls(call(0, "x", name="add", arguments="")),
                calls(call(0, arguments='{"a"')),
                calls(call(0, arguments=": 1}")),
                calls(call(1, "y", name="add", arguments=WHOLE)),
            ],
            [ToolCallDelta(0, "x", "add", '{"a": 1}'), ToolCallDelta(1, "y", "add", WHOLE)],
        ),
        (
            [calls(call(0, "x", name="add", arguments=""), call(1, "y", name="add", arguments="")),
             calls(call(1, arguments="{}"), call(0, arguments="{}"))],
            [
                ToolCallDelta(0, "x", "add"),
                ToolCallDelta(1, "y", "add", "{}"),
                ToolCallDelta(0, arguments="{}"),
            ],
        ),
        ([calls(call(0, "x", **CALL), call(1, "y", **CALL))], TWO),
        ([calls(call(0, "x", **CALL), call(0, "y", **CALL))], TWO),
        ([calls(call(7, "x", **CALL), call(9, "y", **CALL))], TWO),
        ([calls(call(None, "x", **CALL)), calls(call(None, "y", **CALL))], TWO),
        (
            [calls(call(None, "x", name="add", arguments='{"a"')), calls(call(None, arguments=": 1}"))],
            [ToolCallDelta(0, "x", "add", '{"a": 1}')],
        ),
        (
            [calls(call(None, None, **CALL), call(None, None, **CALL))],
            [ToolCallDelta(0, None, "add", WHOLE), ToolCallDelta(1, None, "add", WHOLE)],
        ),
        (
            [calls(call(0, "x", name="add", arguments="{")), calls(call(0, "x", name="add", arguments="}"))],
            [ToolCallDelta(0, "x", "add", "{}")],
        ),
        (
            [calls(call(0, "", name="add", arguments="{")), calls(call(0, "", name="", arguments="}"))],
            [ToolCallDelta(0, None, "add", "{}")],
        ),
        ([calls(call(0, "x", name="add", arguments={"a": 1}))], [ToolCallDelta(0, "x", "add", WHOLE)]),
        ([calls(call(0, "x", name="add"))], [ToolCallDelta(0, "x", "add")]),
    ],
    ids=[
        "in pieces", "interleaved", "whole", "whole, with the same index", "with indices of its own",
        "without an index", "in pieces, without an index", "without index and id",
        "id and name in every piece", "empty id and name", "arguments as an object", "no arguments",
    ],
)  # fmt: skip
async def test_calls_are_numbered_however_a_server_sends_them(pieces, expected):
    seen = await answer(*pieces, delta("tool_calls"), DONE)
    assert joined(seen) == [*expected, Finish("tool_calls")]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}, Usage(9, 2)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 20},
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            Usage(10, 10, 70, 20, 40),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            Usage(100, 10, reasoning_tokens=40),
        ),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, Usage(9)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": None}}, Usage(9)),
    ],
    ids=[
        "plain",
        "parts in the sums",
        "reasoning next to the sum",
        "only the input",
        "a part that is null",
    ],
)
async def test_the_parts_of_the_usage_do_not_overlap(counts, expected):
    assert (await answer(STOP, usage(**counts), DONE))[0] == expected


async def test_each_of_several_usages_is_passed_on():
    first = sse(
        {"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": {"prompt_tokens": 1}}
    )
    last = sse(
        {
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 5},
        }
    )
    assert await answer(first, last, DONE) == [
        Usage(1),
        TextDelta("a"),
        Usage(1, 5),
        Finish("stop"),
    ]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [("stop", "stop"), ("length", "length"), ("tool_calls", "tool_calls"), ("max_tokens", "length"),
     ("function_call", "tool_calls"), ("model_length", "length"), ("odd", "odd")],
)  # fmt: skip
async def test_finish_reasons_have_one_set_of_names(sent, expected):
    assert (await answer(delta(content="a"), delta(sent), DONE))[-1] == Finish(expected)


async def test_an_answer_with_its_usage_is_complete_without_a_finish_reason():
    counts = usage(prompt_tokens=1, completion_tokens=1)
    assert await answer(delta("", content="a"), counts, DONE) == [
        TextDelta("a"),
        Usage(1, 1),
        Finish(None),
    ]


REFUSALS = pytest.mark.parametrize(
    ("refusal", "finish", "why"),
    [
        (
            [delta(refusal="I can"), delta(refusal="not."), STOP],
            Finish("refusal", details="I cannot."),
            r"I cannot\.",
        ),
        (
            [delta(content="Well"), delta("content_filter")],
            Finish("content_filter"),
            "content_filter",
        ),
    ],
    ids=["by the model", "by the filter"],
)


@REFUSALS
async def test_a_refusal_is_a_finish_and_its_usage_is_counted(refusal, finish, why):
    async with served(reply(*refusal, usage(prompt_tokens=1), DONE)) as (_, model):
        seen = [piece async for piece in model.stream(ModelRequest(HI))]
    assert seen[-2:] == [Usage(1), finish]
    assert finish.kind == "refused"


@REFUSALS
async def test_a_refusal_is_an_error_where_only_text_is_asked_for(refusal, finish, why):
    async with served(reply(*refusal, usage(prompt_tokens=1), DONE)) as (_, model):
        with pytest.raises(
            LLMError, match=rf"the model m refused to answer \({why}\); ask in another way"
        ):
            [piece async for piece in model(HI)]


# Chunking


STREAM = b"".join(
    [
        b": a comment\n\n",
        delta(content="é☃"),
        calls(call(0, "x", name="add", arguments='{"a": "ü"}')),
        delta("tool_calls"),
        DONE,
    ]
)
READ = [TextDelta("é☃"), ToolCallDelta(0, "x", "add", '{"a": "ü"}'), Finish("tool_calls")]


async def test_the_bytes_of_a_stream_may_be_cut_anywhere():
    cuts = range(1, len(STREAM))
    async with served(*(reply(STREAM[:cut], STREAM[cut:]) for cut in cuts)) as (_, model):
        for cut in cuts:
            assert await ask(model) == READ, cut


async def test_a_stream_may_be_cut_after_every_byte():
    assert await answer(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == READ
    assert await answer(STREAM.replace(b"\n", b"\r\n")) == READ


# Turns


async def test_each_turn_has_a_connection_of_its_own_without_tls():
    first = [calls(call(0, "x", **CALL)), delta("tool_calls"), DONE]
    async with served(reply(*first), reply(delta(content="2"), STOP, DONE)) as (server, model):
        assert (await ask(model, tools=(ADD,)))[-1] == Finish("tool_calls")
        assert (await ask(model))[0] == TextDelta("2")
        assert server.connections == 2


async def test_a_model_called_as_a_function_yields_text_and_reasoning():
    pieces = [delta(reasoning="hm"), delta(content="Hi"), STOP, usage(prompt_tokens=1), DONE]
    async with served(reply(*pieces), reply(*pieces)) as (_, model):
        assert [piece async for piece in model(HI)] == [ReasoningDelta("hm"), "Hi", Finish("stop")]
        events = [event async for event in parse_tokens(model(HI))]
    assert [(event["type"], event["content"]) for event in events] == [
        ("think", "hm"),
        ("respond", "Hi"),
    ]


async def test_an_agent_runs_on_the_model():
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    written = 'So.<execute>[{"name": "add", "args": {"a": 2, "b": 3}}]</execute>'
    counts = usage(prompt_tokens=9, completion_tokens=4)
    replies = [
        reply(
            delta(reasoning="hm"), *(delta(content=each) for each in written), STOP, counts, DONE
        ),
        reply(delta(content="It is 5."), STOP, counts, DONE),
    ]
    async with served(*replies) as (server, model):
        result = await Agent(model, tools=[tool(add)]).run("2 + 3?")
    assert (result.output, result.status) == ("It is 5.", "completed")
    [first, second] = [asked.body for asked in server.requests]
    assert first["stop"] == second["stop"] == list(Dialect("cogency").stop)
    assert '"content": 5' in second["messages"][-1]["content"]


async def test_a_call_that_the_server_took_out_of_the_text_is_not_lost_silently():
    async with served(reply(calls(call(0, "x", **CALL)), HOLD)) as (server, model):
        with pytest.raises(
            LLMError, match=r"parsed a tool call out of the text of the model m; turn off"
        ):
            async for _ in model(HI):
                pass
        await server.left()


async def test_text_arrives_before_the_model_goes_on_and_closing_ends_the_request():
    async with served(reply(delta(content="Hi"), HOLD)) as (server, model):
        async with aclosing(model.stream(ModelRequest(HI))) as pieces:
            assert await anext(pieces) == TextDelta("Hi")
        await server.left()


async def test_a_cancellation_is_raised_and_ends_the_request():
    async with served(reply(delta(content="Hi"), HOLD)) as (server, model):
        asking = asyncio.ensure_future(ask(model))
        await until(lambda: server.requests, "the server is not asked")
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.left()


async def test_a_connection_that_drops_after_the_finish_loses_nothing():
    assert await answer(delta(content="Hi"), STOP) == [TextDelta("Hi"), Finish("stop")]
    async with served(reply(delta(content="Hi"), STOP, ending="dropped")) as (_, model):
        assert await ask(model) == [TextDelta("Hi"), Finish("stop")]


async def test_parallel_questions_do_not_mix():
    async with served(*(reply(delta(content=str(n)), STOP) for n in range(8))) as (_, model):
        answers = await asyncio.gather(*(ask(model) for _ in range(8)))
    assert sorted(seen[0].text for seen in answers) == sorted(map(str, range(8)))


def test_a_model_may_be_asked_in_several_event_loops_in_turn():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    model = OpenAIModel("m", base_url=f"http://127.0.0.1:{port}/v1")

    async def once() -> list[Any]:
        async with ModelServer([reply(STOP)], port=port), model:
            return await ask(model)

    assert asyncio.run(once()) == asyncio.run(once()) == [Finish("stop")]


async def test_the_caller_s_own_client_is_used_and_left_open():
    async with (
        ModelServer([reply(STOP), reply(STOP)]) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="mine") as client,
    ):
        async with OpenAIModel("m", client=client) as model:
            await ask(model)
        await ask(model)
    assert {asked.headers["authorization"] for asked in server.requests} == {"Bearer mine"}


# Wrong arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "https://api.openai.com/v1 needs a key: set OPENAI_API_KEY, or give api_key="),
        ({"base_url": "https://openrouter.ai/api/v1"}, "https://openrouter.ai/api/v1 needs a key"),
        ({"base_url": "http://a\nb/v1"}, "base_url must be an address on one line, without spaces, but is not"),
        ({"base_url": "a:1"}, "base_url must begin with http:// or https:// and a host, but does not"),
        ({"endpoint": "responses"}, 'endpoint must be "chat" or "completions", got \'responses\''),
        ({"endpoint": "completions"}, "needs template="),
        ({"template": str}, 'template goes with endpoint="completions"'),
        ({"endpoint": "completions", "template": str, "reasoning_key": "r"}, "reasoning_key goes with"),
        ({"client": object(), "api_key": "k"}, "client has its own base_url and api_key"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_work_are_refused(arguments, message):
    if message.startswith(("endpoint", "needs", "template", "reasoning")):
        arguments = {"api_key": "k", **arguments}
    with pytest.raises(ConfigError) as refused:
        OpenAIModel("m", **arguments)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["http://localhost:11434/v1", "http://127.0.0.1:8000/v1", "http://[::1]:8080/v1", "http://192.168.1.9:1234/v1",
     "http://ollama:11434/v1", "http://host.docker.internal:11434/v1", "http://box.local/v1"],
)  # fmt: skip
def test_a_local_server_needs_no_key(url):
    assert repr(OpenAIModel("m", base_url=url)) == f"OpenAIModel('m', base_url='{url}')"


async def test_the_address_and_the_key_are_read_from_the_environment(monkeypatch):
    async with ModelServer([reply(STOP)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        async with OpenAIModel("m") as model:
            await ask(model)
    assert server.requests[0].headers["authorization"] == "Bearer sk-env"
    assert (model.name, model.provider) == ("m", "openai")


def test_without_the_sdk_a_client_of_it_is_refused_and_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(
        ConfigError, match=r"one of the package openai; run: pip install 'cogency-rs\[openai\]'"
    ):
        OpenAIModel("m", client=object())


FIRST_PROGRAMS = {
    "model": (
        """
from cogency_rs import OpenAIModel
async def main():
    async for piece in OpenAIModel("m", base_url=sys.argv[1])([{"role": "user", "content": "Hi"}]):
        print(piece)
""",
        {"agent", "storage"},
    ),
    "agent": (
        """
from cogency_rs import Agent, OpenAIModel
async def main():
    print((await Agent(OpenAIModel("m", base_url=sys.argv[1])).run("Hi")).output)
""",
        {"agent.drivers.native", "agent.drivers.react", "tools.function_tool"},
    ),
}
UNUSED = {
    "compat",
    "models.anthropic",
    "models.local",
    "servers",
    "storage.sqlite",
    "telemetry.spans",
}
UNUSED |= {"testing", "tools.files"}


@pytest.mark.parametrize(("program", "unused"), FIRST_PROGRAMS.values(), ids=FIRST_PROGRAMS)
async def test_a_first_program_loads_no_sdk_and_nothing_that_it_does_not_use(program, unused):
    code = f"import asyncio, sys{program}asyncio.run(main()); print(*sys.modules)"
    async with ModelServer([reply(delta(content="Hello"), STOP, DONE)]) as server:
        command = (sys.executable, "-c", code, f"{server.url}/v1")
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
    assert (process.returncode, said.split()[0]) == (0, b"Hello")
    loaded = set(said.decode().splitlines()[-1].split())
    assert loaded.isdisjoint({"openai", "httpx", "httpx2", "pydantic"})
    assert loaded.isdisjoint(f"cogency_rs.{module}" for module in UNUSED | unused)
