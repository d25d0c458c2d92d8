"""The walks of `CONTRIBUTING.md`: how many rooms and files they cross, and that the code has the names in them."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")

WALK = re.compile(r"^\*\*([^*]+)\*\*[^\n]*:\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"([← ]) (\[?)(\w+)\]? +([^:;\n]|:(?! ))+")
NAMES = re.compile(r" → |, ")


class Line(NamedTuple):
    """A line of a walk: names in a room, which are before its first colon or semicolon."""

    goes_back: bool
    is_core: bool
    room: str
    names: list[str]


def line(text: str) -> Line:
    found = LINE.match(text)
    assert found is not None, text
    back, bracket, room, _ = found.groups()
    names = found.group().partition(room)[2].removeprefix("]").strip()
    return Line(back == "←", bool(bracket), room, NAMES.split(names))


SECTION = PAGE.partition("## Four walks")[2].partition("\n## ")[0]
WALKS = {name: [*map(line, walk.splitlines())] for name, walk in WALK.findall(SECTION)}


def test_there_are_four_walks():
    assert [*WALKS] == ["A user's message", "A delta", "A tool call", "A resume"]


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_crosses_at_most_six_rooms(walk):
    assert len({each.room for each in WALKS[walk]}) <= 6


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_enters_a_room_once_and_comes_back_only_where_it_has_been(walk):
    been: list[str] = []
    for each in WALKS[walk]:
        if each.goes_back:
            assert each.room in been, each
        elif been[-1:] != [each.room] and each.room != "storage":
            assert each.room not in been, each
        been.append(each.room)


NAMED = [
    (walk, each, name) for walk, lines in WALKS.items() for each in lines for name in each.names
]


@pytest.mark.parametrize(
    ("each", "name"),
    [(each, name) for _, each, name in NAMED],
    ids=[f"{w}-{n}" for w, _, n in NAMED],
)
def test_the_room_has_the_name(each, name):
    first, *rest = re.split(r"::|\.", name)
    assert (is_in_core if each.is_core else is_in_package)(each.room, first, rest), each


def is_in_package(room: str, first: str, rest: list[str]) -> bool:
    module = defined(room).get(first)
    if module is None:
        return False
    found = getattr(import_module(module), first)
    for name in rest:
        found = getattr(found, name, None)
    return callable(found)


@cache
def defined(room: str) -> dict[str, str]:
    """The classes and functions of a room, and their modules."""
    package = CHECKOUT / "python"
    return {
        node.name: ".".join(path.relative_to(package).with_suffix("").parts)
        for path in (package / "cogency_rs" / room).rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }


def is_in_core(room: str, first: str, rest: list[str]) -> bool:
    places = (CHECKOUT / "core" / "src" / room, CHECKOUT / room / "src")
    sources = [path.read_text(encoding="utf-8") for place in places for path in place.rglob("*.rs")]
    if not rest:
        return any(re.search(rf"^\s*pub fn {first}\b", source, re.MULTILINE) for source in sources)
    [method] = rest
    begin = rf"^impl(?:<[^>]*>)? {first}(?:<[^>]*>)? \{{\n(.*?)^\}}"
    bodies = [
        body for source in sources for body in re.findall(begin, source, re.MULTILINE | re.DOTALL)
    ]
    return any(re.search(rf"\bfn {method}\b", body) for body in bodies)


@pytest.mark.parametrize(
    ("room", "name", "rest", "is_core"),
    [
        ("agent", "SQLite", ["claim"], False),
        ("storage", "SQLite", ["claims"], False),
        ("storage", "no_function", [], False),
        ("net", "Reader", ["feed"], True),
        ("wire", "Reader", ["feeds"], True),
        ("context", "no_function", [], True),
    ],
)
def test_a_name_that_is_elsewhere_or_nowhere_is_not_found(room, name, rest, is_core):
    assert not (is_in_core if is_core else is_in_package)(room, name, rest)


@pytest.mark.parametrize("text", ["agent       Agent.run", "- agent  Agent.run", "  agent"])
def test_a_line_in_another_form_is_refused(text):
    with pytest.raises(AssertionError):
        line(text)


CALLS = PAGE.partition("## A call through the parser")[2].partition("\n## ")[0]
CALL = re.compile(r"^\*\*([^*]+)\*\*[^\n]*:\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
PARTS = [(name.strip("`"), part.splitlines()) for name, part in CALL.findall(CALLS)]
FILES = [(name, line.split()[0], line) for name, lines in PARTS for line in lines]


def test_a_call_has_two_parts_that_all_have_and_one_of_its_shape():
    assert [name for name, _ in PARTS] == [
        "All calls",
        "hermes",
        "qwen3-coder",
        "pythonic",
        "All calls",
    ]
    for name, lines in PARTS:
        assert len(lines) == len({line.split()[0] for line in lines}) <= 7, name


@pytest.mark.parametrize(("file", "line"), [each[1:] for each in FILES])
def test_the_file_has_the_functions(file, line):
    code = (CHECKOUT / "core/src/protocol" / file).read_text(encoding="utf-8")
    names = re.findall(
        r"(\w+)(?= →|, \w|:|,? ?$)", line.removeprefix(file).partition(": ")[0] + ":"
    )
    assert names
    for name in names:
        assert re.search(rf"\bfn {name}\b", code), name
