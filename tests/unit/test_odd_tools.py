"""One odd tool of an MCP server is left out and named, and costs neither a run nor the other tools."""

from __future__ import annotations

import functools
import logging
import threading
from typing import Any

import pytest

from cogency_rs import Agent
from cogency_rs.agent import NativeDriver, ReActDriver, TextDriver, runtime
from cogency_rs.agent.drivers import driver as declarations, react, text
from cogency_rs.servers import ServerGroup
from cogency_rs.servers.tool import MCPTool
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import toolbox as odd
from cogency_rs.tools.options import ToolOptions
from support.agents import add
from support.mcp_odd import odd_program
from support.mcp_servers import small


async def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("no call is made")


def served(name: str, schema: Any, description: Any = "It does.") -> MCPTool:
    options = ToolOptions(requires_approval=False, remote=False)
    return MCPTool(name, description, schema, "crm", name, options, never)


def deep(levels: int, keyword: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        match keyword:
            case "properties":
                schema = {"type": "object", "properties": {"a": schema}}
            case "items":
                schema = {"type": "array", "items": schema}
            case _:
                schema = {keyword: [schema]}
    return schema


def doubled(keyword: str, levels: int) -> dict[str, Any]:
    """Definitions, each of which refers to the next one twice."""
    to = [{"$ref": f"#/$defs/d{level + 1}"} for level in range(levels)]
    defs: dict[str, Any] = {
        f"d{level}": {keyword: [next_one, next_one]} for level, next_one in enumerate(to)
    }
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs | {f"d{levels}": {}}}


GOOD = {"type": "object", "properties": {"a": {"type": "string"}}}
SCHEMAS: dict[str, dict[str, Any]] = {
    **{
        f"{keyword} is {odd!r:.20}": {keyword: odd}
        for keyword in ("$defs", "properties", "required", "description", "anyOf", "$ref")
        for odd in (None, 1, "x", True, [1])
        if (keyword, odd) != ("description", "x")
    },
    "its property's description is a number": {"properties": {"a": {"description": 1}}},
    "its property's enum is a text": {"properties": {"a": {"enum": "x"}}},
    "it holds a lone surrogate": {"properties": {"a": {"default": "\ud800"}}},
    "it holds a number that is too large": {"properties": {"a": {"default": 10**400}}},
    "it refers to nothing": {"properties": {"a": {"$ref": "#/$defs/none"}}},
    **{
        f"it has {levels} levels of {keyword}": {"properties": {"a": deep(levels, keyword)}}
        for levels in (300, 2000)
        for keyword in ("properties", "items", "anyOf")
    },
    **{f"{keyword} multiplies": doubled(keyword, 24) for keyword in ("allOf", "anyOf", "oneOf")},
}
DRIVERS = {
    "cogency": lambda: TextDriver("cogency"),
    "hermes": lambda: TextDriver("hermes"),
    "harmony": lambda: TextDriver("harmony"),
    "native": NativeDriver,
    "react": ReActDriver,
}
FINAL = '{"thought": "x", "type": "final_answer", "answer": "ok"}'


def left_out(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each for each in caplog.messages if "is left out" in each]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=[*SCHEMAS])
async def test_a_run_goes_on_without_a_tool_whose_schema_is_odd(schema, caplog):
    caplog.set_level(logging.WARNING)
    tools = [add, served("odd", GOOD | schema), served("fine", GOOD)]
    for make in DRIVERS.values():
        agent = Agent(ScriptedModel([FINAL]), driver=make(), tools=tools)
        assert [tool.name for tool in agent.tools] == ["add", "fine"]
        assert (await agent.run("hi")).status == "completed"
    told = left_out(caplog)
    assert len(told) == len(DRIVERS)
    assert all(each.startswith("tool 'odd' of server 'crm' is left out: ") for each in told)
    assert max(map(len, told)) < 500


async def test_a_description_is_text(caplog):
    agent = Agent(ScriptedModel(["ok"]), tools=[served("odd", GOOD, 1), served("fine", GOOD)])
    assert [tool.name for tool in agent.tools] == ["fine"]
    assert left_out(caplog) == [
        "tool 'odd' of server 'crm' is left out: its description is not text"
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string", "title": "A"}}, "title": "T", "x-other": [None]},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"anyOf": [{}, True]}}},
        {"properties": {"node": {"$ref": "#"}}},
        {"properties": {"a": deep(20, "properties")}},
        doubled("anyOf", 4),
    ],
    ids=["annotations", "references", "itself", "levels", "a few references"],
)
async def test_a_tool_that_is_merely_unusual_stays(schema, caplog):
    agent = Agent(ScriptedModel(["ok"]), tools=[served("odd", GOOD | schema)])
    assert [tool.name for tool in agent.tools] == ["odd"]
    assert left_out(caplog) == []


async def test_a_server_that_lists_an_odd_tool_has_its_other_tools(caplog):
    fine = {"name": "fine", "inputSchema": GOOD}
    listed: list[Any] = [
        fine,
        {"name": "odd", "inputSchema": GOOD, "outputSchema": {"description": "no type"}},
        {"name": "odder", "inputSchema": [1]},
        {"name": 5, "inputSchema": GOOD},
        "not a tool",
        {"name": "deep", "inputSchema": GOOD | {"properties": {"a": deep(150, "items")}}},
        fine | {"description": "again"},
    ]
    model = ScriptedModel(["done"])
    async with odd_program({}, *listed, name="crm") as server:
        assert [tool.name for tool in await server.tools()] == ["fine", "deep"]
        result = await Agent(model, tools=[server], driver="native").run("q")
    assert result.status == "completed"
    assert [tool.name for tool in model.requests[0].tools] == ["fine"]
    named = {each.split("'")[1] for each in left_out(caplog)}
    assert named == {"odd", "odder", "5", "None", "deep", "fine"}
    assert all("of server 'crm' is left out: " in each for each in left_out(caplog))


def noted(threads: list[threading.Thread], function: Any) -> Any:
    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread())
        return function(*args, **kwargs)

    return noting


@pytest.mark.parametrize(
    ("driver", "reads"),
    [
        (lambda: TextDriver("hermes"), (runtime, "prompt_parts")),
        (lambda: TextDriver("hermes"), (text, "ToolSchemas")),
        (NativeDriver, (declarations, "parameters_of")),
        (ReActDriver, (react, "react_prompt")),
    ],
    ids=["prompt", "parser", "declarations", "react"],
)
@pytest.mark.parametrize("is_served", [True, False], ids=["of a server", "of the program"])
async def test_schemas_of_servers_are_not_read_on_the_event_loop(
    monkeypatch, driver, reads, is_served
):
    where: list[threading.Thread] = []
    monkeypatch.setattr(*reads, noted(where, getattr(*reads)))
    tools = [served("fine", GOOD) if is_served else add]
    await Agent(ScriptedModel([FINAL]), driver=driver(), tools=tools).run("q")
    is_here = [each is threading.current_thread() for each in where]
    assert set(is_here) == {not is_served}


async def test_what_a_server_lists_is_not_read_on_the_event_loop(monkeypatch):
    where: list[threading.Thread] = []
    monkeypatch.setattr(odd, "problem_of", noted(where, odd.problem_of))
    async with small("fine", name="crm") as server, ServerGroup([server]) as group:
        [tool] = await group.tools()
    assert tool.name == "fine"
    assert where
    assert threading.current_thread() not in where


async def test_the_first_prompt_is_there_at_once_with_tools_of_a_server():
    async with Agent(ScriptedModel([]), tools=[small("fine", name="crm")]) as agent:
        assert "fine(" in str(agent.prompt("q"))
