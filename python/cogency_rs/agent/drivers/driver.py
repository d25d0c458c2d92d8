"""What a driver is; what drivers have in common; and the one that takes its steps from a script."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from ..._core import Finish
from ...errors import ConfigError
from ...models import ToolDeclaration
from ...outside import time
from ...runs.context import RunContext
from ...tools.registry import parameters_of
from ...types import ToolCall
from ..prompt import inert_text, inert_value
from ..runtime import Runtime

EventDict = dict[str, Any]
"""One event, as `Driver.step` yields it."""


class Driver(Protocol):
    """Asks the model once, and turns its answer into events.

    A driver may have an attribute `joins_exactly`, which is true if white space between reasoning and text belongs to
    the text: it is kept where the text goes on with an answer that was cut. And it may have `call_form(tools)`, which
    writes an example of a call.
    """

    def step(self, run: RunContext[Any], runtime: Runtime) -> AsyncIterable[Any]:
        """Make one step; usually an `async def` with `yield`.

        Args:
            run: the run so far.
            runtime: the model, the tools and the conversation; the same in all steps of a run.

        Yields:
            Event dicts as a parser makes them: `think` and `respond` with `content`; `call` with the JSON text of
            `{"name", "args"}` and perhaps `id` and `server`; `execute` after the calls, which then run; `error` with
            `content`, the message to the model, and perhaps `kind`, `code` and `raw`; `end`. `tool_call_start` and
            `tool_call_delta` reach the reader of the run unchanged. The iterable may be a `parse_tokens(...)`. It is
            closed when the step is over.

        An exception of the step is the error of the run.
        """
        ...


Cut = Literal["length", "stopped", "broken", "unknown"]
"""Why something is incomplete: the answer reached its length limit, the model stopped by itself, something else ended
the answer, or it is unknown."""


_CUTS: dict[str, Cut] = {
    "whole": "stopped",
    "calls": "stopped",
    "length": "length",
    "unknown": "unknown",
}


def cut_of(finish: Finish) -> Cut:
    """What a provider's finish reason says about something that is incomplete."""
    return _CUTS.get(finish.kind, "broken")


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """The line and column of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


async def declarations(runtime: Runtime) -> tuple[ToolDeclaration, ...]:
    """The visible tools, by the names that calls use: tools of two servers may have the same name."""
    visible = {id(tool) for tool in runtime.visible_tools}
    named = [(name, each) for name, each in runtime.toolbox.names.items() if id(each) in visible]
    return await runtime.apart(lambda: tuple(_declared(name, tool) for name, tool in named))


def _declared(name: str, tool: Any) -> ToolDeclaration:
    parameters = inert_value(parameters_of(tool))
    return ToolDeclaration(name, inert_text(tool.description or ""), parameters)


class ScriptedDriver:
    """Gives the steps of a script, one after the other.

    Args:
        steps: each is a text, which is the answer; a `ToolCall` or a list of them, which run; a list of event dicts;
            or an exception, which is raised.
        repeat_last: whether the last step is repeated for ever; else a further step is an error.

    Attributes:
        runtimes: the runtimes that it was given, one for each run.

    Raises:
        ConfigError: there are no steps.
    """

    def __init__(self, steps: Sequence[Any], *, repeat_last: bool = True) -> None:
        if not steps:
            raise ConfigError("a ScriptedDriver needs at least one step")
        self._steps = list(steps)
        self._repeat_last = repeat_last
        self._next = 0
        self.runtimes: list[Runtime] = []

    async def step(
        self, run: RunContext[Any], runtime: Runtime
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Give the next step; see `Driver.step`.

        Raises:
            ConfigError: the script is exhausted.
        """
        if runtime not in self.runtimes:
            self.runtimes.append(runtime)
        if self._next >= len(self._steps) and not self._repeat_last:
            raise ConfigError(
                f"the script is exhausted: it has {len(self._steps)} steps, and one more was asked for"
            )
        step = self._steps[min(self._next, len(self._steps) - 1)]
        self._next += 1
        if isinstance(step, BaseException):
            raise step
        for event in _events(step):
            yield {"timestamp": time(), **event}


def _events(step: Any) -> list[dict[str, Any]]:
    match step:
        case str():
            return [{"type": "respond", "content": step}]
        case ToolCall():
            return _events([step])
        case [*calls] if calls and all(isinstance(call, ToolCall) for call in calls):
            return [*map(_call_event, calls), {"type": "execute"}]
        case [*events] if all(isinstance(event, Mapping) for event in events):
            return [dict(event) for event in events]
        case _:
            raise ConfigError(
                f"a step is a text, calls, event dicts or an exception, not {step!r:.100}"
            )


def _call_event(call: ToolCall) -> dict[str, Any]:
    more = {key: value for key in ("id", "server") if (value := getattr(call, key)) is not None}
    return {
        "type": "call",
        "content": json.dumps({"name": call.name, "args": call.args, **more}),
    }
