"""The executor: a batch runs at the same time, each call on its own, and the results come in call order."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import enum
import functools
import itertools
import math
import threading
from collections import OrderedDict, namedtuple
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, MagicMock

import pytest

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
from support.tools import (
    FAIL,
    OK,
    FunctionTool,
    Waiting,
    call,
    outcomes,
    raises,
    returns,
    rounds,
    with_tools,
)
from support.turns import Log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

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
