"""Tools of two MCP servers and one of the agent's own: names, calls, and a server that dies.

    python examples/mcp_tools.py

Both servers are `mcp_words.py`, whose tools run without approval: `approve="never"`. Any other server is started the
same way, for instance with
`MCPServer.stdio("npx", "-y", "@modelcontextprotocol/server-filesystem", ".")`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from cogency_rs import Execution, MCPServer, ToolCall, tool
from cogency_rs.execution import execute_calls
from cogency_rs.servers import ServerGroup

WORDS = str(Path(__file__).with_name("mcp_words.py"))


@tool
def find(part: str) -> str:
    """Find this part in what the agent remembers."""
    return f"nothing is remembered of {part}"


async def main() -> None:
    servers = {
        "fruit": MCPServer.stdio(sys.executable, WORDS, "apple", "pear", "peach", approve="never"),
        "trees": MCPServer.stdio(
            sys.executable, WORDS, "ash", "beech", "pear tree", approve="never"
        ),
    }
    async with ServerGroup(servers) as group:
        tools = await group.tools([find])
        print("tools:", ", ".join(tool.name for tool in tools))
        execution = Execution(tools=tools)

        print("\na batch:")
        told: list[str] = []
        for run in await execute_calls(
            [
                ToolCall("find", {"part": "pea"}),
                ToolCall("fruit__find", {"part": "pea"}),
                ToolCall("find", {"part": "pea"}, server="trees"),
                ToolCall("find", {"part": "pea"}, server="flowers"),
            ],
            execution=execution,
            on_event=lambda event: told.append(event["message"]),
        ):
            print(f"  {run.status:<8} {run.error or run.value}")
        print("  told on the way:", ", ".join(sorted(told)))

        print("\na server that dies, and is there again:")
        for name in ("fruit__crash", "fruit__find"):
            call = ToolCall(name, {"part": "pea"} if name == "fruit__find" else {})
            [run] = await execute_calls([call], execution=execution)
            print(f"  {run.status:<8} {run.error or run.value}")


if __name__ == "__main__":
    asyncio.run(main())
