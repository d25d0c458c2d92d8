"""The arguments that a user meets first: how many there are, and what each may be."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    AnthropicModel,
    LocalModel,
    OpenAIModel,
    RunLimits,
    ToolCall,
    tool,
)
from cogency_rs.compat import in_sandbox
from cogency_rs.errors import ArgumentError, BusyError, ConfigError
from cogency_rs.guards.arguments import (
    ACCUMULATOR_NAMES,
    AGENT_NAMES,
    LIMIT_NAMES,
    METHOD_NAMES,
    RUN_NAMES,
    TOOL_NAMES,
)
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import ToolOptions
from cogency_rs.tools.options import ToolKeywords
from support.agents import adding, agent, agent_and_model, calls
from support.mcp_servers import small


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# How many there are


def arguments(of: Any) -> list[str]:
    return [name for name in inspect.signature(of).parameters if name != "self"]


@pytest.mark.parametrize(
    ("of", "most"), [(Agent, 14), (Accumulator, 10), (tool, 11), (RunLimits, 10), (Agent.run, 5)]
)
def test_there_are_few_arguments(of, most):
    assert len(arguments(of)) <= most, arguments(of)


def test_tool_takes_what_tool_options_have():
    options = {field.name for field in fields(ToolOptions) if field.init}
    assert {*ToolKeywords.__annotations__} == options
    own = {"name", "description"}
    assert {*arguments(tool)} == {"function", "options", *own}
    assert len(own | options) == 11


# Those that are called otherwise elsewhere


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("max_turns", "limits=RunLimits(steps=…)"),
        ("system_prompt", "instructions=…"),
        ("servers", "tools=[…], which takes functions with @tool, MCP servers and agents"),
        ("tool_timeout", "calls=CallOptions(timeout=…)"),
        ("require_tool", "limits=RunLimits(require_tool=…)"),
        ("deps", "agent.run(…, deps=…)"),
    ],
)
def test_an_argument_that_is_called_otherwise_says_what_to_write(name, instead):
    with pytest.raises(ArgumentError) as raised:
        Agent(ScriptedModel([]), **{name: 5})
    assert str(raised.value) == f"Agent has no argument {name}; write {instead}"
    assert isinstance(raised.value, TypeError)


def test_so_does_one_of_a_run():
    with pytest.raises(ArgumentError) as raised:
        agent("Hi.").run("?", thread_id="c")
    assert str(raised.value) == "Agent.run has no argument thread_id; write conversation_id=…"
    with pytest.raises(ArgumentError, match=r"write limits=RunLimits\(steps=…\)"):
        agent("Hi.").run_sync("?", max_turns=3)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("user", "user_id=…"),
        ("calls", "Agent(…, calls=CallOptions(…)), or run.events(calls=…) for when calls are shown"),
    ],
)  # fmt: skip
def test_an_argument_that_belongs_elsewhere_says_where(name, instead):
    for start in (agent("Hi.").run, agent("Hi.").resume, agent("Hi.").run_sync):
        with pytest.raises(ArgumentError) as raised:
            start("?", **{name: "stream"})
        assert str(raised.value).endswith(f" has no argument {name}; write {instead}")


def test_when_calls_are_shown_is_an_option_of_who_watches():
    with pytest.raises(ArgumentError, match=r"got 'stream'; run.events\(calls='stream'\)"):
        Agent(ScriptedModel([]), calls="stream")


def test_so_do_those_of_the_parts():
    with pytest.raises(
        ArgumentError, match=r"^RunLimits has no argument max_turns; write steps=…$"
    ):
        RunLimits(max_turns=3)
    with pytest.raises(
        ArgumentError, match=r"^@tool has no argument needs_approval; write requires_"
    ):
        tool(needs_approval=True)
    with pytest.raises(
        ArgumentError, match=r"^@tool has no argument retries; write idempotent=Retries"
    ):
        tool(retries=2)
    with pytest.raises(
        ArgumentError, match=r"^Accumulator has no argument storage; write execution="
    ):
        Accumulator("", "c", storage=None)


@pytest.mark.parametrize(
    ("names", "of"),
    [
        (AGENT_NAMES, Agent),
        (RUN_NAMES, Agent.run),
        (ACCUMULATOR_NAMES, Accumulator),
        (LIMIT_NAMES, RunLimits),
        (TOOL_NAMES, ToolOptions),
    ],
)
def test_no_argument_that_there_is_is_called_misnamed(names, of):
    assert not {*names} & {*arguments(of)}


LOCAL: dict[str, Any] = {"base_url": "http://localhost:1/v1"}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: OpenAIModel("m", api_base="http://x"), "OpenAIModel has no argument api_base; write base_url="),
        (lambda: OpenAIModel(model="m"), "OpenAIModel has no argument model; write the model's name, as the first"),
        (lambda: LocalModel("m.gguf", n_ctx=1), "LocalModel has no argument n_ctx; write context="),
        (lambda: LocalModel(model_path="m.gguf"), "LocalModel has no argument model_path; write the path of the file"),
        (lambda: LocalModel(5), "path must be the path of a GGUF file, got 5"),
        (
            lambda: OpenAIModel("m", temprature=1, **LOCAL),
            "OpenAIModel has no setting temprature: write temperature=…, or extra_body={'temprature': …} for a field ",
        ),
        (lambda: OpenAIModel("m", temperature="hot", **LOCAL), "temperature must be a number, got 'hot'"),
        (lambda: OpenAIModel("m", seed=1.5, **LOCAL), "seed must be a whole number, got 1.5"),
        (lambda: OpenAIModel("m", seed=True, **LOCAL), "seed must be a whole number, got True"),
        (lambda: LocalModel("m.gguf", temperature="hot"), "temperature must be a number"),
        (lambda: AnthropicModel("m", stop=["x"], **LOCAL), "AnthropicModel has no setting stop: write"),
        (lambda: Agent(ScriptedModel([]), timeout=3), r"Agent has no argument timeout; write limits=RunLimits"),
        (lambda: Agent(ScriptedModel([])).run(input="?"), "Agent.run has no argument input; write the question"),
    ],
)  # fmt: skip
def test_an_argument_that_a_model_does_not_have_is_refused_with_what_to_write(make, says):
    with pytest.raises(ArgumentError, match=says):
        make()


def test_settings_may_be_none_and_fields_of_a_server_are_sent():
    given = {"temperature": None, "seed": 3, "top_p": 1, "extra_body": {"n": 2}}
    model = OpenAIModel("m", **given, **LOCAL)
    assert model._settings == given


@pytest.mark.parametrize("place", ["localhost:5432/db", "db.example.com:5432", "user@localhost/db"])
def test_an_address_without_its_scheme_is_no_file(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=rf"postgresql://user@host/database .*\./{place} for a"):
        Agent(ScriptedModel([]), storage=place)
    assert not [*tmp_path.iterdir()]


def test_a_method_of_another_framework_is_refused_with_what_to_write():
    agent: Any = Agent(ScriptedModel([]))
    with pytest.raises(AttributeError, match=r"has no attribute 'tool'; write Agent\(…, tools="):
        agent.tool()
    with pytest.raises(AttributeError, match=r"has no attribute 'colour'$"):
        agent.colour()
    assert not {*METHOD_NAMES} & {*dir(Agent)}


def test_any_other_argument_is_refused_as_python_does():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        Agent(ScriptedModel([]), colour="red")
    with pytest.raises(TypeError, match="unexpected keyword argument 'minutes'"):
        RunLimits(minutes=3)


@pytest.mark.parametrize("attribute", ["model", "tools", "instructions", "limits"])
def test_what_an_agent_was_made_with_cannot_be_set(attribute):
    with pytest.raises(AttributeError, match=attribute):
        setattr(agent(), attribute, None)


# Tools, servers and agents in one list


async def test_an_agent_among_the_tools_is_a_tool_of_its_name():
    research = agent("42", tools=[], name="research", instructions="You look things up.")
    mine = agent(calls_of("research", question="What is it?"), "It is 42.", tools=[add, research])
    assert [(each.name, each.description) for each in mine.tools][1:] == [
        ("research", "Ask another agent. Its instructions: You look things up.")
    ]
    result = await mine.run("?")
    assert [each.value for each in result.steps[0].executions] == ["42"]


def test_an_agent_whose_instructions_are_a_function_tells_nothing_of_them():
    asked = agent(instructions=lambda ctx: "secret", tools=[], name="research")
    assert asked.as_tool().description == "Ask another agent."


def test_two_agents_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="two tools are named 'agent'"):
        agent(tools=[agent(tools=[]), agent(tools=[])])


async def test_servers_may_be_anywhere_among_the_tools():
    both = small("fetch", name="web"), small("fetch", name="disk")
    mine, model = agent_and_model("3", tools=[both[0], add, both[1]])
    assert [each.name for each in mine.tools] == ["add"]
    await mine.run("?")
    text = began(model)[0]
    places = [text.index(name) for name in ("add(", "web__fetch(", "disk__fetch(")]
    assert places == sorted(places)


# Instructions


def began(model: ScriptedModel) -> list[str]:
    return [str(request.messages[0]["content"]) for request in model.requests]


async def test_a_function_is_asked_for_the_instructions_before_each_step():
    def instruct(ctx: Any) -> str:
        return f"You help {ctx.deps}, in step {ctx.step}."

    mine, model = agent_and_model(adding(1, 2), "3", instructions=instruct)
    await mine.run("?", deps="Ada")
    assert [text.partition("\n")[0] for text in began(model)] == [
        "You help Ada, in step 0.",
        "You help Ada, in step 1.",
    ]


@pytest.mark.parametrize("driver", ["text", "native"])
async def test_it_may_be_async_and_the_prompt_shows_what_it_gives(driver):
    async def instruct(ctx: Any) -> str:
        return f"Answer: {ctx.question}"

    mine, model = agent_and_model("3", instructions=instruct, driver=driver)
    assert mine.prompt("What?")[0]["content"].startswith("Answer: What?")
    await mine.run("How?")
    assert began(model)[0].startswith("Answer: How?")


async def test_what_is_wrong_with_it_is_the_error_of_the_run():
    with pytest.raises(ArgumentError, match="what the function instructions returns must be text"):
        await agent("3", instructions=lambda ctx: 5).run("?")

    def broken(ctx: Any) -> str:
        raise KeyError("who")

    with pytest.raises(KeyError, match="who"):
        await agent("3", instructions=broken).run("?")


# Limits


async def test_limits_of_a_run_go_before_those_of_its_agent_which_count_for_the_rest():
    mine = agent(
        lambda _: adding(1, 2), limits=RunLimits(steps=4, stop_at_tools=["add"], tool_calls=9)
    )
    assert len((await mine.run("?", limits=RunLimits(steps=2))).steps) == 1
    assert len((await mine.run("?", limits=RunLimits(stop_at_tools=[]))).steps) == 4
    assert len((await mine.run("?", limits=RunLimits(steps=20, stop_at_tools=()))).steps) == 10
    assert (mine.limits.steps, mine.limits.stop_at_tools) == (4, {"add"})


def test_limits_of_a_run_are_checked_too():
    with pytest.raises(ConfigError, match="stop_at_tools names 'multiply'"):
        agent("3").run("?", limits=RunLimits(stop_at_tools=["multiply"]))
    with pytest.raises(ConfigError, match="limits must be a RunLimits, got 5"):
        agent("3").run("?", limits=5)


async def test_one_run_may_refuse_to_wait_for_another():
    mine = agent("3", "4")
    async with mine.storage.claim("c"):
        with pytest.raises(BusyError):
            await mine.run("?", conversation_id="c", limits=RunLimits(on_busy="error"))


def test_equal_limits_are_equal():
    assert RunLimits(steps=20) == RunLimits() != RunLimits(steps=21)
    assert len({RunLimits(steps=20), RunLimits()}) == 1


# Where cogency's tools may work


class Look:
    name = "look"
    description = "Look around."
    schema: dict[str, Any] = {}  # noqa: RUF012

    async def execute(self, *, sandbox_dir: str, access: str, **_: Any) -> str:
        return f"{sandbox_dir} {access}"


class Plain(Look):
    name = "plain"

    def execute(self, *, sandbox_dir: str, access: str, **_: Any) -> str:  # type: ignore[override]
        return f"{sandbox_dir} {access}"


async def test_tools_that_are_objects_may_be_given_another_place():
    both = calls_of("look"), calls_of("plain")
    result = await agent(*both, "done", tools=[Look(), Plain()]).run("?")
    placed = in_sandbox([Look(), Plain()], sandbox_dir="box", access="project")
    other = await agent(*both, "done", tools=placed).run("?")
    for each, expected in ((result, ".cogency/sandbox sandbox"), (other, "box project")):
        assert [step.executions[0].value for step in each.steps[:2]] == [expected] * 2


def calls_of(name: str, **args: Any) -> str:
    return calls(ToolCall(name, args))
