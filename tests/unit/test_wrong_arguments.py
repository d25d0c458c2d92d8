"""A wrong argument is refused in one sentence: which argument, what it must be, what came."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cogency_rs
from cogency_rs import (
    Accumulator,
    Agent,
    AnthropicModel,
    CallOptions,
    Dialect,
    Execution,
    History,
    Hooks,
    Memory,
    OpenAIModel,
    Parser,
    PostgreSQL,
    RunLimits,
    SQLite,
    ToolCall,
    execute_tools,
    system_prompt,
    tool,
)
from cogency_rs._core import AnswerReader, ArgumentSchema, decide
from cogency_rs.agent import TextDriver
from cogency_rs.compat import in_sandbox
from cogency_rs.errors import ConfigError
from cogency_rs.executors.ray import RayExecutor
from cogency_rs.models import Finish
from cogency_rs.tools import Retries, ToolOptions


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def plain(a: int) -> int:
    return a


class NotHooks:
    def __repr__(self) -> str:
        return "H()"


class Guard(Hooks):
    def __repr__(self) -> str:
        return "Guard()"


class Watch:
    def __repr__(self) -> str:
        return "Watch()"

    async def __call__(self, invocation: Any, next: Any) -> Any:
        return await next(invocation)


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("no words")


async def model(messages: Any) -> Any:
    yield "hi"


def agent(**options: Any) -> Any:
    return lambda: Agent(model, **options)


def turn(**options: Any) -> Any:
    return lambda: Accumulator(
        "u", "c", **{"execution": Execution(storage=Memory(), tools=[add]), **options}
    )


def run(*args: Any, **options: Any) -> Any:
    return lambda: Agent(model).run_sync(*args, **options)


def resume(*args: Any, **options: Any) -> Any:
    return lambda: asyncio.run(Agent(model).resume(*args, **options))


def batch(calls: Any, **options: Any) -> Any:
    return lambda: asyncio.run(
        execute_tools(calls, **{"execution": Execution(tools=[add]), **options})
    )


CASES: dict[str, tuple[Any, str]] = {
    "one tool": (
        agent(tools=add),
        "tools must be a list of tools, got <tool add>; write tools=[add]",
    ),
    "a function as tools": (
        agent(tools=plain),
        f"tools must be a list of tools, got {plain!r}; write tools=[plain]",
    ),
    "no tools": (agent(tools=None), "tools must be a list of tools, got None"),
    "a name as tools": (agent(tools="add"), "tools must be a list of tools, got 'add'"),
    "hooks without their base": (
        agent(hooks=NotHooks()),
        "hooks must be a list of Hooks objects and functions around a call, got H(); "
        "make a subclass of Hooks, or write an async function",
    ),
    "one Hooks": (
        agent(hooks=Guard()),
        "hooks must be a list of Hooks objects and functions around a call, got Guard(); write hooks=[Guard()]",
    ),
    "something else among hooks": (
        agent(hooks=[NotHooks()]),
        "hooks must be a list of Hooks objects and functions around a call, got H(); "
        "make a subclass of Hooks, or write an async function",
    ),
    "instructions": (
        agent(instructions=5),
        "instructions must be text (a str), or a function of the run, got 5",
    ),
    "one function around calls": (
        agent(hooks=Watch()),
        "hooks must be a list of Hooks objects and functions around a call, got Watch(); write hooks=[Watch()]",
    ),
    "a class of hooks": (
        agent(hooks=[Guard]),
        f"hooks must be a list of Hooks objects and functions around a call, got {Guard!r}; write hooks=[Guard()]",
    ),
    "a hook that is not a function": (
        agent(hooks=["log"]),
        "hooks must be a list of Hooks objects and functions around a call, got 'log'; "
        "make a subclass of Hooks, or write an async function",
    ),
    "approve": (
        agent(approve=True),
        "approve must be a function of a call, an Approval, or None, got True",
    ),
    "a timeout as text": (
        lambda: CallOptions(timeout="5 s"),
        "timeout must be above 0 seconds and at most a year, got '5 s'",
    ),
    "a concurrency of 0": (
        lambda: CallOptions(max_concurrency=0),
        "max_concurrency must be a whole number of at least 1, or None, got 0",
    ),
    "limits": (agent(limits=5), "limits must be a RunLimits, got 5"),
    "a limit of steps": (
        lambda: RunLimits(steps=0),
        "steps must be a whole number of at least 1, or None, got 0",
    ),
    "history": (agent(history=20), "history must be a History, got 20"),
    "merge_roles": (lambda: History(merge_roles=1), "merge_roles must be True or False, got 1"),  # type: ignore[arg-type]
    "a dialect's number": (
        agent(dialect=5),
        "dialect must be a dialect's name, a Dialect, or a tuple of these, got 5",
    ),
    "no dialect at all": (
        agent(dialect=(5,)),
        "dialect must be a dialect's name, a Dialect, or a tuple of these, got (5,)",
    ),
    "one tool to stop at": (
        lambda: RunLimits(stop_at_tools="add"),
        "stop_at_tools must be a list of texts, got 'add'; write stop_at_tools=['add']",
    ),
    "finish reasons": (
        lambda: RunLimits(finish_reasons=[5]),
        "finish_reasons must be a list of texts, got [5]",
    ),
    "eager": (lambda: CallOptions(eager="yes"), "eager must be True or False, got 'yes'"),
    "require_tool": (
        lambda: RunLimits(require_tool=1),
        "require_tool must be True or False, got 1",
    ),
    "lenient": (lambda: TextDriver(lenient=1), "lenient must be True or False, got 1"),
    "a name": (agent(name=5), "name must be text (a str), got 5"),
    "access": (
        lambda: in_sandbox([], access="root"),
        'access must be "sandbox" or "project" or "system", got \'root\'',
    ),
    "a question": (run(5), "question must be text (a str), got 5"),
    "a conversation": (
        run("?", conversation_id=5),
        "conversation_id must be text (a str), or None, got 5",
    ),
    "a user": (run("?", user_id=5), "user_id must be text (a str), got 5"),
    "a conversation to resume": (resume(None), "conversation_id must be text (a str), got None"),
    "decisions": (
        resume("c", 5),
        "decisions must be a dict from the ids of calls to decisions, or None, got 5",
    ),
    "a decision": (
        resume("c", {"a": "yes"}),
        "the decision for 'a' must be True, False, ToolApproved or ToolDenied, got 'yes'",
    ),
    "a tool's timeout": (
        lambda: ToolOptions(timeout=-1),
        "timeout must be above 0 seconds and at most a year, got -1",
    ),
    "a tool's retries": (
        lambda: Retries("3"),  # type: ignore[arg-type]
        "times must be a whole number of at least 1, got '3'",
    ),
    "a tool's approval": (
        lambda: ToolOptions(requires_approval="yes"),  # type: ignore[arg-type]
        "requires_approval must be True, False, a function of the call, or a Preview, got 'yes'",
    ),
    "limits of a parser": (lambda: Parser(limits=5), "limits must be a Limits, got 5"),  # type: ignore[arg-type]
    "a dialect of a parser": (
        lambda: Parser(dialect=5),  # type: ignore[arg-type]
        "dialect must be a dialect's name, a Dialect, or a tuple of these, got 5",
    ),
    "a dialect's fields": (
        lambda: Dialect.from_dict(5),  # type: ignore[arg-type]
        "fields must be a dict, as to_dict() gives it, got 5",
    ),
    "a turn's execution": (turn(execution=5), "execution must be an Execution, got 5"),
    "a turn's hooks": (
        turn(hooks=5),
        "hooks must be a list of Hooks objects and functions around a call, got 5; "
        "make a subclass of Hooks, or write an async function",
    ),
    "a batch's execution": (batch([], execution=5), "execution must be an Execution, got 5"),
    "calls": (batch(5), "calls must be a list of ToolCalls, got 5"),
    "one call": (
        batch(ToolCall("add", {})),
        "calls must be a list of ToolCalls, got ToolCall(name='add', args={}); for one call there is execute_tool",
    ),
    "a call in another form": (batch([5]), "calls must be a list of ToolCalls, got 5"),
    "a prompt's tools": (lambda: system_prompt(5), "tools must be a list of tools, got 5"),  # type: ignore[arg-type]
    "a file": (
        lambda: SQLite(5),  # type: ignore[arg-type]
        "db_path must be the path of a file (a str or a PathLike), got 5",
    ),
    "a level of safety": (
        lambda: SQLite(synchronous="SOMETIMES"),
        'synchronous must be "OFF" or "NORMAL" or "FULL" or "EXTRA", got \'SOMETIMES\'',
    ),
    "a database": (
        lambda: PostgreSQL(5),  # type: ignore[arg-type]
        "dsn must be an address such as postgresql://user@host/database (a str), got 5",
    ),
    "an OpenAI model's name": (
        lambda: OpenAIModel(5),  # type: ignore[arg-type]
        "name must be the name of a model (a str), got 5",
    ),
    "an Anthropic model's address": (
        lambda: AnthropicModel("m", base_url=5),  # type: ignore[arg-type]
        "base_url must be an address (a str), got a value of type int",
    ),
    "what a drop-in may take": (
        lambda: cogency_rs.install(tool_timeout="x"),  # type: ignore[arg-type]
        "tool_timeout must be above 0 seconds and at most a year, got 'x'",
    ),
    "tasks on Ray": (
        lambda: RayExecutor(max_in_flight=0),
        "max_in_flight must be a whole number of at least 1, or None, got 0",
    ),
    "something that cannot be shown": (
        lambda: CallOptions(eager=Unspeakable()),
        "eager must be True or False, got an object of the class Unspeakable",
    ),
    "something long": (
        lambda: CallOptions(eager="x" * 1000),
        f"eager must be True or False, got '{'x' * 99}…",
    ),
}


@pytest.mark.parametrize(("wrong", "sentence"), CASES.values(), ids=CASES)
def test_a_wrong_argument_is_refused_in_one_sentence(wrong, sentence):
    with pytest.raises(ConfigError) as raised:
        wrong()
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("wrong", "of_python"),
    [
        (lambda: RunLimits(steps=0), {ValueError}),
        (lambda: RunLimits(seconds=-1), {ValueError}),
        (lambda: RunLimits(on_busy="later"), {ValueError}),  # type: ignore[arg-type]
        (lambda: RunLimits(steps="1"), {ValueError, TypeError}),  # type: ignore[arg-type]
        (lambda: RunLimits(seconds="1"), {ValueError, TypeError}),  # type: ignore[arg-type]
        (lambda: RunLimits(on_busy=1), {ValueError, TypeError}),  # type: ignore[arg-type]
        (lambda: RunLimits(max_turns=1), {ValueError, TypeError}),  # type: ignore[call-arg]
    ],
)
def test_a_wrong_argument_is_an_error_of_this_package_and_of_python(wrong, of_python):
    with pytest.raises(ConfigError) as raised:
        wrong()
    assert {kind for kind in (ValueError, TypeError) if isinstance(raised.value, kind)} == of_python


HERMES = Dialect("hermes")
CALL = ToolCall("add", {})

WRONG_IN_THE_CORE: dict[str, tuple[Any, str]] = {
    "a dialect's name": (
        lambda: Dialect(5),  # type: ignore[arg-type]
        "name must be the name of a dialect (a str), got 5",
    ),
    "a number below 0": (
        lambda: HERMES.write_turn("", calls=[CALL], first=-1),
        "first must be a whole number of at least 0, got -1",
    ),
    "a number beyond all": (
        lambda: HERMES.write_results([], calls=[CALL], first=2**64),
        "first must be a whole number of at least 0, got 18446744073709551616",
    ),
    "no number": (
        lambda: HERMES.write_turn("", first="1"),  # type: ignore[arg-type]
        "first must be a whole number of at least 0, got '1'",
    ),
    "a call as a dict": (
        lambda: HERMES.write_calls([{}]),  # type: ignore[list-item]
        "calls must be a list of ToolCalls, got {}",
    ),
    "arguments": (
        lambda: HERMES.write_calls([ToolCall("add", 5)]),  # type: ignore[arg-type]
        "the args of a call must be dict, not int",
    ),
    "a reason": (lambda: Finish(5), "reason must be str, not int"),  # type: ignore[arg-type]
    "a chunk": (lambda: Parser().feed(5), "text must be str, not int"),  # type: ignore[arg-type]
    "tools": (
        lambda: Parser(tools=[5]),
        'tools must be tools, or dicts with a "name" and "parameters", not int',
    ),
    "a schema's form": (
        lambda: ArgumentSchema({}, "round"),  # type: ignore[arg-type]
        'form must be "flat" or "json schema", got "round"',
    ),
    "an outcome": (
        lambda: decide("lost", is_to_stop=False, is_to_go_on=False, is_refused=False),
        'there is no outcome "lost"',
    ),
    "an API": (lambda: AnswerReader("x"), 'api must be "completions" or "messages", got "x"'),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_IN_THE_CORE.values(), ids=WRONG_IN_THE_CORE)
def test_the_core_refuses_a_wrong_argument_with_an_error_of_this_package(wrong, sentence):
    with pytest.raises(ConfigError) as raised:
        wrong()
    assert str(raised.value) == sentence


def test_half_characters_of_a_reason_are_replaced():
    assert Finish("a\ud800", details="\udfff") == Finish("a\ufffd", details="\ufffd")


def test_a_field_of_a_dialect_is_refused_without_a_word_of_the_core():
    fields = {**Dialect("hermes").to_dict(), "heads": "json"}
    with pytest.raises(ConfigError, match='heads: invalid type: string "json", expected an object'):
        Dialect.from_dict(fields)
