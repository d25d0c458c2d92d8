"""Recordings: requests and answers are read back as they were, however the answer ended."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from cogency_rs import parse_tokens
from cogency_rs.errors import ConfigError, LLMError
from cogency_rs.models import (
    Finish,
    ModelRequest,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    ToolDeclaration,
    Usage,
)
from cogency_rs.testing import ReplayModel, ScriptedModel, record
from support.recorded_answers import HI, asks, lines_of, pieces_of, recorded, says, write
from support.waiting import until

CALL = '<execute>[{"name": "t", "args": {}}]</execute>'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "talk.jsonl"


# What is recorded and replayed

# With lone surrogates: a model's JSON may hold them.
any_text = st.text(st.characters(categories=None))
counts = st.integers(0, 2**63)
deltas = st.one_of(
    any_text,
    st.builds(TextDelta, any_text),
    st.builds(ReasoningDelta, any_text, st.none() | any_text),
    st.builds(
        ToolCallDelta, st.none() | counts, st.none() | any_text, st.none() | any_text, any_text
    ),
    st.builds(Usage, counts, counts, counts, counts, counts, st.booleans()),
    st.builds(Finish, st.none() | st.text()),
)


@given(st.lists(st.lists(deltas), min_size=1), st.booleans(), st.lists(any_text))
@example([["\u2028\r\n\x85", TextDelta(""), Usage(), Finish(None)]], False, ["\ud800"])
def test_every_answer_comes_back_as_it_was(answers: Any, timing: bool, texts: list[str]):
    async def record_and_replay(path: Path) -> None:
        request = asks(*(says(text) for text in texts))
        await recorded(path, *answers, requests=[request] * len(answers), timing=timing)
        replay = ReplayModel(path)
        assert [await pieces_of(replay, request) for _ in answers] == answers
        replay.assert_complete()

    with TemporaryDirectory() as folder:
        asyncio.run(record_and_replay(Path(folder) / "r.jsonl"))


async def test_a_line_says_what_was_asked_and_answered(path: Path):
    tool = ToolDeclaration("t", "Does it.", {"type": "object"})
    request = ModelRequest(HI.messages, (tool,), SpecificTool("t"), False, ("x",), {}, {"key": "s"})
    answer = ["é", ToolCallDelta(0, name="t"), Usage(3), Finish("stop")]
    await recorded(path, answer, requests=[request])
    assert lines_of(path)[0] == {
        "format": 1,
        "number": 0,
        "model": "scripted",
        "provider": "scripted",
        "request": {
            "messages": HI.messages,
            "tools": [{"name": "t", "description": "Does it.", "parameters": {"type": "object"}}],
            "tool_choice": {"name": "t"},
            "parallel_tool_calls": False,
            "stop": ["x"],
            "output_schema": {},
        },
        "answer": [
            "é",
            {"type": "tool_call", "index": 0, "name": "t"},
            {"type": "usage", "input_tokens": 3},
            {"type": "finish", "reason": "stop"},
        ],
        "end": "whole",
    }


async def test_default_values_are_not_written(path: Path):
    await recorded(path, "Hello")
    assert lines_of(path)[0]["request"] == {"messages": HI.messages}


async def test_a_plain_function_is_recorded_and_replayed_as_one(path: Path):
    async def greeter(messages: Any) -> Any:
        for piece in greeting:
            yield piece

    greeting = ["Hi, ", ReasoningDelta("hm"), "Ada", Finish("stop")]
    model = record(greeter, path)
    assert [piece async for piece in model(HI.messages)] == greeting
    replay = ReplayModel(path)
    assert [piece async for piece in replay(HI.messages)] == greeting
    assert (model.name, replay.name, replay.provider) == ("greeter", "greeter", "unknown")


# How an answer ended


class UndefinedError(Exception):
    """An exception like those of SDKs, with arguments besides the message."""


@pytest.mark.parametrize(
    ("error", "replayed"),
    [
        (ConnectionError("reset"), ConnectionError("reset")),
        (LLMError("slow down", rate_limited=True), LLMError("slow down")),
        (asyncio.QueueFull("full"), LLMError("QueueFull: full")),
        (UndefinedError("a", "b"), LLMError("UndefinedError: ('a', 'b')")),
        (ExceptionGroup("of", [ValueError()]), LLMError("ExceptionGroup: of (1 sub-exception)")),
    ],
)  # fmt: skip
async def test_an_answer_that_broke_off_breaks_off_again(path: Path, error: Any, replayed: Any):
    model = record(ScriptedModel([["a", error]]), path)
    for play, expected in ((lambda: model, error), (lambda: ReplayModel(path), replayed)):
        received: list[Any] = []
        with pytest.raises(type(expected)) as raised:
            async for piece in play().stream(HI):
                received.append(piece)  # noqa: PERF401  # what was received before the error counts
        assert received == ["a"]
    assert str(raised.value) == str(replayed)
    assert getattr(raised.value, "rate_limited", False) == getattr(error, "rate_limited", False)


async def test_an_answer_that_was_closed_is_closed_again(path: Path):
    text = f"{CALL} and on it goes"
    model = record(ScriptedModel([text]), path)
    for play in (lambda: model, lambda: ReplayModel(path)):
        events = [event["type"] async for event in parse_tokens(play()(HI.messages))]
        assert events == ["call", "execute"]
    assert lines_of(path)[0]["end"] == "closed"


async def test_a_closed_answer_cannot_be_read_further(path: Path):
    model = record(ScriptedModel(["a long text"]), path)
    async with aclosing(model.stream(HI)) as stream:
        await anext(stream)
    replay = ReplayModel(path)
    with pytest.raises(AssertionError, match=r"answer 1 of .* was closed by its reader here"):
        await pieces_of(replay)
    with pytest.raises(AssertionError, match="was closed by its reader here"):
        replay.assert_complete()


async def test_a_cancelled_answer_is_kept_up_to_its_cancellation(path: Path):
    waits = asyncio.Event()

    async def answer(request: ModelRequest) -> Any:
        yield "a"
        waits.set()
        await asyncio.sleep(3600)

    reading = asyncio.create_task(pieces_of(record(ScriptedModel([answer]), path)))
    await waits.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    [line] = lines_of(path)
    assert (line["answer"], line["end"]) == (["a"], "closed")


async def test_a_line_is_written_as_soon_as_its_answer_has_ended(path: Path):
    model = record(ScriptedModel(["one", "two"]), path)
    for count in (1, 2):
        await pieces_of(model)
        assert len(lines_of(path)) == count


async def test_concurrent_answers_are_replayed_in_the_order_of_their_requests(path: Path):
    first_may_end = asyncio.Event()

    async def slow(request: ModelRequest) -> Any:
        yield "slow"
        await first_may_end.wait()

    model = record(ScriptedModel([slow, "quick"], chunk=None), path)
    first = asyncio.create_task(pieces_of(model))
    await until(lambda: model._asked, "the model is not asked")
    assert await pieces_of(model) == ["quick"]
    first_may_end.set()
    await first
    assert [line["number"] for line in lines_of(path)] == [1, 0]
    replay = ReplayModel(path)
    assert [await pieces_of(replay) for _ in range(2)] == [["slow"], ["quick"]]


# Files that are not recordings


async def test_a_recording_is_not_overwritten(path: Path):
    early = record(ScriptedModel(["other"]), path)
    await recorded(path, "Hello")
    written = lines_of(path)
    with pytest.raises(ConfigError, match="is a recording already"):
        record(ScriptedModel([]), path)
    with pytest.raises(FileExistsError):
        await pieces_of(early)
    assert lines_of(path) == written


GOOD = {
    "format": 1,
    "number": 0,
    "model": "m",
    "provider": "p",
    "request": {"messages": []},
    "answer": [],
    "end": "whole",
}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has no answers"),
        (["{"], r":1 is not a whole answer \(JSONDecodeError"),
        ([json.dumps(GOOD), json.dumps(GOOD)[:50]], r":2 is not a whole answer .* remove the line"),
        (["7"], r":1 is not a whole answer \(TypeError"),
        ([json.dumps({**GOOD, "format": 2})], "format 2 is not known"),
        ([json.dumps({**GOOD, "answer": [{"type": "image"}]})], "type 'image' is not known"),
        ([json.dumps({**GOOD, "answer": [{"type": "text", "texts": ""}]})], ":1 is not a whole"),
        ([json.dumps({**GOOD, "number": 1})], "does not have the answer to request 1"),
    ],
)
def test_a_file_that_is_not_a_recording_is_refused(path: Path, lines: list[str], message: str):
    write(path, *lines)
    with pytest.raises(ConfigError, match=message):
        ReplayModel(path)


async def test_options_that_cannot_work_for_a_replay_are_refused(path: Path):
    with pytest.raises(
        ConfigError, match=r"there is no recording .*talk.jsonl: make one with record"
    ):
        ReplayModel(path)
    await recorded(path, "Hello")
    with pytest.raises(ConfigError, match="does not say when its pieces came, which speed needs"):
        ReplayModel(path, speed=1)
    with pytest.raises(ConfigError, match="speed must be above 0, got 0"):
        ReplayModel(path, speed=0)


async def test_a_request_that_cannot_be_recorded_is_refused_before_it_is_sent(path: Path):
    with pytest.raises(ConfigError, match="model must have stream"):
        record("model", path)  # pyright: ignore
    model = ScriptedModel(["Hello", lambda request: seven()])
    recorder = record(model, path)
    with pytest.raises(ConfigError, match=r"request 1 cannot be recorded in .*bytes"):
        await pieces_of(recorder, asks({"role": "user", "content": b"raw"}))
    assert model.requests == []
    await pieces_of(recorder)
    assert await pieces_of(ReplayModel(path)) == ["Hell", "o"]
    with pytest.raises(TypeError, match="must give str and Deltas, and gave 7"):
        await pieces_of(recorder)


async def seven() -> Any:
    yield 7
