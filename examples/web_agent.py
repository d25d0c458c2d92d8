"""An agent on a web page: FastAPI streams its events as server-sent events while they happen.

    python examples/web_agent.py                        then open http://127.0.0.1:8000
    OPENAI_API_KEY=... OPENAI_MODEL=gpt-4.1 python examples/web_agent.py

Without a key, a script plays the model. The page is in `web_page/`; the log, in `.cogency/web.db`, is what it shows
when it is opened again.

A turn belongs to the request that asked for it. When its page is closed or loses the connection, when the reader
presses Stop and when the server ends, the turn is cancelled: the model's stream is closed, running tools are cancelled
and awaited, and every call has its result in the log. A conversation has one turn at a time, and its log is read
between turns only; so what is read is always whole.

Needs `pip install cogency-rs fastapi uvicorn`, and the extra `openai` for a real model.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles
from own_loop import Model, agent, scripted
from pydantic import BaseModel, Field

from cogency_rs import Execution, OpenAIModel, SQLite, ToolResult

logger = logging.getLogger(__name__)

PAGE = Path(__file__).with_name("web_page")


class Query(BaseModel):
    text: str = Field(min_length=1, max_length=100_000)


class EventStream(StreamingResponse):
    """Server-sent events. What makes them is closed before the response is over, also when the client has gone."""

    media_type = "text/event-stream"

    async def __call__(self, *connection: Any) -> None:
        try:
            await super().__call__(*connection)
        finally:
            await self.body_iterator.aclose()


def create_app(model: Model, tools: Sequence[Any], storage: SQLite) -> FastAPI:
    """A page for any number of conversations with one agent. The storage is closed when the server ends."""
    execution = Execution(storage=storage, tools=tools)
    turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        yield
        for turn in list(turns.values()):  # the server has cancelled it; its rows are on their way
            async with turn:
                pass
        await storage.close()

    app = FastAPI(title="cogency-rs", lifespan=lifespan)

    def turn_of(conversation_id: str) -> asyncio.Lock:
        return turns.setdefault(conversation_id, asyncio.Lock())

    @app.get("/conversations/{conversation_id}")
    async def rows(conversation_id: str) -> list[dict[str, Any]]:
        async with turn_of(conversation_id):
            return await storage.load_messages(conversation_id, "")

    @app.post("/conversations/{conversation_id}")
    async def answer(conversation_id: str, query: Query) -> EventStream:
        return EventStream(
            stream(conversation_id, query.text), headers={"Cache-Control": "no-cache"}
        )

    async def stream(conversation_id: str, query: str) -> AsyncGenerator[str, None]:
        async with turn_of(conversation_id):
            events = agent(
                model, query, conversation_id=conversation_id, execution=execution, tool_timeout=60
            )
            async with aclosing(events):
                try:
                    async for event in events:
                        yield server_sent(event)
                except Exception as error:
                    logger.exception("A turn of conversation %s failed", conversation_id)
                    reason = f"{type(error).__name__}: {error}"
                    yield server_sent({"type": "error", "content": reason})

    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


def server_sent(event: Any) -> str:
    return f"data: {json.dumps(event)}\n\n"


class Measure:
    """Measures a service, as slowly as a real one."""

    name, description = "measure", "Measure how long a service takes to answer."
    schema = {"service": {"type": "string", "required": True}}

    async def execute(self, service: str, **_: object) -> ToolResult:
        milliseconds = {"web": 12, "search": 840}.get(service)
        await asyncio.sleep(1.5)
        if milliseconds is None:
            raise TimeoutError(f"{service} does not answer")
        return ToolResult(outcome=f"{service} answered", content={"milliseconds": milliseconds})


class ReadLog:
    """Reads what strangers wrote: the page must show it, and never run it."""

    name, description = "read_log", "Read the last lines of a service's log."
    schema = {"service": {"type": "string", "required": True}}

    async def execute(self, service: str, **_: object) -> ToolResult:
        await asyncio.sleep(1)
        lines = {
            "search": "09:14:02 GET /?q=<img src=x onerror=alert(1)> 840 ms\n09:14:03 index: full scan",
            "mail": "09:13:57 certificate expired, not starting",
        }
        return ToolResult(outcome=f"Read the log of {service}", content=lines[service])


SCRIPT = [
    """\
<think>I need numbers before I can say anything. The three measurements are independent of each other, so they can \
run at the same time.</think>\
I'll measure all three services at once.<execute>[
  {"name": "measure", "args": {"service": "web"}},
  {"name": "measure", "args": {"service": "search"}},
  {"name": "measure", "args": {"service": "mail"}}
]</execute>""",
    """\
<think>web is fine. search is slow and mail is down; their logs should say why.</think>\
The web server is fast, search is slow, and mail does not answer. Their logs may say why.<execute>[
  {"name": "read_log", "args": {"service": "search"}},
  {"name": "read_log", "args": {"service": "mail"}}
]</execute>""",
    """\
Here is what I found:

• web answers in 12 ms: nothing to do.
• search takes 840 ms, because its index is scanned in full for each query.
• mail is down: its certificate has expired.

The certificate first: renewing it brings mail back at once. The index of search can wait for a quiet hour.<end>""",
]


def model_from_environment() -> Model:
    """OpenAI's, if there is a key; or else the script."""
    if not os.environ.get("OPENAI_API_KEY"):
        return scripted(*SCRIPT, pause=0.02)
    return OpenAIModel(os.environ.get("OPENAI_MODEL", "gpt-4.1"))


if __name__ == "__main__":
    uvicorn.run(
        create_app(model_from_environment(), [Measure(), ReadLog()], SQLite(".cogency/web.db")),
        port=int(os.environ.get("PORT", "8000")),
        timeout_graceful_shutdown=1,  # an open page keeps nobody from stopping the server
    )
