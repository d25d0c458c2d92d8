"""How a prompt lists tools: with the types of their parameters, if they are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from cogency_rs import ToolContext, system_prompt, tool
from cogency_rs.protocol import tool_instructions
from cogency_rs.tools import Param
from cogency_rs.tools.hints import read_docstring
from support.tools import FunctionTool, nothing


def listed(made: Any) -> str:
    """What the system prompt says of a tool."""
    return system_prompt([made]).partition("# Tools\n\n- ")[2]


class Color(Enum):
    RED = "red"


@dataclass
class Node:
    """A node of a tree."""

    value: Annotated[int, Param("what it holds", ge=0)]
    children: list[Node] = field(default_factory=list)


@tool
async def search(
    query: Annotated[str, Param("what to find", min_length=1)],
    kinds: list[Literal["file", "folder"]] | None = None,
    limit: Annotated[int, Param(le=100)] = 10,
    *,
    about: ToolContext,
) -> list[str]:
    """Search the project.

    Slow in large ones.
    """
    return []


@tool
async def plant(
    tree: Node, color: Color = Color.RED, at: tuple[int, str] = (1, "a"), **more: Any
) -> None:
    """Plant a tree."""  # fmt: skip


@tool
async def now() -> str:
    return ""


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (now, "now()"),
        (search, 'search(query: string, kinds?: ("file" | "folder")[] | null, limit?: integer = 10) - '
                 "Search the project.\n"
                 "    Slow in large ones.\n"
                 "    query: what to find; at least 1 characters\n"
                 "    limit: at most 100"),
        (plant, 'plant(tree: Node, color?: "red" = "red", at?: [integer, string] = [1, "a"], ...) - Plant a tree.\n'
                "    Node = {value: integer, children?: Node[]} - A node of a tree.\n"
                "    Node.value: what it holds; at least 0"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_function_is_listed_with_its_types(made, text):
    assert listed(made) == text


def tool_taking(schema: Any) -> FunctionTool:
    """A tool with one parameter, `x`, of this schema."""
    schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return FunctionTool("t", nothing, "does something", schema)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "any"),
        (True, "any"),
        ({"type": "integer"}, "integer"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"const": "é"}, '"é"'),
        ({"enum": [1, None, "a"]}, '1 | null | "a"'),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "(string | null)[]"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"allOf": [{"$ref": "#/$defs/A"}, {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}]}, "A & (B | null)"),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
         "{a: string, b?: any}"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{[name]: integer}"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "[string]"),
        ({"$ref": "#/$defs/Point"}, "Point"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_json_schema_is_listed_as_types(schema, text):
    assert listed(tool_taking(schema)) == f"t(x: {text}) - does something"


def test_a_json_schema_s_bounds_are_listed_in_words():
    made = tool_taking({"type": "number", "exclusiveMinimum": 0, "maximum": 9, "description": "n"})
    assert listed(made).splitlines()[1] == "    x: n; more than 0, at most 9"


def test_a_flat_schema_is_listed_without_types():
    made = FunctionTool("t", nothing, "does something", {"x": {"type": "string"}})
    assert listed(made) == "t(x) - does something"


def test_the_instructions_have_a_line_for_each_tool():
    assert tool_instructions([now, search, plant, tool_taking({})]) == (
        "TOOLS:\n"
        "now() - \n"
        "search(query, kinds?, limit?) - Search the project.\n\nSlow in large ones.\n"
        "plant(tree, color?, at?) - Plant a tree.\n"
        "t(x) - does something"
    )


# Docstrings


@pytest.mark.parametrize(
    ("docstring", "text", "entries"),
    [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("One.\n\n    Two\n      indented.", "One.\n\nTwo\n  indented.", {}),
        ("One.\n\nArgs:\n    a: first\n    b: second", "One.", {"a": "first", "b": "second"}),
        ("One.\n\nArguments:\n  a (int): first\n  b(list[str], optional) : second", "One.",
         {"a": "first", "b": "second"}),
        ("One.\n\nParameters:\n    a: first\n        and more\n\n        and more\n    *b: rest\n    **c: others",
         "One.", {"a": "first and more and more", "b": "rest", "c": "others"}),
        ("One.\n\nArgs:\n    a:\n        first: of all\n    b: x: y", "One.", {"a": "first: of all", "b": "x: y"}),
        ("One.\n\nReturns:\n    a: no argument\n\nArgs:\n    a: first\n\nRaises:\n    ValueError: never", "One.",
         {"a": "first"}),
        ("Args:\n    a: first", "", {"a": "first"}),
        ("Note: this is text.\nUsage:\n    and this", "Note: this is text.\nUsage:\n    and this", {}),
        ("One.\n\nArgs:\n    what this is nobody knows\n    a: first", "One.", {"a": "first"}),
        ("One.\n\nAttributes:\n    a: first", "One.", {"a": "first"}),
        ("One.\nArgs:\n", "One.", {}),
        # NumPy's
        ("One.\n\nParameters\n----------\na : int\n    First.\n    More.\nb, c : {'x', 'y'}, optional\n    Both.\n\n"
         "    And more: here.\n**d\n    Others.\n\nReturns\n-------\nstr\n    What.", "One.",
         {"a": "First. More.", "b": "Both. And more: here.", "c": "Both. And more: here.", "d": "Others."}),
        ("One.\n\nOther Parameters\n----------------\na\n    First.\n\nNotes\n-----\nb : c", "One.", {"a": "First."}),
        ("One.\nParameters\nare nice.", "One.\nParameters\nare nice.", {}),
        # Sphinx's
        ("One.\n\n:param int a: first\n    and more\n:param b: second: x\n:type b: str\n:returns: what\n    a: b\n"
         ":raises ValueError: never", "One.", {"a": "first and more", "b": "second: x"}),
        ("One.\n\n:param a: first\n\nTwo.", "One.\n\nTwo.", {"a": "first"}),
        ("Of :math:`x` and\n:class:`Point` alone.", "Of :math:`x` and\n:class:`Point` alone.", {}),
        # Two of them
        ("One.\n\n:param a: first\n\nArgs:\n    b: second", "One.", {"a": "first", "b": "second"}),
    ],
    ids=repr,
)  # fmt: skip
def test_a_docstring_is_read_as_text_and_arguments(docstring, text, entries):
    read = read_docstring(docstring)
    assert (read.text, read.entries) == (text, entries)


def test_a_hint_goes_before_the_docstring():
    @tool
    async def f(a: Annotated[int, "from the hint"], b: int) -> None:
        """Do.

        Args:
            a: from the docstring
            b: from the docstring
        """

    assert [info["description"] for info in f.schema.values()] == ["from the hint", "from the docstring"]  # fmt: skip
