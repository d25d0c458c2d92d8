"""The example of an agent's own loop: when it goes on, when it ends, and what the log has when it is stopped."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from own_loop import Add, agent, scripted

from cogency_rs import Execution, SQLite
from support.tools import Waiting, block, call, stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SUM = block(call("add", a=19, b=23))
SUM_STORED = stored("add", a=19, b=23)
SUM_RESULT = '[{"tool": "add", "status": "success", "content": "19 + 23 = 42"}]'
CALLED = """\
<execute>
[
  {
    "name": "add",
    "args": {
      "a": 19,
      "b": 23
    }
  }
]
</execute>"""
BROKEN = "<execute>[{]</execute>"


@pytest.fixture
async def storage() -> AsyncIterator[SQLite]:
    async with SQLite(":memory:") as storage:
        yield storage


def says(*answers: str) -> Any:
    """A model that gives these answers, one for each turn, whatever it is sent."""
    rest = iter(answers)

    async def model(messages: Any) -> AsyncIterator[str]:
        yield next(rest)

    return model


def ask(model: Any, storage: SQLite, *tools: Any, **options: Any) -> Any:
    execution = Execution(storage=storage, tools=tools or [Add()])
    return agent(model, "add them", conversation_id="c", execution=execution, **options)


async def types_of(events: Any) -> list[str]:
    """The types of events; equal types in a row count as one."""
    types: list[str] = []
    async for event in events:
        if event["type"] not in types[-1:]:
            types.append(event["type"])
    return types


async def log(storage: SQLite) -> list[tuple[str, str]]:
    return [(row["type"], row["content"]) for row in await storage.load_messages("c", "")]


def test_the_program_prints_each_text_on_one_line(run):
    results = (
        '[{"tool": "add", "status": "success", "content": "19 + 23 = 42"},'
        ' {"tool": "add", "status": "success", "content": "2 + 3 = 5"}]'
    )
    assert run("own_loop.py").splitlines() == [
        "think   Two sums; neither needs the other.",
        "respond I add both at once.",
        'call    {"name": "add", "args": {"a": 19, "b": 23}}',
        'call    {"name": "add", "args": {"a": 2, "b": 3}}',
        "execute ",
        f"result  {results}",
        "respond The sums are 42 and 5.",
        "end     ",
    ]


@pytest.mark.parametrize(
    ("answers", "types"),
    [
        pytest.param(["42.<end>"], ["respond", "end"], id="ends with <end>"),
        pytest.param(["42."], ["respond"], id="ends without a call"),
        pytest.param(
            [SUM, "42.<end>"],
            ["call", "execute", "result", "respond", "end"],
            id="goes on with results",
        ),
        pytest.param(
            [f"Now.{BROKEN}", SUM, "42.<end>"],
            ["respond", "error", "call", "execute", "result", "respond", "end"],
            id="goes on with the report of a malformed block",
        ),
        pytest.param(
            [SUM[:-20], SUM, "42."],
            ["error", "call", "execute", "result", "respond"],
            id="goes on with the report of a block that was cut",
        ),
    ],
)
async def test_the_loop_goes_on_or_ends(answers, types, storage):
    assert await types_of(ask(says(*answers), storage)) == types


async def test_the_loop_ends_after_max_turns(storage):
    types = await types_of(ask(says(SUM, SUM, SUM), storage, max_turns=2))
    assert types == ["call", "execute", "result"] * 2


async def test_each_turn_reads_what_the_turns_before_it_left(storage):
    read = []

    async def model(messages):
        read.append([(message["role"], message["content"]) for message in messages[1:]])
        yield [SUM, "42.<end>"][len(read) - 1]

    await types_of(ask(model, storage))
    assert read == [
        [("user", "add them")],
        [
            ("user", "add them"),
            ("assistant", CALLED),
            ("user", f"<results>\n{SUM_RESULT}\n</results>"),
        ],
    ]


async def test_the_scripted_model_starts_over_with_each_query(storage):
    model = scripted(SUM, "42.<end>", pause=0)
    for _ in range(2):
        assert (await types_of(ask(model, storage)))[-3:] == ["result", "respond", "end"]


async def test_the_log_has_the_query_and_every_step(storage):
    await types_of(ask(says(SUM, "42.<end>"), storage))
    assert await log(storage) == [
        ("user", "add them"),
        ("call", SUM_STORED),
        ("result", SUM_RESULT),
        ("respond", "42."),
    ]


async def test_closing_the_loop_closes_the_models_stream(storage):
    closed = []

    async def model(messages):
        try:
            yield "Let me see"
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async with aclosing(ask(model, storage)) as events:
        assert (await anext(events))["content"] == "Let me see"
    assert closed == [True]


async def test_cancelling_the_loop_stops_its_tool_and_the_log_has_the_result(storage):
    tool = Waiting("add")
    asking = asyncio.ensure_future(types_of(ask(says(SUM), storage, tool)))
    await tool.started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert tool.journal == ["started", "stopped"]
    cancelled = '[{"tool": "add", "status": "failure", "content": "Cancelled"}]'
    assert (await log(storage))[1:] == [("call", SUM_STORED), ("result", cancelled)]
