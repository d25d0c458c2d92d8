"""A model for every driver, which calls three tools and then answers.

Its answers depend only on the messages that it is shown, so it can go on from any log.
"""

from __future__ import annotations

import json
from typing import Any

from cogency_rs import ToolCall
from cogency_rs.models import Finish, TextDelta, ToolCallDelta
from support.tools import block

BATCH = [ToolCall("short", {}), ToolCall("long", {}), ToolCall("bad", {})]


def count_of(request: Any, words: str) -> int:
    """How many messages after the system prompt contain these words."""
    return sum(words in json.dumps(each) for each in request.messages[1:])


def text(request: Any) -> Any:
    return "done" if count_of(request, "<results>") else "So.\n" + block(*BATCH)


def native(request: Any) -> Any:
    if count_of(request, "tool_call_id"):
        return "done"
    calls = [ToolCallDelta(n, f"call_{n}", each.name, "{}") for n, each in enumerate(BATCH)]
    return [TextDelta("So."), *calls, Finish("tool_calls")]


def react(request: Any) -> Any:
    seen = count_of(request, "Observation: ")
    if seen == len(BATCH):
        return json.dumps({"thought": "t", "type": "final_answer", "answer": "done"})
    name = BATCH[seen].name
    return json.dumps({"thought": "t", "type": "call_tool", "tool": name, "args": {}})


ANSWERS: dict[str, Any] = {"text": text, "native": native, "react": react}
DRIVERS = [*ANSWERS, "scripted"]
