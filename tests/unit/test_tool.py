"""`@tool`: the tool of a function, which functions and methods it takes, and a turn with them."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import threading
from typing import Annotated, Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    Execution,
    ToolContext,
    assemble,
    parse_tokens,
    system_prompt,
    tool,
)
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_tool
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import FunctionTool
from cogency_rs.types import Tool
from support.function_tools import Color, Point, add, run
from support.ids import shown
from support.tools import block, call, with_tools
from support.turns import Log, carry_out, results_in

pytestmark = pytest.mark.timeout(30)


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
    assert (add.__name__, add.__module__) == ("add", "support.function_tools")
    assert add.__doc__ is not None
    assert "Returns:" in add.__doc__
    assert await add("a", "b") == "ab"  # the function itself checks nothing


@pytest.mark.parametrize(
    ("made", "name", "description"),
    [
        (tool(add.__wrapped__), "add", add.description),
        (tool()(add.__wrapped__), "add", add.description),
        (tool(name="plus")(add.__wrapped__), "plus", add.description),
        (tool(description="Sums.")(add.__wrapped__), "add", "Sums."),
        (tool(add.__wrapped__, name="p", description=""), "p", ""),
        (tool(lambda x: x, name="same"), "same", ""),
    ],
    ids=repr,
)
def test_options_of_the_decorator_go_before_the_function_s_own(made, name, description):
    assert (made.name, made.description) == (name, description)


def test_a_call_is_described_on_one_line():
    assert add.describe({"a": 1, "b": "x"}) == "add(a=1, b='x')"
    assert add.describe({}) == "add()"


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


# Objects that cannot be tools


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
        ("Add two numbers.", "@tool makes a tool of a function, not of 'Add two numbers.'; give name and "
                             "description by keyword: @tool(name=..., description=...)"),
        (Point, "@tool makes a tool of a function, not of <class"),
        (functools.partial(Point, 1), "@tool makes a tool of a function, not of functools.partial"),
        (functools.partial(len), "@tool makes a tool of a function, not of functools.partial"),
        (len, "@tool makes a tool of a function, not of <built-in function len>; write a function that calls it"),
        (add, "@tool makes a tool of a function, not of <tool add>"),
    ],
    ids=shown,
)  # fmt: skip
def test_anything_but_a_function_is_refused_at_once(function, message):
    with pytest.raises(ConfigError) as raised:
        tool(function)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["", 5])
def test_a_name_must_be_a_text_that_is_not_empty(name):
    with pytest.raises(ConfigError, match="a tool needs a name"):
        tool(name=name)(add.__wrapped__)


# Functions with some of their arguments


def find(query: str, limit: int = 3, *, key: str) -> str:
    """Find something.

    Args:
        query: what.
        key: a secret.
    """
    return f"{query} {limit} {key}"


async def find_slowly(context: ToolContext[Any], query: str, key: str) -> str:
    return f"{context.call.name} {query} {key}"


class Shelf:
    def put(self, what: str, where: str) -> str:
        return f"{what} {where}"


@pytest.mark.parametrize(
    ("partial", "name", "asked", "args", "content"),
    [
        (functools.partial(find, key="s"), "find", ["query", "limit"], {"query": "q"}, "q 3 s"),
        (functools.partial(find, "q", key="s"), "find", ["limit"], {"limit": 1}, "q 1 s"),
        (functools.partial(functools.partial(find_slowly, key="s")), "find_slowly", ["query"], {"query": "q"},
         "find_slowly q s"),
        (functools.partial(Shelf().put, where="here"), "put", ["what"], {"what": "a book"}, "a book here"),
        (functools.partial(positional, 1), "positional", [], {}, None),
    ],
    ids=shown,
)  # fmt: skip
async def test_a_model_gives_what_a_partial_does_not(partial, name, asked, args, content):
    made = tool(partial)
    assert (made.name, list(made.json_schema["properties"])) == (name, asked)
    result = await execute_tool(call(name, **args), execution=with_tools(made))
    assert result.content == content
    assert "secret" not in made.description + str(made.json_schema)


async def test_an_agent_makes_tools_of_plain_functions():
    answers = [block(call("find", query="q", key="k"), call("put", what="a", where="b")), "Done."]
    plus_1 = functools.partial(add.__wrapped__, a=1)
    agent = Agent(ScriptedModel(answers), tools=[find, Shelf().put, plus_1])
    assert [each.name for each in agent.tools] == ["find", "put", "add"]
    result = await agent.run("Find it.")
    assert [each.result.content for step in result.steps for each in step.executions] == [
        "q 3 k",
        "a b",
    ]


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
         "content": "Invalid arguments for tool 'look': argument 'at' must be \"red\", got a string: \"green\""},
        {"tool": "add", "status": "failure",
         "content": "Invalid arguments for tool 'add': argument 'a' is required, but was not given"},
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
