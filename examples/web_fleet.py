"""Two web processes with one log, behind a load balancer: one is killed in mid-answer, and the other finishes it.

    python examples/web_fleet.py [postgresql://user:password@host/database] [--here]

Each step is printed. The process is killed while its agent waits for a tool that has already had its effect. The
balancer notices, and asks the other process to resume the conversation. That process gets the claim, repeats the call
that has no effect, and does not repeat the other one: the model reads that its outcome is unknown. The page that
watches sees one answer.

Without an address, the log is a SQLite file, which processes on one machine can share as well. Where Ray is installed,
the tools run on a Ray that is started for them; with `--here`, in the web processes. The processes themselves are in
`web_fleet_process.py`, and their app in `web_agent.py`.

Needs `pip install cogency-rs fastapi uvicorn httpx`, and the extra `postgres` for a database.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from web_agent import SESSION
from web_fleet_process import open_log

PROCESS = Path(__file__).with_name("web_fleet_process.py")
CONVERSATION = "tea"
QUESTION = "Is there enough tea? Order 12 boxes if there is not."


def say(who: str, what: str) -> None:
    """Print one step."""
    print(f"{who:>9}  {what}", flush=True)


class WebProcess:
    """A web process, which can be killed."""

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self._program = subprocess.Popen([sys.executable, PROCESS, str(port), *arguments])

    @property
    def id(self) -> int:
        return self._program.pid

    def end(self, how: signal.Signals) -> None:
        """End it, and wait until it has ended."""
        self._program.send_signal(how)
        self._program.wait()


class Balancer:
    """Sends each conversation to one process. When that process is gone, another continues.

    It keeps no state: which process has a conversation follows from its name and from the processes left. Two balancers
    that disagree do no harm, since the log lets one run at a time have a conversation.
    """

    def __init__(self, processes: list[WebProcess]) -> None:
        self._left = processes
        self._http = httpx.AsyncClient(timeout=None)
        routes = [
            Route("/conversations/{id}", self._watch, methods=["GET"]),
            Route("/conversations/{id}", self._pass_on, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    def of(self, id: str) -> WebProcess:
        """The process that a conversation is sent to."""
        return self._left[zlib.crc32(id.encode()) % len(self._left)]

    async def _pass_on(self, request: Request) -> Response:
        process = self.of(request.path_params["id"])
        answer = await self._http.post(
            process.address + request.url.path,
            content=await request.body(),
            headers={name: request.headers[name] for name in ("content-type", "cookie")},
        )
        return Response(answer.content, answer.status_code)

    async def _watch(self, request: Request) -> Response:
        messages = self._messages(request.path_params["id"], request.headers["cookie"])
        return StreamingResponse(messages, media_type="text/event-stream")

    async def _messages(self, id: str, cookie: str) -> AsyncGenerator[str, None]:
        """What a page is sent, whole messages only; from another process when the first one breaks off."""
        headers = {"cookie": cookie}  # every process knows the user by it
        path = f"/conversations/{id}"
        while True:
            process = self.of(id)
            try:
                watching = self._http.stream("GET", process.address + path, headers=headers)
                async with watching as response:
                    lines: list[str] = []
                    async for line in response.aiter_lines():
                        lines.append(line)
                        if not line:
                            yield "\n".join([*lines, ""])
                            lines.clear()
                return
            except httpx.TransportError:
                self._left.remove(process)
                other = self.of(id)
                say("balancer", f"{process.name} is gone; {other.name} is asked to resume")
                await self._http.post(f"{other.address}{path}/resume", json={}, headers=headers)


async def browse(http: httpx.AsyncClient) -> AsyncGenerator[dict[str, Any], None]:
    """Ask the question, and yield what the page is shown until the run is over."""
    path = f"/conversations/{CONVERSATION}"
    async with http.stream("GET", path) as page:
        async for line in page.aiter_lines():
            if not line.startswith("data: "):
                continue
            message = json.loads(line[6:])
            if message["type"] == "log" and not message["rows"]:
                say("page", QUESTION)
                (await http.post(path, json={"text": QUESTION})).raise_for_status()
            yield message
            if message["type"] == "over":
                return


async def demonstrate(place: str, orders: Path, ray: str | None) -> None:
    """Kill one of two processes in mid-answer, and let the other continue."""
    processes = [
        WebProcess(name, place, str(orders), *([ray] if ray else [])) for name in ("A", "B")
    ]
    balancer = Balancer([*processes])
    try:
        async with served(balancer.app) as address:
            transport = httpx.AsyncHTTPTransport(retries=10)
            async with httpx.AsyncClient(transport=transport, timeout=None) as http:
                for process in processes:
                    await http.get(process.address)
                    say(process.name, "is ready")
            cookies = {SESSION: secrets.token_urlsafe(32)}
            async with httpx.AsyncClient(base_url=address, cookies=cookies, timeout=None) as http:
                page = Page()
                async for message in browse(http):
                    page.show(message, balancer.of(CONVERSATION).name)
                    # The hook that says "started" is around a call whose outcome is unknown, too.
                    is_order = message["type"] == "started" and message["index"] == 1
                    if is_order and balancer.of(CONVERSATION) is processes[0]:
                        await asyncio.to_thread(wait_for, orders)
                        await result_in_log(place, "stock")
                        first = balancer.of(CONVERSATION)
                        say(
                            "kill -9",
                            f"{first.name}, whose call has left an order and not returned",
                        )
                        first.end(signal.SIGKILL)
        await show_log(place, {f":{process.id}": process.name for process in processes})
        say("orders", " and ".join(lines(orders)))
    finally:
        for process in processes:
            process.end(signal.SIGTERM)


class Page:
    """Prints what a page is shown."""

    def __init__(self) -> None:
        self._text = ""
        self._verb = "calls"

    def show(self, message: dict[str, Any], process: str) -> None:
        """Print a message; text when it is whole."""
        if message["type"] == "respond":
            self._text += message["content"]
            return
        if self._text.strip():
            say(process, self._text.strip())
        self._text = ""
        match message:
            case {"type": "log", "rows": [_, *_] as rows}:
                say("page", f"is shown the {len(rows)} rows of the log again, by {process}")
                self._verb = "takes up"
            case {"type": "call", "content": call}:
                called = json.loads(call)
                args = ", ".join(f"{name}={value!r}" for name, value in called["args"].items())
                say(process, f"{self._verb} {called['name']}({args})")
            case {"type": "result", "content": results}:
                for result in json.loads(results):
                    say(process, f"{result['tool']}: {result['status']}: {result['content']}")
            case {"type": "error"}:
                say(process, message["content"])


async def result_in_log(place: str, name: str) -> None:
    """Return when the log has the result of a call; that of a call which is over is saved while others still run."""
    async with open_log(place) as log:
        while (name, "ended") not in [  # noqa: ASYNC110  # another process is waited for
            (call.name, call.status) for call in await log.calls(CONVERSATION)
        ]:
            await asyncio.sleep(0.01)


async def show_log(place: str, names: dict[str, str]) -> None:
    """Print what the log knows of the calls."""
    async with open_log(place) as log:
        for call in await log.calls(CONVERSATION):
            process = names.get(f":{str(call.worker).rpartition(':')[2]}", "?")
            say("log", f"{call.name}: {call.status}, begun {call.attempt} times, last by {process}")


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Serve an app on this machine while the block lasts."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await serving


def wait_for(orders: Path) -> None:
    """Return when the tool has had its effect."""
    while not lines(orders):
        time.sleep(0.01)


def lines(orders: Path) -> list[str]:
    return orders.read_text().splitlines() if orders.exists() else []


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def start_ray() -> str:
    """Start a Ray for this program and its children, and give its address."""
    import ray

    started: Any = ray.init(
        address="local",
        num_cpus=2,
        object_store_memory=80_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    return str(started.address_info["gcs_address"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Two web processes, one log.")
    parser.add_argument("database", nargs="?", help="postgresql://user:password@host/database")
    parser.add_argument("--here", action="store_true", help="tools in the web processes")
    options = parser.parse_args()
    on_ray = not options.here and importlib.util.find_spec("ray") is not None
    with tempfile.TemporaryDirectory() as folder:
        place = options.database or str(Path(folder, "log.db"))
        say("log", "in PostgreSQL" if options.database else "in a SQLite file")
        say("tools", "on Ray" if on_ray else "in the web processes")
        asyncio.run(demonstrate(place, Path(folder, "orders"), start_ray() if on_ray else None))


if __name__ == "__main__":
    main()
