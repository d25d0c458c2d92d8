"""An agent on a web page: FastAPI streams its events as server-sent events while they happen.

    python examples/web_agent.py                        then open http://127.0.0.1:8000
    python examples/web_agent.py --base-url http://127.0.0.1:11434/v1 --model qwen3
    OPENAI_API_KEY=... python examples/web_agent.py --model gpt-4.1

If no model is given, a script plays one. The page is in `web_page/`, the conversations behind it are in
`web_conversations.py`, and the log is in `.cogency/web.db`.

A conversation belongs to its user. Here a user is a browser: the page sets a cookie. A service with its own login puts
it into `user_of`, which every route about conversations depends on; none takes a user from the address or the body of
a request. What belongs to somebody else is answered with 404, whatever the route.

A run belongs to its conversation and not to a page: it goes on when the page is closed, and every page of the user that
has the conversation's address shows it from its beginning. It ends early when somebody presses Stop, and when the
server ends. Then running tools are cancelled and awaited, and every call has its result in the log. A call that needs
approval waits in the log, so it can be approved tomorrow, on another page, after the server was restarted. If the
server was killed while a call ran, the page asks whether it happened, and the model reads the answer.

Needs `pip install cogency-rs fastapi uvicorn`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from own_loop import scripted
from pydantic import BaseModel, Field
from web_conversations import Busy, Conversations, progress

from cogency_rs import Agent, CallOptions, PostgreSQL, RunLimits, SQLite, tool
from cogency_rs.errors import ConfigError, OwnerError
from cogency_rs.execution import NotHappened
from cogency_rs.hooks import AnyHook

PAGE = Path(__file__).with_name("web_page")


class Query(BaseModel):
    text: str = Field(min_length=1, max_length=100_000)


class Decisions(BaseModel):
    decisions: dict[str, bool] = {}


class Found(BaseModel):
    """What a user found out about a call whose outcome is unknown."""

    call: str
    happened: bool
    result: str = Field("", max_length=100_000)


SESSION = "session"
"""The cookie of a browser. It is as good as a password, so the log gets a hash of it."""


def session_of(request: Request) -> str:
    """The session of a browser; "" if it has none."""
    session = request.cookies.get(SESSION, "")
    return session if len(session) >= 32 else ""


def user_of(request: Request) -> str:
    """The user who sent a request, as the log names them. Put your login here.

    Raises:
        HTTPException: 401, if the browser has no session.
    """
    session = session_of(request)
    if not session:
        raise HTTPException(401, "this browser has no session: open the page first")
    return hashlib.sha256(session.encode()).hexdigest()[:32]


User = Annotated[str, Depends(user_of)]


class ServerSentEvents(StreamingResponse):
    """A response that closes its generator of events before it is over, even when the client has gone."""

    media_type = "text/event-stream"

    async def __call__(self, *connection: Any) -> None:
        try:
            await super().__call__(*connection)
        finally:
            await self.body_iterator.aclose()


def create_app(
    model: Any,
    tools: Sequence[Any],
    storage: SQLite | PostgreSQL,
    hooks: Sequence[AnyHook] = (),
) -> FastAPI:
    """Make the web application for one agent. It closes the storage when the server ends."""
    agent = Agent(
        model,
        tools=tools,
        storage=storage,
        hooks=[progress, *hooks],
        calls=CallOptions(timeout=60),
        limits=RunLimits(steps=20, seconds=600),
    )
    conversations = Conversations(agent)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        yield
        await conversations.stop()
        await storage.close()

    app = FastAPI(title="cogency-rs", lifespan=lifespan)
    # A page of another site must not reach it by a host name that leads to this machine.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    @app.exception_handler(OwnerError)
    async def foreign(request: Request, error: OwnerError) -> JSONResponse:
        return JSONResponse({"detail": "you have no such conversation"}, 404)

    @app.exception_handler(ConfigError)
    async def late(request: Request, error: ConfigError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    @app.get("/")
    async def page(request: Request) -> FileResponse:
        response = FileResponse(PAGE / "index.html")
        if not session_of(request):  # over HTTPS, add secure=True
            session = secrets.token_urlsafe(32)
            response.set_cookie(SESSION, session, 10**7, httponly=True, samesite="strict")
        return response

    @app.get("/conversations")
    async def own(user: User) -> list[dict[str, Any]]:
        found = await storage.conversations(user)
        return [
            {"id": each.conversation_id, "question": each.question, "last": each.last}
            for each in found
        ]

    @app.get("/conversations/{id}")
    async def watch(id: str, user: User) -> ServerSentEvents:
        conversation = await conversations.of(user, id)
        return ServerSentEvents(conversation.watch(), headers={"Cache-Control": "no-cache"})

    @app.post("/conversations/{id}", status_code=202)
    async def ask(id: str, user: User, query: Query) -> None:
        await (await conversations.of(user, id)).ask(query.text)

    @app.post("/conversations/{id}/resume", status_code=202)
    async def resume(id: str, user: User, given: Decisions) -> None:
        await (await conversations.of(user, id)).resume(given.decisions)

    @app.post("/conversations/{id}/settle", status_code=202)
    async def settle(id: str, user: User, found: Found) -> None:
        result = found.result if found.happened else NotHappened()
        await (await conversations.of(user, id)).settle(found.call, result)

    @app.post("/conversations/{id}/stop", status_code=202)
    async def stop(id: str, user: User) -> None:
        await (await conversations.of(user, id)).stop()

    @app.delete("/conversations/{id}", status_code=204)
    async def delete(id: str, user: User) -> None:
        await (await conversations.of(user, id)).delete()

    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


# The tools of the agent.


@tool
async def measure(service: str) -> dict[str, int]:
    """Measure how long a service takes to answer."""
    await asyncio.sleep(1 if service == "web" else 2.5)
    milliseconds = {"web": 12, "search": 840}.get(service)
    if milliseconds is None:
        raise TimeoutError(f"{service} does not answer")
    return {"milliseconds": milliseconds}


@tool
async def read_log(service: str) -> str:
    """Read the last lines of a service's log: what strangers wrote, which the page must show and never run."""
    await asyncio.sleep(1)
    return {
        "search": "09:14:02 GET /?q=<img src=x onerror=alert(1)> 840 ms\n09:14:03 index: full scan",
        "mail": "09:13:57 certificate expired at 09:00\n09:13:57 not starting",
    }.get(service, "")


@tool(requires_approval=True)
async def renew_certificate(service: str, days: int = 90) -> str:
    """Renew the certificate of a service, and start it again."""
    await asyncio.sleep(1.5)
    return f"{service} has a certificate for {days} days, and answers in 31 ms"


TOOLS = [measure, read_log, renew_certificate]

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
The web server is fast, **search is slow**, and **mail does not answer**. Their logs may say why.<execute>[
  {"name": "read_log", "args": {"service": "search"}},
  {"name": "read_log", "args": {"service": "mail"}}
]</execute>""",
    """\
<think>The certificate of mail has expired. To renew it changes something, so somebody has to agree.</think>\
The certificate of `mail` expired at 09:00. I can renew it, if you agree.<execute>[
  {"name": "renew_certificate", "args": {"service": "mail", "days": 90}}
]</execute>""",
    """\
Here is what I found:

| service | answers in | |
| --- | --- | --- |
| web | 12 ms | nothing to do |
| search | 840 ms | its index is scanned in full for each query |
| mail | | its certificate had expired |

1. **mail**: look at the call above; if it was approved, mail is up again.
2. **search** can wait for a quiet hour:

```sql
CREATE INDEX CONCURRENTLY ON documents USING gin (words);
```
<end>""",
]


def model_of(options: argparse.Namespace) -> Any:
    """The model of the command line, or else the script."""
    if not (options.model or options.base_url):
        return scripted(*SCRIPT, pause=0.02)
    from cogency_rs import OpenAIModel

    return OpenAIModel(options.model or "gpt-4.1", base_url=options.base_url)


def main() -> None:
    parser = argparse.ArgumentParser(description="An agent on a web page.")
    parser.add_argument("--base-url", help="a server that speaks OpenAI's API")
    parser.add_argument("--model", help="the model's name")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
    options = parser.parse_args()
    uvicorn.run(
        create_app(model_of(options), TOOLS, SQLite(".cogency/web.db")),
        port=options.port,
        timeout_graceful_shutdown=1,  # an open page does not keep the server from stopping
    )


if __name__ == "__main__":
    main()
