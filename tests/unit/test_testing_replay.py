"""Replays: the pieces come as they were recorded, and a request that differs from the recorded one is reported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cogency_rs.models import ModelRequest, ToolDeclaration
from cogency_rs.testing import ReplayModel
from support.recorded_answers import HI, asks, lines_of, pieces_of, recorded, says, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "talk.jsonl"


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


# Requests that differ from the recorded ones

ASSISTANT = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "function": {}}, {"id": "b", "function": {}}],
}


def tool_result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "tool_execution_id": f"x{id}", "content": "ok"}


@pytest.mark.parametrize(
    ("then", "now", "difference"),
    [
        ([says("Hi")], [says("Ho")], "messages[0].content differs at character 1: it was 'Hi', but is 'Ho'"),
        ([says("Hi")], [says("Hi!")], "messages[0].content differs at character 2: it was 'Hi', but is 'Hi!'"),
        ([says("a" * 99)], [says("a" * 50 + "b" * 60)],
         "messages[0].content differs at character 50: "
         f"it was …'{'a' * 60}'…, but is …'{'a' * 20 + 'b' * 40}'…"),
        ([says("Hi")], [says("Hi", "system")],
         "messages[0].role differs at character 0: it was 'user', but is 'system'"),
        ([says("Hi")], [says("Hi"), says("Ho")],
         """messages[1] was not there, but is {"role": "user", "content": "Ho"}"""),
        ([says("Hi"), says("Ho")], [says("Hi")],
         """messages[1] was {"role": "user", "content": "Ho"}, but is not there"""),
        ([says("Hi")], [{"role": "user", "content": None}], "messages[0].content was \"Hi\", but is null"),
        ([{"x": 1}], [{"x": True}], "messages[0].x was 1, but is true"),
        ([{"x": 1}], [{"y": 1}], "messages[0].x was 1, but is not there"),
        ([ASSISTANT, tool_result("a")], [ASSISTANT, tool_result("b")],
         "messages[1].tool_call_id differs at character 3: it was 'id 1', but is 'id 2'"),
    ],
)  # fmt: skip
async def test_a_request_that_differs_from_the_recorded_one_is_an_error(
    path: Path, then: Any, now: Any, difference: str
):
    await recorded(path, "Hello", requests=[asks(*then)])
    replay = ReplayModel(path)
    expected = (
        f"scripted: request 1 is not as recorded in {path}: {difference}; "
        "if that is intended, delete the file and record again"
    )
    with pytest.raises(AssertionError) as error:
        await pieces_of(replay, asks(*now))
    assert str(error.value) == expected
    with pytest.raises(AssertionError) as error:
        replay.assert_complete()
    assert str(error.value) == expected
    assert await pieces_of(ReplayModel(path, strict=False), asks(*now)) == ["Hell", "o"]


async def test_a_request_with_other_tools_is_an_error(path: Path):
    await recorded(path, "Hello")
    tool = ToolDeclaration("t", "Does it.", {})
    with pytest.raises(AssertionError, match=r"tools\[0\] was not there, but is {\"name\": \"t\""):
        await pieces_of(ReplayModel(path), ModelRequest(HI.messages, (tool,)))


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ([says("Hi")], (says("Hi"),)),
        ([{"x": float("nan")}], [{"x": float("nan")}]),
        ([ASSISTANT, tool_result("a"), tool_result("b")],
         [json.loads(json.dumps(ASSISTANT).replace('"b"', '"c"')), tool_result("a"), tool_result("c")]),
    ],
)  # fmt: skip
async def test_requests_that_mean_the_same_are_the_same(path: Path, then: Any, now: Any):
    await recorded(path, "Hello", requests=[asks(*then)])
    assert await pieces_of(ReplayModel(path), asks(*now))


async def test_text_that_differs_each_time_can_be_removed(path: Path):
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
