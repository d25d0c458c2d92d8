"""`run_sync`: each call has a loop of its own, leaves nothing open, and raises what the run raised and nothing more.

`make stress` makes 10,000 runs with 128 descriptors.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import pytest

from cogency_rs import Agent, OpenAIModel
from cogency_rs.errors import LLMError
from cogency_rs.testing import ScriptedModel
from support.openai_served import DONE, STOP, delta
from support.programs import printed

RUNS = int(os.environ.get("COGENCY_RS_STRESS_SYNC_RUNS", "100"))
DESCRIPTORS = 32 if RUNS < 1000 else 128
"""A limit on open files that is well below the number of runs."""

BODY = delta(content="Hello.") + STOP + DONE


class Answering(BaseHTTPRequestHandler):
    """Answers each request in the same way and keeps the connection open, as the services of providers do."""

    protocol_version = "HTTP/1.1"
    # Else the body waits 40 ms for the client's word that it has the head.
    disable_nagle_algorithm = True

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
from cogency_rs.testing import ScriptedModel
url, file, runs, descriptors = sys.argv[1:]
gc.disable()  # nothing may depend on it
agent = Agent(%s, storage=%s)
agent.run_sync("Hello?")
resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors),) * 2)
answers = {%s for _ in range(int(runs))}
print(*answers, len(os.listdir("/dev/fd")))
"""

SYNC, LOOP = 'agent.run_sync("Hello?").output', 'asyncio.run(agent.run("Hello?")).output'
HTTP, SCRIPTED = 'OpenAIModel("m", base_url=url)', 'ScriptedModel(lambda _: "Hello.")'

WAYS = {
    "run_sync, over HTTP": (HTTP, "None", SYNC),
    "asyncio.run, over HTTP": (HTTP, "None", LOOP),
    "run_sync, over HTTP, with a log in a file": (HTTP, "SQLite(file)", SYNC),
    "run_sync, without a connection, with a log in a file": (SCRIPTED, "SQLite(file)", SYNC),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on descriptors")
@pytest.mark.timeout(60 + RUNS)
@pytest.mark.parametrize(("model", "storage", "asked"), WAYS.values(), ids=WAYS)
def test_any_number_of_loops_in_turn_leaves_nothing_open(tmp_path, model, storage, asked):
    with answering() as (server, url):
        code = ASKS % (model, storage, asked)
        told = (url, tmp_path / "log.db", RUNS, DESCRIPTORS)
        answer, left = printed(code, *told, seconds=60 + RUNS).split()
        assert answer == "Hello."
        # Without TLS each request has a connection of its own.
        assert (server.opened > RUNS) if model == HTTP else server.opened == 0
    assert int(left) < DESCRIPTORS / 2


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
        model, opened = OpenAIModel("m", base_url=url), [0]
        for _ in range(3):
            async with model:
                await asyncio.gather(
                    *(Agent(model, dialect="cogency").run("Hello?") for _ in range(2))
                )
            opened.append(server.opened)
        # Of two runs at once, the second may get the connection of the first.
        assert all(before < after <= before + 2 for before, after in pairwise(opened))
