"""Arguments that cannot work are refused at once, in a line that says what to do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cogency_rs import Agent, Approval, CallOptions, History, Hooks, RunLimits, ToolCall, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import ConfigError
from cogency_rs.testing import ScriptedModel
from support.agents import add, adding, agent, fail


async def answers(messages: Any) -> Any:
    yield "hi"


async def answers_with(messages: Any) -> str:
    return "hi"


def made(**options: Any) -> Any:
    return lambda: Agent(answers, **{"tools": [add, fail], **options})


class SavesOnly:
    async def save_message(self, *row: Any) -> None: ...


class SavesAndLoads(SavesOnly):
    async def load_messages(self, *args: Any, **options: Any) -> list[Any]:
        return []


@tool(name="add")
async def another_add() -> None:
    """Add otherwise."""


CASES: dict[str, tuple[Any, str]] = {
    "no model": (lambda: Agent(None), r"an agent needs a model: .* OpenAIModel\(\.\.\.\)"),
    "a coroutine as model": (
        lambda: Agent(answers_with([])),
        r"the model is what answers_with\(\.\.\.\) returned; give the function itself",
    ),
    "a generator as model": (
        lambda: Agent(answers([])),
        r"the model is what answers\(\.\.\.\) returned; give the function itself",
    ),
    "a name as model": (
        lambda: Agent("gpt-7"),
        r"'gpt-7' cannot be a model; write LocalModel\(file\), OpenAIModel\(name\) .* stream\(request\)",
    ),
    "two tools of one name": (made(tools=[add, another_add]), r"add"),
    "a function without a name": (
        made(tools=[lambda: 1]),
        r"a tool needs a name, got '<lambda>': tool\(function, name=\.\.\.\)",
    ),
    "something that is not a tool": (
        made(tools=[len]),
        r"cannot be a tool: make a tool of the function with @cogency_rs\.tool",
    ),
    "an unknown driver": (made(driver="xml"), r"there is no driver 'xml'; choose one of \"text\""),
    "something that is not a driver": (
        made(driver=object()),
        r"cannot be a driver: it needs a method step",
    ),
    "a driver's class": (made(driver=ScriptedDriver), r"cannot be a driver"),
    "a dialect of another driver": (
        made(driver=ScriptedDriver(["hi"]), dialect="qwen3"),
        r'leave it out, or give driver="text"',
    ),
    "an unknown dialect": (made(dialect="klingon"), r"klingon"),
    "a limit of 0": (
        lambda: RunLimits(steps=0),
        r"steps must be a whole number of at least 1, or None, got 0",
    ),
    "a limit that is text": (lambda: RunLimits(total_tokens="many"), r"total_tokens must be"),  # type: ignore[arg-type]
    "a time limit of 0": (lambda: RunLimits(seconds=0), r"seconds must be above 0"),
    "limits that are a number": (made(limits=5), r"limits must be a RunLimits, got 5"),
    "an error limit of 0": (lambda: RunLimits(same_errors=0), r"same_errors must be"),
    "history that is a number": (made(history=20), r"history must be a History, got 20"),
    "an unknown form of history": (
        lambda: History(earlier="short"),  # type: ignore[arg-type]
        r"earlier must be \"whole\" or \"answers\", got 'short'",
    ),
    "something that is not a hook": (
        made(hooks=[5]),
        r"hooks must be a list of Hooks objects and functions around a call, got 5; make a subclass",
    ),
    "a method that is named nearly like a hook": (
        lambda: type("Mine", (Hooks,), {"before_steps": lambda self, ctx: None}),
        r"Mine\.before_steps is named like a hook, .* did you mean before_step\?",
    ),
    **{
        f"a method {name}": (
            lambda name=name: type("Mine", (Hooks,), {name: lambda self, ctx, call: call}),
            rf"Mine\.{name} would never run: write async def around_call\(self, invocation, next\)",
        )
        for name in ("before_tool_execute", "after_tool_execute", "before_tool", "on_tool_start")
    },
    "a method that is named like no hook at all": (
        lambda: type("Mine", (Hooks,), {"on_click": lambda self: None}),
        r"Mine\.on_click .* Begin the name of a method of your own with an underscore",
    ),
    "a text that is not a hook": (
        made(hooks=["log"]),
        r"hooks must be a list of Hooks objects and functions around a call, got 'log'",
    ),
    "something that cannot approve": (
        made(approve="yes"),
        r"approve must be a function of a call, an Approval, or None, got 'yes'",
    ),
    "an approval timeout of 0": (lambda: Approval(print, timeout=0), r"timeout must be above 0"),
    "a concurrency of 0": (lambda: CallOptions(max_concurrency=0), r"max_concurrency must be"),
    "a negative tool timeout": (
        lambda: CallOptions(timeout=-1),
        r"timeout must be above 0",
    ),
    "an unknown tool to stop at": (
        made(limits=RunLimits(stop_at_tools=["multiply"])),
        r"stop_at_tools names 'multiply', but there is no such tool. Tools: add, fail",
    ),
    "an unknown on_failure": (
        lambda: CallOptions(on_failure="explode"),
        r"on_failure must be \"continue\" or \"raise\", got 'explode'",
    ),
    "an unknown on_block": (lambda: CallOptions(on_block="explode"), r"on_block must be"),
    "an unknown on_busy": (lambda: RunLimits(on_busy="explode"), r"on_busy must be"),
    "calls that are not options": (
        made(calls="stream"),
        r"calls must be a CallOptions, got 'stream'",
    ),
    "a storage without methods": (
        made(storage=object()),
        r"cannot be the log of an agent: .*save_message and load_messages; give the path of a file",
    ),
    "a storage that is an empty path": (made(storage=" "), r"storage=' ' names no file"),
    "an address of another database": (
        made(storage="mysql://ada:secret@host/db"),
        r"^storage cannot be an address that begins with mysql://; there is postgresql://",
    ),
    "a storage that only saves": (made(storage=SavesOnly()), r"cannot be the log of an agent"),
    "a storage's class": (made(storage=SavesAndLoads), r"cannot be the log of an agent"),
    "a storage without claims": (
        made(storage=SavesAndLoads(), limits=RunLimits(on_busy="error")),
        r'on_busy="error" needs a storage that can claim conversations',
    ),
    "an empty script": (lambda: ScriptedDriver([]), r"at least one step"),
}


@pytest.mark.parametrize(("make", "says"), CASES.values(), ids=CASES)
def test_a_wrong_argument_is_refused_at_construction(make, says):
    with pytest.raises(ConfigError, match=says) as raised:
        make()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("question", [None, 7, b"hi", ["hi"]])
@pytest.mark.parametrize("ask", ["run", "run_sync"])
def test_a_question_that_is_not_text_is_refused_before_anything_runs(ask, question):
    mine = agent("hi")
    with pytest.raises(TypeError, match="question must be text"):
        getattr(mine, ask)(question)


async def test_a_script_that_runs_out_says_how_long_it_was():
    mine = Agent(
        answers, tools=[add], driver=ScriptedDriver([ToolCall("add", {})], repeat_last=False)
    )
    with pytest.raises(ConfigError, match="exhausted: it has 1 steps, and one more was asked for"):
        await mine.run("?")
    with pytest.raises(AssertionError, match="request 2 has no answer, since 1 answer was given"):
        await agent(adding(1, 2)).run("?")


async def test_a_wrong_step_of_a_script_is_named():
    mine = Agent(answers, driver=ScriptedDriver([7]))
    with pytest.raises(
        ConfigError, match="a step is a text, calls, event dicts or an exception, not 7"
    ):
        await mine.run("?")


@pytest.mark.parametrize(
    ("gives", "says"),
    [
        (lambda messages: 7, "a model must return an async iterable of text, not int"),
        (lambda messages: None, "a model must return an async iterable of text, not NoneType"),
    ],
)
async def test_a_model_that_does_not_return_a_stream_is_an_error_that_says_so(gives, says):
    with pytest.raises(TypeError, match=says):
        await Agent(gives).run("?")


async def test_a_model_whose_pieces_are_not_text_is_an_error_that_says_so():
    async def numbers(messages: Any) -> Any:
        yield 7

    with pytest.raises(TypeError, match="a model gives str or a Delta, not int: 7"):
        await Agent(numbers).run("?")


async def test_a_decision_for_a_conversation_that_does_not_wait_is_refused():
    mine = agent("hi")
    await mine.run("?", conversation_id="c")
    with pytest.raises(ConfigError, match=r"'x' is refused, since conversation 'c' has no such"):
        await mine.resume("c", {"x": True})
    assert (await mine.resume("c", {})).output == "hi"


async def test_resuming_an_unknown_conversation_is_refused():
    with pytest.raises(
        ConfigError, match=r"no conversation 'c'.*: ask with run\(\), or check the id"
    ):
        await agent("hi").resume("c")


def test_anything_but_a_decision_is_refused():
    with pytest.raises(TypeError, match="must be True, False, ToolApproved or ToolDenied, got"):
        asyncio.run(agent("hi").resume("c", {"x": "yes"}))  # type: ignore[dict-item]


def test_anything_but_limits_is_refused():
    with pytest.raises(ConfigError, match="limits must be a RunLimits, got 5"):
        agent("hi").run_sync("?", limits=5)


def test_the_repr_of_an_agent():
    assert repr(Agent(ScriptedModel([]), tools=[add, fail], name="clerk")) == (
        "<agent 'clerk' with add, fail>"
    )
    assert repr(Agent(ScriptedModel([]))) == "<agent 'agent' with no tools>"
