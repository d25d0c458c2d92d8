"""An MCP server for tests, made with the SDK, over stdio or HTTP: `python mcp_program.py [PORT]`."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

server = MCPServer("little", instructions="Ask little.", log_level="CRITICAL")
cancelled: list[str] = []


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def greet(name: str) -> str:
    return f"hello {name}"


@server.tool()
def letters(word: str) -> list[str]:
    return [*word]


@server.tool()
def person() -> dict[str, int]:
    return {"age": 40}


@server.tool()
def refuse() -> str:
    raise ToolError("no such person")


@server.tool(structured_output=False)
def picture() -> list:
    return ["a dot", Image(data=b"\x89PNG", format="png")]


@server.tool()
def page() -> CallToolResult:
    inside = TextResourceContents(uri="file:///a.md", mime_type="text/markdown", text="# A")
    return CallToolResult(
        content=[
            TextContent(type="text", text="1 page"),
            EmbeddedResource(type="resource", resource=inside),
        ],
        structured_content={"pages": 1},
    )


@server.tool()
async def count(context: Context, to: int) -> str:
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"step {number}")
    return "counted"


@server.tool()
async def wait(context: Context, name: str) -> str:
    await context.report_progress(0, None, "waiting")
    try:
        await asyncio.Event().wait()
    finally:
        cancelled.append(name)
    return "never"


@server.tool()
def was_cancelled() -> list[str]:
    return cancelled


@server.tool()
def trace(context: Context) -> str:
    """Where the call is in a trace, as the client says."""
    return str((context.request_context.meta or {}).get("traceparent"))


@server.tool()
def key(context: Context) -> str:
    """What identifies the call, as the client says."""
    return str((context.request_context.meta or {}).get("cogency-rs/execution_id"))


@server.tool()
def process() -> int:
    return os.getpid()


@server.tool()
async def grow(context: Context, name: str) -> str:
    server.add_tool(greet, name=name)
    await context.session.send_tool_list_changed()  # the notification of the older protocol
    await context.notify_tools_changed()  # the notification of the newer one
    return "grown"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
