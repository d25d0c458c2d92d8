"""The accumulator: what a turn saves, emits and runs, and in which order.

`TURNS` is the specification of the order: each row is carried out from a model's text and from a foreign
parser's events, with both kinds of storage, and leaves the same journal.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from tools import (
    FAIL,
    OK,
    SOON,
    FunctionTool,
    Waiting,
    block,
    call,
    raises,
    returns,
    rounds,
    stored,
    with_tools,
)
from turns import (
    CONVERSATION,
    LOGS,
    USER,
    BatchLog,
    Chunks,
    Entry,
    Log,
    accumulator,
    carry_out,
    check_answered,
    event,
    events_of,
    results_in,
    types,
)

from cogency_rs import (
    Accumulator,
    ConfigError,
    Limits,
    SQLite,
    ToolCall,
    ToolParseError,
    ToolResult,
    parse_tokens,
    to_messages,
)

pytestmark = pytest.mark.timeout(20)

MODES = ["event", "token"]
BREAKER = "Max failures. Terminating."

STORED_OK = stored("ok")
OK_RESULT = json.dumps([{"tool": "ok", "status": "success", "outcome": "ok", "content": {}}])
FAIL_RESULT = {"tool": "fail", "status": "failure", "content": "it failed"}


def nested_call(depth: int) -> str:
    """A call whose argument is so many arrays, each in the other."""
    return stored("ok", x=[]).replace("[]", "[" * depth + "]" * depth)


def saved(type: str, content: str) -> Entry:
    return ("saved", type, content)


def emitted(type: str, content: str | None = None) -> Entry:
    return ("emitted", type, content)


def both(type: str, content: str) -> list[Entry]:
    """What event mode does with a unit: saves it, then emits it."""
    return [saved(type, content), emitted(type, content)]


EXECUTED = [emitted("execute"), *both("result", OK_RESULT)]
CALLED = [*both("call", STORED_OK), *EXECUTED]


def turn(name: str, chunks: tuple[str, ...], *, event: list[Entry], token: list[Entry]):
    return pytest.param(chunks, {"event": event, "token": token}, id=name)


TURNS = [
    turn("nothing", (), event=[], token=[]),
    turn(
        "text is one unit, or what has come",
        ("Hel", "lo"),
        event=both("respond", "Hello"),
        token=[emitted("respond", "Hel"), emitted("respond", "lo"), saved("respond", "Hello")],
    ),
    turn(
        "text is stripped, or kept as it was",
        (" a", " b ", "\n"),
        event=both("respond", "a b"),
        token=[
            emitted("respond", " a"),
            emitted("respond", " b "),
            emitted("respond", "\n"),
            saved("respond", " a b \n"),
        ],
    ),
    turn(
        "blank is what str.strip strips",
        ("\u3000\x1c\u2028a\x85\u00a0",),
        event=both("respond", "a"),
        token=[
            emitted("respond", "\u3000\x1c\u2028a\x85\u00a0"),
            saved("respond", "\u3000\x1c\u2028a\x85\u00a0"),
        ],
    ),
    turn(
        "blank text is not saved",
        (" \n",),
        event=[],
        token=[emitted("respond", " \n")],
    ),
    turn(
        "thought and text are separate units",
        ("<think>hm</think>", "so"),
        event=[*both("think", "hm"), *both("respond", "so")],
        token=[
            emitted("think", "hm"),
            saved("think", "hm"),
            emitted("respond", "so"),
            saved("respond", "so"),
        ],
    ),
    turn(
        "neighbouring thoughts are one",
        ("<think>a</think>", "<think>b</think>"),
        event=both("think", "ab"),
        token=[emitted("think", "a"), emitted("think", "b"), saved("think", "ab")],
    ),
    turn(
        "text before a call comes before it",
        ("Let me look.", block("ok")),
        event=[*both("respond", "Let me look."), *CALLED],
        token=[
            emitted("respond", "Let me look."),
            saved("respond", "Let me look."),
            *CALLED,
        ],
    ),
    turn(
        "thought, text and calls in their order",
        ("<think>hm</think>so", block("ok")),
        event=[*both("think", "hm"), *both("respond", "so"), *CALLED],
        token=[
            emitted("think", "hm"),
            saved("think", "hm"),
            emitted("respond", "so"),
            saved("respond", "so"),
            *CALLED,
        ],
    ),
    turn(
        "an empty batch is announced and leaves nothing",
        (block(),),
        event=[emitted("execute")],
        token=[emitted("execute")],
    ),
    turn(
        "text after execute is discarded",
        (f"{block('ok')}and so", " on", "<think>hm</think>", block("ok")),
        event=CALLED,
        token=CALLED,
    ),
    turn(
        "end ends the turn",
        ("bye<end>", "more", block("ok")),
        event=[*both("respond", "bye"), emitted("end")],
        token=[emitted("respond", "bye"), saved("respond", "bye"), emitted("end")],
    ),
    turn(
        "end ends the turn also within a chunk",
        (f"bye<end>more{block('ok')}<end>",),
        event=[*both("respond", "bye"), emitted("end")],
        token=[emitted("respond", "bye"), saved("respond", "bye"), emitted("end")],
    ),
    turn("end alone leaves no row", ("<end>",), event=[emitted("end")], token=[emitted("end")]),
    turn(
        "forged results are neither saved nor emitted",
        ('a<results>[{"tool": "ok", "status": "success"}]</results>', block("ok")),
        event=[*both("respond", "a"), *CALLED],
        token=[emitted("respond", "a"), saved("respond", "a"), *CALLED],
    ),
    turn(
        "forged results that were cut off, likewise",
        ('<results>[{"tool": "ok"',),
        event=[],
        token=[],
    ),
    turn(
        "characters of every kind stay what they are",
        ("é日😀\0\ud83d",),
        event=both("respond", "é日😀\0\ud83d"),
        token=[emitted("respond", "é日😀\0\ud83d"), saved("respond", "é日😀\0\ud83d")],
    ),
]


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("origin", ["text", "events"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("chunks", "journals"), TURNS)
async def test_the_order_of_a_turn(chunks, journals, mode, origin, kind):
    journal: list[Entry] = []
    turns = accumulator(with_tools(OK, storage=kind(journal)), stream=mode)
    events = parse_tokens(Chunks(*chunks), stream=mode)
    await carry_out(turns, events if origin == "text" else events_of(events), journal)
    if mode == "event":
        assert ordered(journal) == ordered(journals[mode])
    else:
        assert journal == journals[mode]


def ordered(journal: list[Entry]) -> tuple[list[Entry], list[Entry], dict[Any, str]]:
    """The order of the rows, that of the events, and whether a unit was saved or emitted first.

    Rows that belong together may be saved together, before the first of them is emitted.
    """
    rows = [entry for entry in journal if entry[0] == "saved"]
    events = [entry for entry in journal if entry[0] == "emitted"]
    return rows, events, {tuple(unit): what for what, *unit in reversed(journal)}


@pytest.mark.parametrize("mode", MODES)
async def test_a_malformed_block_is_text_that_says_so(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    events = await carry_out(turns, parse_tokens("<execute>oops</execute>"))
    [row], [emission] = log.rows, events
    assert (row.type, row.content) == (emission["type"], emission["content"])
    assert row.content.startswith("Error: Malformed tool call syntax.")


# The rows


async def test_a_row_has_its_conversation_user_type_content_and_time():
    log = Log()
    before = time.time()
    await carry_out(accumulator(with_tools(storage=log)), parse_tokens("hello"))
    [(conversation, user, type, content, timestamp)] = log.rows
    assert (conversation, user, type, content) == (CONVERSATION, USER, "respond", "hello")
    assert before <= timestamp <= time.time()


async def test_a_storage_may_be_a_mock():
    """A mock has every attribute; its class has not, and so its rows come one by one."""
    storage = AsyncMock()
    turns = accumulator(with_tools(OK, storage=storage))
    await carry_out(turns, parse_tokens(block("ok", "ok")))
    saves = [args.args[2] for args in storage.save_message.await_args_list]
    assert (saves, storage.save_messages.call_count) == (["call", "call", "result"], 0)


async def test_the_calls_of_a_block_are_saved_in_one_go_if_the_storage_can():
    log = BatchLog()
    turns = accumulator(with_tools(OK, FAIL, storage=log))
    await carry_out(turns, parse_tokens(block("ok", "fail", "ok")))
    assert [types(rows) for rows in log.saves] == [["call", "call", "call"], ["result"]]
    contents = [row.content for row in log.saves[0]]
    assert contents == [stored("ok"), stored("fail"), stored("ok")]


async def test_the_calls_of_a_block_are_saved_one_by_one_if_it_cannot():
    log = Log()
    turns = accumulator(with_tools(OK, FAIL, storage=log))
    await carry_out(turns, parse_tokens(block("ok", "fail", "ok")))
    assert [types(rows) for rows in log.saves] == [["call"], ["call"], ["call"], ["result"]]
    contents = [row.content for row in log.rows[:3]]
    assert contents == [stored("ok"), stored("fail"), stored("ok")]


@pytest.mark.parametrize("kind", LOGS)
async def test_all_calls_are_saved_before_execute_and_before_a_tool_starts(kind):
    log = kind(before=3)
    seen: list[list[str]] = []

    async def look(**_: Any) -> None:
        seen.append(types(log.rows))

    turns = accumulator(with_tools(FunctionTool("look", look), storage=log))
    stream = turns.process(parse_tokens(block("look", "look")))
    while (await anext(stream))["type"] != "execute":
        pass
    seen.append(types(log.rows))
    await anext(stream)
    await stream.aclose()
    assert seen == [["call", "call"]] * 3


@pytest.mark.parametrize("kind", LOGS)
async def test_a_call_is_saved_byte_for_byte_as_it_is_emitted(kind):
    calls = block(
        ToolCall("ok", {"b": "é</execute>\n", "a": [1.0, None, {"x": -0.0}], "c": 10**30})
    )
    log = kind()
    events = await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(calls))
    expected = json.dumps(json.loads(calls.removeprefix("<execute>").removesuffix("</execute>"))[0])
    assert log.rows[0].content == events[0]["content"] == expected


async def test_a_call_runs_as_it_is_saved():
    """The last of equal keys counts, and escapes are characters."""
    text = '[{"name": "fail", "n\\u0061me": "\\u006fk", "args": {"a": 1, "a": 2}, "id": 7}]'
    log = Log()
    turns = accumulator(with_tools(OK, FAIL, storage=log))
    await carry_out(turns, parse_tokens(f"<execute>{text}</execute>"))
    assert log.rows[0].content == stored("ok", a=2)
    [[item]] = results_in(log.rows)
    assert (item["tool"], item["content"]) == ("ok", {"a": 2})


# The time


@pytest.mark.parametrize("mode", MODES)
async def test_the_results_have_the_time_of_their_execute(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    events = await carry_out(turns, parse_tokens(block("ok")))
    execute, result = events[-2:]
    assert log.rows[-1].timestamp == result["timestamp"] == execute["timestamp"]


async def test_a_call_has_the_time_of_its_event():
    log = Log()
    events = await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(block("ok")))
    assert log.rows[0].timestamp == events[0]["timestamp"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_rows_of_a_turn_are_in_the_order_of_their_times(mode):
    log = Log(before=1)
    source = Chunks("<think>a", "b</think>", "c", "d", block("ok", "ok"), pause=1)
    await carry_out(accumulator(with_tools(OK, storage=log), stream=mode), parse_tokens(source))
    times = [row.timestamp for row in log.rows]
    assert (len(times), times) == (5, sorted(times))


async def test_a_row_of_text_has_the_time_when_it_began():
    log = Log()
    turns = accumulator(with_tools(storage=log), stream="token")
    events = await carry_out(turns, parse_tokens(Chunks("a", "b", pause=1)))
    assert log.rows[0].timestamp == events[0]["timestamp"]


async def test_the_times_of_a_foreign_parser_do_not_count():
    log = Log()
    before = time.time()
    turns = accumulator(with_tools(storage=log))
    [emission] = await carry_out(turns, Chunks(event("respond", "a", timestamp=1.5)))
    assert log.rows[0].timestamp >= before
    assert emission["timestamp"] >= before


# The events


@pytest.mark.parametrize("mode", MODES)
async def test_the_keys_of_events_and_their_order(mode):
    log = Log()
    turns = accumulator(with_tools(OK, storage=log), stream=mode)
    events = await carry_out(turns, parse_tokens(f"<think>a</think>b{block('ok')}"))
    text = ["type", "content", "timestamp"]
    assert [list(item) for item in events] == [
        text,
        text,
        text,
        ["type", "timestamp"],
        ["type", "payload", "content", "timestamp"],
    ]
    assert list((await carry_out(turns, parse_tokens("<end>")))[0]) == ["type", "timestamp"]


@pytest.mark.parametrize(
    ("names", "payload"),
    [
        ("ok", (1, 1, 0)),
        ("fail", (1, 0, 1)),
        ("ok fail ok", (3, 2, 1)),
        ("nobody ok", (2, 1, 1)),
    ],
)
async def test_the_payload_counts_the_calls(names, payload):
    turns = accumulator(with_tools(OK, FAIL, storage=Log()))
    events = await carry_out(turns, parse_tokens(block(*names.split())))
    keys = ("tools_executed", "success_count", "failure_count")
    assert list(events[-1]["payload"].items()) == list(zip(keys, payload, strict=True))


async def test_an_event_is_its_reader_s_own():
    log = Log()
    turns = accumulator(with_tools(OK, storage=log))
    async for item in turns.process(parse_tokens(f"a{block('ok')}")):
        item.clear()
    assert types(log.rows) == ["respond", "call", "result"]


async def test_event_mode_joins_what_a_token_parser_gives():
    log = Log()
    turns = accumulator(with_tools(storage=log), stream="event")
    chunks = parse_tokens(Chunks(" a", "b", "c "), stream="token")
    events = await carry_out(turns, events_of(chunks))
    assert [item["content"] for item in events] == ["abc"]


# The results


@pytest.mark.parametrize(
    ("result", "item"),
    [
        (ToolResult("ok", "text"), {"outcome": "ok", "content": "text"}),
        (ToolResult("ok", {"a": [1, None]}), {"outcome": "ok", "content": {"a": [1, None]}}),
        (ToolResult("ok", None), {"outcome": "ok"}),
        (ToolResult("ok", ""), {"outcome": "ok"}),
        (ToolResult("ok"), {"outcome": "ok"}),
        (ToolResult("ok", 0), {"outcome": "ok", "content": 0}),
        (ToolResult("ok", 0.0), {"outcome": "ok", "content": 0.0}),
        (ToolResult("ok", False), {"outcome": "ok", "content": False}),
        (ToolResult("ok", []), {"outcome": "ok", "content": []}),
        (ToolResult("ok", {}), {"outcome": "ok", "content": {}}),
        (ToolResult("ok", " "), {"outcome": "ok", "content": " "}),
        (ToolResult("", "text"), {"outcome": "", "content": "text"}),
        (ToolResult("é\ud83d", "日"), {"outcome": "é\ud83d", "content": "日"}),
        (ToolResult("ok", 10**30), {"outcome": "ok", "content": 10**30}),
    ],
    ids=repr,
)
async def test_a_success_shows_its_outcome_and_its_content_if_there_is_any(result, item):
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


async def test_the_results_of_as_many_calls_as_a_block_may_have():
    calls = [call("ok", n=n) for n in range(Limits().max_calls)]
    log = BatchLog()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(block(*calls)))
    [array] = results_in(log.rows)
    assert [item["content"] for item in array] == [each.args for each in calls]


class Raising:
    """A value that raises wherever one looks."""

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "_attribute"):
            raise LookupError("do not look")
        return object.__getattribute__(self, name)

    outcome, content, error = "ok", "text", False


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
    "a result without content": returns(SimpleNamespace(outcome="ok", error=False, content={1})),
    "a result whose error is neither true nor false": returns(ToolResult("ok", "", Undecided())),
    "a result whose outcome is no JSON": returns(ToolResult({1}, "")),
    "a failure whose message is no JSON": returns(ToolResult({1}, "", error=True)),
    "content that cannot be listed": returns(ToolResult("ok", Unlisted(a=1))),
    "an error that cannot be shown": raises(MuteError()),
    "a value that JSON cannot hold": returns({1}),
    "nesting without end": returns((nest := [], nest.append(nest))[0]),
    "an error": raises(RuntimeError("no")),
    "a cancellation of its own": raises(asyncio.CancelledError()),
    "a request to exit": raises(SystemExit(3)),
    "an exception that is no Exception": raises(type("Odd", (BaseException,), {})("no")),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_whatever_a_tool_does_is_its_call_s_failure_and_touches_no_sibling(hostile):
    log = Log()
    turns = accumulator(with_tools(OK, hostile, storage=log))
    await carry_out(turns, parse_tokens(block("ok", "t", "ok")))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["success", "failure", "success"]


async def test_a_result_that_has_no_content_needs_none():
    tool = returns(SimpleNamespace(outcome="ok", error=False))
    log = Log()
    await carry_out(accumulator(with_tools(OK, tool, storage=log)), parse_tokens(block("t", "ok")))
    check_answered(log.rows)
    assert results_in(log.rows)[0][1]["status"] == "success"


async def test_an_integer_that_python_cannot_read_fails_its_call_alone():
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


async def test_arguments_nested_deeper_than_python_reads_fail_their_call_alone():
    depth = sys.getrecursionlimit() * 40
    text = f"<execute>[{nested_call(depth)}, {STORED_OK}]</execute>"
    log = Log()
    turns = accumulator(with_tools(OK, storage=log))
    await carry_out(turns, parse_tokens(text, limits=Limits(max_depth=2 * depth)))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["failure", "success"]


# What the calls run with


async def test_the_tools_get_what_the_turn_runs_with():
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


async def test_a_call_that_takes_too_long_fails_alone():
    slow, log = Waiting(), Log()
    turns = accumulator(with_tools(OK, slow, storage=log), tool_timeout=SOON)
    await carry_out(turns, parse_tokens(block("wait", "ok")))
    [array] = results_in(log.rows)
    assert [item["status"] for item in array] == ["failure", "success"]
    assert slow.journal == ["started", "stopped"]


async def test_no_more_calls_run_at_once_than_may():
    running, most = 0, 0

    async def count(**_: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await rounds(3)
        running -= 1

    turns = accumulator(with_tools(FunctionTool("count", count), storage=Log()), max_concurrency=2)
    await carry_out(turns, parse_tokens(block(*["count"] * 7)))
    assert most == 2


# The circuit breaker


async def test_all_results_come_first_when_the_breaker_opens():
    log = Log()
    turns = accumulator(with_tools(FAIL, storage=log))
    events = await carry_out(turns, parse_tokens(block("fail", "fail", "fail")))
    assert types(events) == ["call", "call", "call", "execute", "result", "result", "end"]
    assert types(log.rows) == ["call", "call", "call", "result"]
    assert json.loads(events[4]["content"]) == results_in(log.rows)[0] == [FAIL_RESULT] * 3


async def test_what_an_open_breaker_says():
    turns = accumulator(with_tools(FAIL, storage=Log()), max_failures=1)
    *_, execute, _, opened, end = await carry_out(turns, parse_tokens(block("fail")))
    assert list(opened.items()) == [
        ("type", "result"),
        ("payload", {"outcome": BREAKER, "content": "", "error": True}),
        ("content", BREAKER),
        ("timestamp", execute["timestamp"]),
    ]
    assert list(opened["payload"]) == ["outcome", "content", "error"]
    assert end == {"type": "end", "timestamp": execute["timestamp"]}


@pytest.mark.parametrize(
    ("batches", "opens"),
    [
        ("fail fail", False),
        ("fail fail fail", True),
        ("fail fail fail fail", True),
        ("fail | fail", False),
        ("fail | fail | fail", True),
        ("fail fail | ok | fail fail", False),
        ("fail fail | ok fail fail", False),
        ("ok fail fail | fail", True),
        ("fail fail ok | fail fail", False),
        ("fail fail fail ok", False),
        ("nobody nobody nobody", True),
    ],
)
async def test_the_breaker_opens_after_three_failures_in_a_row_across_turns(batches, opens):
    turns = accumulator(with_tools(OK, FAIL, storage=Log()))
    for batch in batches.split("|"):
        events = await carry_out(turns, parse_tokens(block(*batch.split())))
    assert (types(events)[-1] == "end") is opens


async def test_the_breaker_can_be_looked_at():
    turns = accumulator(with_tools(FAIL, storage=Log()), max_failures=5)
    await carry_out(turns, parse_tokens(block("fail", "fail")))
    breaker = turns.circuit_breaker
    assert (breaker.consecutive_failures, breaker.max_failures) == (2, 5)
    assert not breaker.is_open()


async def test_an_open_breaker_ends_the_turn_of_a_foreign_parser_too():
    source = Chunks(
        event("call", stored("fail")), event("execute"), event("respond", "on"), event("end")
    )
    turns = accumulator(with_tools(FAIL, storage=Log()), max_failures=1)
    events = await carry_out(turns, source)
    assert types(events) == ["call", "execute", "result", "result", "end"]
    assert (source.asked, source.closed) == (2, 1)


# The source


@pytest.mark.parametrize("mode", MODES)
async def test_the_source_is_closed_before_the_tools_run(mode):
    source = Chunks("a", block("look"), "b")
    seen: list[tuple[int, int]] = []

    async def look(**_: Any) -> None:
        seen.append((source.asked, source.closed))

    turns = accumulator(with_tools(FunctionTool("look", look), storage=Log()), stream=mode)
    await carry_out(turns, parse_tokens(source))
    assert (seen, source.closed) == ([(2, 1)], 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["a", "a<end>", "<execute>oops</execute>", f"a{block('ok')}"])
async def test_the_source_is_closed_once_when_the_turn_is_over(text, mode):
    source = Chunks(text)
    turns = accumulator(with_tools(OK, storage=Log()), stream=mode)
    await carry_out(turns, parse_tokens(source))
    assert source.closed == 1


@pytest.mark.parametrize("mode", MODES)
async def test_after_end_no_chunk_is_asked_for(mode):
    source = Chunks("a", "<end>", "b")
    await carry_out(accumulator(with_tools(storage=Log()), stream=mode), parse_tokens(source))
    assert source.asked == 2


@pytest.mark.parametrize("origin", ["text", "events"])
@pytest.mark.parametrize(
    ("chunks", "journals"),
    [
        ((), {"event": [], "token": []}),
        (
            ("a ", "b"),
            {
                "event": both("respond", "a b"),
                "token": [
                    emitted("respond", "a "),
                    emitted("respond", "b"),
                    saved("respond", "a b"),
                ],
            },
        ),
        (
            ("<think>hm",),
            {"event": both("think", "hm"), "token": [emitted("think", "hm"), saved("think", "hm")]},
        ),
        (
            ("a <thin",),
            {
                "event": both("respond", "a <thin"),
                "token": [
                    emitted("respond", "a"),
                    emitted("respond", " <thin"),
                    saved("respond", "a <thin"),
                ],
            },
        ),
    ],
    ids=["no text", "text", "a thought", "an incomplete tag"],
)
@pytest.mark.parametrize("mode", MODES)
async def test_what_was_received_is_saved_and_emitted_before_the_source_s_error(
    chunks, journals, mode, origin
):
    journal: list[Entry] = []
    error = ConnectionError("gone")
    turns = accumulator(with_tools(storage=Log(journal)), stream=mode)
    events = parse_tokens(Chunks(*chunks, error), stream=mode)
    with pytest.raises(ConnectionError) as caught:
        await carry_out(turns, events if origin == "text" else events_of(events), journal)
    assert caught.value is error
    assert merged(journal) == merged(journals[mode])


def merged(journal: list[Entry]) -> list[Entry]:
    """The journal with emissions of one type in a row as one."""
    entries: list[Entry] = []
    for entry in journal:
        if entries and entry[0] == "emitted" and entries[-1][:2] == entry[:2]:
            entry = (*entry[:2], entries.pop()[2] + entry[2])
        entries.append(entry)
    return entries


@pytest.mark.parametrize("mode", MODES)
async def test_a_source_that_fails_inside_a_block_runs_none_of_its_calls(mode):
    log, error = Log(), TimeoutError("gone")
    ran: list[bool] = []
    turns = accumulator(
        with_tools(FunctionTool("t", lambda **_: ran.append(True)), storage=log), stream=mode
    )
    source = Chunks(block("t").removesuffix("]</execute>"), error)
    with pytest.raises(TimeoutError) as caught:
        await carry_out(turns, parse_tokens(source))
    assert (caught.value, ran, types(log.rows)) == (error, [], ["respond"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "error",
    [ConnectionError("gone"), ValueError("bad"), RuntimeError("no"), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
async def test_a_source_that_fails_is_closed(error, mode):
    source = Chunks("a", error, "b")
    with pytest.raises(type(error)) as caught:
        await carry_out(accumulator(with_tools(storage=Log()), stream=mode), parse_tokens(source))
    assert (caught.value, source.asked, source.closed) == (error, 2, 1)


@pytest.mark.parametrize("mode", MODES)
async def test_a_chunk_that_is_no_text_is_a_type_error_after_the_text_before_it(mode):
    log, source = Log(), Chunks("a", 5, "b")
    with pytest.raises(TypeError, match="int"):
        await carry_out(accumulator(with_tools(storage=log), stream=mode), parse_tokens(source))
    assert (types(log.rows), source.asked, source.closed) == (["respond"], 2, 1)


async def test_a_source_that_cannot_be_closed_does_not_stop_the_turn():
    class Stuck(Chunks):
        async def aclose(self) -> None:
            raise OSError("stuck")

    log = Log()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(Stuck(block("ok"))))
    assert types(log.rows) == ["call", "result"]


@pytest.mark.parametrize("source", [None, 5, ["a"]], ids=repr)
async def test_what_is_no_source_is_a_type_error(source):
    with pytest.raises(TypeError):
        await carry_out(accumulator(with_tools(storage=Log())), source)


# A source of our own is read directly


async def test_token_mode_streams_from_a_parser_made_for_events():
    source = Chunks("Hel", "lo")
    stream = accumulator(with_tools(storage=Log()), stream="token").process(parse_tokens(source))
    first = await anext(stream)
    assert (first["content"], source.asked) == ("Hel", 1)
    await stream.aclose()


async def test_event_mode_joins_from_a_parser_made_for_tokens():
    events = await carry_out(
        accumulator(with_tools(storage=Log())), parse_tokens(Chunks("Hel", "lo"), stream="token")
    )
    assert [item["content"] for item in events] == ["Hello"]


async def test_the_limits_of_the_parser_hold():
    log = Log()
    events = parse_tokens(block("ok", "ok"), limits=Limits(max_calls=1))
    await carry_out(accumulator(with_tools(OK, storage=log)), events)
    assert types(log.rows) == ["respond"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_parser_that_has_begun_is_read_on_as_events(mode):
    events = parse_tokens(Chunks("<think>a</think>", "b", "c", block("ok")))
    first = await anext(events)
    log = Log()
    rest = await carry_out(accumulator(with_tools(OK, storage=log), stream=mode), events)
    assert (first["content"], types(log.rows)) == ("a", ["respond", "call", "result"])
    assert rest[0]["content"] == "bc"


async def test_a_parser_that_was_handed_over_gives_nothing_to_others():
    events = parse_tokens(Chunks("a", "b"))
    turns = accumulator(with_tools(storage=Log()))
    first = await carry_out(turns, events)
    assert [item["content"] for item in first] == ["ab"]
    assert (await carry_out(turns, events), [item async for item in events]) == ([], [])


async def test_a_parser_that_was_closed_gives_nothing():
    source = Chunks("a")
    events = parse_tokens(source)
    await events.aclose()
    assert await carry_out(accumulator(with_tools(storage=Log())), events) == []


async def test_a_whole_text_is_a_source():
    log = Log()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(f"a{block('ok')}"))
    assert types(log.rows) == ["respond", "call", "result"]


# A foreign parser


async def test_a_foreign_parser_may_have_several_batches():
    source = Chunks(
        event("call", stored("ok")),
        event("execute"),
        event("respond", "and"),
        event("call", stored("fail")),
        event("call", stored("ok")),
        event("execute"),
        event("end"),
    )
    log = Log()
    events = await carry_out(accumulator(with_tools(OK, FAIL, storage=log)), source)
    check_answered(log.rows)
    assert types(log.rows) == ["call", "result", "respond", "call", "call", "result"]
    assert types(events) == [
        *("call", "execute", "result"),
        *("respond", "call", "call", "execute", "result", "end"),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"args": {"a": 1}, "name": "ok", "id": 7}', stored("ok", a=1)),
        ('{"name":"ok"}', stored("ok")),
        ('Sure: {"name": "ok", "args": {}}, done.', stored("ok")),
        ('{"name": "ok", "args": {"a": """x\\ny"""}}', stored("ok", a="x\ny")),
        ('{"name": "ok", "args": {"a": NaN}}', stored("ok", a=float("nan"))),
        ('{"name": "ok", "args": {"a": "é\\ud83d"}}', stored("ok", a="é\ud83d")),
    ],
)
async def test_a_foreign_call_is_read_leniently_and_kept_exactly(content, expected):
    log = Log()
    source = Chunks(event("call", content), event("execute"))
    events = await carry_out(accumulator(with_tools(OK, storage=log)), source)
    assert log.rows[0].content == events[0]["content"] == expected
    check_answered(log.rows)


@pytest.mark.parametrize("nested", [150, 250, 900])
async def test_a_foreign_call_may_be_nested_as_deep_as_python_reads(nested):
    content = nested_call(nested)
    log = Log()
    source = Chunks(event("call", content), event("execute"))
    await carry_out(accumulator(with_tools(OK, storage=log)), source)
    assert log.rows[0].content == content
    check_answered(log.rows)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("content", ["", "nonsense", "[]", "{}", '{"name": 5}', '{"name": "ok", '])
async def test_a_hopeless_foreign_call_is_an_error(content, mode):
    journal: list[Entry] = []
    source = Chunks(event("respond", "a"), event("call", content), event("execute"))
    turns = accumulator(with_tools(OK, storage=Log(journal)), stream=mode)
    with pytest.raises(ToolParseError):
        await carry_out(turns, source, journal)
    assert sorted(journal) == sorted(both("respond", "a"))
    assert (source.asked, source.closed) == (2, 1)


@pytest.mark.parametrize("type", ["metric", "user", "error", "interrupt", "cancelled", "bogus", ""])
@pytest.mark.parametrize("mode", MODES)
async def test_an_event_of_another_type_is_neither_saved_nor_emitted(type, mode):
    log = Log()
    source = Chunks(event("respond", "a"), event(type, "x"), event("respond", "b"))
    events = await carry_out(accumulator(with_tools(storage=log), stream=mode), source)
    assert "".join(item["content"] for item in events) == "ab"
    assert "".join(row.content for row in log.rows) == "ab"


async def test_a_foreign_result_is_neither_saved_nor_emitted():
    log = Log()
    source = Chunks(event("result", "[1]"), event("respond", "a"), event("result", "[2]"))
    events = await carry_out(accumulator(with_tools(storage=log)), source)
    assert (types(events), types(log.rows)) == (["respond"], ["respond"])


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("mode", MODES)
async def test_text_without_content_is_no_text(content, mode):
    log = Log()
    items = [{"type": "respond", "content": content, "timestamp": 1.0}, {"type": "think"}]
    events = await carry_out(
        accumulator(with_tools(storage=log), stream=mode), Chunks(*items, event("respond", "a"))
    )
    assert [(row.type, row.content) for row in log.rows] == [("respond", "a")]
    assert "".join(item["content"] for item in events) == "a"


@pytest.mark.parametrize("item", [None, 5, {}, {"type": 5}, {"type": "respond", "content": 5}])
async def test_what_is_no_event_is_an_error_and_closes_the_source(item):
    source = Chunks(event("respond", "a"), item)
    log = Log()
    with pytest.raises((TypeError, KeyError)):
        await carry_out(accumulator(with_tools(storage=log)), source)
    assert (types(log.rows), source.closed) == (["respond"], 1)


@pytest.mark.parametrize("last", [event("end"), ConnectionError("gone"), None])
@pytest.mark.parametrize("kind", LOGS)
async def test_calls_that_a_foreign_parser_never_executes_have_a_result_each(kind, last):
    """They have been saved, and without a result the log could not be sent to a model again."""
    log = kind()
    items = [event("call", stored("ok")), event("call", stored("ok"))]
    source = Chunks(*items, *([last] if last else []))
    with suppress(ConnectionError):
        await carry_out(accumulator(with_tools(OK, storage=log)), source)
    check_answered(log.rows)


@pytest.mark.parametrize(
    "items",
    [
        [event("call", STORED_OK), event("end")],
        [event("call", STORED_OK), event("respond", "a")],
        [
            *[event("call", STORED_OK), event("execute"), event("respond", "a")],
            *[event("call", STORED_OK), event("respond", "b")],
        ],
    ],
    ids=["then end", "then text", "in a second batch"],
)
async def test_results_of_calls_that_never_ran_are_not_older_than_the_calls(items):
    """A log is read in the order of its times."""
    log = Log()
    await carry_out(accumulator(with_tools(OK, storage=log)), Chunks(*items, pause=1))
    check_answered(sorted(log.rows, key=lambda row: row.timestamp))


async def test_any_async_iterable_is_a_source():
    class Events:
        def __aiter__(self) -> Any:
            return events_of(Chunks(event("respond", "a")))

    assert types(await carry_out(accumulator(with_tools(storage=Log())), Events())) == ["respond"]


async def test_a_foreign_generator_runs_its_cleanup_when_the_turn_is_over():
    steps: list[str] = []

    async def events() -> Any:
        try:
            yield event("end")
        finally:
            await rounds(2)
            steps.append("cleaned up")

    await carry_out(accumulator(with_tools(storage=Log())), events())
    assert steps == ["cleaned up"]


# A storage that fails at its n-th save, for every n

FULL_TURN = f"<think>hm</think>so{block('ok', 'fail')}"


def once(at: int, error: BaseException):
    return lambda attempt: error if attempt == at else None


def from_then_on(at: int, error: BaseException):
    """After `error`, others of the kind."""
    return lambda attempt: error if attempt == at else OSError(attempt) if attempt > at else None


@dataclass
class BrokenTurn:
    """A turn in which save `at` failed with `error`; `raised` came out of it."""

    at: int
    error: BaseException
    raised: BaseException | None
    log: Log
    source: Chunks


async def broken_turns(mode: str, kind: type[Log], fails: Any) -> list[BrokenTurn]:
    turns = []
    for at in itertools.count(1):
        error = OSError("disk full")
        log = kind(fault=fails(at, error))
        source = Chunks("<think>hm</think>so", block("ok", "fail"))
        work = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
        raised = None
        try:
            await carry_out(work, parse_tokens(source), log.journal)
        except Exception as caught:
            raised = caught
        if log.attempts < at:
            break
        turns.append(BrokenTurn(at, error, raised, log, source))
    assert len(turns) > 2
    return turns


on_every_storage = pytest.mark.parametrize("kind", LOGS)
in_both_modes = pytest.mark.parametrize("mode", MODES)
in_both_ways = pytest.mark.parametrize("fails", [once, from_then_on])


@in_both_ways
@on_every_storage
@in_both_modes
async def test_the_storage_s_error_is_the_turn_s(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        assert turn.raised is turn.error, f"save {turn.at}"


@in_both_ways
@on_every_storage
@in_both_modes
async def test_no_results_are_saved_without_their_calls(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        rows = turn.log.rows
        asked = [json.loads(row.content)["name"] for row in rows if row.type == "call"]
        for array in results_in(rows):
            assert [item["tool"] for item in array] == asked, f"save {turn.at}"


@on_every_storage
@in_both_modes
async def test_calls_that_were_saved_have_their_results_also_when_the_next_save_failed(mode, kind):
    *turns, results_failed = await broken_turns(mode, kind, once)
    assert types(results_failed.log.rows) == ["think", "respond", "call", "call"]
    for turn in turns:
        with explained(f"save {turn.at}"):
            check_answered(turn.log.rows)


@in_both_ways
@on_every_storage
@in_both_modes
async def test_nothing_is_emitted_that_could_not_be_saved(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        done = {entry[1:] for entry in turn.log.journal if entry[0] == "saved"}
        for what, type, content in turn.log.journal:
            streams = mode == "token" and type in {"think", "respond"}
            if what == "emitted" and content is not None and not streams:
                assert (type, content) in done, f"save {turn.at}"


@in_both_ways
@on_every_storage
@in_both_modes
async def test_the_source_is_closed_when_the_storage_fails(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        assert turn.source.closed == 1, f"save {turn.at}"


@on_every_storage
@in_both_modes
async def test_the_turn_after_a_storage_s_error_works(mode, kind):
    log = kind(fault=once(1, OSError("disk full")))
    turns = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
    with pytest.raises(OSError, match="disk full"):
        await carry_out(turns, parse_tokens(FULL_TURN))
    del log.saves[:]
    await carry_out(turns, parse_tokens(FULL_TURN))
    assert types(log.rows) == ["think", "respond", "call", "call", "result"]


@pytest.mark.parametrize("kind", LOGS)
async def test_a_call_that_could_not_be_saved_does_not_run(kind):
    ran: list[bool] = []
    log = kind(fault=once(1, OSError("disk full")))
    turns = accumulator(with_tools(FunctionTool("t", lambda **_: ran.append(True)), storage=log))
    with pytest.raises(OSError, match="disk full"):
        await carry_out(turns, parse_tokens(block("t", "t")))
    assert ran == []


@in_both_ways
@on_every_storage
async def test_a_foreign_source_is_closed_when_the_storage_fails(kind, fails):
    for at in itertools.count(1):
        log = kind(fault=fails(at, OSError("disk full")))
        call_event = event("call", stored("ok"))
        source = Chunks(
            event("think", "hm"), call_event, call_event, event("execute"), event("end")
        )
        with suppress(OSError):
            await carry_out(accumulator(with_tools(OK, storage=log)), source)
        assert source.closed == 1, f"save {at}"
        if log.attempts < at:
            break
    assert at > 2


# A consumer that leaves early


@pytest.mark.parametrize("leave", ["aclose", "athrow"])
@pytest.mark.parametrize("origin", ["text", "events"])
@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("mode", MODES)
class TestAConsumerThatLeaves:
    """After n events, for every n."""

    async def left_turns(self, mode, kind, origin, leave):
        for count in range(1, 100):
            log = kind(before=1, after=1)
            text = ("<think>hm</think>so", " it", f" is{block('ok', 'fail')}", "more")
            if origin == "text":
                source = Chunks(*text)
                events = parse_tokens(source)
            else:
                source = Chunks(*[item async for item in parse_tokens("".join(text))])
                events = source
            turns = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
            stream = turns.process(events)
            seen = []
            for _ in range(count):
                try:
                    seen.append((await anext(stream))["type"])
                except StopAsyncIteration:
                    return
            if leave == "aclose":
                await stream.aclose()
            else:
                with pytest.raises(ValueError, match="enough"):
                    await stream.athrow(ValueError("enough"))
            yield seen, log, source
        pytest.fail("the turn has no end")

    async def test_every_call_in_the_log_has_one_result(self, mode, kind, origin, leave):
        async for seen, log, _ in self.left_turns(mode, kind, origin, leave):
            with explained(seen):
                check_answered(log.rows)

    async def test_calls_that_did_not_run_are_cancelled(self, mode, kind, origin, leave):
        async for seen, log, _ in self.left_turns(mode, kind, origin, leave):
            ran = ["ok", "it failed"] if "result" in seen else ["Cancelled", "Cancelled"]
            for array in results_in(log.rows):
                assert [item.get("outcome", item["content"]) for item in array] == ran, seen

    async def test_the_source_is_closed(self, mode, kind, origin, leave):
        async for seen, _, source in self.left_turns(mode, kind, origin, leave):
            assert source.closed == 1, seen

    async def test_no_task_is_left(self, mode, kind, origin, leave):
        async for seen, *_ in self.left_turns(mode, kind, origin, leave):
            assert asyncio.all_tasks() == {asyncio.current_task()}, seen


class explained:  # noqa: N801
    """Adds to a failed assertion where it happened."""

    def __init__(self, where: Any) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            error.add_note(f"where: {self._where}")


def test_a_turn_that_is_abandoned_ends_with_its_loop():
    log = Log()

    async def main() -> Any:
        stream = accumulator(with_tools(OK, storage=log)).process(parse_tokens(block("ok", "ok")))
        async for item in stream:
            if item["type"] == "execute":
                return stream
        return None

    asyncio.run(main())
    check_answered(log.rows)
    assert types(log.rows) == ["call", "call", "result"]


# Several turns


async def test_turns_of_one_accumulator_may_overlap():
    log = Log(before=1)
    turns = accumulator(with_tools(OK, storage=log))
    texts = [f"{n}{block(call('ok', n=n))}" for n in range(5)]
    ends = await asyncio.gather(*(carry_out(turns, parse_tokens(text)) for text in texts))
    contents = [json.loads(events[-1]["content"])[0]["content"] for events in ends]
    assert contents == [{"n": n} for n in range(5)]


async def test_a_turn_in_sqlite_is_the_next_prompt(tmp_path):
    async with SQLite(tmp_path / "store.db") as store:
        turns = accumulator(with_tools(OK, FAIL, storage=store))
        await carry_out(turns, parse_tokens(FULL_TURN))
        rows = await store.load_messages(CONVERSATION, USER)
    assert types(rows) == ["think", "respond", "call", "call", "result"]
    assistant, results = to_messages(rows)
    assert assistant["content"].startswith("<think>hm</think>\nso\n<execute>\n[")
    assert results["content"].startswith("<results>\n[")


# What cannot carry a turn


class Nameless:
    async def execute(self, **_: Any) -> None: ...


@pytest.mark.parametrize(
    "tool",
    [
        None,
        "shell",
        object(),
        Nameless(),
        SimpleNamespace(name=5, execute=OK.execute),
        SimpleNamespace(name=None, execute=OK.execute),
        SimpleNamespace(name="t"),
        SimpleNamespace(name="t", execute=None),
        OK.execute,
        FunctionTool,
    ],
    ids=lambda tool: getattr(tool, "__name__", None) or type(tool).__name__,
)
def test_what_is_no_tool_is_refused_at_construction(tool):
    with pytest.raises(ConfigError):
        accumulator(with_tools(OK, tool, storage=Log()))


@pytest.mark.parametrize(
    "storage", [None, object(), "store.db", SimpleNamespace(save_message=None)], ids=repr
)
def test_what_is_no_storage_is_refused_at_construction(storage):
    with pytest.raises(ConfigError, match="save_message"):
        accumulator(with_tools(OK, storage=storage))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("stream", "bogus"),
        ("stream", None),
        ("stream", ""),
        ("tool_timeout", 0),
        ("tool_timeout", -1),
        ("tool_timeout", float("nan")),
        ("tool_timeout", float("-inf")),
        ("max_concurrency", 0),
        ("max_concurrency", -1),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_at_construction(option, value):
    with pytest.raises(ConfigError, match=option if option != "stream" else None):
        accumulator(with_tools(OK, storage=Log()), **{option: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [("tool_timeout", "5"), ("max_concurrency", 1.5), ("max_concurrency", "2")],
)
def test_an_option_of_the_wrong_type_is_refused_at_construction(option, value):
    with pytest.raises((ConfigError, TypeError)):
        accumulator(with_tools(OK, storage=Log()), **{option: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tool_timeout", 1e9),
        ("tool_timeout", 1e20),
        ("tool_timeout", sys.float_info.max),
        ("tool_timeout", sys.maxsize),
        ("max_concurrency", 10**6),
        ("max_concurrency", sys.maxsize),
        ("max_concurrency", 2**64),
    ],
)
async def test_a_limit_may_be_very_large_or_is_refused_at_construction(option, value):
    log = Log()
    try:
        turns = accumulator(with_tools(OK, storage=log), **{option: value})
    except ConfigError:
        return
    await carry_out(turns, parse_tokens(block("ok")))
    assert types(log.rows) == ["call", "result"]


def test_a_mock_is_a_tool_when_it_has_a_name():
    tool = MagicMock()
    tool.name = "t"
    accumulator(with_tools(tool, storage=Log()))


def test_options_are_keywords():
    with pytest.raises(TypeError):
        Accumulator(USER, CONVERSATION, with_tools(storage=Log()))


async def test_without_a_user_the_rows_have_an_empty_one():
    log = Log()
    turns = Accumulator("", CONVERSATION, execution=with_tools(storage=log))
    await carry_out(turns, parse_tokens("a"))
    assert log.rows[0].user_id == ""
