"""Helpers for tests of the agent: an agent with a scripted model, the calls that it writes, its log, its prompts."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from cogency_rs import Agent, Hooks, Memory, ToolCall, tool
from cogency_rs.testing import ScriptedModel
from support.tools import block

__all__ = ["Journal", "add", "agent", "calls", "fail", "prompts", "results", "rows", "types"]


T = TypeVar("T")


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def fail() -> str:
    """Fail."""
    raise ValueError("no")


def calls(*names: str | ToolCall) -> str:
    """The text with which a model calls these tools."""
    return block(*names)


def adding(a: int, b: int) -> str:
    """The text with which a model calls `add`."""
    return block(ToolCall("add", {"a": a, "b": b}))


def agent(*answers: Any, tools: Iterable[Any] = (add, fail), **options: Any) -> Agent[Any, str]:
    """An agent whose model gives these answers, in order; its log is in memory."""
    script: Any = answers[0] if len(answers) == 1 and callable(answers[0]) else answers
    return Agent(ScriptedModel(script), tools=tools, **options)


def model_of(agent: Agent[Any, Any]) -> ScriptedModel:
    return agent._settings.model


def agent_and_model(*answers: Any, **options: Any) -> tuple[Agent[Any, str], ScriptedModel]:
    """The same as `agent`, and its model."""
    made = agent(*answers, **options)
    return made, model_of(made)


def run_and_model(question: str, *answers: Any, **options: Any) -> tuple[Any, ScriptedModel]:
    """The result of a run whose model gives these answers, and the model."""
    made, model = agent_and_model(*answers, **options)
    return made.run_sync(question), model


def prompts(agent: Agent[Any, Any]) -> list[list[dict[str, Any]]]:
    """The messages of each request to the model, without the system prompt."""
    return [list(request.messages[1:]) for request in model_of(agent).requests]


def rows(agent: Agent[Any, Any], conversation_id: str = "c") -> list[tuple[str, str]]:
    """Type and content of each row of a log in memory."""
    storage = agent.storage
    assert isinstance(storage, Memory)
    page = at_once(storage.read(conversation_id))
    return [(row["type"], row["content"]) for row in page.rows]


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The value of a coroutine that never waits, as those of a log in memory."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("it waits")


def types(agent: Agent[Any, Any], conversation_id: str = "c") -> list[str]:
    """The types of the rows."""
    return [type for type, _ in rows(agent, conversation_id)]


def results(agent: Agent[Any, Any], conversation_id: str = "c") -> list[list[dict[str, Any]]]:
    """The results in the log, batch by batch."""
    return [
        json.loads(content) for type, content in rows(agent, conversation_id) if type == "result"
    ]


class Journal(Hooks):
    """Notes each call of a hook, in order."""

    def __init__(self, journal: list[str], name: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.journal, self.name = journal, name

    def note(self, what: str) -> None:
        self.journal.append(f"{self.name}{what}")

    def before_run(self, ctx: Any) -> None:
        self.note("before_run")

    async def after_run(self, ctx: Any, result: Any) -> Any:
        self.note(f"after_run {result.status}")
        return result

    def before_step(self, ctx: Any) -> None:
        self.note(f"before_step {ctx.step}")

    async def after_step(self, ctx: Any, step: Any) -> Any:
        self.note(f"after_step {step.index} {step.kind}")
        return step

    def on_stop(self, ctx: Any, signal: Any) -> None:
        self.note(f"on_stop {signal.reason}")

    async def on_error(self, ctx: Any, error: Exception) -> None:
        self.note(f"on_error {type(error).__name__}")

    def before_model_request(self, ctx: Any, request: Any) -> Any:
        self.note("before_model_request")
        return request

    def after_model_response(self, ctx: Any, response: Any) -> Any:
        self.note("after_model_response")
        return response

    async def around_call(self, invocation: Any, next: Any) -> Any:
        self.note(f"before {invocation.call.name}")
        result = await next(invocation)
        execution = invocation.execution(result)
        self.note(f"after {execution.name} {execution.status}")
        return result
