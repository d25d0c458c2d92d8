"""The check of arguments before a tool starts: which schema counts, which values are faults, what is kept."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections import UserDict
from typing import Any
from unittest.mock import Mock

import pytest

from cogency_rs import Execution, ToolCall, tool
from cogency_rs._core import ArgumentSchema
from cogency_rs.execution import execute_tool
from cogency_rs.tools import FunctionTool
from cogency_rs.tools.registry import MOST_KEPT, _kept, faults
from support.cost import cost, is_linear

pytestmark = pytest.mark.timeout(60)

Schema = dict[str, Any]


def of_x(schema: Any) -> Schema:
    """The JSON Schema of arguments with one property, `x`."""
    return {"type": "object", "properties": {"x": schema}}


class Tool:
    """A tool of which only the schema matters."""

    name, description = "t", ""

    def __init__(self, schema: Any = None, **others: Any) -> None:
        self.schema = schema
        vars(self).update(others)

    async def execute(self, **_: Any) -> str:
        return "ran"


# Which schema counts

WRONG = ["argument 'x' must be an integer, got a string: \"a\""]
INTEGER = of_x({"type": "integer"})


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Tool(INTEGER), WRONG),
        (Tool({"x": {"type": "integer"}}), WRONG),
        (Tool({"x": {}}, json_schema=INTEGER), WRONG),
        (Tool(INTEGER, json_schema={"x": {"type": "string"}}), WRONG),  # that is not JSON Schema
        (Tool(INTEGER, json_schema=None), WRONG),
        (Tool({"type": "object", "additionalProperties": False}), ["argument 'x' is not known; there are none"]),
        (Tool({"type": "object", "properties": 5}),
         ["the schema of this tool cannot be used: at /properties: must be an object, got 5"]),
        (Tool(None), []),
        (Tool({}), []),
        (Tool([INTEGER]), []),
        (Mock(spec=["execute"]), []),
        (Mock(), []),  # its schema is a mock too
        (Mock(spec=FunctionTool), []),
    ],
)  # fmt: skip
def test_a_tool_is_checked_by_the_schema_that_says_most(made, expected):
    assert faults(made, {"x": "a"}) == expected


async def test_a_schema_that_cannot_be_used_is_a_failure_of_each_call():
    made = Tool(of_x({"pattern": "(?<"}))
    for _ in range(2):
        result = await execute_tool(
            ToolCall("t", {"x": "a"}),
            execution=Execution(storage=None, tools=[made]),
            user_id="",
            conversation_id="c",
        )
        assert result.error
        assert result.outcome == (
            "Invalid arguments for tool 't': the schema of this tool cannot be used: "
            "at /properties/x/pattern: it is not a pattern that can be used: \"(?<\""
        )  # fmt: skip


async def test_every_fault_is_in_one_message():
    @tool
    async def find(path: str, limit: int = 1) -> None: ...

    expected = (
        "Invalid arguments for tool 'find': argument 'pth' is not known; did you mean 'path', which is required and "
        "was not given?; argument 'limit' must be an integer, got a string: \"2\""
    )
    args = {"limit": "2", "pth": "a"}
    assert (await find.execute(**args)).outcome == expected
    execution = Execution(storage=None, tools=[find])
    result = await execute_tool(
        ToolCall("find", args), execution=execution, user_id="", conversation_id="c"
    )
    assert result.outcome == expected


async def test_a_function_is_checked_once_in_a_turn(monkeypatch: pytest.MonkeyPatch):
    @tool
    async def add(a: int) -> int:
        return a

    checks = []
    check = type(add).faults
    monkeypatch.setattr(
        type(add), "faults", lambda self, args: checks.append(args) or check(self, args)
    )
    execution = Execution(storage=None, tools=[add])
    call = ToolCall("add", {"a": 1})
    assert not (
        await execute_tool(call, execution=execution, user_id="", conversation_id="c")
    ).error
    assert checks == [{"a": 1}]
    assert (await add.execute(a="1")).error
    assert len(checks) == 2


async def test_an_execute_that_a_caller_replaced_is_the_one_that_runs():
    @tool
    async def add(a: int) -> int:
        return a

    async def instead(**_: Any) -> str:
        return "instead"

    add.execute = instead  # type: ignore[method-assign]
    execution = Execution(storage=None, tools=[add])
    result = await execute_tool(
        ToolCall("add", {"a": 1}), execution=execution, user_id="", conversation_id="c"
    )
    assert result.content == "instead"


# Python values that JSON does not have


class Odd:
    """An object whose `repr` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int, leaf: Any = 1) -> Any:
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


LOOP: list[Any] = []
LOOP.append(LOOP)
TOO_DEEP = "the arguments are nested too deep: more than 256 levels"
RECURSIVE = {
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/tree"}},
    "$defs": {
        "tree": {
            "anyOf": [
                {"type": "integer"},
                {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}},
            ]
        }
    },
}


VALUES = {
    "an integer of any size": ({"type": "number"}, 10**5000, None),
    "an integer beyond 64 bits": ({"type": "integer"}, -(10**30), None),
    "an integer that Python refuses to write": ({"minimum": 0}, -(10**5000), "must be at least 0, got -1e9999"),
    "a whole float": ({"type": "integer"}, 2.0, None),
    "infinity": ({"type": "number"}, math.inf, None),
    "infinity for an integer": (
        {"type": "integer"}, math.inf, "must be an integer, got a number: Infinity"),
    "NaN": ({"type": "number"}, math.nan, "must be a number, got NaN"),
    "NaN where anything goes": ({}, math.nan, None),
    "a lone surrogate": ({"type": "string", "maxLength": 1}, "\ud800", None),
    "a lone surrogate and a pattern": (
        {"pattern": "^a"}, "\ud800", "must match the pattern ^a, got a string: "),
    "a lone surrogate and a constant": ({"const": "a"}, "\udfff", 'must be "a", got a string: '),
    "a tuple": ({"type": "array", "items": {"type": "integer"}}, (1, 2), None),
    "a set": ({"type": "array"}, {1}, "must be an array, got a Python value of type set: {1}"),
    "an object whose repr fails": (
        {"type": "object"}, Odd(), "must be an object, got a Python value of type Odd: ?"),
    "a mapping": ({"type": "object", "required": ["a"]}, UserDict(a=1), None),
    "a key that is not text": ({"type": "object", "required": ["1"]}, {1: 2}, None),
    "a list in itself": ({}, LOOP, TOO_DEEP),
    "a deep list": ({}, nested(100_000), TOO_DEEP),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "problem"), VALUES.values(), ids=VALUES)
def test_values_that_json_does_not_have_are_faults_or_fit(schema, value, problem):
    found = ArgumentSchema(of_x(schema)).faults({"x": value})
    if problem is None:
        assert found == []
    else:
        [sentence] = found
        assert sentence.startswith(problem if problem is TOO_DEEP else f"argument 'x' {problem}")


def test_in_the_flat_form_an_object_of_any_class_is_an_object():
    schema = ArgumentSchema({"x": {"type": "object"}})
    assert schema.faults({"x": Odd()}) == []
    assert schema.faults({"x": []}) == ["argument 'x' must be an object, got an array: []"]


def test_deep_values_do_not_exhaust_a_small_stack():
    schema, found = ArgumentSchema(RECURSIVE), []

    def check() -> None:
        found.append(schema.faults({"x": nested(250)}))
        found.append(len(schema.faults({"x": nested(250, "a")})))

    # The sanitizer makes every stack frame of the core several times as large.
    scale = 8 if "ASAN_OPTIONS" in os.environ else 1
    before = threading.stack_size(scale * 512 * 1024)
    try:
        thread = threading.Thread(target=check)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [[], 1]


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)+$", r"^(a|a|aa)+\1b$", "(?=a+b)a+$"])
def test_no_pattern_takes_exponential_time(pattern):
    schema = ArgumentSchema(of_x({"pattern": pattern}))
    simple = ArgumentSchema(of_x({"pattern": "b"}))

    def compare(length: int) -> None:
        assert schema.faults({"x": "a" * length + "!"})

    # Short enough to end even in exponential time, which is 50,000 times that of a simple pattern.
    assert cost(lambda: compare(20)) < 5_000 * cost(lambda: simple.faults({"x": "a" * 20}))
    assert is_linear(compare, 100_000)


def test_a_long_chain_of_references_does_not_exhaust_the_stack():
    def chain(length: int) -> ArgumentSchema:
        definitions: Schema = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
        definitions[f"d{length}"] = {"type": "array", "items": {"$ref": "#/$defs/d0"}}
        return ArgumentSchema(of_x({"$ref": "#/$defs/d0"}) | {"$defs": definitions})

    assert chain(10).faults({"x": nested(250, [])}) == []
    assert chain(1000).faults({"x": nested(5, [])}) == []
    [sentence] = chain(1000).faults({"x": nested(250, [])})
    assert sentence.startswith("the arguments are nested too deep")


def test_a_message_shows_a_part_of_a_long_value():
    [sentence] = ArgumentSchema(of_x({"type": "integer"})).faults({"x": "ä" * 1_000_000})
    assert sentence == f"argument 'x' must be an integer, got a string: \"{'ä' * 59}..."


# Kept schemas


def test_a_changed_schema_is_compiled_again():
    made = Tool({"x": {"type": "integer"}})
    assert faults(made, {"x": "a"}) == WRONG
    made.schema["x"]["type"] = "boolean"
    assert faults(made, {"x": True}) == []
    made.schema = INTEGER
    assert faults(made, {"x": "a"}) == WRONG
    made.schema = of_x({"const": 1})
    assert faults(made, {"x": 1}) == []
    made.schema = of_x({"const": True})
    assert faults(made, {"x": 1}) == ["argument 'x' must be true, got an integer: 1"]


def test_a_schema_that_is_made_anew_for_each_call_is_compiled_once():
    class Fresh(Tool):
        @property
        def schema(self) -> Schema:
            return of_x({"type": "integer", "default": (1, 2.0, None)})

        @schema.setter
        def schema(self, _: Any) -> None: ...

    made = Fresh()
    faults(made, {})
    kept = _kept[id(made)]
    faults(made, {})
    assert _kept[id(made)] is kept


def test_kept_schemas_are_bounded_and_keep_no_tool_alive():
    class Unhashable(Tool):
        __hash__ = None  # type: ignore[assignment]

    for _ in range(MOST_KEPT + 10):
        assert faults(Unhashable({"x": {"type": "integer"}}), {"x": "a"}) == WRONG
    tools = [Tool({"x": {}}) for _ in range(MOST_KEPT + 10)]
    for each in tools:
        faults(each, {})
    assert len(_kept) <= MOST_KEPT
    last = weakref.ref(tools.pop())
    del each
    assert last() is None


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match='form must be "flat" or "json schema"'):
        ArgumentSchema({}, form="other")  # type: ignore[arg-type]
