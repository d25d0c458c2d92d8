"""A provider's own tool calls that cannot be used, and answers of every other shape."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import tool
from cogency_rs.agent import NativeDriver
from cogency_rs.agent.drivers.native import NativeAnswer
from cogency_rs.errors import LLMError
from cogency_rs.models import Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from cogency_rs.protocol import Limits
from support.native_calls import ARGS, agent_of, calling, events, last, pieces, run

# Calls that cannot be used

BROKEN = [
    ('{"a": 19,}', "tool_calls", "malformed", "expected a key in double quotes", (1, 14)),
    ('{"a": 19\n"b": 23}', "tool_calls", "malformed", "expected ',' or '}'", (2, 1)),
    ("[1]", "tool_calls", "malformed", "expected a JSON object", (1, 5)),
    ('{"a": 1} {"b": 2}', "stop", "malformed", "expected nothing more", (1, 14)),
    ('{"a": 19, "b"', "length", "truncated", "Put less into one call", (1, 18)),
    ("", "length", "truncated", "Put less into one call", (1, 5)),
    ('{"a": 19, "b"', None, "truncated", "ended inside the arguments", (1, 18)),
    ('{"a": 19, "b"', "tool_calls", "unfinished", "You stopped", (1, 18)),
]


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize(("arguments", "reason", "kind", "message", "place"), BROKEN)
def test_broken_arguments_are_an_error_and_no_call_of_the_batch_runs(
    arguments, reason, kind, message, place, size
) -> None:
    ran = []

    @tool
    async def add(a: int, b: int) -> None:
        """Add two numbers."""
        ran.append((a, b))

    broken = [*pieces(calling(arguments=arguments), size), Finish(reason)]
    agent, model = agent_of(broken, "It is 42.", tools=[add])

    async def all() -> list[dict[str, Any]]:
        return [event async for event in agent.run("19 + 23?")]

    error = next(event for event in asyncio.run(all()) if event["type"] == "error")
    assert (error["kind"], error["code"]) == (kind, "invalid_payload")
    assert message in error["content"]
    assert f"at line {place[0]}, column {place[1]}" in error["content"]
    assert (error["line"], error["column"]) == place
    assert ran == []
    shown = [(each["role"], each["content"]) for each in last(model)]
    assert shown[1] == ("assistant", error["raw"])
    assert shown[2] == ("user", error["content"])


def test_one_broken_call_keeps_the_others_from_running() -> None:
    answer = ["So.", calling(), calling("fail", "{", "c2", 1), Finish("tool_calls")]
    result, model = run(answer, [calling(id="c3")], "42")
    first, second, _ = result.steps
    assert (first.kind, first.executions, first.text) == ("error", (), "So.")
    assert second.executions[0].value == 42
    raw = f"add {ARGS}\nfail {{"
    report = model.requests[1].messages[-1]["content"]
    assert model.requests[1].messages[-2]["content"] == f"So.\n{raw}"
    assert "call 1 (fail), at line 2, column 7" in report
    assert [each["role"] for each in last(model)] == ["user", "assistant", "tool"]


def test_the_answer_is_closed_where_a_call_breaks() -> None:
    answer = [calling(arguments='{"a" 1'), AssertionError("read on")]
    _, model = run(answer, "42")
    assert model.closed_early == 1


def test_a_call_without_a_name_is_an_error() -> None:
    seen = events([ToolCallDelta(0, "c1", None, ARGS)], "42")
    assert seen[1]["code"] == "missing_tool_name"


def test_a_call_despite_the_tool_choice_none_is_an_error() -> None:
    seen = events([calling()], "42", driver=NativeDriver("none"))
    assert [each["type"] for each in seen] == ["user", "error", "metric", "respond", "metric"]


def test_an_answer_that_was_cut_is_an_error() -> None:
    result, _ = run(["It i", Finish("length")], "It is 42.")
    assert [step.outcome for step in result.steps] == ["truncated", "answered"]


@pytest.mark.parametrize("text", ["So", '{"a":'])
def test_c9_an_error_of_the_model_is_raised_after_the_text_and_is_not_retried(text) -> None:
    agent, model = agent_of([TextDelta(text), calling(), LLMError("down")])
    seen = []

    async def all() -> None:
        async for event in agent.run("q"):
            seen.append((event["type"], event.get("content")))  # noqa: PERF401  # before the error

    with pytest.raises(LLMError, match="down"):
        asyncio.run(all())
    assert seen == [("user", "q"), ("respond", text)]
    assert len(model.requests) == 1


def test_the_usage_is_the_sum_of_what_the_provider_counted() -> None:
    result, _ = run([calling(), Usage(10, 5)], ["42", Usage(20, 1)])
    assert result.usage == Usage(30, 6)


@pytest.mark.parametrize("eager", [True, False])
def test_more_calls_than_a_text_may_have_are_an_error_and_none_runs(eager) -> None:
    most = Limits().max_calls
    deltas = [
        ToolCallDelta(number, f"c{number}", "add", '{"a": 1}') for number in range(most + 100)
    ]
    answer = NativeAnswer(eager=eager)
    for delta in deltas[:most]:
        answer.take(delta)
    assert not answer.is_broken
    for delta in deltas[most:]:
        assert answer.take(delta) == []
        assert answer.is_broken
    [*_, error] = answer.finish()
    assert (error["type"], error["kind"]) == ("error", "malformed")
    assert "more than 1024 calls in one answer. No call was run" in error["content"]
    answer = NativeAnswer()
    for delta in deltas[:most]:
        answer.take(delta)
    assert [each["type"] for each in answer.finish()] == ["call"] * most + ["execute"]


def test_reasoning_keeps_its_blocks_and_lone_surrogates_however_it_is_cut() -> None:
    answer = NativeAnswer()
    for text, signature in [("a\ud83d", None), ("\ude00", None), ("", "s"), ("b", None), ("", "t")]:
        answer.take(ReasoningDelta(text, signature))
    assert answer.returned.reasoning == [
        {"text": "a\ud83d\ude00", "signature": "s"},
        {"text": "b", "signature": "t"},
    ]


# Answers in any pieces

NAMES = st.sampled_from(["add", "fail"])
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.text(max_size=4) | st.integers(), max_size=2)


@given(st.data(), st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=3), st.integers(1, 5))
def test_calls_are_the_same_however_they_are_cut_and_interleaved(data, calls, size) -> None:
    queues = [
        pieces(calling(name, json.dumps(args), f"c{index}", index), size)
        for index, (name, args) in enumerate(calls)
    ]
    answer, made = NativeAnswer(), []
    for queue in queues:  # providers begin calls in order
        made += answer.take(queue.pop(0))
    while any(queues):
        queue = data.draw(st.sampled_from([queue for queue in queues if queue]))
        made += answer.take(queue.pop(0))
    made += answer.finish()
    assert [json.loads(each["content"]) for each in made if each["type"] == "call"] == [
        {"name": name, "args": args, "id": f"c{index}"} for index, (name, args) in enumerate(calls)
    ]
    assert made[-1]["type"] == "execute"


DELTAS = st.lists(
    st.one_of(
        st.sampled_from(['{"a": 1}', "```", "{", "so", "}", "\n"]),
        st.builds(ReasoningDelta, st.text(max_size=2), st.none() | st.just("s")),
        st.builds(
            ToolCallDelta,
            st.none() | st.integers(0, 2),
            st.none() | st.sampled_from(["", "c1", "c2"]),
            st.none() | st.sampled_from(["", "add", "fail"]),
            st.sampled_from(["", "{", "}", '"a"', ": 1", '{"a": 1}', "{}", "x"]),
        ),
        st.builds(Finish, st.sampled_from(["stop", "length", "tool_calls", None, "other"])),
    ),
    max_size=8,
)


@given(DELTAS, st.booleans())
def test_any_answer_gives_calls_or_one_error_and_keeps_its_text(deltas, may_call) -> None:
    answer, made, written = NativeAnswer(drops_echo=False, may_call=may_call), [], ""
    for delta in deltas:
        made += answer.take(delta)
        written += delta if isinstance(delta, str) else ""
        if answer.is_broken:
            break
    made += answer.finish()
    kinds = [each["type"] for each in made]
    assert "".join(each["content"] for each in made if each["type"] == "respond") == written
    assert kinds.count("error") <= 1
    assert ("execute" in kinds) == ("call" in kinds)
    assert not ({"call", "error"} <= set(kinds))
    assert may_call or "call" not in kinds
