"""The bytes of an answer, cut anywhere, say what the objects of the provider's own SDK say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("openai")
pytest.importorskip("anthropic")

import anthropic
import httpx2
import openai

from cogency_rs import OpenAIModel
from cogency_rs._core import AnswerReader
from cogency_rs.models import Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from cogency_rs.models.request import REDACTED
from cogency_rs.testing import Reply, sse
from support.anthropic_served import block, end, start, text, thinking, tool_use
from support.chunks import joined
from support.openai_served import ask, call, served

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6)


# Chat completions


def chunk(**fields: Any) -> bytes:
    return sse({"id": "c", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]})


@st.composite
def completions(draw: st.DrawFn) -> bytes:
    """A stream as a server may send it, without what servers do wrong."""
    known: dict[int, None] = {}
    pieces = [chunk(role="assistant", content="")]
    for kind in draw(
        st.lists(st.sampled_from(["text", "reasoning", "call", "other"]), max_size=12)
    ):
        match kind:
            case "text":
                pieces.append(chunk(content=draw(words)))
            case "reasoning":
                pieces.append(chunk(reasoning_content=draw(words), content=None))
            case "other":
                other = {"index": 1, "delta": {"content": draw(words)}, "finish_reason": None}
                pieces.append(sse({"id": "c", "choices": [other]}))
            case _:
                index = draw(st.integers(0, min(len(known), 2)))
                first = {} if index in known else {"id": f"id{index}", "name": f"f{index}"}
                known[index] = None
                piece = call(
                    index,
                    first.get("id"),
                    **first and {"name": first["name"]},
                    arguments=draw(words),
                )
                pieces.append(chunk(tool_calls=[piece]))
    reason = draw(st.sampled_from(["stop", "length", "tool_calls"]))
    pieces.append(sse({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
    if draw(st.booleans()):
        counts = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
        counts["completion_tokens_details"] = {"reasoning_tokens": draw(st.integers(0, 5))}
        pieces.append(sse({"choices": [], "usage": counts}))
    return b"".join([*pieces, sse("[DONE]")])


def of_completions(chunks: list[Any]) -> Iterator[object]:
    reason = None
    for each in chunks:
        if each.usage is not None:
            thought = each.usage.completion_tokens_details.reasoning_tokens
            yield Usage(9, 5 - thought, reasoning_tokens=thought)
        for choice in each.choices:
            if choice.index:
                continue
            if said := getattr(choice.delta, "reasoning_content", None):
                yield ReasoningDelta(said)
            if choice.delta.content:
                yield TextDelta(choice.delta.content)
            for piece in choice.delta.tool_calls or ():
                function = piece.function
                yield ToolCallDelta(piece.index, piece.id, function.name, function.arguments)
            reason = choice.finish_reason or reason
    yield Finish(reason)


# Anthropic's messages


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    pieces = [start()]
    for at, kind in enumerate(
        draw(st.lists(st.sampled_from(["text", "thought", "hidden", "call"]), max_size=5))
    ):
        match kind:
            case "text":
                pieces += text(at, *draw(st.lists(words, max_size=3)))
            case "thought":
                pieces += thinking(at, "c2ln", *draw(st.lists(words, max_size=3)))
            case "hidden":
                pieces += block(at, {"type": "redacted_thinking", "data": "aGlkZGVu"})
            case _:
                pieces += tool_use(at, f"id{at}", *draw(st.lists(words, max_size=3)))
    return b"".join([*pieces, *end("end_turn")])


def of_messages(events: list[Any]) -> Iterator[object]:
    calls, is_empty, reason, counts = 0, False, None, (0, 0)
    for each in events:
        match each.type:
            case "content_block_start" if each.content_block.type == "tool_use":
                calls, is_empty = calls + 1, True
                yield ToolCallDelta(calls - 1, each.content_block.id, each.content_block.name)
            case "content_block_start" if each.content_block.type == "redacted_thinking":
                yield ReasoningDelta("", REDACTED + each.content_block.data)
            case "content_block_delta":
                match each.delta.type:
                    case "text_delta":
                        yield TextDelta(each.delta.text)
                    case "thinking_delta":
                        yield ReasoningDelta(each.delta.thinking)
                    case "signature_delta":
                        yield ReasoningDelta("", each.delta.signature)
                    case _ if each.delta.partial_json:
                        is_empty = False
                        yield ToolCallDelta(calls - 1, arguments=each.delta.partial_json)
            case "content_block_stop" if is_empty:
                is_empty = False
                yield ToolCallDelta(calls - 1, arguments="{}")
            case "message_delta":
                reason, counts = each.delta.stop_reason, (5, each.usage.output_tokens)
            case _:
                pass
    yield Usage(*counts)
    yield Finish(reason)


# Both


async def objects(api: str, stream: bytes) -> list[Any]:
    """The objects that the provider's own SDK makes of a stream."""
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    transport = httpx2.MockTransport(lambda _: answer)
    async with httpx2.AsyncClient(transport=transport) as http:
        if api == "completions":
            client = openai.AsyncOpenAI(api_key="k", http_client=http)
            made = await client.chat.completions.create(model="m", messages=[], stream=True)
        else:
            client = anthropic.AsyncAnthropic(api_key="k", http_client=http)
            made = await client.messages.create(model="m", messages=[], max_tokens=1, stream=True)
        return [each async for each in made]


def read(api: Any, stream: bytes, cuts: list[int]) -> list[object]:
    reader = AnswerReader(api)
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    pieces = [stream[begin:finish] for begin, finish in pairwise(edges)]
    found = [delta for piece in pieces for delta in reader.feed(piece)] + reader.finish()
    hidden = {"redacted": lambda data: ReasoningDelta("", REDACTED + data)}
    shown = [
        hidden[delta[0]](*delta[1:]) if isinstance(delta, tuple) else delta
        for delta in found
        if not (isinstance(delta, tuple) and delta[0] == "info")
    ]
    return joined(shown)


cut_anywhere = st.lists(st.integers(0, 10_000), max_size=8)


@given(completions(), cut_anywhere)
async def test_a_completion_is_what_the_sdk_makes_of_it(stream, cuts):
    expected = joined(of_completions(await objects("completions", stream)))
    assert read("completions", stream, cuts) == expected
    assert read("completions", stream, list(range(len(stream)))) == expected


@given(messages(), cut_anywhere)
async def test_a_message_is_what_the_sdk_makes_of_it(stream, cuts):
    expected = joined(of_messages(await objects("messages", stream)))
    assert read("messages", stream, cuts) == expected
    assert read("messages", stream, list(range(len(stream)))) == expected


def ever(size: int, stream: bytes) -> list[int]:
    return list(range(0, len(stream), size))


async def test_recorded_streams_are_what_the_sdks_make_of_them(recordings):
    """Text at the boundaries that providers sent it at, in both protocols, cut in several ways."""
    lines = (recordings / "streams.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines
    for tokens in (json.loads(line)["tokens"] for line in lines):
        stream = b"".join(
            [
                *(chunk(content=token) for token in tokens),
                sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                sse("[DONE]"),
            ]
        )
        expected = joined(of_completions(await objects("completions", stream)))
        for size in (1, 7, 1400, len(stream)):
            assert read("completions", stream, ever(size, stream)) == expected
        stream = b"".join([start(), *text(0, *tokens), *end("end_turn")])
        expected = joined(of_messages(await objects("messages", stream)))
        for size in (1, 7, 1400, len(stream)):
            assert read("messages", stream, ever(size, stream)) == expected


# A client whose streams something has wrapped


class Wrapped:
    """A stream as instrumentation returns it: its objects, and nothing of its response."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aenter__(self) -> Wrapped:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for each in self._stream:
            yield each


async def test_of_a_wrapped_stream_the_objects_are_read():
    pieces = [
        chunk(content="Hel"),
        chunk(content="lo \N{SNOWMAN}", reasoning_content="hm"),
        chunk(tool_calls=[call(0, "x", name="add", arguments='{"a": 1}')]),
        sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        sse(
            {
                "choices": [],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
            }
        ),
        sse("[DONE]"),
    ]
    async with (
        served(Reply(pieces), Reply(pieces)) as (server, model),
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
    ):
        expected = joined(await ask(model))
        create = client.chat.completions.create

        async def wrapped(**arguments: Any) -> Wrapped:
            return Wrapped(await create(**arguments))

        client.chat.completions.create = wrapped  # pyright: ignore
        assert joined(await ask(OpenAIModel("m", client=client))) == expected
    assert json.dumps([str(each) for each in expected]).count("add") == 1
