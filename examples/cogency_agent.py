"""A cogency agent on our core: cogency's own `Agent`, provider and tools; only `install()` is new.

    python examples/cogency_agent.py --scripted
    OPENAI_API_KEY=... python examples/cogency_agent.py "Add 19 and 23, and write the sum to sum.txt"
    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=... python examples/cogency_agent.py "..."

The first needs neither a key nor a model: a script on 127.0.0.1 plays the model. The second talks to OpenAI, the third
to any server that speaks its Responses API. The log, and the files that the agent writes, are in `.cogency`.

Needs `pip install cogency-rs cogency==3.3.0 httpx`.
"""

import asyncio
import logging
import os
import sys
from dataclasses import dataclass
from typing import Annotated

from cogency import Agent, ToolResult
from cogency.core.protocols import ToolParam
from cogency.core.tool import tool
from cogency.tools import Write

import cogency_rs
from scripted_server import ScriptedServer, Turn, in_pieces

cogency_rs.install()


@dataclass
class AddParams:
    a: Annotated[int, ToolParam(description="one number")]
    b: Annotated[int, ToolParam(description="the other")]


@tool("Add two numbers.")
async def add(params: AddParams, **_: object) -> ToolResult:
    return ToolResult(outcome=str(params.a + params.b))


SCRIPT = [
    """\
<think>The sum first; the file can be written in the same batch.</think>\
I add them and write the sum down.<execute>[
  {"name": "add", "args": {"a": 19, "b": 23}},
  {"name": "write", "args": {"file": "sum.txt", "content": "19 + 23 = 42", "overwrite": true}}
]</execute>""",
    "The sum is 42, and it is in sum.txt.<end>",
]


async def ask(query: str) -> None:
    """Print the agent's events as they stream."""
    agent = Agent("openai", tools=[add, Write], mode="replay")
    shown = "metric"
    async for event in agent(query, stream="token"):
        if event["type"] == "metric":
            continue
        if event["type"] != shown or shown == "call":
            shown = event["type"]
            print(f"\n{shown:8}", end="")
        print(event.get("content", ""), end="", flush=True)
    print()


async def ask_script(query: str) -> None:
    """Run the agent with a script on 127.0.0.1 as its model."""
    turns = [Turn(*in_pieces(text)) for text in SCRIPT]
    async with ScriptedServer(turns, pause=0.02) as server:
        os.environ.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none")
        os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
        await ask(query)


if __name__ == "__main__":
    # The provider does not close its connections, and asyncio reports each one at the end.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    match sys.argv[1:]:
        case ["--scripted"]:
            asyncio.run(ask_script("Add 19 and 23, and write the sum to sum.txt"))
        case [query]:
            asyncio.run(ask(query))
        case _:
            sys.exit(__doc__)
