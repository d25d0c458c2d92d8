"""A tool of a server, as an agent sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..calls.tool_result import failure
from ..errors import ConfigError, ToolError, UnknownOutcome
from ..tools.arguments import CheckedTool, compiled
from ..tools.cogency import without_injected
from ..tools.context import ToolContext
from ..tools.options import ToolOptions
from ..types import ToolResult

__all__ = ["EXECUTION_ID", "CallOnServer", "LostAnswer", "MCPTool", "OnProgress"]


class OnProgress(Protocol):
    """Called with how far a call has come, of how much, and a message."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take the progress of a call."""
        ...


class LostAnswer(UnknownOutcome):
    """A server may have carried out a call, and there is no answer.

    Args:
        what: what happened.
        more: what else is known, as the end of a sentence.
        cause: the error of the SDK.
        timeout: whether the time of the call was up.

    Attributes:
        what: what happened.
        more: what else is known.
    """

    def __init__(
        self, what: str, more: str = "", *, cause: Exception | None = None, timeout: bool = False
    ) -> None:
        message = f"{what}, so whether the call had an effect is not known{more}"
        super().__init__(message, cause=cause, timeout=timeout)
        self.what, self.more = what, more

    def as_failure(self) -> ToolError:
        """The same for a call that has no effect that matters."""
        return ToolError(f"{self.what}{self.more}", cause=self.cause, timeout=self.timeout)


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
        timeout: float | None = None,
    ) -> Awaitable[ToolResult]:
        """Call it: its name there, the arguments, a callback for progress, what identifies the call, and a limit."""
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
        limit: seconds that the server may take without a report of progress, unless `options.timeout` says how many.
        hints: what the server says of the tool's effects: its `annotations`, such as `readOnlyHint`.
    """

    name: str
    description: str
    schema: dict[str, Any]
    server: str
    remote_name: str
    options: ToolOptions = field(repr=False)
    call: CallOnServer = field(repr=False)
    url: str | None = field(default=None, repr=False)
    limit: float | None = field(default=None, repr=False)
    hints: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

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
            UnknownOutcome: the server may have carried out the call, and there is no answer that can be read. If the
                tool only reads or is idempotent, that is a `ToolError`.
            ToolError: the server could not be started or reached, or refused the call.
        """
        args = without_injected(given, self.name, self.schema.get("properties", {}))
        if problems := self.faults(args):
            return failure(f"Invalid arguments for tool '{self.name}': {'; '.join(problems)}")
        return await self._run(args, None)

    @property
    def keeps_time(self) -> bool:
        """Whether the limit of a call is kept here, where progress extends it, and not by what carries out the call."""
        return self.options.timeout is not None

    @property
    def has_effects_elsewhere(self) -> bool:
        """Whether a call without an answer may have had an effect: its outcome is unknown then, and not a failure."""
        says = self.hints.get("readOnlyHint") is True or self.hints.get("idempotentHint") is True
        return not (says or self.options.may_run_twice)

    async def _run(self, args: Mapping[str, Any], context: ToolContext[Any] | None) -> ToolResult:
        limit = self.limit if self.options.timeout is None else self.options.timeout
        try:
            if context is None:
                return await self.call(self.remote_name, args, None, timeout=limit)
            emit = context.emit

            async def tell(progress: float, total: float | None, message: str | None) -> None:
                told = {"progress": progress, "total": total, "message": message}
                emit({"type": "progress", "tool": self.name, **told})

            id = context.execution_id
            return await self.call(self.remote_name, args, tell, execution_id=id, timeout=limit)
        except LostAnswer as lost:
            if self.has_effects_elsewhere:
                raise
            failed = lost.as_failure()
        raise failed from failed.cause
