"""Executors run tools outside of the program's own process.

An executor is middleware that runs the tool itself elsewhere. Everything else about the call stays in the program: the
check of its arguments, hooks, approval, retries, time limits, observers and the cap on how many calls run at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ConfigError
from ..middleware.invocation import Invocation, Middleware, Next
from ..tools import options_of
from ..types import ToolResult

__all__ = ["Executor", "check_remote"]


class Executor(ABC):
    """Base class of executors: a middleware that runs tools elsewhere."""

    @abstractmethod
    def takes(self, tool: Any) -> bool:
        """Whether this executor runs the tool. A tool that no executor takes runs in the program."""

    @abstractmethod
    async def run(self, invocation: Invocation, execution: Any) -> Any:
        """Run the tool of a call whose arguments have been checked, once.

        Args:
            invocation: the call.
            execution: the `Execution` that the calls of the batch share.

        Returns:
            What the tool returned. An exception of the tool is raised here.

        Raises:
            asyncio.CancelledError: the caller was cancelled; the tool has been cancelled before that.
            UnknownOutcome: it is not known whether the tool ran to its end.
        """

    def check(self, tool: Any) -> None:  # noqa: B027  # most have nothing to refuse
        """Check that this executor can run a tool that it takes.

        Raises:
            ConfigError: the executor cannot run it; the message says why.
        """

    async def __call__(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry out a call, whose tool runs here if this executor takes it."""
        if self.takes(invocation.tool):
            invocation = invocation.on(self)
        return await next(invocation)


def check_remote(tools: Mapping[str, Any], middleware: Iterable[Middleware]) -> None:
    """Check that every tool that is to run elsewhere has an executor.

    Raises:
        ConfigError: a tool says `remote=...` and no executor takes it, or an executor takes a tool that it cannot run.
    """
    executors = [layer for layer in middleware if isinstance(layer, Executor)]
    for name, tool in tools.items():
        taking = [executor for executor in executors if executor.takes(tool)]
        for executor in taking:
            executor.check(tool)
        if options_of(tool).remote and not taking:
            raise ConfigError(
                f"tool {name!r} is to run in another process, and nothing in middleware= takes it there: add a "
                "cogency_rs.executors.ray.RayExecutor, or leave out remote="
            )
