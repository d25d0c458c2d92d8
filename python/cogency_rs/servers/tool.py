"""A tool of a server, as an agent sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..calls.tool_result import failure, failure_of
from ..errors import ConfigError
from ..tools.arguments import CheckedTool, compiled
from ..tools.cogency import without_injected
from ..tools.context import ToolContext
from ..tools.options import ToolOptions
from ..types import ToolResult

__all__ = ["EXECUTION_ID", "CallOnServer", "MCPTool", "OnProgress"]


class OnProgress(Protocol):
    """Called with how far a call has come, of how much, and a message."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take the progress of a call."""
        ...


EXECUTION_ID = "cogency-rs/execution_id"
"""The key in `_meta` whose value is the call's `execution_id`."""


class CallOnServer(Protocol):
    """Calls a tool of a server."""

    def __call__(
        self,
        name: str,
        args: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        *,
        execution_id: str | None = None,
    ) -> Awaitable[ToolResult]:
        """Call it, with its name there, the arguments, a callback for progress, and what identifies the call."""
        ...


@dataclass(frozen=True, eq=False)
class MCPTool(CheckedTool):
    """A tool of a server. The server gets the model's arguments, and in `_meta` the `execution_id` of the call.

    Attributes:
        name: the name that the model calls.
        description: what it does, in the server's words.
        schema: its parameters, as JSON Schema.
        server: the name of its server.
        remote_name: its name on that server.
        options: how its calls are carried out.
        url: where the server is, as it may be shown; `None` for a program that was started here.
    """

    name: str
    description: str
    schema: dict[str, Any]
    server: str
    remote_name: str
    options: ToolOptions = field(repr=False)
    call: CallOnServer = field(repr=False)
    url: str | None = field(default=None, repr=False)

    def named(self, name: str, server: str | None = None) -> MCPTool:
        """The same tool with another name for the model, and perhaps with another name of its server."""
        return replace(self, name=name, server=self.server if server is None else server)

    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """Say what is wrong with the model's arguments. A schema that cannot be used leaves that to the server."""
        try:
            schema = compiled(self, self.schema)
        except ConfigError:
            return []
        return schema.faults(args)

    @property
    def takes_context(self) -> bool:
        """Always true: it reports the progress of its calls."""
        return True

    @property
    def run_checked(self) -> Callable[..., Any]:
        """Call it with arguments in which there are no `faults`."""
        return self._run

    async def execute(self, **given: Any) -> ToolResult:
        """Call it. Only the model's arguments are sent, not what cogency's executor adds to them.

        Returns:
            The server's answer. If the answer is marked as an error, the result is a failure with its text.

        Raises:
            ToolError: the server could not be started, ended before it answered (`UnknownOutcome`), or refused the
                call.
        """
        args = without_injected(given, self.name, self.schema.get("properties", {}))
        if problems := self.faults(args):
            return failure(f"Invalid arguments for tool '{self.name}': {'; '.join(problems)}")
        limit = asyncio.timeout(self.options.timeout)
        try:
            async with limit:
                return await self._run(args, None)
        except TimeoutError as error:
            if not limit.expired():
                return failure_of(error)
            return failure(f"Tool '{self.name}' timed out after {self.options.timeout:g} s", error)

    async def _run(self, args: Mapping[str, Any], context: ToolContext[Any] | None) -> ToolResult:
        if context is None:
            return await self.call(self.remote_name, args, None)
        emit = context.emit

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told = {"progress": progress, "total": total, "message": message}
            emit({"type": "progress", "tool": self.name, **told})

        id = context.execution_id
        return await self.call(self.remote_name, args, tell, execution_id=id)
