"""The results of a batch: how each kind of tool ends, what tools are given, and when a turn is given up."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from cogency_rs import CallOptions, ToolResult, parse_tokens
from cogency_rs.context import to_messages
from cogency_rs.errors import ToolError
from cogency_rs.protocol import Limits
from cogency_rs.types import TurnOutcome
from support.tools import (
    FAIL,
    OK,
    SOON,
    FunctionTool,
    Waiting,
    block,
    call,
    nested_call,
    raises,
    returns,
    rounds,
    stored,
    with_tools,
)
from support.turns import (
    CONVERSATION,
    STORED_OK,
    USER,
    BatchLog,
    Chunks,
    Log,
    accumulator,
    carry_out,
    check_answered,
    event,
    results_in,
    types,
)
from support.ways import in_both_ways

pytestmark = [in_both_ways, pytest.mark.timeout(20)]

BREAKER = "Max failures. Terminating."
FAIL_RESULT = {"tool": "fail", "status": "failure", "content": "it failed"}


# The results


@pytest.mark.parametrize(
    ("result", "item"),
    [
        (ToolResult("ok", "text"), {"outcome": "ok", "content": "text"}),
        (ToolResult("ok", {"a": [1, None]}), {"outcome": "ok", "content": {"a": [1, None]}}),
        (ToolResult("ok", None), {"content": "ok"}),
        (ToolResult("ok", ""), {"content": "ok"}),
        (ToolResult("ok"), {"content": "ok"}),
        (ToolResult("Success"), {"content": "Success"}),
        (ToolResult("Success", "text"), {"content": "text"}),
        (ToolResult("Success", 0), {"content": 0}),
        (ToolResult("success", 0), {"outcome": "success", "content": 0}),
        (ToolResult("ok", 0), {"outcome": "ok", "content": 0}),
        (ToolResult("ok", 0.0), {"outcome": "ok", "content": 0.0}),
        (ToolResult("ok", False), {"outcome": "ok", "content": False}),
        (ToolResult("ok", []), {"outcome": "ok", "content": []}),
        (ToolResult("ok", {}), {"outcome": "ok", "content": {}}),
        (ToolResult("ok", " "), {"outcome": "ok", "content": " "}),
        (ToolResult("", "text"), {"content": "text"}),
        (ToolResult("", ""), {"content": ""}),
        ("text", {"content": "text"}),
        ([], {"content": []}),
        (None, {"content": "Success"}),
        (ToolResult("é\ud83d", "日"), {"outcome": "é\ud83d", "content": "日"}),
        (ToolResult("ok", 10**30), {"outcome": "ok", "content": 10**30}),
    ],
    ids=repr,
)
async def test_a_success_shows_its_content_and_an_outcome_that_says_more(result, item):
    turns = accumulator(with_tools(returns(result), storage=Log()))
    events = await carry_out(turns, parse_tokens(block("t")))
    expected = json.dumps([{"tool": "t", "status": "success", **item}])
    assert events[-1]["content"] == expected


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (ToolResult("it failed", error=True), "it failed"),
        (ToolResult("it failed", "details", error=True), "it failed"),
        (ToolResult("", error=True), ""),
        (ToolResult("é", error=True), "é"),
    ],
    ids=repr,
)
async def test_a_failure_shows_its_message_as_content(result, message):
    turns = accumulator(with_tools(returns(result), storage=Log()))
    events = await carry_out(turns, parse_tokens(block("t")))
    expected = json.dumps([{"tool": "t", "status": "failure", "content": message}])
    assert events[-1]["content"] == expected


async def test_the_results_are_in_call_order_one_for_each_call():
    names = ["ok", "fail", "nobody", "ok"]
    log = Log()
    events = await carry_out(
        accumulator(with_tools(OK, FAIL, storage=log)), parse_tokens(block(*names))
    )
    [array] = results_in(log.rows)
    assert [(item["tool"], item["status"]) for item in array] == [
        ("ok", "success"),
        ("fail", "failure"),
        ("nobody", "failure"),
        ("ok", "success"),
    ]
    assert array[2]["content"].startswith("Tool 'nobody' not registered")
    assert events[-1]["content"] == log.rows[-1].content


async def test_a_block_with_the_most_calls_has_a_result_for_each():
    calls = [call("ok", n=n) for n in range(Limits().max_calls)]
    log = BatchLog()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(block(*calls)))
    [array] = results_in(log.rows)
    assert [item["content"] for item in array] == [each.args for each in calls]


class Raising(ToolResult):
    """A result that raises when this attribute is read."""

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute
        super().__init__("ok", "text")

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "_attribute"):
            raise LookupError("do not look")
        return object.__getattribute__(self, name)

    __repr__ = object.__repr__


class Undecided:
    def __bool__(self) -> bool:
        raise LookupError("neither true nor false")


class MuteError(Exception):
    def __str__(self) -> str:
        raise LookupError("no text")


class Unlisted(dict):
    def items(self):
        raise LookupError("no items")

    __iter__ = keys = items


HOSTILE = {
    "a value whose outcome cannot be read": returns(Raising("outcome")),
    "a value whose content cannot be read": returns(Raising("content")),
    "a value whose error cannot be read": returns(Raising("error")),
    "a value of another class that is not JSON": returns(
        SimpleNamespace(outcome="ok", error=False, content={1})
    ),
    "a result whose error is neither true nor false": returns(ToolResult("ok", "", Undecided())),
    "a result whose outcome is not JSON": returns(ToolResult({1}, "")),
    "a failure whose message is not JSON": returns(ToolResult({1}, "", error=True)),
    "content that cannot be listed": returns(ToolResult("ok", Unlisted(a=1))),
    "an error that cannot be shown": raises(MuteError()),
    "a value that is not JSON": returns({1}),
    "a number that JSON cannot hold": returns(ToolResult("ok", [float("nan")])),
    "an outcome that is a number JSON cannot hold": returns(ToolResult(float("inf"))),
    "a list that contains itself": returns((nest := [], nest.append(nest))[0]),
    "an error": raises(RuntimeError("no")),
    "a cancellation that the tool raises": raises(asyncio.CancelledError()),
    "a request to exit": raises(SystemExit(3)),
    "an exception that is not an Exception": raises(type("Odd", (BaseException,), {})("no")),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_tool_fails_only_its_own_call(hostile):
    log = Log()
    turns = accumulator(with_tools(OK, hostile, storage=log))
    await carry_out(turns, parse_tokens(block("ok", "t", "ok")))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["success", "failure", "success"]


async def test_the_results_are_valid_json():
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    numbers = returns({"rows": [1.5, float("inf")]})
    log = Log()
    events = await carry_out(
        accumulator(with_tools(OK, numbers, storage=log)), parse_tokens(block("ok", "t"))
    )
    for text in (events[-1]["content"], log.rows[-1].content):
        _, item = json.loads(text, parse_constant=refuse)
        assert item == {
            "tool": "t",
            "status": "failure",
            "content": "Tool execution failed: its content (dict) is not a JSON value: JSON has no Infinity, but "
            '["rows"][1] is one',
        }


@pytest.mark.parametrize(
    ("added", "problem"),
    [({1}, "Object of type set is not JSON serializable"), (float("nan"), "JSON has no NaN, but [0] is one")],
    ids=repr,
)  # fmt: skip
async def test_content_that_is_not_json_any_more_after_its_call_fails_only_its_call(added, problem):
    shared: list[Any] = []

    async def spoil(**_: Any) -> None:
        await rounds(3)
        shared.append(added)

    log = Log()
    turns = accumulator(with_tools(OK, returns(shared), FunctionTool("spoil", spoil), storage=log))
    await carry_out(turns, parse_tokens(block("t", "spoil", "ok")))
    check_answered(log.rows)
    first, *others = results_in(log.rows)[0]
    message = "Tool execution failed: its result is not a JSON value: "
    assert (first["status"], first["content"]) == ("failure", message + problem)
    assert [item["status"] for item in others] == ["success", "success"]


async def test_an_integer_that_python_cannot_read_fails_only_its_call():
    digits = "7" * (sys.get_int_max_str_digits() + 1)
    calls = f'[{{"name": "ok", "args": {{"n": {digits}}}}}, {{"name": "ok", "args": {{}}}}]'
    log = Log()
    turns = accumulator(with_tools(OK, storage=log))
    await carry_out(turns, parse_tokens(f"<execute>{calls}</execute>"))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["failure", "success"]
    assert digits in log.rows[0].content


async def test_a_log_with_an_integer_that_python_cannot_read_can_still_be_sent():
    digits = "7" * (sys.get_int_max_str_digits() + 1)
    log = Log()
    turns = accumulator(with_tools(OK, storage=log))
    text = f'<execute>[{{"name": "ok", "args": {{"n": {digits}}}}}]</execute>'
    await carry_out(turns, parse_tokens(text))
    assistant, results = to_messages([row._asdict() for row in log.rows])
    assert digits in assistant["content"]
    assert "failure" in results["content"]


def unreadable_depth() -> int:
    """How deep brackets must be nested so that Python cannot read them. It depends on its version and on the stack."""
    depth = sys.getrecursionlimit()
    with suppress(RecursionError):
        while True:
            json.loads("[" * depth + "]" * depth)
            depth *= 2
    return 2 * depth


async def test_arguments_nested_deeper_than_python_reads_fail_only_their_call():
    depth = unreadable_depth()
    text = f"<execute>[{nested_call(depth)}, {STORED_OK}]</execute>"
    log = Log()
    turns = accumulator(with_tools(OK, storage=log))
    await carry_out(turns, parse_tokens(text, limits=Limits(max_depth=2 * depth)))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["failure", "success"]


# What tools are given


async def test_tools_are_given_the_arguments_of_the_call_and_of_the_turn():
    seen: dict[str, Any] = {}

    async def look(**arguments: Any) -> None:
        seen.update(arguments)

    log = Log()
    execution = with_tools(
        FunctionTool("look", look), storage=log, sandbox_dir="/box", access="project"
    )
    await carry_out(accumulator(execution), parse_tokens(block(call("look", file="a"))))
    assert seen == {
        "file": "a",
        "storage": log,
        "sandbox_dir": "/box",
        "access": "project",
        "conversation_id": CONVERSATION,
        "user_id": USER,
    }


async def test_the_calls_of_a_batch_run_at_the_same_time():
    barrier = asyncio.Barrier(3)

    async def meet(**_: Any) -> str:
        await barrier.wait()
        return "met"

    log = Log()
    turns = accumulator(with_tools(FunctionTool("meet", meet), storage=log))
    await carry_out(turns, parse_tokens(block("meet", "meet", "meet")))
    assert [item["content"] for item in results_in(log.rows)[0]] == ["met"] * 3


async def test_a_call_that_takes_too_long_does_not_fail_the_others():
    slow, log = Waiting(), Log()
    turns = accumulator(with_tools(OK, slow, storage=log), calls=CallOptions(timeout=SOON))
    await carry_out(turns, parse_tokens(block("wait", "ok")))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["failure", "success"]
    assert slow.journal == ["started", "stopped"]


async def test_a_call_that_fails_is_raised_if_asked_once_its_turn_is_in_the_log():
    log = Log()
    turns = accumulator(with_tools(OK, FAIL, storage=log), calls=CallOptions(on_failure="raise"))
    with pytest.raises(ToolError, match="Tool 'fail' failed: ") as raised:
        await carry_out(turns, parse_tokens(block("fail", "ok")))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["failure", "success"]
    assert [*raised.value.executions] == turns.last.executions
    assert turns.last.outcome is TurnOutcome.ACTED


async def test_at_most_the_allowed_number_of_calls_run_at_once():
    running, most = 0, 0

    async def count(**_: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await rounds(20)
        running -= 1

    turns = accumulator(
        with_tools(FunctionTool("count", count), storage=Log()),
        calls=CallOptions(max_concurrency=2),
    )
    await carry_out(turns, parse_tokens(block(*["count"] * 7)))
    assert most == 2


# The circuit breaker


async def test_all_results_come_first_when_the_breaker_opens():
    log = Log()
    turns = accumulator(with_tools(FAIL, storage=log), max_failures=1)
    events = await carry_out(turns, parse_tokens(block("fail", "fail", "fail")))
    assert types(events) == ["call", "call", "call", "execute", "result", "result", "end"]
    assert types(log.rows) == ["call", "call", "call", "result"]
    assert json.loads(events[4]["content"]) == results_in(log.rows)[0] == [FAIL_RESULT] * 3


async def test_the_message_of_an_open_breaker():
    turns = accumulator(with_tools(FAIL, storage=Log()), max_failures=1)
    *_, execute, _, opened, end = await carry_out(turns, parse_tokens(block("fail")))
    item = {"tool": "circuit_breaker", "status": "failure", "content": BREAKER}
    assert list(opened.items()) == [
        ("type", "result"),
        ("payload", {"outcome": BREAKER, "content": "", "error": True}),
        ("content", json.dumps([item])),
        ("timestamp", execute["timestamp"]),
    ]
    assert list(opened["payload"]) == ["outcome", "content", "error"]
    assert end == {"type": "end", "timestamp": execute["timestamp"]}


@pytest.mark.parametrize(
    ("batches", "opens"),
    [
        ("fail", False),
        ("fail fail fail fail", False),
        ("fail | fail", False),
        ("fail | fail fail | fail", True),
        ("fail | fail | ok fail | fail", False),
        ("fail | fail | fail ok fail", False),
        ("ok | fail | fail | fail", True),
        ("nobody | nobody nobody | nobody", True),
    ],
)
async def test_the_breaker_opens_after_three_batches_in_a_row_without_a_success(batches, opens):
    turns = accumulator(with_tools(OK, FAIL, storage=Log()))
    for batch in batches.split("|"):
        events = await carry_out(turns, parse_tokens(block(*batch.split())))
    assert (types(events)[-1] == "end") is opens


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        ("All done.", 0),
        ("All done.<end>", 0),
        ("<end>", 0),
        ("", 0),
        ("<execute>[7]</execute>", 2),
        ("<execute>[", 2),
        (block(), 0),
    ],
)
async def test_the_breaker_counts_until_the_question_is_answered(answer, counted):
    turns = accumulator(with_tools(FAIL, storage=Log()))
    for _ in range(2):
        await carry_out(turns, parse_tokens(block("fail")))
    await carry_out(turns, parse_tokens(answer))
    assert turns.circuit_breaker.consecutive_failures == counted


async def test_a_breaker_that_has_ended_a_turn_is_closed_for_the_next_question():
    turns = accumulator(with_tools(FAIL, storage=Log()))
    for _ in range(3):
        events = await carry_out(turns, parse_tokens(block("fail")))
    assert (types(events)[-1], turns.last.outcome) == ("end", TurnOutcome.FAILED)
    assert not turns.circuit_breaker.is_open()
    events = await carry_out(turns, parse_tokens(block("fail")))
    assert (types(events)[-1], turns.last.outcome) == ("result", TurnOutcome.ACTED)


async def test_the_breaker_is_an_attribute_of_the_accumulator():
    turns = accumulator(with_tools(FAIL, storage=Log()), max_failures=5)
    await carry_out(turns, parse_tokens(block("fail", "fail")))
    breaker = turns.circuit_breaker
    assert (breaker.consecutive_failures, breaker.max_failures) == (1, 5)
    assert not breaker.is_open()


async def test_an_open_breaker_ends_the_turn_of_a_foreign_parser_too():
    source = Chunks(
        event("call", stored("fail")), event("execute"), event("respond", "on"), event("end")
    )
    turns = accumulator(with_tools(FAIL, storage=Log()), max_failures=1)
    events = await carry_out(turns, source)
    assert types(events) == ["call", "execute", "result", "result", "end"]
    assert (source.asked, source.closed) == (2, 1)
