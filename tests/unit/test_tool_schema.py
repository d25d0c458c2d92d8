"""Hints that need nothing but the standard library: their JSON Schema, the values that fit, what the function gets."""

from __future__ import annotations

import asyncio
import collections.abc
import dataclasses
import json
import math
import sys
import typing
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    Optional,
)

import annotated_types
import jsonschema
import pytest
from hypothesis import given, strategies as st

from cogency_rs import ToolResult, tool
from cogency_rs.errors import ConfigError
from cogency_rs.tools import FunctionTool, Param
from support.examples import examples
from support.function_tools import takes
from support.ids import shown

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["with pydantic", "without pydantic"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test twice, with and without pydantic."""
    if request.param == "without pydantic":
        monkeypatch.setitem(sys.modules, "pydantic", None)  # so that its import fails


def read(made: FunctionTool[..., Any], value: Any) -> Any:
    """What the function got for a value that the model wrote, or what is wrong with it."""
    takes.got = None
    result = asyncio.run(made.execute(x=json.loads(json.dumps(value))))
    if isinstance(result, ToolResult) and result.error:
        raise Refused(result.outcome.removeprefix("Invalid arguments for tool 'f': "))
    return takes.got


class Refused(Exception):  # noqa: N818
    """An argument that did not fit."""


def schema_of(made: FunctionTool[..., Any]) -> tuple[Any, Any]:
    """The schema of `x`, and the definitions."""
    return made.json_schema["properties"]["x"], made.json_schema.get("$defs")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """A place.

    Attributes:
        x: to the right
    """

    x: int
    y: Annotated[float, "upwards"] = 0.0


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)
    color: Literal["red", "blue"] | None = None
    depth: int = field(default=0, init=False)


@dataclass
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n <= 0:
            raise ValueError(f"{self.n} is not above 0")


UserId = NewType("UserId", int)

INTEGER, STRING = {"type": "integer"}, {"type": "string"}
POINT = {
    "description": "A place.",
    "type": "object",
    "properties": {
        "x": {"description": "to the right", "type": "integer"},
        "y": {"type": "number", "description": "upwards", "default": 0.0},
    },
    "required": ["x"],
    "additionalProperties": False,
}
REFERENCE = {"$ref": "#/$defs/Point"}
TREE = {
    "type": "object",
    "properties": {
        "value": INTEGER,
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []},
        "color": {
            "anyOf": [{"type": "string", "enum": ["red", "blue"]}, {"type": "null"}],
            "default": None,
        },
    },
    "required": ["value"],
    "additionalProperties": False,
}


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("hint", "schema", "definitions"),
    [
        (str, STRING, None),
        (int, INTEGER, None),
        (float, {"type": "number"}, None),
        (bool, {"type": "boolean"}, None),
        (None, {"type": "null"}, None),
        (Any, {}, None),
        (object, {}, None),
        (UserId, INTEGER, None),
        ("str", STRING, None),
        (list[str], {"type": "array", "items": STRING}, None),
        (list, {"type": "array", "items": {}}, None),
        (typing.List, {"type": "array", "items": {}}, None),  # noqa: UP006
        (list["int"], {"type": "array", "items": INTEGER}, None),
        (collections.abc.Sequence[str], {"type": "array", "items": STRING}, None),
        (collections.abc.Iterable, {"type": "array", "items": {}}, None),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}, None),
        (dict, {"type": "object", "additionalProperties": {}}, None),
        (collections.abc.Mapping[str, Any], {"type": "object", "additionalProperties": {}}, None),
        (Literal["a"], {"type": "string", "enum": ["a"]}, None),
        (Literal["a", 1, None, True], {"enum": ["a", 1, None, True]}, None),
        (Literal[Color.RED], {"type": "string", "enum": ["red"]}, None),
        (int | None, {"anyOf": [INTEGER, {"type": "null"}]}, None),
        (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}, None),  # noqa: UP045
        (Annotated[int, "how many"], INTEGER | {"description": "how many"}, None),
        (Annotated[int, Param("n", ge=1, le=9)],
         INTEGER | {"description": "n", "minimum": 1, "maximum": 9}, None),
        (Annotated[str, Param(min_length=1, max_length=9)], STRING | {"minLength": 1, "maxLength": 9}, None),
        (Annotated[list[int], Param(min_length=1)], {"type": "array", "items": INTEGER, "minItems": 1}, None),
        (Annotated[dict, Param(max_length=2)],
         {"type": "object", "additionalProperties": {}, "maxProperties": 2}, None),
        (list[Annotated[int, Param(ge=1)]], {"type": "array", "items": INTEGER | {"minimum": 1}}, None),
        (Point, REFERENCE, {"Point": POINT}),
        (list[Point] | None, {"anyOf": [{"type": "array", "items": REFERENCE}, {"type": "null"}]}, {"Point": POINT}),
        (Tree, {"$ref": "#/$defs/Tree"}, {"Tree": TREE}),
    ],
    ids=repr,
)  # fmt: skip
def test_a_hint_becomes_a_schema(hint, schema, definitions):
    made = takes(hint)
    assert schema_of(made) == (schema, definitions)
    jsonschema.Draft202012Validator.check_schema(made.json_schema)
    json.dumps(made.schema)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (str, "", ""),
        (int, 10**30, 10**30),
        (int, 2.0, 2),
        (float, 2, 2.0),
        (float, math.inf, math.inf),
        (UserId, 7, 7),
        (list[int], [1, 2.0], [1, 2]),
        (dict[str, list[float]], {"a": [1]}, {"a": [1.0]}),
        (Literal["a", 1, None], None, None),
        (Literal[1, True], True, True),
        (Literal[1], 1.0, 1),
        (Literal[Color.RED], "red", Color.RED),
        (int | None, None, None),
        (Annotated[int, Param(ge=1, le=1)], 1, 1),
        (Annotated[int | None, Param(ge=1)], None, None),
        (Point, {"x": 1}, Point(1, 0.0)),
        (list[Point], [{"x": 1, "y": 2}], [Point(1, 2.0)]),
        (dict[str, Point | None], {"a": {"x": 1}, "b": None}, {"a": Point(1), "b": None}),
        (Tree, {"value": 1, "children": [{"value": 2, "color": "red"}]}, Tree(1, [Tree(2, color="red")])),
        (Any, {"a": [None]}, {"a": [None]}),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_arrives_with_its_hint_s_type(hint, value, got):
    found = read(takes(hint), value)
    assert found == got
    assert type(found) is type(got)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("hint", "value", "problem"),
    [
        (str, 1, "argument 'x' must be a string, got an integer: 1"),
        (str, None, "argument 'x' must be a string, got null"),
        (int, True, "argument 'x' must be an integer, got a boolean: true"),
        (int, 1.5, "argument 'x' must be an integer, got a number: 1.5"),
        (int, math.nan, "argument 'x' must be an integer, got NaN"),
        (float, "1", 'argument \'x\' must be a number, got a string: "1"'),
        (float, True, "argument 'x' must be a number, got a boolean: true"),
        (float, 10**400, "argument 'x' must be a number that a float can hold, got a larger one"),
        (bool, 1, "argument 'x' must be a boolean, got an integer: 1"),
        (None, 0, "argument 'x' must be null, got an integer: 0"),
        (str, ["a" * 80], f'argument \'x\' must be a string, got an array: ["{"a" * 58}...'),
        (list[int], "12", 'argument \'x\' must be an array, got a string: "12"'),
        (list[int], [1, "2"], 'argument \'x[1]\' must be an integer, got a string: "2"'),
        (list[list[int]], [[], [0, None]], "argument 'x[1][1]' must be an integer, got null"),
        (dict[str, int], [], "argument 'x' must be an object, got an array: []"),
        (dict[str, int], {"a": "é"}, 'argument \'x.a\' must be an integer, got a string: "é"'),
        (Literal["a", 1], "b", 'argument \'x\' must be "a" or 1, got a string: "b"'),
        (Literal[1], True, "argument 'x' must be 1, got a boolean: true"),
        (int | None, "a", 'argument \'x\' must be an integer or null, got a string: "a"'),
        (Annotated[int, Param(ge=1)], 0, "argument 'x' must be at least 1, got 0"),
        (Annotated[float, Param(le=1.5)], 1.6, "argument 'x' must be at most 1.5, got 1.6"),
        (Annotated[float, Param(ge=1)], math.nan, "argument 'x' must be a number, got NaN"),
        (Annotated[int | None, Param(ge=1)], 0, "argument 'x' must be at least 1, got 0"),
        (Annotated[str, Param(min_length=2)], "é", "argument 'x' must have at least 2 characters, got 1"),
        (Annotated[list[int], Param(max_length=1)], [1, 2], "argument 'x' must have at most 1 items, got 2"),
        (Annotated[dict, Param(min_length=1)], {}, "argument 'x' must have at least 1 items, got 0"),
        (list[Annotated[int, Param(ge=1)]], [1, 0], "argument 'x[1]' must be at least 1, got 0"),
        (Point, [1, 2], "argument 'x' must be an object, got an array: [1, 2]"),
        (Point, {}, "argument 'x.x' is required, but was not given"),
        (Point, {"x": 1, "z": 2}, "argument 'x.z' is not known; known are x, y"),
        (list[Point], [{"x": "1"}], 'argument \'x[0].x\' must be an integer, got a string: "1"'),
        (Tree, {"value": 1, "children": [{"value": None}]},
         "argument 'x.children[0].value' must be an integer, got null"),
        (Tree, {"value": 1, "depth": 1}, "argument 'x.depth' is not known; known are value, children, color"),
        (Positive, {"n": 0}, "argument 'x' is not a Positive: 0 is not above 0"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused_in_words(hint, value, problem):
    with pytest.raises(Refused) as raised:
        read(takes(hint), value)
    assert str(raised.value) == problem


@dataclass
class HasInitVar:
    n: InitVar[int]


@dataclass
class HasMissing:
    n: Missing  # noqa: F821


@dataclass
class HasLock:
    lock: Lock


class Lock:
    pass


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("Missing", "parameter 'x' of tool 'f' has the hint Missing, which cannot be resolved: name 'Missing' is not"),
        ("list[", "parameter 'x' of tool 'f' has the hint list[, which cannot be resolved: "),
        (HasInitVar, "parameter 'x' of tool 'f' is a HasInitVar, whose 'n' is an InitVar: make it a field"),
        (HasMissing, "parameter 'x' of tool 'f' is a HasMissing, whose hints cannot be resolved: name 'Missing' is"),
        (HasLock, "parameter 'x' of tool 'f' is a HasLock, whose 'lock' has the hint "),
        (list[Lock], "parameter 'x' of tool 'f' has the hint "),
        (Annotated[str, Param(ge=1)], "parameter 'x' of tool 'f' is a string, which ge cannot bound"),
        (Annotated[int, Param(max_length=1)], "parameter 'x' of tool 'f' is an integer, which max_length cannot bound"),
        (Annotated[Any, Param(le=1)], "parameter 'x' of tool 'f' is any JSON value, which le cannot bound"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_hint_that_says_nothing_about_json_is_an_error_that_names_the_parameter(hint, message):
    with pytest.raises(ConfigError) as raised:
        takes(hint)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "hint",
    [
        set[int],
        "datetime.datetime",
        Lock,
        dict[int, str],
        "pathlib.Path",
        complex,
        Color,
        tuple[int, str],
        tuple[int, ...],
        tuple,
        int | str,
        int | str | None,
        list[int | str],
        dict[str, Color],
        typing.TypedDict("Made", {"n": int}),
        Annotated[int, annotated_types.Gt(0)],
    ],
    ids=repr,
)
def test_without_pydantic_a_hint_of_another_kind_is_an_error_that_says_what_to_install(
    monkeypatch, hint
):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    if isinstance(hint, str):
        hint = getattr(__import__(hint.partition(".")[0]), hint.partition(".")[2])
    with pytest.raises(ConfigError) as raised:
        takes(hint)
    message = str(raised.value)
    assert message.startswith("parameter 'x' of tool 'f' has the hint ")
    assert message.endswith(", which needs pydantic: pip install 'cogency-rs[schema]'")


def test_annotations_for_other_packages_are_ignored(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    made = takes(Annotated[int, 7, "how many", object()])
    assert schema_of(made) == (INTEGER | {"description": "how many"}, None)


# Defaults


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("hint", "default", "schema"),
    [
        (int, 3, INTEGER | {"default": 3}),
        (Point, Point(1), REFERENCE | {"default": {"x": 1, "y": 0.0}}),
        (int, None, {"anyOf": [INTEGER, {"type": "null"}], "default": None}),
        (int | None, None, {"anyOf": [INTEGER, {"type": "null"}], "default": None}),
        (Any, None, {"default": None}),
        (int, Lock(), INTEGER),
        (Annotated[int, Param("how many", ge=1)], None,
         {"anyOf": [INTEGER | {"minimum": 1}, {"type": "null"}], "description": "how many", "default": None}),
    ],
    ids=shown,
)  # fmt: skip
def test_a_default_is_in_the_schema_where_json_can_hold_it(hint, default, schema):
    made = takes(hint, default=default)
    assert schema_of(made)[0] == schema
    assert made.schema["x"]["required"] is False
    assert not asyncio.run(made.execute()).error
    assert takes.got is default


@pytest.mark.usefixtures("either_way")
def test_a_parameter_whose_default_is_none_takes_null():
    assert read(takes(int, default=None), None) is None
    assert read(takes(list[int], default=None), [1]) == [1]


# cogency's flat form


@pytest.mark.parametrize(
    ("hint", "info"),
    [
        (str, {"type": "string"}),
        (int | None, {"type": ["integer", "null"]}),
        (str | None, {}),  # in this form "string" also stands for types without a name of their own
        (Any, {}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (list[int], {"type": "array"}),
        (Point, {"type": "object"}),
        (Annotated[int, Param("n", ge=1, le=9)], {"type": "integer", "description": "n", "min": 1, "max": 9}),
        (Annotated[str, Param(min_length=1)], {"type": "string", "min_length": 1}),
        (Annotated[list[int], Param(max_length=2)], {"type": "array", "max_length": 2}),
    ],
    ids=repr,
)  # fmt: skip
def test_the_flat_form_has_only_the_types_that_it_knows(hint, info):
    assert takes(hint).schema == {"x": {"required": True, **info}}


# Classes of the same name, and deep values


def test_classes_of_the_same_name_have_definitions_of_their_own():
    other = dataclasses.make_dataclass("Point", [("z", str)])

    @tool
    async def f(a: Point, b: other, c: list[other]) -> None: ...

    assert f.json_schema["properties"]["a"] == REFERENCE
    assert f.json_schema["properties"]["b"] == {"$ref": "#/$defs/Point_2"}
    assert f.json_schema["properties"]["c"]["items"] == {"$ref": "#/$defs/Point_2"}
    assert [list(d["properties"]) for d in f.json_schema["$defs"].values()] == [["x", "y"], ["z"]]


def test_deep_values_are_a_failure_of_their_call():
    value: Any = {"value": 1}
    for _ in range(5000):
        value = {"value": 1, "children": [value]}
    result = asyncio.run(takes(Tree).execute(x=value))
    assert result == ToolResult(
        "Invalid arguments for tool 'f': the arguments are nested too deep: more than 256 levels",
        error=True,
    )


# cogency's own way to annotate


@dataclass
class ToolParam:
    """As in cogency."""

    description: str
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None


@pytest.mark.usefixtures("either_way")
def test_cogency_s_annotations_are_read():
    made = takes(Annotated[int, ToolParam("how many", ge=1)])
    assert schema_of(made)[0] == INTEGER | {"description": "how many", "minimum": 1}


# Any hint, any value


class Case(NamedTuple):
    """A hint, and pairs of a JSON value and the Python value it stands for."""

    hint: Any
    pairs: st.SearchStrategy[tuple[Any, Any]]


def same(hint: Any, values: st.SearchStrategy[Any]) -> Case:
    return Case(hint, values.map(lambda value: (value, value)))


def choices(values: list[Any]) -> Case:
    return same(Literal[tuple(values)], st.sampled_from(values))


@st.composite
def classes(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> Case:
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=3))
    fields = {name: draw(cases) for name in names}
    hint = dataclasses.make_dataclass("Made", [(name, case.hint) for name, case in fields.items()])

    def pair(values: dict[str, tuple[Any, Any]]) -> tuple[Any, Any]:
        written = {name: value for name, (value, _) in values.items()}
        return written, hint(**{name: value for name, (_, value) in values.items()})

    pairs = st.fixed_dictionaries({name: case.pairs for name, case in fields.items()}).map(pair)
    return Case(hint, pairs)


def lists_of(case: Case) -> Case:
    pairs = st.lists(case.pairs, max_size=3)
    return Case(list[case.hint], pairs.map(lambda items: ([w for w, _ in items], [v for _, v in items])))  # fmt: skip


def dicts_of(case: Case) -> Case:
    pairs = st.dictionaries(st.text(max_size=3), case.pairs, max_size=3)
    return Case(
        dict[str, case.hint],
        pairs.map(lambda d: ({k: w for k, (w, _) in d.items()}, {k: v for k, (_, v) in d.items()})),
    )


def optional(case: Case) -> Case:
    return Case(Optional[case.hint], st.none().map(lambda _: (None, None)) | case.pairs)  # noqa: UP045


floats = st.floats(allow_nan=False)
scalars = st.sampled_from(
    [
        same(str, st.text(max_size=5)),
        same(int, st.integers()),
        same(float, floats),
        same(bool, st.booleans()),
        same(None, st.none()),
        same(Annotated[int, Param(ge=-3, le=3)], st.integers(-3, 3)),
        same(Annotated[str, "text"], st.text(max_size=5)),
        Case(float, st.integers(-(2**53), 2**53).map(lambda n: (n, float(n)))),
        Case(int, st.integers(-(2**53), 2**53).map(lambda n: (float(n), n))),
    ]
)
keys = st.lists(st.text(max_size=3) | st.integers(-3, 3), min_size=1, max_size=4, unique=True)
hints = st.recursive(
    scalars | keys.map(choices),
    lambda cases: st.one_of(
        cases.map(lists_of),
        cases.map(dicts_of),
        cases.map(optional),
        classes(cases),
    ),
    max_leaves=8,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | floats.filter(math.isfinite) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcde"), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip

many = examples(300)


@many
@given(hints.flatmap(lambda case: case.pairs.map(lambda pair: (case.hint, *pair))))
def test_values_that_fit_their_hint_arrive_whole(example):
    hint, written, value = example
    made = takes(hint)
    assert read(made, written) == value
    # A function that returns its argument returns what the model wrote.
    assert asyncio.run(echo(hint).execute(x=written)).content == written


def echo(hint: Any) -> FunctionTool[..., Any]:
    async def function(x: Any) -> Any:
        return x

    function.__annotations__ = {"x": hint}
    return tool(function, name="echo")


@many
@given(hints, st.data())
def test_the_values_taken_are_those_that_the_schema_admits(case, data):
    made = takes(case.hint)
    value = data.draw(json_values | case.pairs.map(lambda pair: pair[0]).filter(is_finite))
    validator = jsonschema.Draft202012Validator(made.json_schema)
    try:
        read(made, value)
    except Refused:
        assert not validator.is_valid({"x": value})
    else:
        validator.validate({"x": value})


def is_finite(value: Any) -> bool:
    return not any(word in json.dumps(value) for word in ("NaN", "Infinity"))
