"""An answer with several decisions, in the dialect `react-json`: all of them count, and a wrong one is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Agent, Dialect, Parser, ToolCall
from cogency_rs.testing import ScriptedModel
from support.agents import add

CALLS = [ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})]


def decision(**fields: Any) -> str:
    return json.dumps({"thought": "t", **fields})


FIRST = decision(type="call_tool", tool="add", args={"a": 1, "b": 2})
SECOND = decision(type="call_tool", tool="add", args={"a": 3, "b": 4})
ANSWER = decision(type="final_answer", answer="It is 3.")


def read(text: str, size: int = 0, **options: Any) -> list[tuple[str, Any]]:
    parser = Parser(dialect="react-json", errors="event", **options)
    size = size or len(text)
    events = [
        event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])
    ]
    return [
        (event["type"], event.get("kind") or event.get("content"))
        for event in events + parser.finish("stop")
        if event["type"] != "think"
    ]


def call(a: int, b: int) -> tuple[str, str]:
    return ("call", f'{{"name": "add", "args": {{"a": {a}, "b": {b}}}}}')


RUN = ("execute", None)


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FIRST, [call(1, 2), RUN]),
        (f"{FIRST}\n{SECOND}", [call(1, 2), call(3, 4), RUN]),
        (f"{FIRST}{SECOND}\n", [call(1, 2), call(3, 4), RUN]),
        (f"{FIRST}\n{ANSWER}", [call(1, 2), ("respond", "It is 3."), RUN]),
        (f"{ANSWER}\n\n{FIRST}", [("respond", "It is 3."), call(1, 2), RUN]),
        (f"{FIRST}\n{SECOND[:-9]}", [("error", "unfinished")]),
        (f'{FIRST}\n{{"tool": ""}}', [("error", "malformed")]),
        (f"{FIRST}\n{SECOND} So.", [call(1, 2), call(3, 4), ("respond", " So."), RUN]),
    ],
)
def test_each_decision_of_an_answer_counts(text, expected, lenient, size):
    assert read(text, size, lenient=lenient) == expected


def test_what_is_written_reads_back():
    text = Dialect("react-json").write_calls(CALLS)
    assert read(text) == [call(1, 2), call(3, 4), RUN]


async def test_a_run_carries_all_of_them_out():
    model = ScriptedModel([f"{FIRST}\n{SECOND}", ANSWER])
    result = await Agent(model, tools=[add], dialect="react-json").run("?")
    assert [each.value for each in result.steps[0].executions] == [3, 7]
    assert result.output == "It is 3."
