"""Recordings: what was asked and answered comes back, however the answer ended, and what is not the same is named."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from cogency_rs import ConfigError, Finish, LLMError, parse_tokens
from cogency_rs.models import (
    ModelRequest,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    ToolDeclaration,
    Usage,
)
from cogency_rs.testing import ReplayModel, ScriptedModel, record

HI = ModelRequest([{"role": "user", "content": "Hi"}])
CALL = '<execute>[{"name": "t", "args": {}}]</execute>'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "talk.jsonl"


def asks(*messages: dict[str, Any], **more: Any) -> ModelRequest:
    return ModelRequest(messages, **more)


def says(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


async def pieces_of(model: Any, request: ModelRequest = HI) -> list[Any]:
    return [piece async for piece in model.stream(request)]


async def recorded(path: Path, *answers: Any, requests: Any = None, **options: Any) -> None:
    """Record the answers, to one request each, read to their ends."""
    model = record(ScriptedModel(answers), path, **options)
    for request in requests or [HI] * len(answers):
        await pieces_of(model, request)


# There and back

half = st.text(
    st.characters(categories=None)
)  # halves of characters too: a model's JSON may hold them
counts = st.integers(0, 2**63)
deltas = st.one_of(
    half,
    st.builds(TextDelta, half),
    st.builds(ReasoningDelta, half, st.none() | half),
    st.builds(ToolCallDelta, st.none() | counts, st.none() | half, st.none() | half, half),
    st.builds(Usage, counts, counts, counts, counts, counts, st.booleans()),
    st.builds(Finish, st.none() | st.text()),
)


@settings(deadline=None)
@given(st.lists(st.lists(deltas), min_size=1), st.booleans(), st.lists(half))
@example([["\u2028\r\n\x85", TextDelta(""), Usage(), Finish(None)]], False, ["\ud800"])
def test_every_answer_comes_back_as_it_was(answers: Any, timing: bool, said: list[str]):
    async def there_and_back(path: Path) -> None:
        request = asks(*(says(text) for text in said))
        await recorded(path, *answers, requests=[request] * len(answers), timing=timing)
        replay = ReplayModel(path)
        assert [await pieces_of(replay, request) for _ in answers] == answers
        replay.assert_complete()

    with TemporaryDirectory() as folder:
        asyncio.run(there_and_back(Path(folder) / "r.jsonl"))


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


async def test_what_is_as_usual_is_not_written(path: Path):
    await recorded(path, "Hello")
    assert lines_of(path)[0]["request"] == {"messages": HI.messages}


async def test_a_plain_function_is_recorded_and_replayed_as_one(path: Path):
    async def greeter(messages: Any) -> Any:
        yield f"{messages[0]['content']}, "
        yield "Ada"

    model = record(greeter, path)
    assert [piece async for piece in model(HI.messages)] == ["Hi, ", "Ada"]
    replay = ReplayModel(path)
    assert [piece async for piece in replay(HI.messages)] == ["Hi, ", "Ada"]
    assert (model.name, replay.name, replay.provider) == ("greeter", "greeter", "unknown")


# How an answer ended


class UndefinedError(Exception):
    """As SDKs have them."""


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionError("reset"), ConnectionError("reset")),
        (LLMError("slow down", rate_limited=True), LLMError("slow down")),
        (asyncio.QueueFull("full"), LLMError("QueueFull: full")),
        (UndefinedError("a", "b"), LLMError("UndefinedError: ('a', 'b')")),
        (ExceptionGroup("of", [ValueError()]), LLMError("ExceptionGroup: of (1 sub-exception)")),
    ],
)  # fmt: skip
async def test_an_answer_that_broke_off_breaks_off_again(path: Path, error: Any, again: Any):
    model = record(ScriptedModel([["a", error]]), path)
    for each in (model, None):
        received: list[Any] = []
        with pytest.raises(type(error if each else again)) as raised:
            async for piece in (each or ReplayModel(path)).stream(HI):
                received.append(piece)  # noqa: PERF401  # what was received before the error counts
        assert received == ["a"]
    assert str(raised.value) == str(again)
    assert getattr(raised.value, "rate_limited", False) == getattr(error, "rate_limited", False)


async def test_an_answer_that_was_closed_is_closed_again(path: Path):
    text = f"{CALL} and on it goes"
    model = record(ScriptedModel([text]), path)
    for each in (model, ReplayModel):
        played = each if each is model else ReplayModel(path)
        events = [event["type"] async for event in parse_tokens(played(HI.messages))]
        assert events == ["call", "execute"]
    assert lines_of(path)[0]["end"] == "closed"


async def test_a_closed_answer_has_no_end_to_read_on_to(path: Path):
    model = record(ScriptedModel(["a long text"]), path)
    async with aclosing(model.stream(HI)) as stream:
        await anext(stream)
    replay = ReplayModel(path)
    with pytest.raises(AssertionError, match=r"answer 1 of .* was closed by its reader here"):
        await pieces_of(replay)
    with pytest.raises(AssertionError, match="was closed by its reader here"):
        replay.assert_complete()


async def test_a_cancelled_answer_is_kept_up_to_there(path: Path):
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


async def test_a_line_is_there_as_soon_as_its_answer_has_ended(path: Path):
    model = record(ScriptedModel(["one", "two"]), path)
    for count in (1, 2):
        await pieces_of(model)
        assert len(lines_of(path)) == count


async def test_answers_at_once_are_replayed_in_the_order_of_their_requests(path: Path):
    first_may_end = asyncio.Event()

    async def slow(request: ModelRequest) -> Any:
        yield "slow"
        await first_may_end.wait()

    model = record(ScriptedModel([slow, "quick"], chunk=None), path)
    first = asyncio.create_task(pieces_of(model))
    while not model._asked:
        await asyncio.sleep(0)
    assert await pieces_of(model) == ["quick"]
    first_may_end.set()
    await first
    assert [line["number"] for line in lines_of(path)] == [1, 0]
    replay = ReplayModel(path)
    assert [await pieces_of(replay) for _ in range(2)] == [["slow"], ["quick"]]


# Timing


async def test_pieces_come_as_they_were_recorded(path: Path, monkeypatch: pytest.MonkeyPatch):
    await recorded(path, ["a", "b", "c"], timing=True)
    [line] = lines_of(path)
    assert len(line["seconds"]) == 3
    write(path, json.dumps({**line, "seconds": [1.0, 1.5, 4.0]}))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for speed, pauses in ((None, [0, 0, 0]), (1, [1.0, 0.5, 2.5]), (2, [0.5, 0.25, 1.25])):
        slept.clear()
        assert await pieces_of(ReplayModel(path, speed=speed)) == ["a", "b", "c"]
        assert slept == pauses


# Other requests than were recorded

ASSISTANT = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "function": {}}, {"id": "b", "function": {}}],
}


def answers(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "tool_execution_id": f"x{id}", "content": "ok"}


@pytest.mark.parametrize(
    ("then", "now", "difference"),
    [
        ([says("Hi")], [says("Ho")], "messages[0].content differs at character 1: it was 'Hi', and is 'Ho'"),
        ([says("Hi")], [says("Hi!")], "messages[0].content differs at character 2: it was 'Hi', and is 'Hi!'"),
        ([says("a" * 99)], [says("a" * 50 + "b" * 60)],
         "messages[0].content differs at character 50: "
         f"it was …'{'a' * 60}'…, and is …'{'a' * 20 + 'b' * 40}'…"),
        ([says("Hi")], [says("Hi", "system")],
         "messages[0].role differs at character 0: it was 'user', and is 'system'"),
        ([says("Hi")], [says("Hi"), says("Ho")],
         """messages[1] was not there, and is {"role": "user", "content": "Ho"}"""),
        ([says("Hi"), says("Ho")], [says("Hi")],
         """messages[1] was {"role": "user", "content": "Ho"}, and is not there"""),
        ([says("Hi")], [{"role": "user", "content": None}], "messages[0].content was \"Hi\", and is null"),
        ([{"x": 1}], [{"x": True}], "messages[0].x was 1, and is true"),
        ([{"x": 1}], [{"y": 1}], "messages[0].x was 1, and is not there"),
        ([ASSISTANT, answers("a")], [ASSISTANT, answers("b")],
         "messages[1].tool_call_id differs at character 3: it was 'id 1', and is 'id 2'"),
    ],
)  # fmt: skip
async def test_a_request_that_is_not_the_recorded_one_is_an_error(
    path: Path, then: Any, now: Any, difference: str
):
    await recorded(path, "Hello", requests=[asks(*then)])
    replay = ReplayModel(path)
    expected = (
        f"scripted: request 1 is not as recorded in {path}: {difference}; "
        "if that is meant, delete the file and record anew"
    )
    with pytest.raises(AssertionError) as error:
        await pieces_of(replay, asks(*now))
    assert str(error.value) == expected
    with pytest.raises(AssertionError) as error:
        replay.assert_complete()
    assert str(error.value) == expected
    assert await pieces_of(ReplayModel(path, strict=False), asks(*now)) == ["Hell", "o"]


async def test_other_tools_are_a_difference(path: Path):
    await recorded(path, "Hello")
    tool = ToolDeclaration("t", "Does it.", {})
    with pytest.raises(AssertionError, match=r"tools\[0\] was not there, and is {\"name\": \"t\""):
        await pieces_of(ReplayModel(path), ModelRequest(HI.messages, (tool,)))


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ([says("Hi")], (says("Hi"),)),
        ([{"x": float("nan")}], [{"x": float("nan")}]),
        ([ASSISTANT, answers("a"), answers("b")],
         [json.loads(json.dumps(ASSISTANT).replace('"b"', '"c"')), answers("a"), answers("c")]),
    ],
)  # fmt: skip
async def test_what_means_the_same_is_the_same(path: Path, then: Any, now: Any):
    await recorded(path, "Hello", requests=[asks(*then)])
    assert await pieces_of(ReplayModel(path), asks(*now))


async def test_what_differs_each_time_can_be_taken_away(path: Path):
    def without_digits(text: str) -> str:
        return "".join(char for char in text if not char.isdigit())

    await recorded(path, "Hello", requests=[asks(says("in /tmp/7"))])
    assert await pieces_of(ReplayModel(path, normalize=without_digits), asks(says("in /tmp/89")))


async def test_more_requests_than_were_recorded_are_an_error(path: Path):
    await recorded(path, "Hello")
    replay = ReplayModel(path)
    await pieces_of(replay)
    with pytest.raises(AssertionError) as error:
        await pieces_of(replay)
    assert str(error.value) == (
        f"scripted: request 2 has no answer, since 1 answer was recorded in {path}; "
        "its last message is user: 'Hi'"
    )


async def test_fewer_requests_are_an_error_too(path: Path):
    await recorded(path, "Hello")
    with pytest.raises(AssertionError) as error:
        ReplayModel(path).assert_complete()
    assert str(error.value) == (
        f"scripted: only 0 of 1 answer was used; the next one is answer 1 of {path.name}"
    )


# Files that are none


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")


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


async def test_what_cannot_be_replayed_is_refused(path: Path):
    with pytest.raises(
        ConfigError, match=r"there is no recording .*talk.jsonl: make one with record"
    ):
        ReplayModel(path)
    await recorded(path, "Hello")
    with pytest.raises(ConfigError, match="does not say when its pieces came, which speed needs"):
        ReplayModel(path, speed=1)
    with pytest.raises(ConfigError, match="speed must be above 0, got 0"):
        ReplayModel(path, speed=0)


async def test_what_cannot_be_recorded_is_refused_before_it_is_sent(path: Path):
    with pytest.raises(ConfigError, match="model must have stream"):
        record("model", path)  # pyright: ignore
    model = ScriptedModel(["Hello", lambda request: seven()])
    recorder = record(model, path)
    with pytest.raises(ConfigError, match=r"request 1 cannot be recorded in .*bytes"):
        await pieces_of(recorder, asks({"role": "user", "content": b"raw"}))
    assert model.requests == []
    await pieces_of(recorder)
    with pytest.raises(TypeError, match="must give str and Deltas, and gave 7"):
        await pieces_of(recorder)


async def seven() -> Any:
    yield 7
