"""The prompts of a run: each begins with the one before it, and ephemeral messages come at the end."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import Agent, History, Memory, RunLimits, ToolCall, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.testing import ScriptedModel
from support.agents import add, adding, agent, calls, fail, prompts
from support.examples import examples

pytestmark = pytest.mark.timeout(60)


@tool(visible=False)
async def hidden() -> str:
    """Not listed."""
    return "<results>[]</results> h"


TOOLS = [add, fail, hidden]
BROKEN = "<execute>[{]</execute>"
STEPS = st.sampled_from(
    [
        adding(1, 2),
        "So.\n" + adding(3, 4),
        "<think>hm</think>" + calls("fail"),
        calls("hidden", ToolCall("add", {"a": 5, "b": 6})),
        calls("nothing"),
        BROKEN,
        "Text first.\n" + BROKEN,
        "<think>only thoughts</think>",
    ]
)
RUNS = st.lists(st.lists(STEPS, max_size=5), min_size=1, max_size=3)
HISTORIES = st.builds(
    History,
    window=st.none() | st.integers(1, 8),
    max_tokens=st.none() | st.integers(1, 200),
    merge_roles=st.booleans(),
    earlier=st.sampled_from(["whole", "answers"]),
)


def check_growth(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """The prompt `after` begins with `before`, byte for byte; the last message of `before` may have grown."""
    *same, last = before
    assert after[: len(same)] == same
    assert len(after) > len(same)
    assert after[len(same)]["role"] == last["role"]
    assert after[len(same)]["content"].startswith(last["content"])


def is_report(message: dict[str, Any]) -> bool:
    said = ("Malformed tool call syntax", "wrote no answer")
    return message["role"] == "user" and any(each in message["content"] for each in said)


@examples(60)
@given(runs=RUNS, history=HISTORIES)
async def test_each_prompt_of_a_run_begins_with_the_one_before_it(runs, history):
    storage = Memory()
    for number, steps in enumerate(runs):
        model = ScriptedModel([*steps, *(["done"] * 9)], chunk=None)
        mine = Agent(
            model,
            tools=TOOLS,
            storage=storage,
            history=history,
            limits=RunLimits(steps=len(steps) + 1),
        )
        await mine.run(f"question {number}", conversation_id="c")
        system = [request.messages[0] for request in model.requests]
        assert all(each == system[0] for each in system)
        asked = [list(request.messages[1:]) for request in model.requests]
        for before, after in itertools.pairwise(asked):
            reports = [place for place, each in enumerate(before) if is_report(each)]
            if not reports:
                check_growth(before, after)
                continue
            # An ephemeral message, with the text it is about, comes at the end; everything before it is unchanged.
            kept = [each for each in before[: reports[0]] if each["role"] == "user"]
            place = len(before[: reports[0]]) - 1
            assert kept
            assert after[:place] == before[:place]
            assert all(
                is_report(each) or each["role"] == "assistant" for each in before[reports[0] :]
            )


async def test_c54_a_second_question_has_the_answer_of_the_first_without_its_tool_traces():
    answers = [
        "Let me see.\n" + adding(1, 2),
        "<think>easy</think>It is 3.",
        adding(3, 4),
        "And 7.",
    ]
    mine = agent(*answers, history=History(earlier="answers"))
    await mine.run("1 + 2?", conversation_id="c")
    await mine.run("3 + 4?", conversation_id="c")
    assert prompts(mine)[2] == [
        {"role": "user", "content": "1 + 2?"},
        {"role": "assistant", "content": "It is 3."},
        {"role": "user", "content": "3 + 4?"},
    ]
    assert [each["role"] for each in prompts(mine)[3]] == [
        *("user", "assistant", "user", "assistant", "user")
    ]
    assert prompts(mine)[3][:3] == prompts(mine)[2]


async def test_c54_tool_traces_are_shown_by_default():
    mine = agent(adding(1, 2), "It is 3.", "And 7.")
    await mine.run("1 + 2?", conversation_id="c")
    await mine.run("3 + 4?", conversation_id="c")
    assert [each["role"] for each in prompts(mine)[2]] == [
        *("user", "assistant", "user", "assistant", "user")
    ]


ROW = dict[str, Any]


def row(type: str, content: str = "") -> ROW:
    return {"type": type, "content": content, "timestamp": 1.0}


CALL = row("call", json.dumps({"name": "add", "args": {}}))
RESULT = row("result", json.dumps([{"tool": "add", "status": "success", "content": 3}]))
QUESTION, NEXT = row("user", "a?"), row("user", "b?")


@pytest.mark.parametrize(
    ("earlier", "kept"),
    [
        ([QUESTION, row("respond", "so"), CALL, RESULT, row("respond", "3")], ["user", "respond"]),
        ([QUESTION, row("think", "hm"), row("respond", "3")], ["user", "respond"]),
        ([QUESTION, CALL, RESULT, row("end", "3")], ["user"]),
        ([QUESTION, row("respond", "so"), CALL, RESULT, row("cancelled")], ["user"]),
        ([QUESTION, CALL], ["user"]),
        (
            [QUESTION, row("respond", "wro"), row("error", "{}"), row("respond", "3")],
            ["user", "respond"],
        ),
        ([row("respond", "hello")], ["respond"]),
        ([], []),
    ],
    ids=[
        *("C54 calls", "C54 thoughts", "C54 a tool ended it", "C54 cancelled"),
        *("C54 a run that died", "C54 an error", "C54 before any question", "C54 no earlier rows"),
    ],
)
@pytest.mark.parametrize("window", [None, 50])
async def test_c54_the_rows_that_are_kept_of_an_earlier_question(earlier, kept, window):
    class Rows:
        async def newest(self, limit: int) -> list[ROW]:
            return rows[-limit:]

        async def folded(self, options: Any) -> Any:
            raise AssertionError("rows are left out, so messages of all rows are of no use")

    current = [NEXT, row("think", "t"), CALL, RESULT]
    rows = [*earlier, *current]
    history = History(earlier="answers", window=window, merge_roles=False)
    found = await history.rows(Rows())
    assert [each["type"] for each in found] == [*kept, "user", "think", "call", "result"]
    from cogency_rs._core import FoldOptions

    count, messages = await history.load(Rows(), FoldOptions())
    assert count == len(rows)
    assert messages[-1]["role"] == "user"
    assert len(messages) == len(kept) + 3


async def test_a_driver_of_the_users_own_is_given_the_same_rows():
    class Counts:
        rows: list[list[str]] = []  # noqa: RUF012

        async def step(self, run: Any, runtime: Any) -> Any:
            self.rows.append([each["type"] for each in await runtime.rows()])
            yield {"type": "respond", "content": "hi"}

    driver = Counts()
    mine = agent("never", driver=driver, history=History(window=1))
    for _ in range(2):
        await mine.run("?", conversation_id="c")
    assert driver.rows == [["user"], ["user"]]


async def test_the_history_begins_at_the_same_row_for_a_whole_run():
    mine = agent("one", adding(1, 2), adding(3, 4), "two", history=History(window=3))
    await mine.run("1?", conversation_id="c")
    await mine.run("2?", conversation_id="c")
    first = [each[0]["content"] for each in prompts(mine)[1:]]
    assert first == ["1?"] * 3


def test_a_scripted_driver_needs_no_prompt():
    assert Agent(lambda _: "", driver=ScriptedDriver(["hi"])).run_sync("?").output == "hi"
