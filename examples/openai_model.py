"""A real model for `own_loop.py`, from OpenAI or any server that speaks its API.

    python examples/openai_model.py --scripted
    OPENAI_API_KEY=... OPENAI_MODEL=gpt-4.1 python examples/openai_model.py "What is 19 + 23?"
    OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3:8b python examples/openai_model.py "What is 19 + 23?"

The first needs neither a key nor a model: a script on 127.0.0.1 plays the model. The second talks to OpenAI, the third
to any server that speaks its Chat Completions API, here Ollama.
"""

from __future__ import annotations

import asyncio
import os
import sys

from own_loop import SCRIPT, Add, agent, show

from cogency_rs import Execution, OpenAIModel, SQLite
from scripted_server import ScriptedServer, Turn, in_pieces


async def ask(query: str, **options: str) -> None:
    """Print the answer of an agent as it streams."""
    name = os.environ.get("OPENAI_MODEL", "gpt-4.1")
    async with OpenAIModel(name, **options) as model, SQLite(":memory:") as storage:
        execution = Execution(storage=storage, tools=[Add()])
        await show(agent(model, query, conversation_id="sums", execution=execution))


async def ask_script(query: str) -> None:
    """Run the agent with a script on 127.0.0.1 as its model."""
    turns = [Turn(*in_pieces(text)) for text in SCRIPT]
    async with ScriptedServer(turns, pause=0.01) as server:
        os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
        await ask(query, base_url=server.base_url)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--scripted"]:
            asyncio.run(ask_script("What is 19 + 23, and what is 2 + 3?"))
        case [query]:
            asyncio.run(ask(query))
        case _:
            sys.exit(__doc__)
