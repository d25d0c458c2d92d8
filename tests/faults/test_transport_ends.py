"""A program may end, fork or be interrupted while answers are open: it ends as it would without them.

`COGENCY_RS_STRESS_PROGRAMS` says how many programs of each kind are run, 1 if not given; `make stress` runs 12.
`make ends` runs these tests on the installed wheel, with other Pythons.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from cogency_rs.testing import HOLD, ModelServer, Reply
from support.openai_served import DONE, STOP, delta
from support.programs import run

PROGRAMS = int(os.environ.get("COGENCY_RS_STRESS_PROGRAMS", "1"))
STREAMS = 30

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="signals and forks are those of Unix"),
]

OPEN = Reply([delta(content="Hi"), HOLD])
HELLO = Reply([delta(content="Hello"), STOP, DONE])

OPENED = """
import warnings
# From 3.12 on Python says so of every fork of a program with threads.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
from cogency_rs.models import ModelRequest, TextDelta
url, streams = sys.argv[1], int(sys.argv[2])
model = OpenAIModel("m", base_url=url + "/v1", max_retries=0)
HI = ModelRequest([{"role": "user", "content": "Hi"}])

async def opened(count=streams):
    live = [model.stream(HI) for _ in range(count)]
    assert [(await anext(each)).text for each in live] == ["Hi"] * count
    return live

async def whole():
    return "".join([piece.text async for piece in model.stream(HI) if isinstance(piece, TextDelta)])
"""

ENDS: dict[str, tuple[str, int, str]] = {
    "return": ("asyncio.run(opened())", 0, ""),
    "without an end to the loop": (
        "loop = asyncio.new_event_loop(); live = loop.run_until_complete(opened())",
        0,
        "",
    ),
    "sys.exit": (
        """
async def main():
    live = await opened()
    sys.exit(3)
asyncio.run(main())
""",
        3,
        "",
    ),
    "exception": (
        """
async def main():
    live = await opened()
    raise ValueError("no more")
asyncio.run(main())
""",
        1,
        "ValueError: no more",
    ),
    "SIGTERM": (
        """
async def main():
    live = await opened()
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(60)
asyncio.run(main())
""",
        -signal.SIGTERM,
        "",
    ),
    "SIGINT": (
        """
async def main():
    live = await opened()
    asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGINT)
    await asyncio.gather(*(anext(each) for each in live))
asyncio.run(main())
""",
        -signal.SIGINT,
        "KeyboardInterrupt",
    ),
    "daemon threads": (
        """
ready = threading.Barrier(4)
async def main():
    live = await opened(streams // 3)
    ready.wait()
    await anext(live[0])
for _ in range(3):
    threading.Thread(target=asyncio.run, args=[main()], daemon=True).start()
ready.wait()
""",
        0,
        "",
    ),
    "os._exit": ("asyncio.run(opened()); os._exit(4)", 4, ""),
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
        server.replies.clear()


@pytest.mark.parametrize(("code", "status", "words"), ENDS.values(), ids=ENDS)
def test_a_program_ends_with_answers_open(server, code, status, words):
    for _ in range(PROGRAMS):
        server.replies[:] = [OPEN] * STREAMS
        ended = run(OPENED + code, server.url, STREAMS, seconds=30)
        assert ended.returncode == status, ended.stderr[-2000:]
        assert words in ended.stderr
        assert "panicked" not in ended.stderr
        assert bool(ended.stderr.strip()) == bool(words), ended.stderr[-2000:]


FORKS: dict[str, str] = {
    # The child asks, and leaves alone what it has of its parent.
    "os.fork": """
async def main():
    live = await opened(3)
    child = os.fork()
    if not child:
        try:
            os.write(1, asyncio.new_event_loop().run_until_complete(whole()).encode() + b" ")
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    told = asyncio.ensure_future(anext(live[0]))
    print(await whole(), flush=True)
    assert not told.done()
    told.cancel()
asyncio.run(main())
""",
    "multiprocessing": """
import multiprocessing
def child(queue):
    queue.put(asyncio.run(whole()))
async def main():
    live = await opened(3)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=[queue])
    process.start()
    process.join(30)
    assert process.exitcode == 0, process.exitcode
    print(queue.get(), await whole())
asyncio.run(main())
""",
    # As a server does that makes its workers after it has loaded the program.
    "workers": """
print(asyncio.run(whole()), end=" ", flush=True)
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        os.write(1, asyncio.run(whole()).encode() + b" ")
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
""",
}


@pytest.mark.parametrize("code", FORKS.values(), ids=FORKS)
def test_after_a_fork_both_may_ask(server, code):
    for _ in range(PROGRAMS):
        server.replies[:] = [*([] if "opened(" not in code else [OPEN] * 3), *[HELLO] * 3]
        ended = run(OPENED + code, server.url, STREAMS, seconds=30)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
        assert set(ended.stdout.split()) == {"Hello"}


def test_a_fork_while_certificates_are_read_leaves_both_able_to_ask(tmp_path):
    context, bundle = pytest.importorskip("support.certificates").certificate(tmp_path)
    slow = tmp_path / "slow.pem"
    os.mkfifo(slow)
    code = """
from pathlib import Path
slow, bundle = sys.argv[3:]
os.environ["SSL_CERT_FILE"] = slow
said = []
asking = threading.Thread(target=lambda: said.append(asyncio.run(whole())))
asking.start()
with open(slow, "wb") as certificates:  # goes on once the network's thread reads it
    child = os.fork()
    if not child:
        os.environ["SSL_CERT_FILE"] = bundle
        try:
            os.write(1, asyncio.run(whole()).encode() + b" ")
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    certificates.write(Path(bundle).read_bytes())
asking.join()
print(*said)
"""
    with ModelServer([HELLO] * 2, tls=context) as server:
        ended = run(OPENED + code, server.url, STREAMS, slow, bundle, seconds=30)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
        assert ended.stdout.split() == ["Hello", "Hello"]


def test_an_answer_of_the_parent_is_one_error_in_the_child_and_lives_on(server):
    server.replies[:] = [Reply([delta(content="Hi"), HOLD])]
    code = """
async def main():
    [live] = await opened(1)
    child = os.fork()
    if not child:
        try:
            live.aclose().send(None)
        except StopIteration:
            pass
        began = live = None
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    told = asyncio.ensure_future(anext(live))
    await asyncio.wait([told], timeout=0.1)
    assert not told.done()  # its connection is not closed
    told.cancel()
asyncio.run(main())

async def touched():
    from cogency_rs._core import HttpClient, Inbox
    inbox = Inbox()
    client = HttpClient(user_agent="t", connect_timeout=1)
    exchange = client.send(inbox, "GET", url, [], b"")
    child = os.fork()
    if not child:
        try:
            exchange.take()
        except RuntimeError as error:
            os.write(1, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(inbox.socket)
asyncio.run(touched())
"""
    server.replies.append(HELLO)
    ended = run(OPENED + code, server.url, STREAMS, seconds=30)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
    assert "which asked for it; after a fork, ask again" in ended.stdout
