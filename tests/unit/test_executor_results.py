"""The result of a call, whatever its tool does, and of a call that cannot be carried out."""

from __future__ import annotations

import asyncio
import datetime
import enum
import functools
import math
import sys
from collections import OrderedDict, namedtuple
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock

import pytest

from cogency_rs import Accumulator, Execution, ToolCall, ToolResult, execute_tools
from cogency_rs.errors import ConfigError, ToolError
from support.batches import execute
from support.ids import shown
from support.tools import OK, FunctionTool, call, outcomes, raises, returns, with_tools
from support.turns import Log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.timeout(20)


def failed(text: str) -> tuple[bool, str, Any]:
    return (True, text, None)


def succeeded(content: Any) -> tuple[bool, None, Any]:
    return (False, None, content)


async def _cancels_its_own_task(**_: Any) -> None:
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def _times_itself_out(**_: Any) -> None:
    async with asyncio.timeout(0):
        await asyncio.Event().wait()


async def _awaits_what_was_cancelled(**_: Any) -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def _runs_a_group_that_fails(**_: Any) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.Event().wait())
        group.create_task(raises(ValueError("no")).execute())


async def _needs(file: str, **_: Any) -> None: ...


async def _generates(**_: Any) -> AsyncGenerator[int, None]:
    yield 1


async def _ends_an_iteration(**_: Any) -> None:
    raise StopIteration("no")


DONE = [
    (returns(ToolResult("ok", "text")), (False, "ok", "text")),
    (returns(ToolResult("no", "text", error=True)), (True, "no", "text")),
    (returns("text"), succeeded("text")),
    (returns(""), succeeded("")),
    (returns(None), succeeded(None)),
    (returns(0), succeeded(0)),
    (returns(False), succeeded(False)),
    (returns(2.5), succeeded(2.5)),
    (returns([]), succeeded([])),
    (returns({"a": [1, {"b": None}]}), succeeded({"a": [1, {"b": None}]})),
    (returns({"outcome": "x", "error": True}), succeeded({"outcome": "x", "error": True})),
    (returns({1, 2}), failed("set")),
    (returns(b"bytes"), failed("bytes")),
    (returns(asyncio), failed("module")),
    (returns(1j), failed("complex")),
    (returns(datetime.date(2020, 1, 1)), failed("date")),
    (returns(ValueError("returned")), failed("ValueError")),
    (FunctionTool("t", _generates, "generates"), failed("async_generator")),
    (returns([1, {2}]), failed("set")),
    (returns({("a", "b"): 1}), failed("tuple")),
    (returns(ToolResult("ok", {1})), failed("set")),
    (returns(ToolResult("ok", b"")), failed("bytes")),
    (raises(ValueError("no")), failed("Tool execution failed: ValueError: no")),
    (raises(ToolError("no")), failed("Tool execution failed: no")),
    (raises(KeyError("key")), failed("Tool execution failed: KeyError: 'key'")),
    (raises(ValueError), failed("Tool execution failed: ValueError")),
    (raises(RecursionError("deep")), failed("Tool execution failed: RecursionError: deep")),
    (raises(asyncio.CancelledError), failed("Tool execution failed: ")),
    (raises(asyncio.CancelledError("mine")), failed("the tool cancelled itself: mine")),
    (raises(TimeoutError("late")), failed("Tool execution failed: TimeoutError: late")),
    (raises(SystemExit(3)), failed("3")),
    (raises(SystemExit), failed("Tool execution failed: ")),
    (raises(GeneratorExit("no")), failed("Tool execution failed: GeneratorExit: no")),
    (raises(StopAsyncIteration("no")), failed("Tool execution failed: StopAsyncIteration: no")),
    (raises(BaseException("no")), failed("Tool execution failed: BaseException: no")),
    (raises(ExceptionGroup("two", [ValueError("a"), ValueError("b")])), failed("two")),
    (
        FunctionTool("t", _ends_an_iteration, "raises StopIteration"),
        failed("Tool execution failed: "),
    ),
    (
        FunctionTool("t", _cancels_its_own_task, "cancels its own task"),
        failed("Tool execution failed: "),
    ),
    (
        FunctionTool("t", _awaits_what_was_cancelled, "awaits a cancelled future"),
        failed("Tool execution failed: "),
    ),
    (FunctionTool("t", _times_itself_out, "times itself out"), failed("Tool execution failed: ")),
    (
        FunctionTool("t", _runs_a_group_that_fails, "runs a group that fails"),
        failed("Tool execution failed: "),
    ),
    (FunctionTool("t", _needs, "lacks an argument"), failed("file")),
]


@pytest.mark.parametrize(
    ("tool", "expected"), [pytest.param(*row, id=row[0].description) for row in DONE]
)
async def test_whatever_a_tool_does_becomes_the_result_of_its_call(tool, expected):
    before, result, after = await execute([call("ok"), call("t"), call("ok")], OK, tool)
    error, text, content = expected
    assert result.error is error
    assert text is None or text in result.outcome
    assert error or result.content == content
    assert outcomes([before, after]) == [(False, "ok")] * 2


class Metre(float):
    pass


class Length(enum.IntEnum):
    LONG = 5


Pair = namedtuple("Pair", "a b")
DEEP = functools.reduce(lambda inner, _: [inner], range(100), math.inf)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (math.nan, "(float) is not a JSON value: JSON has no NaN"),
        (math.inf, "(float) is not a JSON value: JSON has no Infinity"),
        (Metre("-inf"), "(Metre) is not a JSON value: JSON has no -Infinity"),
        ([0, (math.nan,)], "(list) is not a JSON value: JSON has no NaN, but [1][0] is one"),
        (
            {"é": {1: {True: math.inf}}},
            r"(dict) is not a JSON value: JSON has no NaN or Infinity, but it holds one",
        ),
        (
            {"é": {1: [math.inf]}},
            r'(dict) is not a JSON value: JSON has no Infinity, but ["\u00e9"][1][0] is one',
        ),
        ({"k" * 300: math.nan}, "(dict) is not a JSON value: JSON has no NaN, but it holds one"),
        (Pair(1, math.nan), "(Pair) is not a JSON value: JSON has no NaN or Infinity, but it holds one"),
        ({math.nan: 1}, "(dict) is not a JSON value: JSON has no NaN or Infinity, but it holds one"),
        (DEEP, "(list) is not a JSON value: JSON has no NaN or Infinity, but it holds one"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
async def test_a_number_that_json_does_not_have_fails_only_its_call(content, words):
    for given, field in (
        (content, "content"),
        (ToolResult("ok", content), "content"),
        (ToolResult(content), "outcome"),
        (ToolResult(content, error=True), "outcome"),
    ):
        before, result, after = await execute(
            [call("ok"), call("t"), call("ok")], OK, returns(given)
        )
        assert outcomes([result]) == [(True, f"Tool execution failed: its {field} {words}")]
        assert outcomes([before, after]) == [(False, "ok")] * 2


async def test_the_content_of_a_failure_is_not_shown_and_may_be_anything():
    given = ToolResult("no", math.nan, error=True)
    [result] = await execute([call("t")], returns(given))
    assert result is given


@pytest.mark.parametrize(
    "content",
    [
        {1: [2.5, Metre(1)], None: (), False: {}, "a": 10**30},
        {0.5: Pair(1, 2)},
        OrderedDict(a=Length.LONG),
        functools.reduce(lambda inner, _: [inner], range(100), 1),
        "\ud83d",
        ["\ud83d", {"\ud83d": None}],
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_content_that_json_writes_in_another_form_is_not_changed(content):
    [result] = await execute([call("t")], returns(given := ToolResult("ok", content)))
    assert result is given
    assert result.content is content


async def test_content_nested_too_deep_for_json_is_a_failure():
    nest: list[Any] = []
    for _ in range(200_000):
        nest = [nest]
    deep = FunctionTool("t", AsyncMock(return_value=nest))
    result, sibling = await execute([call("t"), call("ok")], deep, OK)
    while nest:
        nest = nest.pop()
    assert (result.error, sibling.error) == (True, False)


async def test_a_result_is_returned_unchanged():
    class Detailed(ToolResult):
        pass

    given = Detailed("ok", "text")
    [result] = await execute([call("t")], returns(given))
    assert result is given


async def test_a_result_may_be_cogencys(monkeypatch):
    class Theirs(SimpleNamespace):
        pass

    cogency = SimpleNamespace(ToolResult=Theirs)
    monkeypatch.setitem(sys.modules, "cogency.core.protocols", cogency)
    given = Theirs(outcome="no", content=None, error=True)
    [result] = await execute([call("t")], returns(given))
    assert outcomes([result]) == [(True, "no")]


async def test_a_value_with_the_attributes_of_a_result_is_a_value():
    given = SimpleNamespace(outcome="home win", error=0.02)
    [result] = await execute([call("t")], returns(given))
    assert result.error
    assert "its content (SimpleNamespace) is not a JSON value" in result.outcome


async def test_a_call_of_an_unknown_tool_is_a_failure():
    results = await execute([call("nobody"), call("ok"), call("")], OK)
    assert [result.error for result in results] == [True, False, True]
    assert results[0].outcome.startswith("Tool 'nobody' not registered")
    assert results[2].outcome.startswith("Tool '' not registered")


async def test_without_tools_every_call_is_a_failure():
    [result] = await execute([call("ok")])
    assert result.error
    assert result.outcome.startswith("Tool 'ok' not registered")


def plain_function() -> None: ...


class NamedClass:
    """A class whose instances are tools."""

    name, description, schema = "t", "", {}

    async def execute(self, **_: Any) -> None: ...


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([returns("first"), returns("second")], "two tools are named 't'"),
        ([plain_function], "make a tool of the function with @cogency_rs.tool"),
        ([{"name": "t"}], "it needs a name that is a str, and an execute method"),
        ([FunctionTool], "hand over an instance of the class"),
        ([NamedClass], "hand over an instance of the class"),
        ([FunctionTool("t", None)], "tool 't' has no execute method"),
        ([SimpleNamespace(name="t", description="cannot execute")], "tool 't' has no execute"),
        ([FunctionTool(5, OK.execute)], "it needs a name that is a str"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_batches_and_accumulators_refuse_the_same_objects_as_tools(tools, says):
    with pytest.raises(ConfigError) as of_batch:
        await execute([call("t")], *tools)
    with pytest.raises(ConfigError) as of_accumulator:
        Accumulator("u", "c", execution=with_tools(*tools, storage=Log()))
    assert says in str(of_batch.value)
    assert str(of_accumulator.value) == str(of_batch.value)


async def test_a_class_whose_execute_needs_no_instance_is_a_tool():
    class Static(NamedClass):
        @staticmethod
        async def execute(**_: Any) -> str:
            return "ran"

    [result] = await execute([call("t")], Static)
    assert (result.error, result.content) == (False, "ran")


async def test_a_name_may_be_a_member_of_an_enum():
    class Name(enum.StrEnum):
        OK = "ok"

    [result] = await execute([ToolCall(Name.OK, {})], OK)
    assert not result.error


async def test_a_tool_may_be_listed_twice():
    results = await execute([call("ok")], OK, OK)
    assert [result.error for result in results] == [False]


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (call("ok"), "for one call there is execute_tool"),
        (
            [{"name": "ok", "args": {}}],
            "calls must be a list of ToolCalls, got {.name.: .ok., .args.: {}}",
        ),
        (["ok"], "calls must be a list of ToolCalls, got .ok."),
        ([None], "calls must be a list of ToolCalls, got None"),
    ],
    ids=repr,
)
async def test_anything_but_a_call_is_refused_by_a_batch(calls, says):
    with pytest.raises(TypeError, match=says):
        await execute(calls, OK)


async def test_a_batch_does_not_need_a_user_a_conversation_or_a_storage():
    [result] = await execute_tools([call("ok")], execution=Execution(tools=[OK]))
    assert (result.error, result.content) == (False, {})


@pytest.mark.parametrize("args", [None, 5, "text", object()], ids=shown)
async def test_arguments_that_are_not_a_dict_fail_only_their_call(args):
    results = await execute([ToolCall("ok", args), call("ok")], OK)
    assert [result.error for result in results] == [True, False]


@pytest.mark.parametrize("name", [None, 5, ["ok"], {}], ids=repr)
async def test_a_name_that_is_not_a_str_fails_only_its_call(name):
    results = await execute([ToolCall(name, {}), call("ok")], OK)
    assert [result.error for result in results] == [True, False]


async def test_argument_names_that_are_not_str_fail_only_their_call():
    results = await execute([ToolCall("ok", {1: 2}), call("ok")], OK)
    assert [result.error for result in results] == [True, False]
