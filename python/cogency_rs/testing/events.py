"""Reads the events of a run for tests, in either mode of streaming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ..types import ToolCall

_IN_PIECES = {"think", "respond", "tool_call_delta"}


def joined(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events, with the pieces of each text joined into one event that has the first piece's time.

    Neighbouring pieces are one text; pieces of arguments, if they are of one value.
    """
    whole: list[dict[str, Any]] = []
    for event in events:
        last = whole[-1] if whole else {}
        if event["type"] in _IN_PIECES and _text(event) == _text(last):
            last["content"] += event["content"]
        else:
            whole.append(dict(event))
    return whole


def outline(events: Iterable[Mapping[str, Any]]) -> list[tuple[str, str | None]]:
    """The type and content of each event of `joined(events)`: what a test compares, since times differ."""
    return [(event["type"], event.get("content")) for event in joined(events)]


def text_of(
    events: Iterable[Mapping[str, Any]], type: Literal["respond", "think"] = "respond"
) -> str:
    """The text for the user, or the model's reasoning: each text on its own line, stripped.

    The same in both modes of streaming.
    """
    texts = (event["content"].strip() for event in joined(events) if event["type"] == type)
    return "\n".join(text for text in texts if text)


def calls_of(events: Iterable[Mapping[str, Any]]) -> list[ToolCall]:
    """The calls among the events, in order."""
    calls = (json.loads(event["content"]) for event in events if event["type"] == "call")
    return [
        ToolCall(call["name"], call["args"], call.get("id"), call.get("server")) for call in calls
    ]


def results_of(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The results of all calls, in order, as the model reads them.

    Returns:
        A dict for each call: `tool`, `status` (`"success"` or `"failure"`), `content`, and `outcome` if it adds
        something. Results that the model made up are left out.
    """
    batches = (
        json.loads(event["content"])
        for event in events
        if event["type"] == "result" and "tools_executed" in (event.get("payload") or {})
    )
    return [result for batch in batches for result in batch]


def _text(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Equal for neighbouring events that are pieces of one text."""
    return event.get("type"), event.get("index"), event.get("path")
