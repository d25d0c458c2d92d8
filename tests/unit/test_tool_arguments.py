"""The arguments with which a tool's function is called: the model's, and the context."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from cogency_rs import Execution, ToolCall, ToolContext, ToolResult, execute_tools, tool
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_tool
from cogency_rs.tools import Retries, ToolOptions
from cogency_rs.tools.cogency import INJECTED as RESERVED
from support.function_tools import add, refusal, run
from support.tools import INJECTED, with_tools

pytestmark = pytest.mark.timeout(30)


@tool
async def take(**arguments: Any) -> dict[str, Any]:
    return arguments


async def test_a_function_gets_the_arguments_it_declares_and_no_others():
    @tool
    async def declares(x: int) -> list[str]:
        return sorted(locals())

    assert (await run(declares, x=1)).content == ["x"]


@pytest.mark.parametrize("name", [*sorted(RESERVED), "timeout"])
async def test_the_model_fills_a_parameter_of_any_name(name):
    namespace: dict[str, Any] = {}
    exec(f"async def shell(x, *, {name}): return [x, {name}]", namespace)
    shell = tool(namespace["shell"])
    assert list(shell.json_schema["properties"]) == ["x", name]
    given = ToolCall("shell", {"x": 1, name: "the model's"})
    result = await execute_tool(given, execution=with_tools(shell), user_id="the turn's")
    assert result.content == [1, "the model's"]
    refused = await run(shell, x=1)
    assert f"argument '{name}' is required, but was not given" in refused.outcome


async def test_arguments_that_cogency_s_executor_adds_do_not_reach_a_function():
    given = dict.fromkeys(RESERVED | {"timeout"}, "the turn's")

    @tool
    async def shell(x: int, **more: Any) -> Any:
        return [x, more]

    @tool
    async def wait(timeout: int = 3) -> int:
        return timeout

    assert (await shell.execute(x=1, **given)).content == [1, {}]
    del given["timeout"]
    assert (await wait.execute(**given)).content == 3
    assert (await wait.execute(timeout=5, **given)).content == 5


async def test_the_arguments_held_back_are_those_that_cogency_s_executor_adds():
    given: dict[str, Any] = {}

    class Shell:
        name, description = "shell", ""

        async def execute(self, **arguments: Any) -> None:
            given.update(arguments)

    await run(Shell())
    assert set(given) == RESERVED | {"timeout"} == INJECTED


def test_a_parameter_annotated_with_the_context_is_in_no_schema():
    @tool
    async def whoami(context: ToolContext, greeting: str, other: ToolContext[int] | None) -> str:
        """Greet.

        Args:
            greeting: how to.
        """
        return greeting

    assert list(whoami.json_schema["properties"]) == ["greeting"]
    assert list(whoami.schema) == ["greeting"]
    assert whoami.takes_context


@pytest.mark.parametrize("kind", ["coroutine", "plain", "method"])
async def test_a_function_that_asks_for_the_context_gets_it(kind):
    seen: list[ToolContext[dict[str, int]]] = []

    @tool
    async def coroutine(x: int, about: ToolContext[dict[str, int]]) -> int:
        seen.append(about)
        return x

    @tool
    def plain(x: int, about: Annotated[ToolContext[Any], "what is known"]) -> int:
        seen.append(about)
        return x

    class Box:
        @tool
        async def method(self, about: "ToolContext[Any]", x: int) -> int:  # noqa: UP037
            seen.append(about)
            return x

    made = {"coroutine": coroutine, "plain": plain, "method": Box().method}[kind]
    deps = {"n": 1}
    execution = Execution(storage="the log", tools=[made], deps=deps, access="project")
    calls = [ToolCall(made.name, {"x": n}, id=f"id {n}") for n in range(3)]
    results = await execute_tools(calls, execution=execution, user_id="u", conversation_id="c")
    assert [result.content for result in results] == [0, 1, 2]
    seen.sort(key=lambda about: about.execution_id)
    assert [about.call for about in seen] == calls  # ids of ours are made in their order
    assert not {about.execution_id for about in seen} & {each.id for each in calls}
    first = seen[0]
    assert (first.user_id, first.conversation_id, first.storage) == ("u", "c", "the log")
    assert (first.sandbox_dir, first.access, dict(first.state)) == (
        ".cogency/sandbox",
        "project",
        {},
    )
    assert first.deps is deps
    with pytest.raises(AttributeError):
        first.user_id = "another"


async def test_the_context_cannot_be_written_by_the_model():
    @tool
    async def whoami(about: ToolContext) -> str:
        return about.user_id

    refused = await run(whoami, about={"user_id": "root"})
    assert "argument 'about' is not known" in refused.outcome


async def test_in_cogency_s_executor_the_context_has_the_executor_s_arguments():
    @tool
    async def whoami(x: int, about: ToolContext) -> Any:
        return [about.user_id, about.conversation_id, about.storage, about.call.args]

    result = await whoami.execute(x=1, storage="log", conversation_id="c", user_id="u", access="a")
    assert result.content == ["u", "c", "log", {"x": 1}]


def test_options_are_given_by_keyword():
    often = Retries(2)

    @tool(timeout=5, idempotent=often, sequential=True, requires_approval=True)
    async def careful() -> None: ...

    assert careful.options == ToolOptions(5, True, True, often)
    with pytest.raises(ConfigError, match="timeout must be above 0 seconds"):
        tool(timeout=-1)


async def test_variable_keywords_take_any_argument_of_the_model_and_none_of_the_turn():
    assert (await run(take, x=[1, None], y="")).content == {"x": [1, None], "y": ""}
    assert take.json_schema["additionalProperties"] is True


async def test_a_parameter_without_a_hint_takes_any_value():
    @tool
    async def echo(x, y=None):
        return [x, y]

    for value in (None, True, 1, 1.5, "a", [{}], {"a": [None]}):
        assert (await run(echo, x=value, y=value)).content == [value, value]
    assert echo.schema == {"x": {"required": True}, "y": {"required": False, "default": None}}


async def test_a_parameter_may_have_any_name():
    async def odd(args: int, given: int, kwargs: int, function: int) -> int:
        return args + given + kwargs + function

    assert (await run(tool(odd), args=1, given=2, kwargs=3, function=4)).content == 10


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "argument 'a' is required, but was not given"),
        ({"b": 2}, "argument 'a' is required, but was not given"),
        ({"a": "1"}, "argument 'a' must be an integer, got a string: \"1\""),
        ({"a": 1, "b": None}, "argument 'b' must be an integer, got null"),
        ({"a": 1, "c": 1}, "argument 'c' is not known; known are a, b"),
        ({"a": 1, "timeout": 1}, "argument 'timeout' is not known; known are a, b"),
    ],
    ids=repr,
)
async def test_arguments_that_do_not_fit_are_a_failure_that_says_why(arguments, problem):
    result = await run(add, **arguments)
    assert result == ToolResult(f"Invalid arguments for tool 'add': {problem}", error=True)
    assert await refusal(add, **arguments) == problem


async def test_the_refusal_of_an_argument_says_that_a_function_takes_none():
    @tool
    async def now() -> str:
        return "now"

    assert (await run(now)).content == "now"
    assert await refusal(now, x=1) == "argument 'x' is not known; there are none"
