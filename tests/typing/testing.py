"""What type checkers know of `cogency_rs.testing`."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any, assert_type

from cogency_rs import Event, ToolCall, parse_tokens
from cogency_rs.models import Finish, Model, ModelRequest, TextDelta, ToolCallDelta, Usage
from cogency_rs.testing import (
    ReplayModel,
    ScriptedModel,
    calls_of,
    outline,
    record,
    results_of,
    text_of,
)
from cogency_rs.testing.pytest import MakeModel


async def coroutine(request: ModelRequest) -> str:
    return "a"


async def stream(request: ModelRequest) -> AsyncIterator[str]:
    yield "a"


async def plain(messages: list[dict[str, Any]]) -> AsyncGenerator[str, None]:
    yield "a"


model: Model = ScriptedModel(
    [
        "a",
        [TextDelta("a"), ToolCallDelta(0), Usage(1), Finish("stop"), ConnectionError()],
        ConnectionError(),
        lambda request: str(request.messages),
        coroutine,
        stream,
    ]
)
of_a_function: Model = ScriptedModel(stream)
replayed: Model = ReplayModel(Path("a.jsonl"), normalize=str.lower)
recorded: Model = record(model, "a.jsonl")
recorded_too: Model = record(plain, "a.jsonl")

ScriptedModel([7])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
ScriptedModel([[{"name": "t"}]])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


async def reads_events(scripted_model: MakeModel) -> None:
    made = assert_type(scripted_model(["a"], chunk=None), ScriptedModel)
    events = [event async for event in parse_tokens(made([]))]
    assert_type(events, list[Event])
    assert_type(text_of(events), str)
    assert_type(calls_of(events), list[ToolCall])
    assert_type(results_of(events), list[dict[str, Any]])
    assert_type(outline(events), list[tuple[str, str | None]])
