"""`@tool`: what a function becomes, what it is called with, and what becomes of what it returns."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from cogency_rs import (
    Accumulator,
    ConfigError,
    Execution,
    FunctionTool,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolOptions,
    ToolResult,
    assemble,
    execute_tool,
    execute_tools,
    parse_tokens,
    system_prompt,
    tool,
)
from cogency_rs.cogency_tools import INJECTED as RESERVED
from support.tools import INJECTED, block, call, with_tools
from support.turns import Log, carry_out, results_in

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.timeout(30)


async def run(made: Any, /, *, user_id: str = "u", **arguments: Any) -> ToolResult:
    """Run one call of a tool, as a turn does."""
    return await execute_tool(
        ToolCall(made.name, arguments),
        execution=with_tools(made, storage="the log"),
        user_id=user_id,
        conversation_id="c",
    )


async def refusal(made: Any, /, **arguments: Any) -> str:
    """What is wrong with the arguments, as the tool alone says it."""
    result = await made.execute(**arguments)
    assert result.error
    return result.outcome.removeprefix(f"Invalid arguments for tool '{made.name}': ")


# What a function becomes


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    They may be negative.

    Args:
        a: one of them
        b: the other

    Returns:
        Their sum.
    """
    return a + b


def test_a_function_becomes_a_tool():
    assert isinstance(add, FunctionTool)
    assert isinstance(add, Tool)
    assert add.name == "add"
    assert add.description == "Add two numbers.\n\nThey may be negative."
    assert add.schema == {
        "a": {"type": "integer", "required": True, "description": "one of them"},
        "b": {"type": "integer", "required": False, "description": "the other", "default": 1},
    }
    assert add.json_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "one of them"},
            "b": {"type": "integer", "description": "the other", "default": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


async def test_a_tool_is_still_the_function():
    assert await add(1, b=2) == 3
    assert (add.__name__, add.__module__) == ("add", __name__)
    assert add.__doc__ is not None
    assert "Returns:" in add.__doc__
    assert await add("a", "b") == "ab"  # nothing is checked


@pytest.mark.parametrize(
    ("made", "name", "description", "blocking"),
    [
        (tool(add.__wrapped__), "add", add.description, False),
        (tool()(add.__wrapped__), "add", add.description, False),
        (tool(name="plus")(add.__wrapped__), "plus", add.description, False),
        (tool(description="Sums.")(add.__wrapped__), "add", "Sums.", False),
        (tool(blocking=True)(add.__wrapped__), "add", add.description, True),
        (tool(add.__wrapped__, name="p", description="", blocking=True), "p", "", True),
        (tool(lambda x: x, name="same"), "same", "", False),
    ],
    ids=repr,
)
def test_what_the_decorator_is_told_counts(made, name, description, blocking):
    assert (made.name, made.description, made.blocking) == (name, description, blocking)


def test_a_call_is_described_on_one_line():
    assert add.describe({"a": 1, "b": "x"}) == "add(a=1, b='x')"
    assert add.describe({}) == "add()"


# What it is called with


@tool
async def take(**arguments: Any) -> dict[str, Any]:
    return arguments


async def test_a_function_gets_the_arguments_it_declares_and_no_others():
    @tool
    async def declares(x: int) -> list[str]:
        return sorted(locals())

    assert (await run(declares, x=1)).content == ["x"]


@pytest.mark.parametrize("name", [*sorted(RESERVED), "timeout"])
async def test_a_parameter_of_any_name_is_the_model_s(name):
    namespace: dict[str, Any] = {}
    exec(f"async def shell(x, *, {name}): return [x, {name}]", namespace)
    asks = tool(namespace["shell"])
    assert list(asks.json_schema["properties"]) == ["x", name]
    given = ToolCall("shell", {"x": 1, name: "the model's"})
    result = await execute_tool(given, execution=with_tools(asks), user_id="the turn's")
    assert result.content == [1, "the model's"]
    refused = await run(asks, x=1)
    assert f"argument '{name}' is required, and was not given" in refused.outcome


async def test_what_cogency_s_executor_gives_reaches_no_parameter_that_was_not_asked_for():
    given = dict.fromkeys(RESERVED | {"timeout"}, "the turn's")

    @tool
    async def shell(x: int, **more: Any) -> Any:
        return [x, more]

    @tool
    async def wait(timeout: int = 3) -> int:
        return timeout

    assert (await shell.execute(x=1, **given)).content == [1, {}]
    del given["timeout"]
    assert (await wait.execute(**given)).content == 3
    assert (await wait.execute(timeout=5, **given)).content == 5


async def test_the_names_left_out_are_those_that_cogency_s_executor_gives():
    given: dict[str, Any] = {}

    class Shell:
        name, description = "shell", ""

        async def execute(self, **arguments: Any) -> None:
            given.update(arguments)

    await run(Shell())
    assert set(given) == RESERVED | {"timeout"} == INJECTED


def test_a_parameter_annotated_with_the_context_is_in_no_schema():
    @tool
    async def whoami(context: ToolContext, greeting: str, other: ToolContext[int] | None) -> str:
        """Greet.

        Args:
            greeting: how to.
        """
        return greeting

    assert list(whoami.json_schema["properties"]) == ["greeting"]
    assert list(whoami.schema) == ["greeting"]
    assert whoami.takes_context


@pytest.mark.parametrize("kind", ["coroutine", "plain", "method"])
async def test_a_function_that_asks_for_it_is_told_of_the_call(kind):
    seen: list[ToolContext[dict[str, int]]] = []

    @tool
    async def coroutine(x: int, about: ToolContext[dict[str, int]]) -> int:
        seen.append(about)
        return x

    @tool
    def plain(x: int, about: Annotated[ToolContext[Any], "what is known"]) -> int:
        seen.append(about)
        return x

    class Box:
        @tool
        async def method(self, about: "ToolContext[Any]", x: int) -> int:  # noqa: UP037
            seen.append(about)
            return x

    made = {"coroutine": coroutine, "plain": plain, "method": Box().method}[kind]
    deps = {"n": 1}
    execution = Execution(storage="the log", tools=[made], deps=deps, access="project")
    calls = [ToolCall(made.name, {"x": n}, id=f"id {n}") for n in range(3)]
    results = await execute_tools(calls, execution=execution, user_id="u", conversation_id="c")
    assert [result.content for result in results] == [0, 1, 2]
    seen.sort(key=lambda about: about.execution_id)
    assert [(about.call, about.execution_id) for about in seen] == [
        (each, each.id) for each in calls
    ]
    first = seen[0]
    assert (first.user_id, first.conversation_id, first.storage) == ("u", "c", "the log")
    assert (first.sandbox_dir, first.access, dict(first.state)) == (
        ".cogency/sandbox",
        "project",
        {},
    )
    assert first.deps is deps
    with pytest.raises(AttributeError):
        first.user_id = "another"


async def test_the_context_cannot_be_written_by_the_model():
    @tool
    async def whoami(about: ToolContext) -> str:
        return about.user_id

    refused = await run(whoami, about={"user_id": "root"})
    assert "argument 'about' is not known" in refused.outcome


async def test_in_cogency_s_executor_the_context_holds_what_that_gives():
    @tool
    async def whoami(x: int, about: ToolContext) -> Any:
        return [about.user_id, about.conversation_id, about.storage, about.call.args]

    result = await whoami.execute(x=1, storage="log", conversation_id="c", user_id="u", access="a")
    assert result.content == ["u", "c", "log", {"x": 1}]


def test_options_are_given_by_keyword():
    @tool(timeout=5, retries=2, idempotent=True, sequential=True, requires_approval=True)
    async def careful() -> None: ...

    assert careful.options == ToolOptions(5, 2, True, True, True)
    with pytest.raises(ConfigError, match="retries need idempotent=True"):
        tool(retries=1)
    with pytest.raises(ConfigError, match="timeout must be above 0 seconds"):
        tool(timeout=-1)


async def test_further_names_take_any_argument_of_the_model_s_and_nothing_of_the_turn_s():
    assert (await run(take, x=[1, None], y="")).content == {"x": [1, None], "y": ""}
    assert take.json_schema["additionalProperties"] is True


async def test_a_parameter_without_a_hint_takes_any_value():
    @tool
    async def echo(x, y=None):
        return [x, y]

    for value in (None, True, 1, 1.5, "a", [{}], {"a": [None]}):
        assert (await run(echo, x=value, y=value)).content == [value, value]
    assert echo.schema == {"x": {"required": True}, "y": {"required": False, "default": None}}


async def test_a_parameter_may_have_any_name():
    async def odd(args: int, given: int, kwargs: int, function: int) -> int:
        return args + given + kwargs + function

    assert (await run(tool(odd), args=1, given=2, kwargs=3, function=4)).content == 10


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "argument 'a' is required, and was not given"),
        ({"b": 2}, "argument 'a' is required, and was not given"),
        ({"a": "1"}, "argument 'a' must be an integer, and was a string: \"1\""),
        ({"a": 1, "b": None}, "argument 'b' must be an integer, and was null"),
        ({"a": 1, "c": 1}, "argument 'c' is not known; known are a, b"),
        ({"a": 1, "timeout": 1}, "argument 'timeout' is not known; known are a, b"),
    ],
    ids=repr,
)
async def test_arguments_that_do_not_fit_are_a_failure_that_says_why(arguments, problem):
    result = await run(add, **arguments)
    assert result == ToolResult(f"Invalid arguments for tool 'add': {problem}", error=True)
    assert await refusal(add, **arguments) == problem


async def test_a_function_that_takes_nothing_says_so():
    @tool
    async def now() -> str:
        return "now"

    assert (await run(now)).content == "now"
    assert await refusal(now, x=1) == "argument 'x' is not known; there are none"


# What becomes of what it returns


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: list[Color] = field(default_factory=list)


@dataclass
class TheirResult:
    """A result of cogency's, by its fields."""

    outcome: str
    content: str | None = None
    error: bool = False


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, None),
        (0, 0),
        ("text", "text"),
        ([1, (2, {"a": None})], [1, [2, {"a": None}]]),
        (Point(1, [Color.RED]), {"x": 1, "y": ["red"]}),
        ({"points": [Point(1)], Color.RED: Color.RED}, {"points": [{"x": 1, "y": []}], "red": "red"}),
        ({1: Color.RED}, {1: "red"}),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_value_is_the_content_of_a_success(value, content):
    for made in both_kinds(lambda: value):
        assert await run(made) == ToolResult("Success", content)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("done"),
        ToolResult("done", "text"),
        ToolResult("failed", error=True),
        TheirResult("done", "text"),
    ],
    ids=repr,
)
async def test_a_result_is_handed_on(result):
    for made in both_kinds(lambda: result):
        assert await run(made) is result


async def test_the_content_of_a_result_is_written_as_json_too():
    for made in both_kinds(lambda: ToolResult("moved", [Point(1)])):
        assert await run(made) == ToolResult("moved", [{"x": 1, "y": []}])


async def test_a_value_that_json_cannot_hold_is_a_failure_that_names_its_type():
    for made in both_kinds(lambda: [object()]):
        result = await run(made)
        assert result.error
        assert "Object of type object is not JSON serializable" in result.outcome


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ToolError("no such file"), "no such file"),
        (ValueError("no such file"), "ValueError: no such file"),
    ],
    ids=repr,
)
async def test_what_a_function_raises_is_its_failure(error, words):
    def fail() -> None:
        raise error

    named = "" if isinstance(error, ToolError) else f"{type(error).__name__}: "
    for made in both_kinds(fail):
        result = await run(made)
        expected = f"Tool execution failed: {named}no such file"
        assert result == ToolResult(expected, error=True)
        assert result.exception is error


def both_kinds(function: Callable[[], Any]) -> list[FunctionTool[..., Any]]:
    """The same as an `async def` and as a plain `def`."""

    async def as_coroutine() -> Any:
        return function()

    def as_plain() -> Any:
        return function()

    return [tool(as_coroutine), tool(as_plain)]


# Where it runs


async def test_a_coroutine_runs_on_the_loop_and_what_blocks_in_a_thread():
    @tool
    async def on_the_loop() -> int:
        return threading.get_ident()

    @tool
    def plain() -> int:
        return threading.get_ident()

    @tool(blocking=True)
    async def marked() -> int:
        await asyncio.sleep(0)
        return threading.get_ident()

    here = threading.get_ident()
    assert [(await run(t)).content == here for t in (on_the_loop, plain, marked)] == [True, False, False]  # fmt: skip


async def test_plain_functions_of_a_batch_run_at_the_same_time():
    barrier = threading.Barrier(4, timeout=20)

    @tool
    def meet(n: int) -> int:
        barrier.wait()
        return n

    calls = [call("meet", n=n) for n in range(4)]
    results = await execute_tools(
        calls, execution=with_tools(meet), user_id="", conversation_id="c"
    )
    assert [result.content for result in results] == [0, 1, 2, 3]


async def test_a_plain_function_may_return_an_awaitable():
    @tool
    def later(x: int) -> Any:
        return asyncio.sleep(0, Point(x))

    assert (await run(later, x=1)).content == {"x": 1, "y": []}


async def test_context_variables_reach_a_function():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    for made in both_kinds(variable.get):
        assert (await run(made)).content == "set"


async def test_a_timeout_cancels_a_function():
    stopped = asyncio.Event()

    @tool
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    result = await execute_tool(
        call("wait"),
        execution=with_tools(wait),
        user_id="",
        conversation_id="c",
        tool_timeout=0.05,
    )
    assert result == ToolResult("Tool 'wait' timed out after 0.05 s", error=True)
    assert stopped.is_set()


# Methods


class Box:
    def __init__(self) -> None:
        self.items: list[int] = []

    @tool
    async def put(self, item: int) -> list[int]:
        """Put an item in."""
        self.items.append(item)
        return self.items

    @tool(name="count_items")
    def count(self) -> int:
        return len(self.items)

    @tool
    @classmethod
    async def kind(cls, suffix: str) -> str:
        return cls.__name__ + suffix

    @tool
    @staticmethod
    async def double(x: int) -> int:
        return 2 * x

    @staticmethod
    @tool
    async def triple(x: int) -> int:
        return 3 * x

    def plain(self, x: int) -> int:
        return x + len(self.items)


class BigBox(Box):
    pass


async def test_a_method_is_a_tool_of_its_instance():
    one, other = Box(), Box()
    assert (await run(one.put, item=1)).content == [1]
    assert (await run(other.put, item=2)).content == [2]
    assert (await run(other.count)).content == 1
    assert one.put.schema == {"item": {"type": "integer", "required": True}}
    assert one.put.description == "Put an item in."
    assert await one.put(3) == [1, 3]
    assert await Box.put(one, 4) == [1, 3, 4]


@pytest.mark.parametrize(
    ("made", "arguments", "content"),
    [
        (Box.kind, {"suffix": "!"}, "Box!"),
        (BigBox.kind, {"suffix": "!"}, "BigBox!"),
        (BigBox().kind, {"suffix": "!"}, "BigBox!"),
        (Box.double, {"x": 2}, 4),
        (Box().double, {"x": 2}, 4),
        (Box.triple, {"x": 2}, 6),
        (Box().triple, {"x": 2}, 6),
        (tool(Box().plain), {"x": 1}, 1),
    ],
    ids=repr,
)
async def test_methods_of_every_kind(made, arguments, content):
    assert (await run(made, **arguments)).content == content


@pytest.mark.parametrize(
    "use",
    [
        lambda: Accumulator("u", "c", execution=Execution(storage=Log(), tools=[Box.put])),
        lambda: system_prompt([Box.put]),
        lambda: asyncio.run(assemble("", "c", tools=[Box.put], storage=Log())),
        lambda: asyncio.run(
            execute_tool(
                call("put"), execution=with_tools(Box.put), user_id="", conversation_id="c"
            )
        ),
        lambda: Box.__dict__["kind"].name,
    ],
)
def test_a_method_without_its_instance_is_an_error_that_says_what_to_do(use):
    with pytest.raises(ConfigError, match=r"Box\.\w+ is a method: take it from an instance, as in"):
        use()


# What cannot be a tool


def positional(x: int, /) -> None: ...
def positional_log(storage: Any, /) -> None: ...
def variadic(*values: int) -> None: ...
def yields(x: int) -> Any:
    yield x


async def yields_too(x: int) -> Any:
    yield x


def unresolvable(good: int, bad: list[Missing]) -> None: ...  # noqa: F821
def unwritable(x: Annotated[int, "how many"], bad: dict[str, threading.Lock]) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (positional, "parameter 'x' of tool 'positional' is positional, and a model gives arguments by name: "
                     "make it an ordinary parameter"),
        (positional_log, "parameter 'storage' of tool 'positional_log' is positional"),
        (variadic, "parameter 'values' of tool 'variadic' is positional"),
        (yields, "tool 'yields' yields: a tool returns one value, for example a list"),
        (yields_too, "tool 'yields_too' yields"),
        (unresolvable, "parameter 'bad' of tool 'unresolvable' has the hint list[Missing], which cannot be resolved: "
                       "name 'Missing' is not defined. Define or import what it names before the tool is made"),
        (unwritable, "parameter 'bad' of tool 'unwritable' has the hint"),
        (lambda x: x, "a tool needs a name, got '<lambda>': tool(function, name=...)"),
        ("Add two numbers.", "@tool makes a tool of a function, not of 'Add two numbers.'; what it is called and does "
                             "is said by keyword: @tool(name=..., description=...)"),
        (Point, "@tool makes a tool of a function, not of <class"),
        (functools.partial(positional, 1), "@tool makes a tool of a function, not of functools.partial"),
        (len, "@tool makes a tool of a function, not of <built-in function len>"),
        (add, "@tool makes a tool of a function, not of <tool add>"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_cannot_be_a_tool_is_refused_at_once(function, message):
    with pytest.raises(ConfigError) as raised:
        tool(function)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["", 5])
def test_a_name_must_be_text(name):
    with pytest.raises(ConfigError, match="a tool needs a name"):
        tool(name=name)(add.__wrapped__)


# Hints written as text


class Outer:
    class Inner(Enum):
        A = "a"

    @tool
    def uses_the_class_namespace(self, x: Inner) -> str:
        return x.name


async def test_hints_may_name_what_is_defined_around_the_function():
    class Local(Enum):
        A = "a"

    @dataclass
    class Holder:
        local: Local

    @tool
    async def direct(x: Local, y: list[Holder]) -> str:
        assert y[0].local is x
        return x.name

    class Nested:
        Own = int

        @tool
        async def method(self, x: Local, n: Own) -> str:
            return x.name * n

    assert (await run(direct, x="a", y=[{"local": "a"}])).content == "A"
    assert (await run(Nested().method, x="a", n=2)).content == "AA"
    assert (await run(Outer().uses_the_class_namespace, x="a")).content == "A"


DEFERRED = """
from cogency_rs import tool
class Local: ...
def result(x: list[int]) -> Missing: "Read."
def parameter(x: list[Missing]) -> str: "Read."
def attribute(x: Local.Missing) -> str: "Read."
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python evaluates hints where they stand")
def test_hints_that_are_evaluated_late_are_those_of_parameters():
    """As with hints that are text, that of the result may name what only type checkers know."""
    functions: dict[str, Any] = {}
    exec(compile(DEFERRED, "deferred", "exec", dont_inherit=True), functions)
    assert tool(functions["result"]).json_schema["properties"]["x"]["items"] == {"type": "integer"}
    for name, hint in [("parameter", "list[Missing]"), ("attribute", "Local.Missing")]:
        refused = f"parameter 'x' of tool '{name}' has the hint {hint}, which cannot be resolved: "
        with pytest.raises(ConfigError, match=re.escape(refused)):
            tool(functions[name])


async def test_names_of_the_caller_do_not_stand_for_names_of_the_function():
    class Point(Enum):  # not the Point of this module
        HERE = 1

    assert Point.HERE
    for function in (takes_a_point, make_one_that_takes_a_point()):
        assert (await run(tool(function), p={"x": 1})).content == {"x": 1, "y": []}


async def takes_a_point(p: Point) -> Point:
    return p


def make_one_that_takes_a_point() -> Callable[..., Any]:
    async def takes_it(p: Point) -> Point:
        return p

    return takes_it


async def test_a_function_may_use_names_that_are_bound_later():
    @tool
    async def countdown(n: int) -> list[int]:
        return [n, *(await rest(n))]

    async def rest(n: int) -> list[int]:
        return await countdown(n - 1) if n else []

    assert (await run(countdown, n=2)).content == [2, 1, 0]


async def test_a_wrapper_has_the_hints_of_what_it_wraps():
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        return wrapper

    assert (await run(tool(logged(takes_a_point)), p={"x": 1})).content == {"x": 1, "y": []}


# In a turn


async def test_a_turn_runs_functions_and_shows_their_values():
    @tool
    def look(at: Color) -> Point:
        return Point(1, [at])

    log = Log()
    turn = Accumulator("u", "c", execution=Execution(storage=log, tools=[add, look]))
    text = block(call("add", a=2, b=3), call("look", at="red"), call("look", at="green"), call("add"))  # fmt: skip
    events = await carry_out(turn, parse_tokens(text))
    [results] = results_in(events)
    assert results == [
        {"tool": "add", "status": "success", "content": 5},
        {"tool": "look", "status": "success", "content": {"x": 1, "y": ["red"]}},
        {"tool": "look", "status": "failure",
         "content": "Invalid arguments for tool 'look': argument 'at' must be \"red\", and was a string: \"green\""},
        {"tool": "add", "status": "failure",
         "content": "Invalid arguments for tool 'add': argument 'a' is required, and was not given"},
    ]  # fmt: skip
    assert json.loads(log.rows[-1].content) == results


# Without pydantic

WITHOUT_PYDANTIC = """
import sys
import cogency_rs
assert "pydantic" not in sys.modules, "importing the package imports pydantic"

@cogency_rs.tool
async def add(a: int, b: "list[int] | None" = None) -> int:
    "Add."
    return a + sum(b or ())

assert "pydantic" not in sys.modules, "a tool of plain hints imports pydantic"
"""


def test_pydantic_is_imported_only_when_it_is_needed():
    subprocess.run([sys.executable, "-c", WITHOUT_PYDANTIC], check=True, timeout=60)
