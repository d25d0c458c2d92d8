"""What a tool gets: arguments from the model and from the turn, and the caller's context variables."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest

from cogency_rs import CallOptions, ToolCall, execute_tools
from support.batches import execute
from support.tools import OK, FunctionTool, call, rounds, with_tools

pytestmark = pytest.mark.timeout(20)


async def arguments_of(name: str, given: dict[str, Any], **options: Any) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    async def look(**arguments: Any) -> None:
        seen.update(arguments)

    execution = with_tools(
        FunctionTool(name, look),
        storage="the log",
        sandbox_dir="/box",
        access="project",
        shell_timeout=7,
    )
    options = {"user_id": "u", "conversation_id": "c", **options}
    [result] = await execute_tools([ToolCall(name, given)], execution=execution, **options)
    assert not result.error
    return seen


TURN = {
    "storage": "the log",
    "sandbox_dir": "/box",
    "access": "project",
    "conversation_id": "c",
    "user_id": "u",
}


async def test_a_tool_gets_the_arguments_of_the_model_and_of_the_turn():
    assert await arguments_of("t", {"file": "a", "n": None}) == {"file": "a", "n": None, **TURN}


async def test_without_a_user_there_is_no_user_id():
    expected = {name: value for name, value in TURN.items() if name != "user_id"}
    assert await arguments_of("t", {}, user_id="") == expected


async def test_the_shell_gets_its_timeout_from_the_turn():
    assert await arguments_of("shell", {}) == {**TURN, "timeout": 7}


async def test_another_tool_gets_its_timeout_from_the_model():
    assert await arguments_of("t", {"timeout": 1}) == {**TURN, "timeout": 1}


async def test_the_model_cannot_replace_the_turn_s_arguments():
    forged = dict.fromkeys([*TURN, "timeout"], "forged")
    assert await arguments_of("shell", forged) == {**TURN, "timeout": 7}


async def test_without_a_user_an_argument_named_user_id_comes_from_the_model():
    seen = await arguments_of("t", {"user_id": "the model's"}, user_id="")
    assert seen == {**TURN, "user_id": "the model's"}


async def test_the_arguments_in_a_call_are_not_changed():
    def spoil(**arguments: Any) -> None:
        arguments.clear()

    args = {"a": 1}
    shared = [ToolCall("t", args), ToolCall("t", args), ToolCall("ok", args)]
    results = await execute(shared, FunctionTool("t", spoil), OK)
    assert (args, results[2].content) == ({"a": 1}, {"a": 1})


# Context variables

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


async def _sets_in_a_coroutine(value: str, **_: Any) -> str:
    seen = VARIABLE.get()
    VARIABLE.set(value)
    await rounds(1)
    return f"{seen} {VARIABLE.get()}"


def _sets_in_a_function(value: str, **_: Any) -> str:
    seen = VARIABLE.get()
    VARIABLE.set(value)
    return f"{seen} {VARIABLE.get()}"


@pytest.mark.parametrize("execute_", [_sets_in_a_coroutine, _sets_in_a_function])
@pytest.mark.parametrize("options", [{}, {"calls": CallOptions(max_concurrency=1)}], ids=repr)
async def test_a_tool_sees_the_caller_s_variables_and_its_changes_stay_its_own(execute_, options):
    VARIABLE.set("caller")
    tool = FunctionTool("t", execute_)
    calls = [call("t", value="a"), call("t", value="b")]
    results = await execute(calls, tool, **options)
    assert [result.content for result in results] == ["caller a", "caller b"]
    assert VARIABLE.get() == "caller"
