"""The scripted model: what it answers, in which pieces, and what it reports if the script does not fit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import parse_tokens
from cogency_rs.errors import ConfigError
from cogency_rs.models import Finish, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from cogency_rs.testing import ScriptedModel
from support.recorded_answers import HI, pieces_of
from support.waiting import until

CALL = '<execute>[{"name": "t", "args": {}}]</execute>'


# Answers


async def coroutine(request: ModelRequest) -> str:
    await asyncio.sleep(0)
    return f"{len(request.messages)}"


async def generator(request: ModelRequest) -> AsyncIterator[str]:
    for message in request.messages:
        yield message["content"]


DELTAS = [ReasoningDelta("hm", "s"), TextDelta("a long text"), "b" * 9, Usage(1), Finish("stop")]


@pytest.mark.parametrize(
    ("answer", "pieces"),
    [
        ("Hello, Ada", ["Hell", "o, A", "da"]),
        ("", []),
        (DELTAS, DELTAS),
        (tuple(DELTAS), DELTAS),
        ([], []),
        (lambda request: request.messages[-1]["content"], ["Hi"]),
        (lambda request: DELTAS, DELTAS),
        (coroutine, ["1"]),
        (generator, ["Hi"]),
    ],
)
async def test_an_answer_of_each_kind_is_given(answer: Any, pieces: list[Any]):
    model = ScriptedModel([answer])
    assert await pieces_of(model) == pieces
    model.assert_complete()
    assert model.closed_early == 0


@given(st.text(), st.none() | st.integers(1, 12))
def test_a_text_is_cut_into_pieces_of_one_size(text: str, chunk: int | None):
    pieces = asyncio.run(pieces_of(ScriptedModel([text], chunk=chunk)))
    assert "".join(pieces) == text
    assert all(len(piece) == (chunk or len(text)) for piece in pieces[:-1])
    assert all(pieces)


async def test_answers_are_given_in_order_and_requests_kept():
    model = ScriptedModel(["one", "two"], chunk=None)
    other = ModelRequest([], stop=("x",))
    assert [await pieces_of(model), await pieces_of(model, other)] == [["one"], ["two"]]
    assert model.requests == [HI, other]


async def test_requests_are_kept_as_they_were():
    messages = [{"role": "assistant", "tool_calls": [{"id": "1"}]}]
    model = ScriptedModel(["one"])
    await pieces_of(model, ModelRequest(messages))
    messages[0]["tool_calls"].append({"id": "2"})
    messages.append({})
    assert model.requests[0].messages == [{"role": "assistant", "tool_calls": [{"id": "1"}]}]


def broken(request: ModelRequest) -> Exception:
    return ConnectionError("reset")


@pytest.mark.parametrize(
    ("answer", "before"),
    [(ConnectionError("reset"), []), (["a", ConnectionError("reset"), "b"], ["a"]), (broken, [])],
)
async def test_an_exception_is_raised_at_its_place(answer: Any, before: list[str]):
    model = ScriptedModel([answer, "next"])
    received: list[Any] = []
    with pytest.raises(ConnectionError, match="reset"):
        async for piece in model.stream(HI):
            received.append(piece)  # noqa: PERF401  # what was received before the error counts
    assert received == before
    assert model.closed_early == 0
    assert await pieces_of(model) == ["next"]


async def test_a_function_in_place_of_the_list_answers_every_request():
    model = ScriptedModel(lambda request: f"{request.messages[-1]['content']}!")
    assert [await pieces_of(model) for _ in range(3)] == [["Hi!"]] * 3
    model.assert_complete()


async def test_other_tasks_run_before_each_piece():
    model = ScriptedModel(["abc", "abc"], chunk=1)
    order: list[str] = []

    async def read(name: str) -> None:
        async for piece in model.stream(HI):
            order.append(name + piece)  # noqa: PERF401  # the order of the two readers counts

    await asyncio.gather(read("1"), read("2"))
    assert order == ["1a", "2a", "1b", "2b", "1c", "2c"]


async def test_the_delay_comes_before_each_piece(monkeypatch: pytest.MonkeyPatch):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await pieces_of(ScriptedModel(["abcde"], delay=0.25))
    assert slept == [0.25, 0.25]


# As a plain function


async def test_a_scripted_model_is_a_plain_function_too():
    model = ScriptedModel(
        [
            [
                "a",
                TextDelta("b"),
                ReasoningDelta("hm"),
                ReasoningDelta("", "s"),
                Usage(1),
                Finish("stop"),
            ]
        ]
    )
    assert [piece async for piece in model(HI.messages)] == [
        "a",
        "b",
        ReasoningDelta("hm"),
        Finish("stop"),
    ]
    assert model.requests[0].messages == HI.messages


async def test_a_native_tool_call_in_an_answer_read_as_text_is_an_error():
    model = ScriptedModel([[ToolCallDelta(0, "1", "t", "{}")]])
    with pytest.raises(ConfigError, match=r"the answer has ToolCallDelta\(.*, which is not text"):
        [piece async for piece in model(HI.messages)]


# Closing


async def test_a_parser_closes_an_answer_after_its_calls():
    model = ScriptedModel([f"{CALL} and on it goes", "to its end"])
    events = [event["type"] async for event in parse_tokens(model(HI.messages))]
    assert (events, model.closed_early) == (["call", "execute"], 1)
    assert [event async for event in parse_tokens(model(HI.messages))]
    assert model.closed_early == 1


async def test_a_cancelled_reader_closes_its_answer():
    model = ScriptedModel(["never"], delay=3600)
    reader = asyncio.create_task(pieces_of(model))
    await until(lambda: model.requests, "the model is not asked")
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert model.closed_early == 1


async def test_a_function_s_stream_is_closed_with_the_answer():
    closed: list[str] = []

    async def endless(request: ModelRequest) -> AsyncIterator[str]:
        try:
            while True:
                yield "on "
        finally:
            closed.append("closed")

    async with aclosing(ScriptedModel(endless).stream(HI)) as stream:
        assert await anext(stream) == "on "
    assert closed == ["closed"]


# A script that does not fit


@pytest.mark.parametrize(
    ("answers", "asked", "message"),
    [
        (["one"], 2, "request 2 has no answer, since 1 answer was given; its last message is user: 'Hi'"),
        ([], 1, "request 1 has no answer, since 0 answers were given; its last message is user: 'Hi'"),
    ],
)  # fmt: skip
async def test_too_few_answers_are_an_error_that_the_model_remembers(
    answers: list[str], asked: int, message: str
):
    model = ScriptedModel(answers)
    for _ in range(asked - 1):
        await pieces_of(model)
    for raises in (pieces_of(model), pieces_of(model)):
        with pytest.raises(AssertionError) as error:
            await raises
    with pytest.raises(AssertionError) as error:
        model.assert_complete()
    assert str(error.value) == f"scripted: {message}"


async def test_answers_that_are_left_are_an_error():
    model = ScriptedModel(["one", "two" * 100, "three"], name="planner")
    await pieces_of(model)
    with pytest.raises(AssertionError) as error:
        model.assert_complete()
    assert str(error.value).startswith(
        "planner: only 1 of 3 answers were used; the next one is 'twotwo"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"answers": "one"}, "answers must be a list with an answer for each request"),
        ({"answers": None}, "answers must be a list .*, got None"),
        ({"answers": ["a", 7]}, r"answers\[1\] must be a text, a list of str and Deltas"),
        ({"answers": [Finish("stop")]}, r"answers\[0\] must be .*, got Finish"),
        ({"answers": [["a", {"name": "t"}]]}, r"answers\[0\]\[1\] must be a str, a Delta or"),
        ({"answers": [], "chunk": 0}, "chunk must be at least 1 character, or None for all, got 0"),
        ({"answers": [], "delay": -1}, "delay must be at least 0 seconds, got -1"),
    ],
)
def test_anything_but_an_answer_is_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        ScriptedModel(**arguments)


async def test_an_answer_that_a_function_returned_is_checked_too():
    with pytest.raises(ConfigError, match="the answer's function returned for its last message"):
        await pieces_of(ScriptedModel([lambda request: 7]))  # pyright: ignore
