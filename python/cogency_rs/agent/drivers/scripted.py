"""Steps from a script, without a model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from ...errors import ConfigError
from ...outside import time
from ...runs.context import RunContext
from ...types import ToolCall
from ..runtime import Runtime

__all__ = ["ScriptedDriver"]


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
