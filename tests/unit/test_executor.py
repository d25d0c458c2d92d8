"""The executor: a batch runs at the same time, each call on its own, and the results come in call order."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import enum
import functools
import gc
import itertools
import math
import sys
import threading
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from tools import (
    FAIL,
    OK,
    SOON,
    FunctionTool,
    Waiting,
    call,
    outcomes,
    raises,
    returns,
    rounds,
    with_tools,
)
from turns import Log

from cogency_rs import (
    Accumulator,
    ConfigError,
    Execution,
    ToolCall,
    ToolError,
    ToolResult,
    execute_tool,
    execute_tools,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence

pytestmark = pytest.mark.timeout(20)


async def execute(calls: Sequence[ToolCall], *tools: Any, **options: Any) -> list[ToolResult]:
    options = {"user_id": "u", "conversation_id": "c", **options}
    return await execute_tools(calls, execution=with_tools(*tools), **options)


# Order


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
async def test_results_are_in_call_order_whatever_the_order_of_completion(order):
    turns = [asyncio.Event() for _ in order]
    turns.append(asyncio.Event())
    completed: list[int] = []

    async def wait(n: int, **_: Any) -> int:
        place = order.index(n)
        await turns[place].wait()
        completed.append(n)
        turns[place + 1].set()
        return n

    turns[0].set()
    results = await execute([call("wait", n=n) for n in range(4)], FunctionTool("wait", wait))
    assert [result.content for result in results] == [0, 1, 2, 3]
    assert completed == list(order)


async def test_calls_start_in_call_order():
    started: list[int] = []

    async def note(n: int, **_: Any) -> None:
        started.append(n)
        await rounds(1)

    await execute([call("note", n=n) for n in range(20)], FunctionTool("note", note))
    assert started == list(range(20))


async def test_an_empty_batch_has_no_results():
    assert await execute([], OK) == []


async def test_one_call():
    result = await execute_tool(
        call("ok", a=1), execution=with_tools(OK), user_id="u", conversation_id="c"
    )
    assert result == ToolResult(outcome="ok", content={"a": 1})


async def test_calls_may_be_a_tuple():
    assert outcomes(await execute((call("ok"), call("fail")), OK, FAIL)) == [
        (False, "ok"),
        (True, "it failed"),
    ]


@pytest.mark.parametrize("options", [{}, {"max_concurrency": 10}, {"tool_timeout": 60}], ids=repr)
async def test_a_thousand_calls(options):
    async def echo(n: int, **_: Any) -> int:
        await rounds(n % 3)
        return n

    calls = [call("echo", n=n) for n in range(1000)]
    results = await execute(calls, FunctionTool("echo", echo), **options)
    assert [result.content for result in results] == list(range(1000))


# At the same time


@pytest.mark.parametrize("count", [2, 50])
async def test_all_calls_of_a_batch_run_at_once(count):
    barrier = asyncio.Barrier(count)

    async def meet(**_: Any) -> bool:
        await barrier.wait()
        return True

    results = await execute([call("meet")] * count, FunctionTool("meet", meet))
    assert [result.content for result in results] == [True] * count


async def test_the_loop_runs_on_while_tools_wait():
    tool = Waiting()
    batch = asyncio.create_task(execute([call("wait")], tool))
    await tool.started.wait()
    tool.release.set()
    assert outcomes(await batch) == [(False, "waited")]


async def test_two_batches_run_at_once():
    barrier = asyncio.Barrier(4)

    async def meet(**_: Any) -> bool:
        await barrier.wait()
        return True

    tool = FunctionTool("meet", meet)
    batches = await asyncio.gather(*(execute([call("meet")] * 2, tool) for _ in range(2)))
    assert [[result.content for result in batch] for batch in batches] == [[True, True]] * 2


async def test_a_tool_may_run_a_batch():
    async def nest(depth: int, **_: Any) -> Any:
        await rounds(1)
        if depth == 0:
            return ["bottom"]
        results = await execute([call("nest", depth=depth - 1)] * 2, tool)
        return [*results[0].content, *results[1].content]

    tool = FunctionTool("nest", nest)
    [result] = await execute([call("nest", depth=5)], tool)
    assert result.content == ["bottom"] * 32


async def test_a_tool_may_run_a_batch_without_waiting():
    async def nest(depth: int, **_: Any) -> Any:
        if depth == 0:
            return "bottom"
        return (await execute([call("nest", depth=depth - 1)], tool))[0].content

    tool = FunctionTool("nest", nest)
    [result] = await execute([call("nest", depth=20)], tool)
    assert result.content == "bottom"


def test_a_loop_may_follow_another():
    async def meet(**_: Any) -> str:
        await rounds(1)
        return "met"

    for _ in range(20):
        [result] = asyncio.run(execute([call("meet")], FunctionTool("meet", meet), tool_timeout=60))
        assert result.content == "met"


def test_loops_in_several_threads_run_at_once():
    met: list[list[Any]] = []
    everybody = threading.Barrier(4)

    async def main() -> list[Any]:
        barrier = asyncio.Barrier(20)

        async def meet(n: int, **_: Any) -> int:
            if n == 0:
                await asyncio.to_thread(everybody.wait)
            await barrier.wait()
            return n

        calls = [call("meet", n=n) for n in range(20)]
        results = await execute(calls, FunctionTool("meet", meet), tool_timeout=60)
        return [result.content for result in results]

    threads = [threading.Thread(target=lambda: met.append(asyncio.run(main()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [list(range(20))] * 4


# What a tool does becomes its call's result


def failed(text: str) -> tuple[bool, str, Any]:
    return (True, text, None)


def gave(content: Any) -> tuple[bool, None, Any]:
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
    (returns("text"), gave("text")),
    (returns(""), gave("")),
    (returns(None), gave(None)),
    (returns(0), gave(0)),
    (returns(False), gave(False)),
    (returns(2.5), gave(2.5)),
    (returns([]), gave([])),
    (returns({"a": [1, {"b": None}]}), gave({"a": [1, {"b": None}]})),
    (returns({"outcome": "x", "error": True}), gave({"outcome": "x", "error": True})),
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
async def test_whatever_a_tool_does_becomes_its_call_s_result(tool, expected):
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
        (math.nan, "(float) is no JSON value: JSON has no NaN"),
        (math.inf, "(float) is no JSON value: JSON has no Infinity"),
        (Metre("-inf"), "(Metre) is no JSON value: JSON has no -Infinity"),
        ([0, (math.nan,)], "(list) is no JSON value: JSON has no NaN, and [1][0] is one"),
        (
            {"é": {1: {True: math.inf}}},
            r"(dict) is no JSON value: JSON has no NaN and no Infinity, and it holds one",
        ),
        (
            {"é": {1: [math.inf]}},
            r'(dict) is no JSON value: JSON has no Infinity, and ["\u00e9"][1][0] is one',
        ),
        ({"k" * 300: math.nan}, "(dict) is no JSON value: JSON has no NaN, and it holds one"),
        (Pair(1, math.nan), "(Pair) is no JSON value: JSON has no NaN and no Infinity, and it holds one"),
        ({math.nan: 1}, "(dict) is no JSON value: JSON has no NaN and no Infinity, and it holds one"),
        (DEEP, "(list) is no JSON value: JSON has no NaN and no Infinity, and it holds one"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
async def test_a_number_that_json_does_not_have_fails_its_call_alone(content, words):
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
async def test_what_python_s_json_writes_otherwise_is_content_as_it_is(content):
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


async def test_a_result_is_handed_on_as_it_is():
    class Detailed(ToolResult):
        pass

    given = Detailed("ok", "text")
    [result] = await execute([call("t")], returns(given))
    assert result is given


async def test_a_result_of_another_class_is_a_result():
    """Cogency's own, for example."""
    given = SimpleNamespace(outcome="no", content=None, error=True)
    [result] = await execute([call("t")], returns(given))
    assert outcomes([result]) == [(True, "no")]


async def test_a_tool_that_is_not_registered():
    results = await execute([call("nobody"), call("ok"), call("")], OK)
    assert [result.error for result in results] == [True, False, True]
    assert results[0].outcome.startswith("Tool 'nobody' not registered")
    assert results[2].outcome.startswith("Tool '' not registered")


async def test_without_tools_none_is_registered():
    [result] = await execute([call("ok")])
    assert result.error
    assert result.outcome.startswith("Tool 'ok' not registered")


def function_without_a_name() -> None: ...


class NamedClass:
    """A tool, once there is an instance of it."""

    name, description, schema = "t", "", {}

    async def execute(self, **_: Any) -> None: ...


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([returns("first"), returns("second")], "two tools are named 't'"),
        ([function_without_a_name], "make a tool of the function with @cogency_rs.tool"),
        ([{"name": "t"}], "it needs a name that is a str, and an execute method"),
        ([FunctionTool], "hand over an instance of the class"),
        ([NamedClass], "hand over an instance of the class"),
        ([FunctionTool("t", None)], "tool 't' has no execute method"),
        ([SimpleNamespace(name="t", description="cannot execute")], "tool 't' has no execute"),
        ([FunctionTool(5, OK.execute)], "it needs a name that is a str"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_be_a_tool_is_refused_alike_by_batches_and_accumulators(tools, says):
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
        ([{"name": "ok", "args": {}}], "calls must be ToolCall objects, got dict"),
        (["ok"], "calls must be ToolCall objects, got str"),
        ([None], "calls must be ToolCall objects, got NoneType"),
    ],
    ids=repr,
)
async def test_what_is_not_a_call_is_refused(calls, says):
    with pytest.raises(TypeError, match=says):
        await execute(calls, OK)


async def test_a_batch_needs_no_user_no_conversation_and_no_storage():
    [result] = await execute_tools([call("ok")], execution=Execution(tools=[OK]))
    assert (result.error, result.content) == (False, {})


@pytest.mark.parametrize("args", [None, 5, "text", object()], ids=repr)
async def test_arguments_that_are_no_dict_fail_their_call_alone(args):
    results = await execute([ToolCall("ok", args), call("ok")], OK)
    assert [result.error for result in results] == [True, False]


@pytest.mark.parametrize("name", [None, 5, ["ok"], {}], ids=repr)
async def test_a_name_that_is_no_str_fails_its_call_alone(name):
    results = await execute([ToolCall(name, {}), call("ok")], OK)
    assert [result.error for result in results] == [True, False]


async def test_argument_names_that_are_no_str_fail_their_call_alone():
    results = await execute([ToolCall("ok", {1: 2}), call("ok")], OK)
    assert [result.error for result in results] == [True, False]


# Kinds of tools


class CustomAwaitable:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from asyncio.sleep(0).__await__()
        return self._value


async def test_a_method_of_a_class():
    class Tool:
        name = "t"
        description = "does something"
        schema: dict[str, Any] = {}  # noqa: RUF012

        async def execute(self, a: int, **_: Any) -> int:
            return a + 1

    [result] = await execute([call("t", a=1)], Tool())
    assert result.content == 2


@pytest.mark.parametrize("value", [ToolResult("ok", "text"), "text", None, 0], ids=repr)
async def test_a_plain_function(value):
    [result] = await execute([call("t")], FunctionTool("t", lambda **_: value))
    expected = value.content if isinstance(value, ToolResult) else value
    assert (result.error, result.content) == (False, expected)


@pytest.mark.parametrize(
    "error", [ValueError("no"), asyncio.CancelledError("no"), SystemExit("no"), StopIteration("no")]
)
async def test_a_plain_function_that_raises(error):
    def execute_(**_: Any) -> None:
        raise error

    result, sibling = await execute([call("t"), call("ok")], FunctionTool("t", execute_), OK)
    assert (result.error, sibling.error) == (True, False)
    assert "no" in result.outcome


async def test_a_plain_function_that_returns_a_coroutine():
    """A decorated tool, for example."""
    [result] = await execute([call("t", a=1)], FunctionTool("t", lambda **_: OK.execute(a=1)))
    assert result.content == {"a": 1}


async def test_a_coroutine_is_awaited_on_the_caller_s_loop_whatever_made_it():
    async def look(**_: Any) -> bool:
        return asyncio.get_running_loop() is loop

    class Callable_:  # noqa: N801
        async def __call__(self, **arguments: Any) -> bool:
            return await look(**arguments)

    loop = asyncio.get_running_loop()
    tools = [
        FunctionTool("function", look),
        FunctionTool("lambda", lambda **arguments: look(**arguments)),
        FunctionTool("partial", functools.partial(look, a=1)),
        FunctionTool("callable", Callable_()),
        FunctionTool("mock", AsyncMock(side_effect=look)),
        MagicMock(execute=AsyncMock(side_effect=look)),
    ]
    tools[-1].name = "mock tool"
    results = await execute([call(tool.name) for tool in tools], *tools)
    assert [result.content for result in results] == [True] * len(tools)


async def test_a_plain_function_that_returns_a_future():
    future = asyncio.get_running_loop().create_future()
    batch = asyncio.create_task(execute([call("t")], FunctionTool("t", lambda **_: future)))
    await rounds(2)
    future.set_result("text")
    assert [result.content for result in await batch] == ["text"]


async def test_a_plain_function_that_returns_a_task():
    task = asyncio.create_task(OK.execute(a=1))
    [result] = await execute([call("t")], FunctionTool("t", lambda **_: task))
    assert result.content == {"a": 1}


async def test_a_plain_function_that_returns_another_awaitable():
    awaitable = CustomAwaitable("text")
    [result] = await execute([call("t")], FunctionTool("t", lambda **_: awaitable))
    assert result.content == "text"


async def test_a_mock():
    tool = MagicMock()
    tool.name, tool.schema = "t", {}
    tool.execute = AsyncMock(return_value=ToolResult("ok", "text"))
    [result] = await execute([call("t", a=1)], tool)
    assert result.content == "text"
    assert tool.execute.await_args.kwargs["a"] == 1


async def test_a_future_of_another_loop_fails_its_call_alone():
    other = asyncio.new_event_loop()
    future = other.create_future()
    result, sibling = await execute(
        [call("t"), call("ok")], FunctionTool("t", lambda **_: future), OK
    )
    other.close()
    assert (result.error, sibling.error) == (True, False)


# Arguments


async def arguments_of(name: str, given: dict[str, Any], **options: Any) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    async def look(**arguments: Any) -> None:
        seen.update(arguments)

    execution = with_tools(
        FunctionTool(name, look),
        storage="the log",
        sandbox_dir="/box",
        access="project",
        shell_timeout=7,
    )
    options = {"user_id": "u", "conversation_id": "c", **options}
    [result] = await execute_tools([ToolCall(name, given)], execution=execution, **options)
    assert not result.error
    return seen


TURN = {
    "storage": "the log",
    "sandbox_dir": "/box",
    "access": "project",
    "conversation_id": "c",
    "user_id": "u",
}


async def test_a_tool_gets_the_model_s_arguments_and_the_turn_s():
    assert await arguments_of("t", {"file": "a", "n": None}) == {"file": "a", "n": None, **TURN}


async def test_without_a_user_there_is_no_user_id():
    expected = {name: value for name, value in TURN.items() if name != "user_id"}
    assert await arguments_of("t", {}, user_id="") == expected


async def test_the_shell_gets_its_timeout_too():
    assert await arguments_of("shell", {}) == {**TURN, "timeout": 7}


async def test_another_tool_s_timeout_is_the_model_s():
    assert await arguments_of("t", {"timeout": 1}) == {**TURN, "timeout": 1}


async def test_the_model_cannot_replace_the_turn_s_arguments():
    forged = dict.fromkeys([*TURN, "timeout"], "forged")
    assert await arguments_of("shell", forged) == {**TURN, "timeout": 7}


async def test_without_a_user_an_argument_of_that_name_is_the_model_s():
    seen = await arguments_of("t", {"user_id": "the model's"}, user_id="")
    assert seen == {**TURN, "user_id": "the model's"}


async def test_a_call_s_own_arguments_stay_as_they_were():
    def spoil(**arguments: Any) -> None:
        arguments.clear()

    args = {"a": 1}
    shared = [ToolCall("t", args), ToolCall("t", args), ToolCall("ok", args)]
    results = await execute(shared, FunctionTool("t", spoil), OK)
    assert (args, results[2].content) == ({"a": 1}, {"a": 1})


# Context variables

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


async def _sets(value: str, **_: Any) -> str:
    seen = VARIABLE.get()
    VARIABLE.set(value)
    await rounds(1)
    return f"{seen} {VARIABLE.get()}"


def _sets_at_once(value: str, **_: Any) -> str:
    seen = VARIABLE.get()
    VARIABLE.set(value)
    return f"{seen} {VARIABLE.get()}"


@pytest.mark.parametrize("execute_", [_sets, _sets_at_once])
@pytest.mark.parametrize("options", [{}, {"max_concurrency": 1}], ids=repr)
async def test_a_tool_sees_the_caller_s_variables_and_its_changes_stay_its_own(execute_, options):
    VARIABLE.set("caller")
    tool = FunctionTool("t", execute_)
    calls = [call("t", value="a"), call("t", value="b")]
    results = await execute(calls, tool, **options)
    assert [result.content for result in results] == ["caller a", "caller b"]
    assert VARIABLE.get() == "caller"


# How many at once


class Counting:
    """Counts how many calls run at once; call n waits n rounds of the loop, modulo 4."""

    name = "count"
    description = "counts"
    schema: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.running = self.most = 0
        self.started: list[int] = []

    async def execute(self, n: int, **_: Any) -> int:
        self.started.append(n)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await rounds(n % 4)
        finally:
            self.running -= 1
        return n


@pytest.mark.parametrize("most", [1, 2, 3, 9, 10, 11])
async def test_no_more_calls_run_at_once_than_may_and_they_start_in_order(most):
    tool = Counting()
    calls = [call("count", n=n) for n in range(10)]
    results = await execute(calls, tool, max_concurrency=most)
    assert [result.content for result in results] == list(range(10))
    assert tool.started == list(range(10))
    assert tool.most <= most


async def test_as_many_calls_run_at_once_as_may():
    barrier = asyncio.Barrier(3)

    async def meet(**_: Any) -> bool:
        await barrier.wait()
        return True

    results = await execute([call("meet")] * 9, FunctionTool("meet", meet), max_concurrency=3)
    assert [result.content for result in results] == [True] * 9


async def test_a_call_that_fails_makes_room_for_the_next():
    tools = [FAIL, OK, raises(ValueError("no")), raises(asyncio.CancelledError(), "c")]
    calls = [call(name) for name in ("nobody", "fail", "t", "c", "ok") * 3]
    results = await execute(calls, *tools, max_concurrency=1)
    assert [result.error for result in results] == [True, True, True, True, False] * 3


# How long a call may take


async def test_a_call_that_takes_too_long_fails_alone():
    slow = Waiting()
    results = await execute(
        [call("ok"), call("wait"), call("fail")], OK, slow, FAIL, tool_timeout=SOON
    )
    assert [result.error for result in results] == [False, True, True]
    assert "timed out" in results[1].outcome


async def test_a_call_that_takes_too_long_is_cancelled_and_awaited():
    steps: list[str] = []

    async def clean_up(**_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await rounds(5)
            steps.append("cleaned up")

    tools = [FunctionTool("t", clean_up)]
    for kind in ("a batch", "one call"):
        if kind == "a batch":
            [result] = await execute([call("t")], *tools, tool_timeout=SOON)
        else:
            result = await execute_tool(
                call("t"),
                execution=with_tools(*tools),
                user_id="u",
                conversation_id="c",
                tool_timeout=SOON,
            )
        assert result.error
        assert steps.pop() == "cleaned up"
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def _returns_anyway() -> Any:
    return ToolResult("done anyway")


async def _raises_instead() -> Any:
    raise ValueError("instead")


@pytest.mark.parametrize("then", [_returns_anyway, _raises_instead])
async def test_a_call_that_takes_too_long_has_failed_whatever_it_does_then(then):
    async def resist(**_: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await then()

    [result] = await execute([call("t")], FunctionTool("t", resist), tool_timeout=SOON)
    assert result.error
    assert "timed out" in result.outcome


async def test_the_time_of_a_call_begins_when_it_starts():
    slow = Waiting()
    calls = [call("wait"), call("ok"), call("wait"), call("ok")]
    results = await execute(calls, slow, OK, tool_timeout=SOON, max_concurrency=1)
    assert [result.error for result in results] == [True, False, True, False]


async def test_calls_that_are_in_time_are_not_cut_short():
    async def quick(n: int, **_: Any) -> int:
        await rounds(n)
        return n

    calls = [call("quick", n=n) for n in range(50)]
    results = await execute(calls, FunctionTool("quick", quick), tool_timeout=60)
    assert [result.content for result in results] == list(range(50))


async def test_a_timeout_is_not_the_caller_s_cancellation():
    slow = Waiting()
    await execute([call("wait")], slow, tool_timeout=SOON)
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tool_timeout", 0),
        ("tool_timeout", -0.5),
        ("tool_timeout", math.nan),
        ("max_concurrency", 0),
        ("max_concurrency", -3),
    ],
)
@pytest.mark.parametrize("calls", [[], [call("ok")]], ids=["no call", "a call"])
async def test_a_limit_that_makes_no_sense_is_refused(calls, option, value):
    with pytest.raises(ConfigError, match=option):
        await execute(calls, OK, **{option: value})


# Tools that block


@dataclass
class Blocking(FunctionTool):
    """A tool that says that it blocks."""

    blocking: bool = True


class Gate:
    """Where threads wait until they are let on. Opened at the end of a test in any case."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        assert self._open.wait(10)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


async def reached(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 10)


def plain(execute_: Any) -> Any:
    def in_a_thread(**arguments: Any) -> Any:
        return execute_(**arguments)

    return FunctionTool("t", in_a_thread)


def marked(execute_: Any) -> Any:
    async def on_a_loop_of_its_own(**arguments: Any) -> Any:
        return execute_(**arguments)

    return Blocking("t", on_a_loop_of_its_own)


def marked_plain(execute_: Any) -> Any:
    return Blocking("t", plain(execute_).execute)


in_a_worker_thread = pytest.mark.parametrize("kind", [plain, marked, marked_plain])


@in_a_worker_thread
async def test_tools_that_block_and_others_in_call_order(kind, gate):
    async def let_on(**_: Any) -> str:
        await reached(gate)
        gate.open()
        return "other"

    tools = [kind(lambda **_: gate.wait() or "blocked"), FunctionTool("other", let_on)]
    results = await execute([call("t"), call("other"), call("t")], *tools)
    assert [result.content for result in results] == ["blocked", "other", "blocked"]


@in_a_worker_thread
@pytest.mark.parametrize(
    "error",
    [ValueError("no"), asyncio.CancelledError("no"), SystemExit("no"), StopIteration("no")],
    ids=lambda error: type(error).__name__,
)
async def test_a_tool_that_raises_in_its_thread_fails_alone(error, kind):
    def execute_(fail: bool, **_: Any) -> str:
        if fail:
            raise error
        return "text"

    results = await execute([call("t", fail=True), call("t", fail=False)], kind(execute_))
    assert [result.error for result in results] == [True, False]
    assert results[1].content == "text"


@in_a_worker_thread
async def test_a_tool_that_blocks_may_use_the_caller_s_loop(kind):
    loop = asyncio.get_running_loop()

    def ask(**_: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(OK.execute(a=1), loop).result(10).content

    [result] = await execute([call("t")], kind(ask))
    assert result.content == {"a": 1}


@in_a_worker_thread
async def test_many_tools_that_block(kind):
    results = await execute([call("t", n=n) for n in range(300)], kind(lambda n, **_: n))
    assert [result.content for result in results] == list(range(300))


async def test_a_marked_coroutine_is_cancelled_with_its_batch():
    started, steps = threading.Event(), []

    async def clean_up(**_: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await rounds(5)
            steps.append("cleaned up")

    batch = asyncio.create_task(execute([call("t")], Blocking("t", clean_up)))
    await asyncio.to_thread(started.wait, 10)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert steps == ["cleaned up"]


async def test_a_cancelled_batch_does_not_wait_for_a_plain_function(gate):
    batch = asyncio.create_task(execute([call("t")], plain(lambda **_: gate.wait())))
    await reached(gate)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch


async def test_a_tool_that_blocks_may_run_a_batch_of_such_tools():
    def nest(depth: int, **_: Any) -> Any:
        if depth == 0:
            return ["bottom"]
        results = asyncio.run(execute([call("t", depth=depth - 1)] * 2, tool))
        return [*results[0].content, *results[1].content]

    tool = plain(nest)
    [result] = await execute([call("t", depth=4)], tool)
    assert result.content == ["bottom"] * 16


# A caller that leaves


async def test_a_cancelled_batch_has_stopped_when_its_caller_knows():
    slow, steps = Waiting(), []

    async def clean_up(**_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await rounds(5)
            steps.append("cleaned up")

    tools = [slow, FunctionTool("t", clean_up)]
    batch = asyncio.create_task(execute([call("wait"), call("t")], *tools))
    await slow.started.wait()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert (slow.journal, steps) == (["started", "stopped"], ["cleaned up"])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_batch_starts_no_further_call():
    slow, started = Waiting(), []
    tools = [slow, FunctionTool("t", lambda **_: started.append(True))]
    batch = asyncio.create_task(
        execute([call("wait"), call("t"), call("t")], *tools, max_concurrency=1)
    )
    await slow.started.wait()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert started == []


async def test_a_batch_that_is_dropped_stops_its_tools():
    """Whoever awaited it is gone without having been cancelled."""
    slow = Waiting()
    batch = execute([call("wait"), call("wait")], slow)
    batch.send(None)
    await slow.started.wait()
    batch.close()
    del batch
    gc.collect()
    await rounds(5)
    journal, slow.journal = slow.journal, []
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await rounds(5)
    assert sorted(journal) == ["started", "started", "stopped", "stopped"]


# Nothing is kept


class Payload(list):
    """A list that can be watched."""


async def alive_after(batch: Callable[[Payload], Awaitable[Any]]) -> int:
    """How many of 20 batches keep their argument alive once they are over.

    One at most, the last, whose exception the interpreter may still hold.
    """
    watched = []
    for _ in range(20):
        given = Payload()
        watched.append(weakref.ref(given))
        await batch(given)
    del given
    gc.collect()
    return sum(payload() is not None for payload in watched)


@pytest.mark.parametrize(
    "options", [{}, {"max_concurrency": 1}, {"tool_timeout": 60}], ids=lambda options: repr(options)
)
@pytest.mark.parametrize("pause", [0, 2])
async def test_a_batch_that_is_over_keeps_nothing_alive(pause, options):
    async def echo(given: Payload, **_: Any) -> Payload:
        await rounds(pause)
        return given

    async def batch(given: Payload) -> None:
        calls = [call("echo", given=given)] * 2
        await execute(calls, FunctionTool("echo", echo), **options)

    assert await alive_after(batch) <= 1


async def test_a_batch_whose_tools_fail_keeps_nothing_alive(caplog):
    caplog.set_level("CRITICAL", "cogency_rs")  # what is captured of the log is kept

    async def batch(given: Payload) -> None:
        calls = [call("t", given=given), call("c", given=given)]
        await execute(calls, raises(ValueError("no")), raises(asyncio.CancelledError("no"), "c"))

    assert await alive_after(batch) <= 1


async def test_a_batch_that_was_cancelled_keeps_nothing_alive():
    async def batch(given: Payload) -> None:
        slow = Waiting()
        work = asyncio.create_task(execute([call("wait", given=given)] * 2, slow))
        await slow.started.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    assert await alive_after(batch) <= 1


async def test_a_batch_that_timed_out_keeps_nothing_alive():
    async def batch(given: Payload) -> None:
        await execute([call("wait", given=given)] * 2, Waiting(), tool_timeout=0.002)

    assert await alive_after(batch) <= 1


# Eager tasks


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
class TestALoopWithEagerTasks:
    @pytest.fixture(autouse=True)
    async def eager(self):
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        yield
        loop.set_task_factory(None)

    @pytest.mark.parametrize("waits", [0, 1, 3])
    async def test_results_are_in_call_order(self, waits):
        async def echo(n: int, **_: Any) -> int:
            await rounds(waits * (3 - n))
            return n

        results = await execute([call("echo", n=n) for n in range(4)], FunctionTool("echo", echo))
        assert [result.content for result in results] == [0, 1, 2, 3]

    async def test_a_tool_that_fails_fails_alone(self):
        tools = [raises(ValueError("no")), raises(asyncio.CancelledError(), "c"), OK]
        results = await execute([call("t"), call("c"), call("ok")], *tools)
        assert [result.error for result in results] == [True, True, False]

    async def test_a_tool_runs_as_a_task_of_its_own(self):
        async def look(**_: Any) -> bool:
            return asyncio.current_task() is caller

        caller = asyncio.current_task()
        [result] = await execute([call("look")], FunctionTool("look", look))
        assert (result.content, asyncio.current_task()) == (False, caller)

    async def test_a_cancelled_batch_has_stopped_when_its_caller_knows(self):
        slow = Waiting()
        batch = asyncio.create_task(execute([call("wait")] * 2, slow))
        await slow.started.wait()
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        assert sorted(slow.journal) == ["started", "started", "stopped", "stopped"]


@pytest.mark.parametrize("options", [{}, {"tool_timeout": 60}, {"max_concurrency": 1}], ids=repr)
async def test_a_tool_runs_as_a_task_of_its_own(options):
    async def look(**_: Any) -> bool:
        return asyncio.current_task() in {None, caller}

    caller = asyncio.current_task()
    results = await execute([call("look")] * 2, FunctionTool("look", look), **options)
    assert [result.content for result in results] == [False, False]
    assert asyncio.current_task() is caller


async def test_a_loop_with_a_task_factory_of_its_own():
    made: list[Any] = []

    def factory(loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(work)
        return asyncio.Task(work, loop=loop, **options)

    async def echo(n: int, **_: Any) -> int:
        await rounds(1)
        return n

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    try:
        calls = [call("echo", n=n) for n in range(3)]
        results = await execute(calls, FunctionTool("echo", echo))
    finally:
        loop.set_task_factory(None)
    assert [result.content for result in results] == [0, 1, 2]


async def _in_debug_mode(work: Callable[[], Awaitable[Any]]) -> Any:
    asyncio.get_running_loop().set_debug(True)
    return await work()


def test_a_loop_in_debug_mode():
    tools = [OK, raises(asyncio.CancelledError())]
    calls = [call("ok"), call("t")]
    results = asyncio.run(_in_debug_mode(lambda: execute(calls, *tools, tool_timeout=60)))
    assert [result.error for result in results] == [False, True]
