"""MCP servers whose tools an agent can call, and which of those calls somebody is asked about.

A server runs from the first `async with` to the end of the last, in whatever tasks these are. If it ends in between,
the next call starts it again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, cast

from ..errors import ArgumentError, ConfigError, ToolError
from ..execution.shielded_wait import outlast
from ..guards.arguments import check_seconds, refused
from ..tools.options import ToolOptions
from ..tools.toolbox import leave_out
from ..types import ToolResult
from .places import Place, Program, ServerAddress
from .tool import MCPTool, OnProgress

if TYPE_CHECKING:
    from mcp_types import Tool

    from .connection import ServerConnection


Asks = Literal["always", "never", "unless-read-only"]
"""`"unless-read-only"` believes the server: its tools that say that they only read are not asked about."""

ApproveCalls = Asks | Mapping[str, Asks]
"""One rule for all tools of a server; or rules by the server's names of its tools, with `"*"` for the others."""

_RULES: tuple[Asks, ...] = ("always", "never", "unless-read-only")
_ACCEPTED = '"always", "never" or "unless-read-only", or a dict of these by the name of the tool'
_OTHERS = "*"


class Asking:
    """Decides whether somebody is asked before a call of a tool.

    Args:
        approve: the rules; a tool without one is asked about.

    Raises:
        ArgumentError: `approve` is not a rule, and not rules by name.
    """

    def __init__(self, approve: ApproveCalls) -> None:
        rules: Any = approve if isinstance(approve, Mapping) else {_OTHERS: approve}
        for name, rule in cast("Mapping[Any, Any]", rules).items():
            if not isinstance(name, str) or rule not in _RULES:
                argument = "approve" if name == _OTHERS else f"approve[{name!r}]"
                raise refused(argument, rule, _ACCEPTED)
        self._rules: dict[str, Asks] = {**rules}

    def asks(self, name: str, *, says_it_only_reads: bool) -> bool:
        """Whether somebody is asked.

        Args:
            name: the server's name of the tool.
            says_it_only_reads: whether the server says so, with the hint `readOnlyHint`.
        """
        match self._rules.get(name, self._rules.get(_OTHERS, "always")):
            case "never":
                return False
            case "unless-read-only":
                return not says_it_only_reads
            case _:
                return True

    def without_a_tool(self, names: Collection[str]) -> list[str]:
        """The names of rules that are not among these names of tools."""
        return [name for name in self._rules if name != _OTHERS and name not in names]


CALL_LIMIT = 300.0
"""Seconds that a call may take without progress by default: no server that never answers holds a run for ever."""

logger: logging.Logger = logging.getLogger(__name__)


class MCPServer:
    """A server of tools that speaks MCP; made by `MCPServer.stdio` or `MCPServer.http`. Needs the extra `mcp`.

    `async with server:` starts it, and waits until it has answered. It may be entered more than once, and from more
    than one task of an event loop: it is started once, and closed when the last has left.

    Attributes:
        name: names the server in errors and in `MCPTool.server`.
        has_own_name: whether that name was given, and not taken from the command or host.
    """

    def __init__(
        self,
        place: Place,
        *,
        name: str | None = None,
        timeout: float | EllipsisType | None = ...,
        start_timeout: float = 30.0,
        approve: ApproveCalls = "always",
    ) -> None:
        if not isinstance(place, Program | ServerAddress):
            raise ArgumentError(
                "write MCPServer.stdio(command, …) for a program, or MCPServer.http(url) for a server"
            )
        check_seconds("start_timeout", start_timeout)
        check_seconds("timeout", None if timeout is ... else timeout)
        self.has_own_name = name is not None
        self.name = place.name if name is None else name
        self._place, self._start_timeout = place, start_timeout
        self._timeout = None if isinstance(timeout, EllipsisType) else timeout
        self._limit = CALL_LIMIT if timeout is ... else None
        self._secrets = place.secrets
        self._asking = Asking(approve)
        self._users = 0
        self._connection: ServerConnection | None = None
        self._past: list[ServerConnection] = []
        self._tools: list[MCPTool] = []
        self._listed_by: ServerConnection | None = None

    @classmethod
    def stdio(
        cls,
        command: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        name: str | None = None,
        timeout: float | EllipsisType | None = ...,
        start_timeout: float = 30.0,
        approve: ApproveCalls = "always",
    ) -> MCPServer:
        """A server that is a program, started here and reached over its standard input and output.

        What it writes to standard error is logged at level DEBUG.

        Args:
            command: what to start, found on `PATH`.
            args: its arguments.
            env: environment variables, besides `HOME`, `PATH` and a few others that are copied from this program's.
            cwd: the folder to start it in.
            name: its name; by default the command's.
            timeout: seconds one call may take, in place of `CallOptions.timeout`; each report of progress begins them
                anew. By default 300, besides `CallOptions.timeout`; `None` for no limit of its own.
            start_timeout: seconds it may take until its first answer.
            approve: whether a person is asked before a call: `"always"`, `"never"`, or `"unless-read-only"`, which
                trusts the server's own word that a tool only reads; or a dict of these by the name of the tool, with
                `"*"` for the others.

        Raises:
            ConfigError: an argument has a value that cannot work.
        """
        for number, text in enumerate((command, *args)):
            if not isinstance(text, str) or (not text and not number):
                what = f"argument {number}" if number else "the command"
                raise ConfigError(
                    "a command and its arguments are texts, and the command is not empty; "
                    f"{what} is {_kind_of(text)}"
                )
        place = Program(command, args, _texts_of("env", env), cwd)
        return cls(place, name=name, timeout=timeout, start_timeout=start_timeout, approve=approve)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
        timeout: float | EllipsisType | None = ...,
        start_timeout: float = 30.0,
        approve: ApproveCalls = "always",
    ) -> MCPServer:
        """A server that runs elsewhere and is reached over HTTP.

        Args:
            url: its endpoint, which often ends in `/mcp`.
            headers: sent with every request, such as `Authorization`.
            name: its name; by default the host's.
            timeout: as for `stdio`.
            start_timeout: seconds it may take until its first answer.
            approve: whether a person is asked before a call, as for `stdio`.

        Raises:
            ConfigError: an argument has a value that cannot work.
        """
        place = ServerAddress(url, _texts_of("headers", headers))
        return cls(place, name=name, timeout=timeout, start_timeout=start_timeout, approve=approve)

    async def __aenter__(self) -> MCPServer:
        """Start it, unless it is running.

        Raises:
            ConfigError: it cannot be started, or has not answered in time; the message says why. Or the extra `mcp`
                is not installed.
        """
        if self._connection is not None and self._connection.loop.is_closed():
            self._connection, self._past, self._users = (
                None,
                [],
                0,
            )  # the tasks that entered are gone with their loop
        self._users += 1
        try:
            await self._connect().started()
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    async def tools(self) -> list[MCPTool]:
        """The server's tools, in its order. They are fetched only if they may have changed since the last time.

        Raises:
            ConfigError: it has ended and cannot be started again, or it was never entered.
            ToolError: it did not list them.
        """
        connection = self._connect()
        await connection.started()
        asked = connection.lists
        async with connection.listing:
            # A list that was begun since serves all who waited for it, however often the server says that it changed.
            is_old = connection.tools_may_have_changed and connection.lists == asked
            if is_old or self._listed_by is not connection:
                self._take(await connection.list_tools())
                self._listed_by = connection
        return [*self._tools]

    async def instructions(self) -> str:
        """The server's instructions on how to use it; empty if it gives none.

        Raises:
            ConfigError: it has ended and cannot be started again, or it was never entered.
        """
        return await self._connect().instructions()

    async def call(
        self,
        name: str,
        args: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        *,
        execution_id: str | None = None,
        timeout: float | None = None,
    ) -> ToolResult:
        """Call one of its tools. If it has ended, it is started again first.

        Args:
            name: what it calls the tool.
            args: the arguments, unchecked.
            on_progress: called with the progress of the call, the total (or `None`), and a message (or `None`).
            execution_id: identifies the call: the server gets it in `_meta`, as `cogency-rs/execution_id`.
            timeout: seconds until its answer, or its next report of progress; `None` for no limit.

        Raises:
            UnknownOutcome: it may have carried out the call, but it ended, did not answer in time, or its answer
                cannot be read; or an HTTP status of 500 or above came in its place.
            ToolError: the server could not be started or the arguments cannot be sent, so the call was not made; or the
                server refused the call.
            asyncio.CancelledError: the caller was cancelled; the server has been notified.
        """
        from .tool import as_tool_result

        if problem := _not_sent(args):
            message = f"'{name}' was not called: its arguments cannot be sent: {problem}"
            raise ToolError(message, validation_failed=True)
        try:
            connection = self._connect()
            await connection.started()
        except ConfigError as error:
            raise ToolError(f"'{name}' was not called: {error}", cause=error) from error
        answer = await connection.call_tool(name, args, on_progress, execution_id, timeout)
        return as_tool_result(answer, name, self._secrets)

    def __repr__(self) -> str:
        return f"<MCP server {self.name!r}: {self._place.shown}>"

    def _take(self, listed: list[Tool]) -> None:
        first: dict[str, Tool] = {}
        for tool in listed:
            if first.setdefault(tool.name, tool) is not tool:
                leave_out(tool.name, self.name, "another one has that name there")
        self._tools = [*map(self._tool, first.values())]
        for name in self._asking.without_a_tool({tool.name for tool in listed}):
            logger.warning(
                "approve= has a rule for %r, but server %r has no such tool", name, self.name
            )

    def _tool(self, tool: Tool) -> MCPTool:
        empty: dict[str, Any] = {"type": "object", "properties": {}}
        schema = empty | tool.input_schema
        description = tool.description or tool.title or ""
        hints: dict[str, Any] = {}
        if tool.annotations is not None:
            hints = tool.annotations.model_dump(by_alias=True, mode="json", exclude_none=True)
        only_reads = hints.get("readOnlyHint") is True
        asks = self._asking.asks(tool.name, says_it_only_reads=only_reads)
        return MCPTool(
            tool.name,
            description,
            schema,
            self.name,
            tool.name,
            ToolOptions(timeout=self._timeout, requires_approval=asks, remote=False),
            self.call,
            self._place.url,
            self._limit,
            hints,
        )

    def _connect(self) -> ServerConnection:
        """The present connection; a new one if that has ended."""
        if not self._users:
            raise ConfigError(f"server {self.name!r} is not running: use it inside `async with`")
        connection = self._connection
        if connection is not None and connection.loop is not asyncio.get_running_loop():
            raise ConfigError(
                f"server {self.name!r} runs in another event loop: make one for each loop"
            )
        if connection is None or connection.is_over:
            self._past = [past for past in self._past if not past.task.done()]
            if connection is not None:
                self._past.append(connection)
            connection = self._connection = _connection(self.name, self._place, self._start_timeout)
        return connection

    async def _leave(self) -> None:
        self._users -= 1
        if not self._users and self._connection is not None:
            connections = [*self._past, self._connection]
            self._connection, self._past = None, []
            for connection in connections:
                connection.end()
            await outlast([connection.task for connection in connections])


def _not_sent(args: Mapping[str, Any]) -> str | None:
    """Why arguments cannot be sent: JSON cannot hold some Python values, nor texts that are not Unicode."""
    try:
        json.dumps(args, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return f"{error.object[error.start]!r} is not a character"
    except (TypeError, ValueError, RecursionError) as error:
        return str(error)
    return None


def _connection(name: str, place: Place, start_timeout: float) -> ServerConnection:
    try:
        from .connection import ServerConnection
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module == __name__.partition(".")[0]:
            raise
        raise ConfigError(
            f"servers need the package mcp, and {module} is not installed; "
            "run: pip install 'cogency-rs[mcp]'",
            cause=error,
        ) from error
    return ServerConnection(name, place, start_timeout)


def _texts_of(what: str, given: Mapping[str, str] | None) -> dict[str, str]:
    """A copy of environment variables, or of headers.

    Raises:
        ConfigError: one of them is not a text. Values are not shown, since they may be secret.
    """
    named: dict[Any, Any] = {**(given or {})}
    for name, value in named.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise ConfigError(f"{what} must be texts by name, and {name!r} is {_kind_of(value)}")
    return named


def _kind_of(value: object) -> str:
    return "empty" if value == "" else f"of type {type(value).__name__}"
