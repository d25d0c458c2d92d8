"""What a driver is."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any, Protocol

from ..context import RunContext
from ..runtime import Runtime

__all__ = ["Driver", "EventDict"]

EventDict = dict[str, Any]
"""One event, as `Driver.step` yields it."""


class Driver(Protocol):
    """Asks the model once, and turns what it says into events, whatever it speaks."""

    def step(self, run: RunContext[Any], runtime: Runtime) -> AsyncIterable[Any]:
        """Make one step; most are an `async def` with `yield`.

        Args:
            run: how far the run has come.
            runtime: the model, the tools and the conversation; the same in all steps of a run.

        Yields:
            Event dicts as a parser makes them: `think` and `respond` with `content`; `call` with the JSON text of
            `{"name", "args"}` and perhaps `id` and `server`; `execute` after the calls, which then run; `error` with
            `content`, which the model is told, and perhaps `kind`, `code` and `raw`; `end`. `tool_call_start` and
            `tool_call_delta` reach the reader of the run as they are. The iterable may be a `parse_tokens(...)`. It is
            closed when the step is over.

        What it raises is the run's error.
        """
        ...
