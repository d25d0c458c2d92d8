"""Tools of ours as an MCP server: what `cogency-rs serve` runs.

Calls are carried out as in a turn, so arguments are checked, time limits hold, and a failure is a result that says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from .._core import __version__
from ..calls.tool_result import status_of
from ..execution.executor import execute_tool
from ..guards.json import whole_characters
from ..tools.registry import parameters_of
from ..tools.toolbox import Toolbox
from ..types import Execution, ToolCall, ToolResult
from .stdio_wire import Wire
from .tool import EXECUTION_ID, STATUS

Context = ServerRequestContext[Any, Any]

LONGEST_ID = 255
"""Characters that a client may identify a call with."""

PATIENCE = 3
"""Seconds that clients have to disconnect when the program is interrupted."""


def server_of_tools(
    tools: Iterable[Any], name: str = "cogency-rs", instructions: str | None = None
) -> Server[Any]:
    """Make a server of the SDK's that offers these tools.

    Args:
        tools: made by `@tool`, or objects with `execute`.
        name: what the server calls itself.
        instructions: tells clients how to use the tools.

    Raises:
        ConfigError: one of `tools` is not a tool, or two have the same name.
    """
    offered = Toolbox.of(tools).names
    execution = Execution(tools=[*offered.values()])
    listed = [_listed(name, tool) for name, tool in offered.items()]

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        id: Any = (context.meta or {}).get(EXECUTION_ID)
        is_id = isinstance(id, str) and 0 < len(id) <= LONGEST_ID
        call = ToolCall(asked.name, dict(asked.arguments or {}), id=id if is_id else None)
        async with _Progress(context) as progress:
            result = await execute_tool(call, execution=execution, on_event=progress.take)
        return _answer(result)

    return Server(
        name,
        version=__version__,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server[Any], wire: Wire) -> None:
    """Serve one client over what was standard input and output, until it closes the input."""
    from mcp.server.stdio import stdio_server

    files = map(anyio.wrap_file, (wire.reading, wire.writing))
    async with stdio_server(*files) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def serve_http(server: Server[Any], host: str, port: int) -> None:
    """Serve over HTTP, at `/mcp`, until the program is interrupted.

    Raises:
        OSError: the address cannot be used.
    """
    import socket

    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        app = server.streamable_http_app(host=host)
        uvicorn.Server(
            uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=PATIENCE)
        ).run([listening])


class _Progress:
    """Tells the client the progress of a call that a tool reports with `ToolContext.emit`."""

    def __init__(self, context: Context) -> None:
        self._session = context.session
        self._token = (context.meta or {}).get("progress_token")
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def take(self, event: dict[str, Any]) -> None:
        """Take an event of type `progress`, to be sent on."""
        if self._token is not None and event["type"] == "progress":
            self._events.put_nowait(event)

    async def __aenter__(self) -> _Progress:
        self._telling = asyncio.ensure_future(self._tell())
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._events.put_nowait(None)
        if raised[0] is not None:
            self._telling.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([self._telling])

    async def _tell(self) -> None:
        while (event := await self._events.get()) is not None:
            message = event.get("message")
            await self._session.send_progress_notification(
                self._token or "",
                float(event.get("progress") or 0),
                event.get("total"),
                None if message is None else str(message),
            )


def _listed(name: str, tool: Any) -> Tool:
    schema = parameters_of(tool)
    return Tool(name=name, description=tool.description or None, input_schema=schema)


def _answer(result: ToolResult) -> CallToolResult:
    if result.error:
        meta: Any = {STATUS: "unknown"} if status_of(result) == "unknown" else None
        return CallToolResult(content=[_text(result.outcome)], is_error=True, _meta=meta)
    content = result.content
    if content is None or content == "":
        return CallToolResult(content=[_text(result.outcome)])
    if isinstance(content, str):
        return CallToolResult(content=[_text(content)])
    text = whole_characters(json.dumps(content, ensure_ascii=False))
    structured: Any = json.loads(text) if isinstance(content, dict) else None
    return CallToolResult(content=[_text(text)], structured_content=structured)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=whole_characters(text))
