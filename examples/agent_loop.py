"""An agent: a model, a tool, and a conversation in a file.

    python examples/agent_loop.py
    python examples/agent_loop.py "What is 19 + 23?"

The model here reads from a script, so that nothing else is needed; `openai_model.py` has a real one. `own_loop.py`
writes the same loop out.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cogency_rs import Agent, RunLimits, SQLite, tool
from cogency_rs.testing import ScriptedModel


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SCRIPT = [
    """\
<think>Two sums; neither needs the other.</think>\
I add both at once.<execute>[
  {"name": "add", "args": {"a": 19, "b": 23}},
  {"name": "add", "args": {"a": 2, "b": 3}}
]</execute>""",
    "The sums are 42 and 5.",
]


async def main(question: str) -> None:
    with TemporaryDirectory() as folder:
        async with SQLite(Path(folder, "log.db")) as storage:
            model = ScriptedModel(SCRIPT, delay=0.01)
            agent = Agent(model, tools=[add], storage=storage, limits=RunLimits(steps=5))
            shown = None
            async with agent.run(question) as events:
                async for event in events:
                    if event["type"] != shown or shown == "call":
                        print("" if shown is None else "\n", f"{event['type']:8}", sep="", end="")
                    print(event.get("content", ""), end="", flush=True)
                    shown = event["type"]
            result = events.result
            print(
                f"\n{result.status} in {len(result.steps)} steps, about {result.usage.total_tokens} tokens"
            )


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is 19 + 23, and what is 2 + 3?"))
