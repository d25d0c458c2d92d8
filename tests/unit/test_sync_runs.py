"""`run_sync`: each call has a loop of its own, leaves nothing open, and raises what the run raised and nothing more."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cogency_rs import Agent, LLMError, OpenAIModel
from cogency_rs.testing import ScriptedModel
from support.openai_served import DONE, STOP, delta
from support.programs import printed

DESCRIPTORS = 32

BODY = delta(content="Hello.") + STOP + DONE


class Answering(BaseHTTPRequestHandler):
    """Answers each request in the same way and keeps the connection open, as the services of providers do."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Counts the connections that were opened."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.opened = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self.opened += 1
        super().process_request(request, client_address)


@contextmanager
def answering() -> Iterator[tuple[Server, str]]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


ASKS = """
import gc, resource
gc.disable()  # nothing may depend on it
model, runs = OpenAIModel("m", base_url=sys.argv[1]), int(sys.argv[2])
agent = Agent(model)
agent.run_sync("Hello?")
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[3]),) * 2)
answers = {%s for _ in range(runs)}
print(*answers, len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else "")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on descriptors")
@pytest.mark.parametrize(
    ("asked", "runs"),
    [('agent.run_sync("Hello?").output', 100), ('asyncio.run(agent.run("Hello?")).output', 40)],
    ids=["run_sync", "asyncio.run"],
)
def test_any_number_of_loops_in_turn_leaves_no_connection_open(asked, runs):
    with answering() as (server, url):
        [answer, *left] = printed(ASKS % asked, url, runs, DESCRIPTORS).split()
        assert (answer, server.opened) == ("Hello.", runs + 1)
    assert not left or int(left[0]) < DESCRIPTORS / 2


def chain(error: BaseException) -> list[str]:
    """What a traceback shows before an error, the nearest first."""
    shown: list[str] = []
    before = error.__cause__ or error.__context__
    while before is not None:
        shown.append(f"{type(before).__name__}: {before}")
        before = before.__cause__ or before.__context__
    return shown


def test_the_error_of_a_run_is_raised_as_it_is():
    def fails(_: object) -> str:
        raise LLMError("the model is asleep")

    with pytest.raises(LLMError, match="asleep") as caught:
        Agent(ScriptedModel(fails)).run_sync("Hello?")
    assert chain(caught.value) == []


async def test_where_a_loop_runs_it_is_refused_with_what_to_write():
    with pytest.raises(RuntimeError, match=r"write `await agent.run\(...\)`") as caught:
        Agent(ScriptedModel(lambda _: "Hello.")).run_sync("Hello?")
    assert chain(caught.value) == []


async def test_a_client_that_was_closed_is_made_again():
    with answering() as (server, url):
        model = OpenAIModel("m", base_url=url)
        for _ in range(3):
            async with model:
                await asyncio.gather(*(Agent(model).run("Hello?") for _ in range(2)))
        assert server.opened == 6
