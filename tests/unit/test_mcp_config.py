"""The file of servers, `mcp.json`: what is read from it, and what is reported if it is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from cogency_rs import MCPServer
from cogency_rs.errors import ConfigError
from cogency_rs.servers import load_mcp_config
from cogency_rs.servers.places import Program, ServerAddress
from support.mcp_servers import HERE

Load = Callable[..., dict[str, MCPServer]]


@pytest.fixture
def load(tmp_path) -> Load:
    def load(content: Any, **variables: str) -> dict[str, MCPServer]:
        path = tmp_path / "mcp.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return load_mcp_config(path, environment=variables)

    return load


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"command": "npx"}, Program("npx")),
        (
            {"command": "npx", "args": ["-y", "a"], "env": {"KEY": "v"}, "cwd": "/tmp"},
            Program("npx", ("-y", "a"), {"KEY": "v"}, "/tmp"),
        ),
        ({"type": "stdio", "command": "npx", "alwaysAllow": ["a"]}, Program("npx")),
        ({"command": "${HOME}/bin/a", "args": ["${A}${B}"]}, Program("/home/ada/bin/a", ("12",))),
        ({"command": "a", "args": ["${C:-three}", "${A:-x}"]}, Program("a", ("three", "1"))),
        ({"command": "a", "env": {"KEY": "${EMPTY}"}}, Program("a", env={"KEY": ""})),
        ({"command": "a", "args": ["${EMPTY:-}", "$A", "${}"]}, Program("a", ("", "$A", "${}"))),
        ({"url": "https://a.example/mcp"}, ServerAddress("https://a.example/mcp")),
        (
            {"type": "http", "url": "https://${A}.example", "headers": {"Authorization": "B ${B}"}},
            ServerAddress("https://1.example", {"Authorization": "B 2"}),
        ),
    ],
)
def test_each_form_of_an_entry_is_read(load, entry, place):
    variables = {"HOME": "/home/ada", "A": "1", "B": "2", "EMPTY": ""}
    servers = load({"mcpServers": {"one": entry}}, **variables)
    assert [*servers] == ["one"]
    assert (servers["one"].name, servers["one"]._place) == ("one", place)


def test_servers_keep_their_order_and_those_that_are_disabled_are_left_out(load):
    entries = {name: {"command": "a", "disabled": name == "b"} for name in "cba"}
    assert [*load({"mcpServers": entries, "inputs": []})] == ["c", "a"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON: Expecting property name"),
        ("[]", 'names no servers: it must be an object like {"mcpServers": {"name": {'),
        ({"servers": {}}, "names no servers"),
        ({"mcpServers": ["a"]}, "names no servers"),
        ({"mcpServers": {"a": "npx"}}, "server 'a' must be an object with a command or a url"),
        ({"mcpServers": {"a": {}}}, "server 'a' must have either a command or a url"),
        ({"mcpServers": {"a": {"command": "x", "url": "y"}}}, "either a command or a url"),
        ({"mcpServers": {"a": {"command": 5}}}, "server 'a': command must be text, not a number"),
        ({"mcpServers": {"a": {"command": ""}}}, "server 'a': a command and its arguments are"),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "args must be a list of texts"),
        ({"mcpServers": {"a": {"command": "x", "args": [1]}}}, "args must be text, not a number"),
        ({"mcpServers": {"a": {"command": "x", "env": []}}}, "env must be an object of texts"),
        (
            {"mcpServers": {"a": {"url": "a.example"}}},
            "server 'a': the address of a server must begin",
        ),
        (
            {"mcpServers": {"a": {"url": "https://a.example", "type": "sse"}}},
            "server 'a' is of type 'sse'; only servers over HTTP",
        ),
        (
            {"mcpServers": {"a": {"command": "x", "env": {"K": "${GITHUB_TOKEN}"}}}},
            "server 'a': env needs the environment variable GITHUB_TOKEN, which is not set",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_what_is_wrong(load, tmp_path, content, words):
    with pytest.raises(ConfigError) as raised:
        load(content)
    message = str(raised.value)
    assert words in message
    assert message.startswith(str(tmp_path / "mcp.json"))
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        load_mcp_config(tmp_path / "mcp.json")


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        ({}, ["look", "wipe"]),
        ({"approve": "never"}, []),
        ({"approve": "unless-read-only"}, ["wipe"]),
        ({"approve": {"wipe": "never"}}, ["look"]),
    ],
)
async def test_the_file_may_say_which_calls_somebody_is_asked_about(load, entry, asked):
    args = ["-I", "-S", str(HERE / "mcp_small.py"), "plain", "look:reads", "wipe"]
    [server] = load(
        {"mcpServers": {"a": {"command": sys.executable, "args": args, **entry}}}
    ).values()
    async with server:
        tools = await server.tools()
    assert [tool.name for tool in tools if tool.options.requires_approval] == asked


def test_a_rule_in_the_file_that_does_not_exist_says_where(load):
    with pytest.raises(ConfigError, match='server \'a\': approve must be "always", "never" or'):
        load({"mcpServers": {"a": {"command": "x", "approve": "no"}}})


async def test_a_server_that_was_read_can_be_started(load):
    args = ["-I", "-S", "${HERE}/mcp_small.py", "plain", "search"]
    entry = {"command": sys.executable, "args": args}
    servers = load({"mcpServers": {"notes": entry}}, HERE=str(HERE))
    async with servers["notes"] as server:
        [tool] = await server.tools()
    assert (tool.name, tool.server) == ("search", "notes")
