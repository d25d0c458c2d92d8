"""The names of tools that models are told: such as every provider and dialect takes, each for one tool."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, reject, strategies as st

from cogency_rs import Agent, Dialect, Memory, ToolCall, parse_tokens, tool
from cogency_rs.agent import NativeDriver, ScriptedDriver
from cogency_rs.errors import ConfigError
from cogency_rs.models import SpecificTool, ToolCallDelta
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools.toolbox import Toolbox
from support.served_tools import served

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)

names = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=90),
    st.from_regex(r"[a-z./ _-]{1,8}", fullmatch=True),
    st.text("ab_", min_size=1, max_size=3),
)


@given(
    st.sets(st.tuples(st.sampled_from(["fs", "db", "My notes (2.0)", "é"]), names), max_size=12),
    st.randoms(use_true_random=False),
)
def test_a_server_s_tool_has_one_accepted_name_that_means_it(pairs, random):
    tools = [served(name, server) for server, name in sorted(pairs)]
    try:
        toolbox = Toolbox.of(tools)
    except ConfigError:  # one server's tool is named like the long name of another's
        reject()
    listed = toolbox.names
    assert len(listed) == len(tools)
    for name, each in listed.items():
        assert ACCEPTED.fullmatch(name)
        assert toolbox.resolve(ToolCall(name, {})).tool is each
        said = toolbox.resolve(ToolCall(each.remote_name, {}, server=each.server))
        assert (said.tool, said.call.name) == (each, name)
    shuffled = random.sample(tools, len(tools))
    found = {id(each): name for name, each in Toolbox.of(shuffled).names.items()}
    assert found == {id(each): name for name, each in listed.items()}, "the order does not matter"


@pytest.mark.parametrize(
    ("name", "server", "listed"),
    [
        ("read", "fs", "read"),
        ("fs.read/v1 x", "fs", "fs_read_v1_x_83f25e57"),
        ("fs.read/v1 x", "other", "fs_read_v1_x_2f129fdc"),
        ("3d", "fs", "_3d_6c47112e"),
        ("x" * 90, "fs", f"{'x' * 55}_f39d489b"),
    ],
)
def test_a_name_stays_the_same_from_run_to_run(name, server, listed):
    assert list(Toolbox.of([served(name, server)]).names) == [listed]


def test_a_long_name_that_could_mean_two_tools_means_none():
    toolbox = Toolbox.of([served("b__x", "a"), served("x", "a__b")])
    resolved = toolbox.resolve(ToolCall("a__b__x", {}))
    assert resolved.tool is None
    assert toolbox.missing(resolved.call) == ("Tool 'a__b__x' is on 2 servers; ask for b__x or x")


def test_servers_whose_names_become_alike_keep_their_tools_apart():
    toolbox = Toolbox.of([served("x", "a.b"), served("x", "a b")])
    assert len(toolbox.names) == 2
    assert all(re.fullmatch(r"a_b__x_[0-9a-f]{8}", name) for name in toolbox.names)


WRONG = ["my tool!", "größe", "3d", "-x", "a.b", "x" * 65, "two\nlines", "\uff41"]


@pytest.mark.parametrize("name", WRONG)
def test_a_tool_of_one_s_own_with_another_name_is_refused(name):
    words = re.escape(f"a tool cannot be named {name!r}: a name begins with a letter or _")
    with pytest.raises(ConfigError, match=words):
        tool(lambda: None, name=name, description="It.")
    with pytest.raises(ConfigError, match=words):
        Agent(ScriptedModel([]), tools=[served(name, "local")])
    with pytest.raises(ConfigError, match=words):
        Agent(ScriptedModel([])).as_tool(name, "It.")


@pytest.mark.parametrize("dialect", Dialect.presets())
@pytest.mark.parametrize("name", ["a", "_", "_1", "A9_-z", "true", "null", "e5-", "x" * 64])
async def test_every_dialect_writes_every_accepted_name(dialect, name):
    declared = {"name": name, "parameters": {"properties": {"x": {"type": "string"}}}}
    text = Dialect(dialect).write_calls([ToolCall(name, {"x": "y"})])
    for tools in (None, [declared]):
        events = [each async for each in parse_tokens(text, dialect=dialect, tools=tools)]
        calls = [json.loads(each["content"]) for each in events if each["type"] == "call"]
        assert [each["name"] for each in calls] == [name]


@pytest.mark.parametrize("said", ["fs_read_v1_x_83f25e57", "fs.read/v1 x", "fs__fs.read/v1 x"])
async def test_a_provider_is_told_accepted_names_and_its_calls_find_the_tool(said):
    read = served("fs.read/v1 x")
    model = ScriptedModel([[ToolCallDelta(0, "1", said, "{}")], "Done."])
    driver = NativeDriver()
    result = await Agent(model, tools=[read], driver=driver).run("?")
    assert (result.output, len(read.ran)) == ("Done.", 1)
    assert [[each.name for each in request.tools] for request in model.requests] == [
        ["fs_read_v1_x_83f25e57"]
    ] * 2
    assert called(model.requests[1]) == ["fs_read_v1_x_83f25e57"]


async def test_what_was_called_before_goes_to_a_provider_under_accepted_names_too():
    log = Memory()
    odd = [ToolCall("my tool!", {}), ToolCall("fs.read/v1 x", {}), ToolCall("y" * 99, {})]
    driver: Any = ScriptedDriver([odd, "Done."], repeat_last=False)
    before = Agent(ScriptedModel([]), tools=[served("fs.read/v1 x")], driver=driver, storage=log)
    await before.run("?", conversation_id="c")
    model = ScriptedModel(["Well."])
    mine = Agent(model, tools=[served("fs.read/v1 x")], driver="native", storage=log)
    await mine.run("And?", conversation_id="c")
    sent = called(model.requests[0])
    assert len(sent) == 3
    assert all(ACCEPTED.fullmatch(name) for name in sent)
    assert sent[1] == "fs_read_v1_x_83f25e57"


@pytest.mark.parametrize("said", ["delete_all", "fs__delete_all"])
async def test_a_specific_tool_may_be_named_in_every_way(said):
    model = ScriptedModel([[ToolCallDelta(0, "1", "delete_all", "{}")]])
    driver = NativeDriver(SpecificTool(said))
    tools = [served("delete_all", ends_run=True)]
    await Agent(model, tools=tools, driver=driver).run("?")
    assert model.requests[0].tool_choice == SpecificTool("delete_all")


def called(request: Any) -> list[str]:
    """The names of the calls that a request shows the model."""
    return [
        call["function"]["name"]
        for message in request.messages
        for call in message.get("tool_calls", ())
    ]
