"""What a model will be sent, before it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ..errors import ConfigError
from ..models import ModelRequest
from ..outside import time, uuid7
from ..runs.context import RunContext
from ..storage.memory import Memory
from ..tools.toolbox import SortedTools
from .prompt import Prompts
from .run_hooks import Triggers
from .settings import AgentSettings

_T = TypeVar("_T")


class Prompt(list[dict[str, Any]]):
    """The messages of a request. Printed, they can be read.

    Attributes:
        request: the whole request: also which tools are declared to the provider, where the model stops, and the
            grammar that it is held to.
        missing: what the first request may have that is not known yet, in sentences.
    """

    def __init__(self, request: ModelRequest, missing: Sequence[str] = ()) -> None:
        super().__init__(map(dict, request.messages))
        self.request = request
        self.missing = tuple(missing)

    def __str__(self) -> str:
        parts = [_headed(str(each["role"]), str(each["content"])) for each in self]
        declared = [
            json.dumps(
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
                ensure_ascii=False,
            )
            for tool in self.request.tools
        ]
        if declared:
            parts.append(_headed("tools, declared to the provider", "\n".join(declared)))
        if self.missing:
            parts.append(_headed("not known yet", "\n".join(self.missing)))
        return "\n\n".join(parts)


def _headed(head: str, text: str) -> str:
    return f"── {head} ──\n{text}"


def first_prompt(settings: AgentSettings, message: str | None, user_id: str, deps: Any) -> Prompt:
    """The prompt of the first step of a new conversation; without a message, what comes before one.

    Raises:
        ConfigError: the driver asks no model.
    """
    missing: list[str] = []
    if settings.serving is not None:
        listed = settings.serving.listed
        if listed is None:
            missing.append(_SERVERS)
        else:
            settings = replace(settings, tools=SortedTools(listed), prompts=Prompts())
    learns = getattr(settings.driver, "may_learn", False) is True
    if learns and getattr(settings.model, "tells_template", False) is True:
        missing.append(_TEMPLATE)
    asking = _first_request(settings, message, user_id, deps)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return Prompt(asyncio.run(asking), missing)
    # What the program's functions wait for may be part of the loop that runs here, which cannot wait now.
    request = _at_once(asking)
    if request is None and not isinstance(settings.instructions, str):
        missing.append(_INSTRUCTIONS)
        settings = replace(settings, instructions="")
        request = _at_once(_first_request(settings, message, user_id, deps))
    if request is None:
        raise ConfigError(
            f"the driver or the history of the agent waits for something before its first request; {_ELSEWHERE}"
        )
    return Prompt(request, missing)


_ELSEWHERE = (
    "the event loop that runs here cannot wait for it: call prompt() where none runs, or write "
    "`await asyncio.to_thread(agent.prompt, …)`, which gives it a loop of its own"
)
_INSTRUCTIONS = f"The instructions: their function waits for something, and {_ELSEWHERE}."
_SERVERS = "The tools of MCP servers: `async with agent` starts the servers."
_TEMPLATE = "The dialect, if the model's server tells its chat template: `await model.detect_dialect()` asks it."


def _at_once(asking: Coroutine[Any, Any, _T]) -> _T | None:
    """What a coroutine returns, if it waits for nothing; else `None`, and it is cancelled."""
    try:
        asking.send(None)
    except StopIteration as returned:
        value: _T = returned.value
        return value
    with suppress(asyncio.CancelledError, StopIteration):
        asking.throw(asyncio.CancelledError())
    asking.close()
    return None


async def _first_request(
    settings: AgentSettings, message: str | None, user_id: str, deps: Any
) -> ModelRequest:
    storage = Memory()
    ctx: RunContext[Any] = RunContext(
        conversation_id=uuid7(),
        user_id=user_id,
        deps=deps,
        question=message or "",
        storage=storage,
        limits=settings.limits,
    )
    if message is not None:
        rows = [("user", message, time())]
        await storage.append(ctx.conversation_id, user_id=user_id, rows=rows)
    asked = _Asked(settings.model)
    settings = replace(settings, model=asked)
    runtime = settings.runtime(ctx, settings.execution(ctx), Triggers((), ctx), "token", "whole")
    runtime.has_threads = False  # nothing may be waited for
    await runtime.ask_instructions()
    try:
        async for _ in settings.driver.step(ctx, runtime):
            pass
    except _RequestMadeError:
        pass
    if asked.request is None:
        raise ConfigError(f"{settings.driver!r} asks no model, so there is no prompt")
    return asked.request


class _RequestMadeError(Exception):
    """Ends the step once its request is known: it is not sent."""


class _Asked:
    """A model that keeps the request, and is otherwise like another, but that no server is asked here."""

    tells_template = False

    def __init__(self, model: Any) -> None:
        self._model = model
        self.request: ModelRequest | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        self.request = request
        raise _RequestMadeError
        yield ""
