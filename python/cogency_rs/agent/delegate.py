"""An agent as a tool of another: a separate run, which counts towards its caller's limits and ends with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any

from ..errors import ToolError
from ..hooks import AroundCall, Invocation, Next
from ..runs.result import RunResult
from ..tools.context import ToolContext
from ..types import ToolResult

_present: ContextVar[object] = ContextVar("cogency_rs_run", default=None)
"""The run whose call the current task carries out."""


def calling(run: object) -> AroundCall:
    """Make a function around calls that tells tools which run calls them, in the task of each call."""

    async def layer(invocation: Invocation, next: Next) -> ToolResult:
        token = _present.set(run)
        try:
            return await next(invocation)
        finally:
            _present.reset(token)

    return layer


class Delegate:
    """Answers the questions of another agent.

    Args:
        name: the agent's, for errors.
        answer: carries out a run for a question, as a call of a tool; it is given the calling run, or `None`.
    """

    def __init__(
        self,
        name: str,
        answer: Callable[[str, ToolContext[Any], object], Awaitable[RunResult[Any]]],
    ) -> None:
        self._name = name
        self._answer = answer

    async def ask(self, question: str, context: ToolContext[Any]) -> Any:
        """Carry out a run.

        Args:
            question: The question, with all that is needed to answer it; nothing else of this conversation is seen.
            context: the call.

        Returns:
            Its output.
        """
        result = await self._answer(question, context, _present.get())
        if result.status == "completed":
            return result.output
        why = result.stop.message if result.stop is not None else result.status
        last = f" The last text it wrote: {result.text}" if result.text else ""
        raise ToolError(f"agent {self._name!r} stopped before it had an answer: {why}.{last}")


def has_delegate(tools: Iterable[Any]) -> bool:
    """Whether one of these tools is an agent."""
    functions = (getattr(tool, "__wrapped__", None) for tool in tools)
    return any(isinstance(getattr(each, "__self__", None), Delegate) for each in functions)
