"""Which tool a call means if some tools are the agent's own and others are on servers."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, strategies as st

from cogency_rs import Execution, ToolCall
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_calls
from cogency_rs.tools.toolbox import SortedTools, Toolbox, told_apart


class Named:
    """A tool that says which one it is."""

    description, schema = "", {}

    def __init__(self, name: str, server: Any = None, remote_name: str | None = None) -> None:
        self.name, self.server = name, server
        if remote_name is not None:
            self.remote_name = remote_name

    async def execute(self, **_: Any) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{getattr(self, 'remote_name', self.name)}@{self.server or 'local'}"


TOOLS = [
    Named("read"),
    Named("search"),
    Named("search", "github"),
    Named("issue", "github"),
    Named("list", "github"),
    Named("list", "disk"),
    Named("wipe", "disk"),
]


@pytest.mark.parametrize(
    ("server", "name", "meant"),
    [
        (None, "read", "read@local"),
        ("local", "read", "read@local"),
        ("", "read", "read@local"),
        (None, "search", "search@local"),  # the agent's own come first
        ("local", "search", "search@local"),
        ("github", "search", "search@github"),
        (None, "github__search", "search@github"),
        ("github", "github__search", "search@github"),
        (None, "issue", "issue@github"),  # one server alone has it
        ("local", "issue", "issue@github"),
        (None, "github__issue", "issue@github"),
        ("disk", "list", "list@disk"),
        (None, "disk__list", "list@disk"),
        (None, "list", "Tool 'list' is on 2 servers; ask for github__list or disk__list"),
        (
            "gitlab",
            "list",
            "Server 'gitlab' of tool 'list' is not known. Known servers: local, github, disk",
        ),
        (
            "disk",
            "issue",
            "Tool 'issue' not registered on server 'disk'. Known tools: list, wipe",
        ),
        ("disk", "github__list", "Tool 'github__list' not registered on server 'disk'."),
        ("disk", "read", "Tool 'read' not registered on server 'disk'."),
        (
            None,
            "nope",
            "Tool 'nope' not registered. Known tools: read, search, github__search, issue, "
            "github__list, disk__list, wipe",
        ),
    ],
)
async def test_a_call_means_this_tool(server, name, meant):
    call = ToolCall(name, {}, server=server)
    [execution] = await execute_calls([call], execution=Execution(tools=TOOLS))
    answer = execution.error or execution.value
    assert answer.startswith(meant)
    assert (execution.error is None) == ("@" in meant)


def test_a_prompt_lists_plain_names_if_they_are_unique_in_the_order_of_the_tools():
    assert list(Toolbox.of(TOOLS).names) == [
        "read",
        "search",
        "github__search",
        "issue",
        "github__list",
        "disk__list",
        "wipe",
    ]


def test_tools_that_already_have_their_long_names_keep_them():
    long = Named("github__search", "github", "search")
    toolbox = Toolbox.of([Named("search"), long])
    assert list(toolbox.names) == ["search", "github__search"]
    assert toolbox.resolve(ToolCall("search", {}, server="github")).tool is long
    assert toolbox.resolve(ToolCall("github__search", {})).tool is long


def test_a_long_name_that_another_tool_has_is_marked():
    for tools in (
        [Named("a"), Named("a", "s"), Named("s__a")],
        [Named("a"), Named("a", "s"), Named("s__a", "s")],
    ):
        one, marked, other = Toolbox.of(tools).names
        assert (one, other) == ("a", "s__a")
        assert re.fullmatch("s__a_[0-9a-f]{8}", marked)


def test_a_server_s_name_may_have_characters_that_a_tool_s_may_not():
    toolbox = Toolbox.of([Named("a"), Named("a", "My notes (2.0)")])
    assert list(toolbox.names) == ["a", "My_notes__2_0___a"]


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([Named("a"), Named("a")], "two tools are named 'a'"),
        ([Named("a", "s"), Named("a", "s")], "server 's' has two tools named 'a'"),
        ([SimpleNamespace(name="a", server="s")], "tool 'a' has no execute method"),
    ],
)
def test_names_that_could_mean_either_are_refused(tools, words):
    with pytest.raises(ConfigError) as raised:
        Toolbox.of(tools)
    assert words in str(raised.value)


def test_a_tool_that_cannot_be_renamed_keeps_its_name():
    assert told_apart(TOOLS) == TOOLS


@pytest.mark.parametrize("server", [Mock(), 7, ["github"]])
def test_a_server_that_is_not_a_text_is_ignored(server):
    tool = Named("a", server)
    toolbox = Toolbox.of([tool])
    assert toolbox.resolve(ToolCall("a", {})).tool is tool
    assert toolbox.resolve(ToolCall("a", {}, server=server)).tool is tool


def test_a_name_that_is_not_a_text_means_no_tool():
    toolbox = Toolbox.of(TOOLS)
    call = SimpleNamespace(name=["read"], args={})
    assert toolbox.resolve(call).tool is None
    assert "not registered" in toolbox.missing(call)


names = st.sampled_from("abcd")
places = st.sampled_from([None, "x", "y", "z"])


@given(st.sets(st.tuples(names, places)))
def test_every_tool_is_found_by_its_listed_name_and_by_its_server(pairs):
    tools = [Named(name, server) for name, server in sorted(pairs, key=str)]
    toolbox = Toolbox.of(tools)
    assert sorted(map(str, toolbox.names.values())) == sorted(map(str, tools))
    for listed, tool in toolbox.names.items():
        assert toolbox.resolve(ToolCall(listed, {})).tool is tool
        assert toolbox.resolve(ToolCall(tool.name, {}, server=tool.server or "local")).tool is tool


def test_sorted_tools_are_a_tuple_that_has_its_toolbox():
    listed = SortedTools(iter(TOOLS))
    assert listed == tuple(TOOLS)
    assert Toolbox.of(listed) is Toolbox.of(listed) is listed.toolbox
    assert listed.toolbox.names == Toolbox.of(TOOLS).names


def test_tools_that_cannot_be_sorted_are_refused_at_once():
    with pytest.raises(ConfigError, match="wipe"):
        SortedTools([Named("wipe"), Named("wipe")])
