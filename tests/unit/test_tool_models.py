"""Hints that are left to pydantic: models, enums, tuples, unions, bounds, `datetime`; as arguments and as values."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import pathlib
import uuid
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypeVar,
)

import annotated_types
import jsonschema
import pydantic
import pytest
from typing_extensions import (
    TypeAliasType,
    TypedDict,
)  # before Python 3.12, pydantic refuses the one of `typing`

from cogency_rs import ToolResult, tool
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_tool
from cogency_rs.runs import RunContext
from cogency_rs.tools import FunctionTool, Param
from support.function_tools import takes
from support.tools import call, with_tools

INTEGER, STRING = {"type": "integer"}, {"type": "string"}
UUID = "12345678-1234-5678-1234-567812345678"
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)


class User(pydantic.BaseModel):
    """Somebody."""

    name: Annotated[str, pydantic.Field(min_length=1, description="first name")]
    age: int = pydantic.Field(gt=0)
    boss: User | None = None


@pydantic.dataclasses.dataclass
class Checked:
    n: Annotated[int, pydantic.Field(gt=0)]
    when: datetime.datetime = NOON


@dataclass
class Team:
    name: str
    members: list[User]


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    NONE = None


class Pair(NamedTuple):
    a: int
    b: str = "b"


class Options(TypedDict):
    """How to look."""

    deep: bool
    kinds: NotRequired[list[Literal["file", "folder"]]]
    near: NotRequired[Team]


@dataclass
class Tree:
    color: Color | None
    children: list[Tree | int]


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]


async def run(made: FunctionTool[..., Any], value: Any) -> ToolResult:
    return await execute_tool(
        call("f", x=value), execution=with_tools(made), user_id="", conversation_id="c"
    )


ADA = {"name": "Ada", "age": 36, "boss": None}


@pytest.mark.parametrize(
    ("hint", "value", "got", "content"),
    [
        (User, {"name": "Ada", "age": 36}, User(name="Ada", age=36), ADA),
        (list[User], [ADA], [User(name="Ada", age=36)], [ADA]),
        (dict[str, User | None], {"a": None}, {"a": None}, {"a": None}),
        (User | None, {**ADA, "boss": ADA}, User(name="Ada", age=36, boss=User(name="Ada", age=36)),
         {**ADA, "boss": ADA}),
        (Team, {"name": "t", "members": [ADA]}, Team("t", [User(name="Ada", age=36)]), {"name": "t", "members": [ADA]}),
        (Checked, {"n": 1}, Checked(1), {"n": 1, "when": "2024-02-29T12:00:00Z"}),
        (Pet, {"kind": "dog"}, Dog(kind="dog"), {"kind": "dog"}),
        (datetime.datetime, "2024-02-29T12:00:00Z", NOON, "2024-02-29T12:00:00Z"),
        (datetime.date, "2024-02-29", NOON.date(), "2024-02-29"),
        (datetime.timedelta, "PT1M", datetime.timedelta(minutes=1), "PT1M"),
        (uuid.UUID, UUID, uuid.UUID(UUID), UUID),
        (pathlib.Path, "a/b", pathlib.Path("a/b"), "a/b"),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50"), "1.50"),
        (set[int], [1], {1}, [1]),
        (bytes, "ab", b"ab", "ab"),
        (dict[int, str], {"1": "a"}, {1: "a"}, {1: "a"}),
        (list[datetime.date], ["2024-02-29"], [NOON.date()], ["2024-02-29"]),
        (Color, "blue", Color.BLUE, "blue"),
        (Color | None, None, None, None),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}, {"a": "red"}),
        (Level, 2, Level.HIGH, 2),
        (Mixed, None, Mixed.NONE, None),
        (tuple[int, str], [1, "a"], (1, "a"), [1, "a"]),
        (tuple[int, ...], [1, 2.0], (1, 2), [1, 2]),
        (tuple[()], [], (), []),
        (list[tuple[float, Color]], [[1, "red"]], [(1.0, Color.RED)], [[1.0, "red"]]),
        (Pair, [1], Pair(1), [1, "b"]),
        (int | str, "1", "1", "1"),
        (int | str | None, None, None, None),
        (str | Color, "red", "red", "red"),
        (Color | str, "red", "red", "red"),  # pydantic takes the closest match, not the first
        (Team | int, {"name": "t", "members": []}, Team("t", []), {"name": "t", "members": []}),
        (Options, {"deep": True, "kinds": ["file"]}, {"deep": True, "kinds": ["file"]},
         {"deep": True, "kinds": ["file"]}),
        (Options, {"deep": True, "near": {"name": "t", "members": []}}, {"deep": True, "near": Team("t", [])},
         {"deep": True, "near": {"name": "t", "members": []}}),
        (Options, {"deep": True, "wide": 1}, {"deep": True}, {"deep": True}),  # pydantic leaves out unknown keys
        (Tree, {"color": "red", "children": [1, {"color": None, "children": []}]}, Tree(Color.RED, [1, Tree(None, [])]),
         {"color": "red", "children": [1, {"color": None, "children": []}]}),
        (Annotated[int, annotated_types.Gt(0)], 1, 1, 1),
        (Annotated[str, pydantic.StringConstraints(pattern="^a+$")], "aa", "aa", "aa"),
        (Annotated[list[int], pydantic.Field(max_length=2)], [1, 2], [1, 2], [1, 2]),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_value_arrives_as_an_instance_and_returns_as_json(hint, value, got, content):
    made = takes(hint)
    jsonschema.Draft202012Validator(made.json_schema).validate({"x": value})
    assert await run(made, value) == ToolResult("Success", content)
    assert takes.got == got
    assert type(takes.got) is type(got)


@pytest.mark.parametrize(
    ("hint", "value", "problem"),
    [
        (User, {"age": 1}, "argument 'x.name' is required, but was not given"),
        (User, {"name": "Ada", "age": 0},
         "argument 'x.age' must be more than 0, got 0"),
        (User, {**ADA, "boss": {"name": "", "age": 1}},
         "argument 'x.boss.name' must have at least 1 characters, got 0"),
        (list[User], [ADA, 5], "argument 'x[1]' must be an object, got an integer: 5"),
        (User | None, {"name": "Ada"}, "argument 'x.age' is required, but was not given"),
        (User | None, 5, "argument 'x' must be an object or null, got an integer: 5"),
        (Team, {"name": "t", "members": [{"name": "Ada"}]},
         "argument 'x.members[0].age' is required, but was not given"),
        (datetime.date, "soon", "argument 'x' is not valid: Input should be a valid date or datetime, input is too "
                                'short; it was a string: "soon"'),
        (Annotated[int, annotated_types.Gt(0)], 0,
         "argument 'x' must be more than 0, got 0"),
        (Color, "RED", 'argument \'x\' must be "red" or "blue", got a string: "RED"'),
        (tuple[int, str], [1], "argument 'x' must have 2 items, got 1"),
        (tuple[int, str], ["a", 1], 'argument \'x[0]\' must be an integer, got a string: "a"; '
                                   "argument 'x[1]' must be a string, got an integer: 1"),
        (int | str, None, "argument 'x' must be an integer or a string, got null"),
        (list[int] | int, ["a"], 'argument \'x[0]\' must be an integer, got a string: "a"'),
        (Options, {}, "argument 'x.deep' is required, but was not given"),
        (Options, {"deep": True, "kinds": ["link"]},
         'argument \'x.kinds[0]\' must be "file" or "folder", got a string: "link"'),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_value_that_does_not_fit_is_refused_with_its_place(hint, value, problem):
    made = takes(hint)
    expected = ToolResult(f"Invalid arguments for tool 'f': {problem}", error=True)
    assert await made.execute(x=value) == expected
    # In a turn, the executor's check comes first, and gives the same message for the outermost value.
    assert (await run(made, value)).error


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Color, {"title": "Color", "type": "string", "enum": ["red", "blue"]}),
        (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (int | str, {"anyOf": [INTEGER, STRING]}),
        (int | str | None, {"anyOf": [INTEGER, STRING, {"type": "null"}]}),
        (Annotated[tuple[int, ...], Param("all", min_length=1)],
         {"type": "array", "items": INTEGER, "minItems": 1, "description": "all"}),
        (Annotated[int, Param("how many", ge=1, le=9)] | str,
         {"anyOf": [INTEGER | {"minimum": 1, "maximum": 9, "description": "how many"}, STRING]}),
        (tuple[Annotated[str, Param(min_length=1)]],
         {"type": "array", "prefixItems": [STRING | {"minLength": 1}], "minItems": 1, "maxItems": 1}),
    ],
    ids=repr,
)  # fmt: skip
def test_the_schema_is_pydantic_s_and_a_param_counts_wherever_it_stands(hint, schema):
    assert takes(hint).json_schema["properties"]["x"] == schema


def test_a_default_is_written_as_json():
    @tool
    async def f(color: Color = Color.RED, at: tuple[int, ...] = (1, 2)) -> None: ...

    assert [f.json_schema["properties"][name]["default"] for name in ("color", "at")] == ["red", [1, 2]]  # fmt: skip


def test_a_model_is_a_definition():
    made = takes(list[User])
    assert made.json_schema["properties"]["x"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/User"},
    }
    assert made.json_schema["$defs"]["User"]["properties"]["boss"]["anyOf"] == [
        {"$ref": "#/$defs/User"},
        {"type": "null"},
    ]
    assert takes(User).schema == {"x": {"type": "object", "required": True}}
    assert takes(decimal.Decimal).schema == {"x": {"required": True}}


def test_models_of_the_same_name_have_definitions_of_their_own():
    other = pydantic.create_model("User", id=(int, ...), friends=("list[User]", ...))

    @tool
    async def f(a: User, b: other, c: list[other], d: User) -> None: ...

    properties, definitions = f.json_schema["properties"], f.json_schema["$defs"]
    assert [properties["a"], properties["b"], properties["d"]] == [
        {"$ref": "#/$defs/User"},
        {"$ref": "#/$defs/User_2"},
        {"$ref": "#/$defs/User"},
    ]
    assert definitions["User_2"]["properties"]["friends"]["items"] == {"$ref": "#/$defs/User_2"}
    assert definitions["User"]["properties"]["boss"]["anyOf"][0] == {"$ref": "#/$defs/User"}
    assert properties["c"]["items"]["$ref"] in ("#/$defs/User_2", "#/$defs/User_3")


def test_a_description_may_stand_beside_annotations_of_pydantic():
    made = takes(Annotated[int, annotated_types.Gt(0), Param("how many", le=9)])
    assert made.json_schema["properties"]["x"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "maximum": 9,
        "description": "how many",
    }
    problem = asyncio.run(made.execute(x=10))
    assert problem.outcome.endswith("argument 'x' must be at most 9, got 10")
    described = takes(Annotated[int, pydantic.Field(gt=0, description="how many")])
    assert described.schema["x"]["description"] == "how many"


class Opaque:
    pass


@pytest.mark.parametrize("hint", [Opaque, list[Opaque], complex | Opaque, type], ids=repr)
def test_a_hint_that_pydantic_does_not_know_either_is_an_error(hint):
    with pytest.raises(
        ConfigError,
        match=r"parameter 'x' of tool 'f' has the hint .+, which says nothing about JSON",
    ):
        takes(hint)  # fmt: skip


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        ([int, str], r"is a collection of types: join them with \|, as in int \| str"),
        (RunContext[int], "is a RunContext; write ToolContext, which has deps too"),
    ],
    ids=repr,
)
def test_a_hint_that_other_frameworks_take_is_an_error_that_says_what_to_write(hint, says):
    with pytest.raises(ConfigError, match=rf"parameter 'x' of tool 'f' {says}$"):
        takes(hint)  # fmt: skip


def test_a_field_as_a_default_is_an_error_that_says_where_it_belongs():
    def f(x: int = pydantic.Field(1, gt=0)) -> None: ...

    with pytest.raises(
        ConfigError, match=r"parameter 'x' of tool 'f' has a Field as its default: write Annotated"
    ):
        tool(f)  # fmt: skip


async def test_a_value_that_pydantic_cannot_write_is_a_failure():
    made = tool(lambda: Opaque(), name="f")
    result = await execute_tool(
        call("f"), execution=with_tools(made), user_id="", conversation_id="c"
    )
    assert result.error
    assert "its content (Opaque) is not a JSON value" in result.outcome


# Aliases

Depths = TypeAliasType("Depths", "int | list[Depths]")
Nest = TypeAliasType("Nest", "list[Nest]")
Leaf = TypeAliasType("Leaf", "dict[str, Branch] | None")
Branch = TypeAliasType("Branch", "list[Leaf]")
T = TypeVar("T")
K = TypeVar("K")
Many = TypeAliasType("Many", list[T], type_params=(T,))
Swapped = TypeAliasType("Swapped", dict[K, T], type_params=(T, K))
Names = TypeAliasType("Names", list[str])


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (pydantic.JsonValue, {"a": [1, None, "x"]}, ...),
        (dict[str, pydantic.JsonValue], {"a": [1]}, [1]),
        (Depths, [1, [2, [3]]], [1, ["x"]]),
        (list[Depths] | None, [[1], 2], [["x"]]),
        (Nest, [[], [[]]], [1]),
        (Leaf, {"a": [{"b": []}, None]}, {"a": [1]}),
        (Many[int], [1, 2], ["x"]),
        (Swapped[int, str], {"x": 1}, {"x": "y"}),
        (Names, ["x"], [1]),
    ],
    ids=str,
)
async def test_an_alias_means_what_pydantic_says(hint, good, bad):
    made = takes(hint)
    jsonschema.validate({"x": good}, made.json_schema)
    assert (await made.execute(x=good)).content == good
    if bad is not ...:
        assert (await made.execute(x=bad)).error
