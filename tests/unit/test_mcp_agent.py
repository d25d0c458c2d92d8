"""An agent with tools of MCP servers: what its prompt lists, which server gets a call, and approval."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from cogency_rs import Agent, MCPServer
from cogency_rs.errors import ArgumentError, ConfigError
from cogency_rs.models import ModelRequest
from cogency_rs.servers import ServerGroup
from cogency_rs.testing import ScriptedModel
from support.mcp_servers import HERE, search, small


def write(*calls: dict[str, object]) -> str:
    return f"<execute>{json.dumps(calls)}</execute>"


async def test_the_prompt_lists_the_tools_by_the_names_that_the_model_calls():
    model = ScriptedModel(
        [
            write(
                {"name": "search", "args": {"word": "a"}},
                {"name": "web__search", "args": {"word": "b"}},
                {"name": "fetch", "args": {}},
            ),
            "Done.",
        ]
    )
    async with ServerGroup({"web": small("search", "fetch")}) as group:
        result = await Agent(model, tools=await group.tools([search])).run("Look it up.")
    assert result.output == "Done."
    prompt = model.requests[0].messages[0]["content"]
    assert [name in prompt for name in ("search(", "web__search(", "fetch(")] == [True] * 3
    first, second, third = result.steps[0].executions
    assert first.value == "a here"
    assert json.loads(second.value)["arguments"] == {"word": "b"}
    assert third.status == "success"


async def test_before_a_run_the_prompt_shows_the_tools_of_servers_that_have_started():
    agent = Agent(ScriptedModel(["Done."]), tools=[search, small("fetch", name="web")])
    prompt = agent.prompt("Look it up.")
    assert "fetch" not in prompt[0]["content"]
    assert str(prompt).endswith(
        "── not known yet ──\nThe tools of MCP servers: `async with agent` starts the servers."
    )
    async with agent:
        prompt = agent.prompt("Look it up.")
        await agent.run("Look it up.")
    assert prompt.missing == ()
    assert prompt == agent._settings.model.requests[0].messages


async def test_tools_of_one_name_are_told_apart_without_a_group_too():
    call = write({"name": "disk__search", "args": {"word": "b"}})
    model = ScriptedModel([call, "Done."])
    async with small("search", name="disk") as disk:
        result = await Agent(model, tools=[search, *await disk.tools()]).run("Look it up.")
    prompt = model.requests[0].messages[0]["content"]
    assert [prompt.count(name) for name in (" search(", "disk__search(")] == [1, 1], prompt
    [execution] = result.steps[0].executions
    assert json.loads(execution.value)["arguments"] == {"word": "b"}


async def test_a_run_waits_for_approval_of_a_server_s_calls_and_goes_on():
    async def run(server: MCPServer) -> None:
        model = ScriptedModel([write({"name": "wipe", "args": {}}), "Done."])
        agent = Agent(model, tools=await server.tools())
        result = await agent.run("Wipe it.")
        assert result.status == "waiting"
        [call] = result.waiting
        result = await agent.resume(result.conversation_id, {str(call.id): True})
        assert result.output == "Done."

    async with small("wipe", approve="always") as server:
        await run(server)


async def test_a_run_that_waits_says_which_calls_wait_and_what_to_call_next():
    calls = [{"name": "wipe", "args": {}}, {"name": "look", "args": {}}]
    agent = Agent(
        ScriptedModel([write(*calls), "Done."]),
        tools=[small("wipe", "look", approve="always", name="disk")],
    )
    result = await agent.run("Wipe it.", conversation_id="c")
    one, two = (call.id for call in result.waiting)
    assert str(result) == (
        f"2 calls wait for approval: wipe, look; go on with agent.resume('c', decisions={{'{one}': True, "
        f"'{two}': True}}), where False refuses a call; to be asked at once, give the agent approve=; "
        'to run tools of an MCP server unasked, give the server approve="never"'
    )
    result = await agent.resume("c", decisions={str(one): True, str(two): False})
    assert (result.status, result.output) == ("completed", "Done.")


async def test_an_agent_starts_its_servers_for_a_run_and_closes_them_after_it():
    server = small("fetch")
    model = ScriptedModel([write({"name": "fetch", "args": {}}), "Done."] * 2)
    agent = Agent(model, tools=[search, server])
    for _ in range(2):
        result = await agent.run("Fetch it.")
        assert [each.status for each in result.steps[0].executions] == ["success"]
        with pytest.raises(ConfigError, match="is not running"):
            await server.tools()
    assert "fetch(" in model.requests[0].messages[0]["content"]


@pytest.mark.parametrize(
    ("approve", "asked"),
    [
        ({}, ["look", "read", "wipe"]),
        ({"approve": "always"}, ["look", "read", "wipe"]),
        ({"approve": "never"}, []),
        ({"approve": "unless-read-only"}, ["wipe"]),
        ({"approve": {"look": "never"}}, ["read", "wipe"]),
        ({"approve": {"wipe": "always", "*": "never"}}, ["wipe"]),
        ({"approve": {"read": "always", "*": "unless-read-only"}}, ["read", "wipe"]),
        ({"approve": {}}, ["look", "read", "wipe"]),
    ],
)
async def test_somebody_is_asked_about_every_call_unless_the_program_says_otherwise(approve, asked):
    server = asking(**approve)
    async with server:
        tools = await server.tools()
    assert [tool.name for tool in tools if tool.options.requires_approval] == asked


def asking(**approve: Any) -> MCPServer:
    """A server with three tools, of which it says of two that they only read."""
    here = str(HERE / "mcp_small.py")
    command = [sys.executable, "-I", "-S", here, "plain", "look:reads", "read:reads", "wipe"]
    return MCPServer.stdio(*command, **approve)


async def test_a_rule_for_a_tool_that_the_server_does_not_have_is_logged(caplog):
    async with small("wipe", approve={"wpie": "always", "*": "never"}, name="disk") as server:
        await server.tools()
    assert "approve= has a rule for 'wpie', but server 'disk' has no such tool" in caplog.text


@pytest.mark.parametrize(
    ("approve", "words"),
    [
        ("sometimes", "or a dict of these by the name of the tool, got 'sometimes'"),
        (True, "got True"),
        (None, "got None"),
        (
            {"wipe": "no"},
            """approve['wipe'] must be "always", "never" or "unless-read-only", or a dict""",
        ),
        ({"wipe": ["never"]}, "got ['never']"),
    ],
)
def test_a_rule_that_does_not_exist_is_refused(approve, words):
    with pytest.raises(ConfigError) as raised:
        MCPServer.stdio("x", approve=approve)
    assert words in str(raised.value)


async def test_an_entered_agent_keeps_its_servers_and_concurrent_runs_share_them():
    server = small("fetch")
    model = ScriptedModel(lambda request: answer(request))
    async with Agent(model, tools=[server]) as agent:
        results = await asyncio.gather(*(agent.run("Fetch it.") for _ in range(4)))
        assert [result.output for result in results] == ["Done."] * 4
        assert [tool.name for tool in await server.tools()] == ["fetch"]
    with pytest.raises(ConfigError, match="is not running"):
        await server.tools()


def answer(request: ModelRequest) -> str:
    is_asked = "<results>" not in str(request.messages[-1]["content"])
    return write({"name": "fetch", "args": {}}) if is_asked else "Done."


async def test_a_server_that_cannot_be_started_fails_the_run_and_leaves_the_log_empty():
    agent = Agent(ScriptedModel([]), tools=[MCPServer.stdio("no-such-program-here")])
    with pytest.raises(ConfigError, match="no-such-program-here"):
        await agent.run("?", conversation_id="c")
    assert (await agent.storage.read("c")).rows == []


def test_a_server_is_made_for_a_program_or_for_an_address():
    with pytest.raises(
        ArgumentError, match=r"write MCPServer\.stdio\(command, …\) .* MCPServer\.http\(url\)"
    ):
        MCPServer("http://localhost:8080/mcp")  # type: ignore[arg-type]


def test_anything_but_a_server_is_refused_at_once():
    local = MCPServer.stdio("x", name="local")
    for tools in ("web", [5], local, [local], [MCPServer.stdio("x"), MCPServer.stdio("x")]):
        with pytest.raises(ConfigError):
            Agent(ScriptedModel([]), tools=tools)
