"""What an editor knows of events: one look at `type` tells which one it is.

`make types` has mypy and pyright check the files of this folder; nothing runs them. `assert_type` states the inferred
type. A line with an ignore comment for each of the two is a mistake that both must find: they report an ignore comment
that suppresses nothing.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never, assert_type

from cogency_rs import Accumulator, Event, Parser, parse_tokens
from cogency_rs.types import (
    BreakerOpened,
    CallDeltaEvent,
    CallEvent,
    CallStartEvent,
    EndEvent,
    ErrorEvent,
    ExecuteEvent,
    RespondEvent,
    ResultCounts,
    ResultEvent,
    ThinkEvent,
    ToolBlockedEvent,
    ToolChangedEvent,
    TurnEvent,
    WrittenResultEvent,
)

Kind = Literal[
    "think",
    "respond",
    "tool_call_start",
    "tool_call_delta",
    "call",
    "execute",
    "result",
    "error",
    "end",
    "tool_blocked",
    "tool_changed",
]


def compared(event: Event) -> None:
    if event["type"] == "call":
        assert_type(event, CallEvent)
        assert_type(event["content"], str)
    elif event["type"] == "result":
        assert_type(event, ResultEvent | WrittenResultEvent)
        assert_type(event["content"], str)
    elif event["type"] == "think" or event["type"] == "respond":
        assert_type(event, ThinkEvent | RespondEvent)
        assert_type(event["content"], str)
    elif event["type"] == "error":
        assert_type(event, ErrorEvent)
        assert_type(event["raw"], str)
        assert_type(event["line"], int | None)
    elif event["type"] == "tool_call_start":
        assert_type(event, CallStartEvent)
        assert_type(event["name"], str)
    elif event["type"] == "tool_call_delta":
        assert_type(event, CallDeltaEvent)
        assert_type(event["content"], str)
        assert_type(event["path"], list[str | int])
    elif event["type"] == "tool_blocked" or event["type"] == "tool_changed":
        assert_type(event, ToolBlockedEvent | ToolChangedEvent)
        assert_type(event["args"], dict[str, Any])
    else:
        assert_type(event, ExecuteEvent | EndEvent)
        event["content"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]


def counted(event: TurnEvent) -> int:
    if event["type"] != "result":
        return 0
    assert_type(event, ResultEvent)
    payload = event["payload"]
    assert_type(payload, ResultCounts | BreakerOpened)
    if "failure_count" in payload:
        assert_type(payload, ResultCounts)
        return payload["failure_count"]
    assert_type(payload, BreakerOpened)
    assert_type(payload["outcome"], str)
    payload["failure_count"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    return 0


def written(event: WrittenResultEvent) -> None:
    assert_type(event.get("payload"), None)


def matched(event: Event) -> str:
    match event["type"]:
        case "think" | "respond":
            return event["content"]
        case "call":
            assert_type(event, CallEvent)
            return event["content"]
        case "result":
            return event["content"]
        case "error":
            assert_type(event["kind"], Literal["malformed", "unfinished", "truncated", "refused"])
            return event["content"]
        case "tool_call_delta":
            return event["content"]
        case "tool_blocked" | "tool_changed":
            return event["hook"]
        case "tool_call_start" | "execute" | "end":
            return ""
        case _:
            assert_never(event["type"])


def matched_but_one(event: Event) -> str:
    match event["type"]:
        case "think" | "respond" | "call" | "result" | "error" | "tool_call_delta":
            return event["content"]
        case "tool_call_start" | "tool_blocked" | "tool_changed" | "end":
            return ""
        case _:
            assert_never(event["type"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def not_looked_at(event: Event) -> float:
    assert_type(event["type"], Kind)
    event["content"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    return event["timestamp"]


def misspelt(event: Event) -> bool:
    return event["type"] == "calls"  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]


async def as_returned(turn: Accumulator) -> None:
    async for event in parse_tokens("text", stream="token"):
        assert_type(event, Event)
    async for emitted in turn.process(parse_tokens("text")):
        assert_type(emitted, TurnEvent)
    assert_type(Parser().feed("text"), list[Event])
    assert_type(Parser().finish(), list[Event])
