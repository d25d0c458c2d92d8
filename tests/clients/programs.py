"""Clients of chat APIs, each as its documentation has it, with a tool: `python programs.py NAME URL PATH…`.

`tests/clients/ran.py` runs this with the Python of `make clients`; it cannot import the project. For each path at the
server it prints what the tool was run with, and what was raised.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

RAN: list[dict[str, Any]] = []
KEY = "a key"
MODEL = "m"
ASK = "Note it."
QUESTION = [{"role": "user", "content": ASK}]


def note(text: str = "", tag: str = "") -> str:
    """Note a text.

    Args:
        text: what to note
        tag: under which tag
    """
    # No argument is required: a client that makes an object of what it got of the arguments can run this.
    RAN.append({"text": text, "tag": tag})
    return "noted"


SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "tag": {"type": "string"}},
}
TOOL = {
    "type": "function",
    "function": {"name": "note", "description": "Note a text.", "parameters": SCHEMA},
}


async def openai_create(url: str) -> None:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key=KEY)
    calls: dict[int, Any] = {}
    stream = await client.chat.completions.create(
        model=MODEL, messages=QUESTION, tools=[TOOL], stream=True
    )
    async for chunk in stream:
        for piece in chunk.choices[0].delta.tool_calls or []:
            if piece.index not in calls:
                calls[piece.index] = piece
            else:
                calls[piece.index].function.arguments += piece.function.arguments
    for call in calls.values():
        note(**json.loads(call.function.arguments))


async def openai_stream(url: str) -> None:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key=KEY)
    async with client.chat.completions.stream(
        model=MODEL, messages=QUESTION, tools=[TOOL]
    ) as stream:
        answer = await stream.get_final_completion()
    for call in answer.choices[0].message.tool_calls or []:
        note(**json.loads(call.function.arguments))


async def openai_done_events(url: str) -> None:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key=KEY)
    async with client.chat.completions.stream(
        model=MODEL, messages=QUESTION, tools=[TOOL]
    ) as stream:
        async for event in stream:
            if event.type == "tool_calls.function.arguments.done":
                note(**json.loads(event.arguments))


async def anthropic_stream(url: str) -> None:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(base_url=url, api_key=KEY)
    tool = {"name": "note", "description": "Note a text.", "input_schema": SCHEMA}
    async with client.messages.stream(
        model=MODEL, max_tokens=4096, messages=QUESTION, tools=[tool]
    ) as stream:
        message = await stream.get_final_message()
    for block in message.content:
        if block.type == "tool_use":
            note(**block.input)


async def anthropic_runner(url: str, run_tools_eagerly: bool = False) -> None:
    from anthropic import AsyncAnthropic, beta_async_tool

    @beta_async_tool(name="note")
    async def noting(text: str = "", tag: str = "") -> str:
        """Note a text."""
        return note(text, tag)

    client = AsyncAnthropic(base_url=url, api_key=KEY)
    runner = client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=4096,
        messages=QUESTION,
        tools=[noting],
        stream=True,
        run_tools_eagerly=run_tools_eagerly,
    )
    async for stream in runner:
        async for _ in stream:
            pass


async def anthropic_eager_runner(url: str) -> None:
    await anthropic_runner(url, run_tools_eagerly=True)


async def langchain_bound(url: str) -> None:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, base_url=url, api_key=KEY).bind_tools([note])
    answer = None
    async for chunk in model.astream(ASK):
        answer = chunk if answer is None else answer + chunk
    for call in answer.tool_calls:
        note(**call["args"])


async def langchain_agent(url: str) -> None:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    agent = create_agent(ChatOpenAI(model=MODEL, base_url=url, api_key=KEY), tools=[note])
    async for _ in agent.astream({"messages": QUESTION}, stream_mode="messages"):
        pass


async def langgraph_react(url: str) -> None:
    import warnings

    from langchain_openai import ChatOpenAI

    warnings.simplefilter("ignore")  # that it is deprecated, and many use it
    from langgraph.prebuilt import create_react_agent

    agent = create_react_agent(ChatOpenAI(model=MODEL, base_url=url, api_key=KEY), tools=[note])
    async for _ in agent.astream({"messages": QUESTION}, stream_mode="messages"):
        pass


async def pydantic_ai(url: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key=KEY))
    agent = Agent(model, tools=[note])
    async with agent.run_stream(ASK) as run:
        async for _ in run.stream_text():
            pass


async def pydantic_ai_events(url: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def seen(_: Any, events: Any) -> None:
        async for _event in events:
            pass

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key=KEY))
    await Agent(model, tools=[note]).run(ASK, event_stream_handler=seen)


async def openai_agents(url: str) -> None:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=url, api_key=KEY)
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
    tool = function_tool(note, strict_mode=False)
    run = Runner.run_streamed(Agent(name="agent", model=model, tools=[tool]), ASK)
    async for _ in run.stream_events():
        pass


async def llm(url: str) -> None:
    from llm.default_plugins.openai_models import Chat

    model = Chat(
        MODEL, model_name=MODEL, api_base=url, key=KEY, can_stream=True, supports_tools=True
    )
    for _ in model.chain(ASK, tools=[note]):
        pass


CLIENTS: dict[str, Callable[[str], Awaitable[None]]] = {
    client.__name__: client
    for client in (
        openai_create,
        openai_stream,
        openai_done_events,
        anthropic_stream,
        anthropic_runner,
        anthropic_eager_runner,
        langchain_bound,
        langchain_agent,
        langgraph_react,
        pydantic_ai,
        pydantic_ai_events,
        openai_agents,
        llm,
    )
}


async def run(name: str, url: str, paths: list[str]) -> None:
    for path in paths:
        RAN.clear()
        raised = None
        root = f"{url}/{path}" if name.startswith("anthropic") else f"{url}/{path}/v1"
        try:
            async with asyncio.timeout(60):
                await CLIENTS[name](root)
        except Exception as error:
            raised = type(error).__name__
            print(path, repr(error)[:300], file=sys.stderr)
        print(json.dumps({"path": path, "ran": RAN, "raised": raised}), flush=True)


if __name__ == "__main__":
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
