"""What a driver is."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any, Protocol

from ...runs.context import RunContext
from ..runtime import Runtime

__all__ = ["Driver", "EventDict"]

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
