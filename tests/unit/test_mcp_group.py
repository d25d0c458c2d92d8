"""Several MCP servers at once: how they start, how their tools are named, and what happens if one is missing."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from cogency_rs import Execution, MCPServer, ToolCall, system_prompt
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_calls
from cogency_rs.servers import ServerGroup
from support.mcp_servers import HERE, is_running, search, small
from support.waiting import until

pytestmark = pytest.mark.concurrency


def names(tools: list[Any]) -> list[str]:
    return [tool.name for tool in tools]


async def test_tools_have_names_that_tell_them_apart_in_a_stable_order():
    servers = {"disk": small("search", "list"), "web": small("search", "fetch")}
    async with ServerGroup(servers) as group:
        tools = await group.tools([search])
        assert names(tools) == ["search", "disk__search", "list", "web__search", "fetch"]
        assert [each.server for each in tools[1:]] == ["disk", "disk", "web", "web"]
        again = await group.tools([search])
        assert all(one is other for one, other in zip(tools, again, strict=True))
        prompt = system_prompt(tools)
        assert [name for name in names(tools) if f"{name}(" not in prompt] == []
        assert names(await group.tools()) == ["disk__search", "list", "web__search", "fetch"]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (ToolCall("search", {"word": "a"}), "a here"),
        (ToolCall("web__search", {"word": "a"}), "web"),
        (ToolCall("search", {"word": "a"}, server="web"), "web"),
        (ToolCall("search", {"word": "a"}, server="disk"), "disk"),
        (ToolCall("list", {}), "disk"),
    ],
)
async def test_a_call_goes_to_the_server_that_it_names(call, answer):
    servers = {"disk": small("search", "list"), "web": small("search")}
    async with ServerGroup(servers) as group:
        processes = {}
        for name, server in servers.items():
            result = await server.call("search", {})
            processes[name] = json.loads(result.content)["process"]
        execution = Execution(tools=await group.tools([search]))
        [run] = await execute_calls([call], execution=execution)
    if answer in processes:
        assert json.loads(run.value)["process"] == processes[answer]
    else:
        assert run.value == answer


async def test_servers_in_a_list_keep_their_own_names():
    async with ServerGroup([small("a", name="x"), small("a", name="y")]) as group:
        assert names(await group.tools()) == ["x__a", "y__a"]


async def test_a_server_that_cannot_be_started_closes_the_others_and_is_named():
    good, bad = small("a"), MCPServer.stdio("no-such-program")
    with pytest.raises(ConfigError, match="server 'bad' could not be started: there is no program"):
        await ServerGroup({"good": good, "bad": bad}).__aenter__()
    with pytest.raises(ConfigError, match="is not running"):
        await good.tools()


async def test_all_servers_that_cannot_be_started_are_named():
    group = ServerGroup({name: MCPServer.stdio("no-such-program") for name in "ab"})
    with pytest.raises(ConfigError, match=r"server 'a' could not be .*; server 'b' could not be"):
        await group.__aenter__()


async def test_a_group_can_go_on_without_a_server(caplog):
    servers = {"bad": MCPServer.stdio("no-such-program"), "good": small("a")}
    async with ServerGroup(servers, on_failure="skip") as group:
        assert names(await group.tools()) == ["a"]
        assert [*group.failures] == ["bad"]
    assert "server 'bad' could not be started" in caplog.text


async def test_the_tools_of_a_server_that_ended_for_good_stay_listed_and_their_calls_say_why(
    tmp_path, caplog
):
    copy = tmp_path / "server.py"
    copy.write_text((HERE / "mcp_small.py").read_text())
    fragile = MCPServer.stdio(sys.executable, "-IS", str(copy), "plain", "die", approve="never")
    async with ServerGroup({"fragile": fragile, "good": small("a")}) as group:
        execution = Execution(tools=await group.tools())
        await execute_calls([ToolCall("die", {})], execution=execution)
        copy.unlink()
        assert names(await group.tools()) == ["die", "a"]
        [run] = await execute_calls([ToolCall("die", {})], execution=execution)
    assert "'die' was not called: server 'fragile' could not be started" in (run.error or "")
    assert (
        "the tools of server 'fragile' could not be listed, so those known before are used"
        in caplog.text
    )


async def test_a_group_may_be_closed_from_another_task():
    group = ServerGroup({"one": small("a"), "two": small("a")})
    await asyncio.create_task(group.__aenter__())
    results = [await server.call("a", {}) for server in group.servers.values()]
    await asyncio.create_task(group.__aexit__(None, None, None))
    assert not any(is_running(json.loads(result.content)["process"]) for result in results)


async def test_a_start_that_is_cancelled_closes_all_of_them():
    servers = {"good": small("a"), "mute": small(habit="mute")}
    start = asyncio.create_task(ServerGroup(servers).__aenter__())
    await until(lambda: servers["good"]._users, "the good server does not start")
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert [server._users for server in servers.values()] == [0, 0]


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"local": small()}, "a server cannot be named 'local'; 'local' is where the agent's own"),
        ({"": small()}, "a server cannot be named ''"),
        ({1: small()}, "a server cannot be named 1"),
        ({"a": "npx"}, "'npx' is not an MCPServer"),
        ([small(name="a"), small(name="a")], "two servers are named 'a': give one another name="),
        (["npx"], "'npx' is not an MCPServer"),
    ],
)
def test_servers_that_could_not_be_told_apart_are_refused(servers, words):
    with pytest.raises(ConfigError) as raised:
        ServerGroup(servers)
    assert words in str(raised.value)


def test_on_failure_is_one_of_two_words():
    with pytest.raises(ConfigError, match='on_failure must be "raise" or "skip"'):
        ServerGroup({}, on_failure="ignore")  # type: ignore[arg-type]
