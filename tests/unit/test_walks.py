"""The walks of `CONTRIBUTING.md`: how many rooms and files they cross, and that the code has the names in them."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

import cogency_rs
from cogency_rs import Agent, OpenAIModel, SQLite, tool
from cogency_rs.testing import ModelServer
from support.openai_served import DONE, STOP, delta, reply

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


# The walks, walked: a page can be in good form and wrong; what the interpreter calls cannot.

PACKAGE = str(Path(cogency_rs.__file__).parent) + "/"

HALL = {"errors", "outside", "types", "loading"}
"""No rooms: every room can use them."""

ASKED = "HttpConnection.ask"
"""With this the model is asked."""


class Trace:
    """The functions of the package that this thread enters and leaves, in order, each with its room.

    Args:
        until: the function with which it ends.
    """

    def __init__(self, until: str = "") -> None:
        self.seen: list[tuple[str, str]] = []
        self._until = until
        sys.setprofile(self._enter)

    def _enter(self, frame: FrameType, event: str, given: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE):
            return
        room = code.co_filename.removeprefix(PACKAGE).partition("/")[0].removesuffix(".py")
        if room not in HALL:
            self.seen.append((room, code.co_qualname))
        if code.co_qualname == self._until:
            self.end()

    def end(self) -> None:
        sys.setprofile(None)

    @property
    def rooms(self) -> set[str]:
        return {room for room, _ in self.seen}


@tool(requires_approval=True)
async def pay(n: int) -> str:
    """Pay."""
    return "paid"


@tool
async def look(n: int) -> str:
    """Look, at once or later."""
    for _ in range(50 * n):
        await asyncio.sleep(0)
    return "seen"


def calls_tool(name: str) -> Any:
    """An answer with two calls, of which the first ends while the second runs."""
    both = [{"name": name, "args": {"n": n}} for n in range(2)]
    return reply(delta(content=f"<execute>{json.dumps(both)}</execute>"), STOP, DONE)


def said(*words: str) -> Any:
    return reply(*(delta(content=word) for word in words), STOP, DONE)


async def walked(path: Path) -> dict[str, Trace]:
    """Each walk once, after each of them was walked: what is imported then is not counted."""
    traces: dict[str, Trace] = {}
    replies = [said("a"), calls_tool("look"), said("b"), calls_tool("pay"), said("c")]
    replies += [
        said("d "),
        said("e ", "f ", "g "),
        calls_tool("look"),
        said("h"),
        calls_tool("pay"),
        said("i"),
    ]
    async with ModelServer(replies) as server, SQLite(path) as log:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        agent = Agent(model, tools=[pay, look], storage=log)
        await agent.run("first", conversation_id="c")
        await agent.run("look", conversation_id="warm")
        waiting = await agent.run("pay", conversation_id="warm")
        await agent.resume("warm", {each.id: True for each in waiting.waiting})

        traces["A user's message"] = Trace(ASKED)
        await agent.run("second", conversation_id="c")
        async for event in agent.run("third", conversation_id="c"):
            if event["type"] == "user":
                traces["A delta"] = Trace()
            if event["type"] == "respond":
                traces["A delta"].end()
        async for event in agent.run("look", conversation_id="d"):
            if event["type"] == "user":
                traces["A tool call"] = Trace()
            if event["type"] == "result":
                traces["A tool call"].end()
        waiting = await agent.run("pay", conversation_id="e")
        traces["A resume"] = Trace(ASKED)
        await agent.resume("e", {each.id: True for each in waiting.waiting})
        await model.aclose()
    return traces


MOST = 14
"""Rooms that a walk enters, with those that a function only uses on its way."""


async def test_each_name_of_a_walk_is_called_in_its_room_and_in_the_order_of_the_page(tmp_path):
    traces = await walked(tmp_path / "log.db")
    assert traces.keys() == WALKS.keys()
    missing: dict[str, list[str]] = {}
    for walk, trace in traces.items():
        left = iter(trace.seen)
        missing[walk] = [
            name
            for each in WALKS[walk]
            if not each.is_core
            for name in each.names
            if (each.room, name) not in left
        ]
    assert not any(missing.values()), missing
    assert max(len(trace.rooms) for trace in traces.values()) <= MOST
