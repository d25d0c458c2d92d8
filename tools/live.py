"""Holds a conversation with a small model in this process: it calls a tool, held to a grammar, and answers.

`make live` runs it, with a model of 135 million parameters. Such a model writes hardly any call by itself.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from cogency_rs import Agent, LocalModel, Memory, tool
from cogency_rs.agent import TextDriver

asked: list[str] = []


@tool(ends_run=True)
def get_weather(city: str) -> str:
    """Get the weather in a city."""
    asked.append(city)
    return f"It is sunny in {city}, with 21 degrees."


async def main(file: Path) -> None:
    storage = Memory()
    async with LocalModel(file, slots=1, temperature=0, seed=1, max_tokens=40) as model:

        async def ask(question: str, driver: TextDriver) -> str:
            print(f"> {question}", flush=True)
            agent = Agent(model, tools=[get_weather], driver=driver, storage=storage)
            async with agent.run(question, conversation_id="live") as run:
                async for event in run.events("event"):
                    if event["type"] in ("call", "respond", "result"):
                        print(f"  {event['type']}: {event['content'].strip()}", flush=True)
            return run.result.text

        await ask("What is the weather in Rome?", TextDriver("hermes", constrain="required"))
        answer = await ask("Is it sunny in Rome?", TextDriver("hermes", constrain=True))
    if asked != ["Rome"]:
        raise SystemExit(
            f"get_weather must be called once, for Rome, but was called for {asked or 'nothing'}"
        )
    if not answer.strip():
        raise SystemExit("no answer came")


if __name__ == "__main__":
    began = time.monotonic()
    asyncio.run(main(next(Path(sys.argv[1]).rglob("*.gguf"))))
    print(f"passed after {time.monotonic() - began:.0f} s")
