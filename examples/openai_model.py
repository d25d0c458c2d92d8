"""The `openai` SDK as the model of `own_loop.py`: streamed chat completions, read as text.

    python examples/openai_model.py --scripted
    OPENAI_API_KEY=... OPENAI_MODEL=gpt-4.1 python examples/openai_model.py "What is 19 + 23?"
    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=none OPENAI_MODEL=... python examples/openai_model.py "..."

The first needs neither key nor model: a script on 127.0.0.1 plays the model. The second talks to OpenAI, the third to
any server that speaks its Chat Completions API.

Needs `pip install cogency-rs openai`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator

from openai import AsyncOpenAI
from own_loop import SCRIPT, Add, Message, Model, agent, show
from scripted_server import ScriptedServer, Turn, in_pieces

from cogency_rs import Execution, Finish, SQLite


def openai_model(client: AsyncOpenAI, name: str) -> Model:
    """The model called `name`, as a function from messages to its text while it streams.

    The parser closes the stream as soon as a batch of calls is complete, and with it the connection: the model writes
    nothing that nobody reads.
    """

    async def model(messages: list[Message]) -> AsyncGenerator[str | Finish, None]:
        stream = await client.chat.completions.create(model=name, messages=messages, stream=True)
        async with stream:
            async for chunk in stream:
                for choice in chunk.choices[:1]:
                    if choice.delta.content:
                        yield choice.delta.content
                    if choice.finish_reason:  # "length" for an answer that was cut
                        yield Finish(choice.finish_reason)

    return model


async def ask(query: str, **options: str) -> None:
    """Print the answer of an agent as it streams."""
    async with AsyncOpenAI(**options) as client, SQLite(":memory:") as storage:
        model = openai_model(client, os.environ.get("OPENAI_MODEL", "gpt-4.1"))
        execution = Execution(storage=storage, tools=[Add()])
        await show(agent(model, query, conversation_id="sums", execution=execution))


async def ask_script(query: str) -> None:
    """The same, with a script on 127.0.0.1 in the model's place."""
    turns = [Turn(*in_pieces(text)) for text in SCRIPT]
    async with ScriptedServer(turns, pause=0.01) as server:
        os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
        await ask(query, base_url=server.base_url, api_key="none")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--scripted"]:
            asyncio.run(ask_script("What is 19 + 23, and what is 2 + 3?"))
        case [query]:
            asyncio.run(ask(query))
        case _:
            sys.exit(__doc__)
