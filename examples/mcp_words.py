"""An MCP server, written with the official SDK, that keeps the words it is started with; see `mcp_tools.py`."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import Context, MCPServer

WORDS = sys.argv[1:]

server = MCPServer("words")


@server.tool()
async def find(part: str, context: Context) -> list[str]:
    """Find words that have this part."""
    for number, word in enumerate(WORDS, 1):
        await context.report_progress(number, len(WORDS), word)
    return [word for word in WORDS if part in word]


@server.tool()
def crash() -> str:
    """End the server."""
    os._exit(1)


if __name__ == "__main__":
    server.run()
