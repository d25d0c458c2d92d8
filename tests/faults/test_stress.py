"""Many turns with tools of all kinds: each call has exactly one result, and nothing is left over."""

import asyncio
import contextlib
import gc
import json
import os
import random
import sys
import threading
import time

import pytest

from cogency_rs import Accumulator, CallOptions, Execution, ToolResult, parse_tokens
from cogency_rs.execution import worker_threads
from support.tools import rounds
from support.ways import in_both_ways

pytestmark = pytest.mark.concurrency

resource = pytest.importorskip("resource", reason="needs the module resource, to measure memory")
uvloop = pytest.importorskip("uvloop")

TURNS = int(os.environ.get("COGENCY_RS_STRESS_TURNS", "400"))
AT_ONCE = 50


class Tool:
    description, schema = "", {}

    def __init__(self, name, execute, *, blocking=False):
        self.name, self.execute, self.blocking = name, execute, blocking


running = 0


@contextlib.contextmanager
def counted():
    """Count the coroutines that run a tool at present."""
    global running
    running += 1
    try:
        yield
    finally:
        running -= 1


async def fast(**_):
    with counted():
        return ToolResult(outcome="fast")


async def slow(**_):
    with counted():
        await rounds(20)
        return "slow"


async def raises(**_):
    with counted():
        await asyncio.sleep(0)
        raise ValueError("raised")


async def hangs(**_):
    with counted():
        await asyncio.Event().wait()


async def cancels_itself(**_):
    raise asyncio.CancelledError


def blocks(**_):
    time.sleep(0)  # lets other threads run
    return ToolResult(outcome="blocked", content=[1])


async def marked(**_):
    await rounds(5)


TOOLS = [
    *(Tool(tool.__name__, tool) for tool in (fast, slow, raises, hangs, cancels_itself, blocks)),
    Tool("marked", marked, blocking=True),
]


class Log:
    def __init__(self):
        self.rows = []

    async def save_message(self, conversation_id, user_id, type, content, timestamp=None):
        await asyncio.sleep(0)
        self.rows.append((type, content))


async def turn(pick):
    """Run a turn, perhaps cancel it somewhere, and check its log; returns how many calls were saved."""
    log = Log()
    calls = [{"name": pick.choice(TOOLS).name, "args": {}} for _ in range(pick.randrange(6))]
    execution = Execution(storage=log, tools=TOOLS)
    accumulator = Accumulator(
        "u", "c", execution=execution, calls=CallOptions(timeout=0.01), max_failures=99
    )
    events = accumulator.process(parse_tokens(f"so<execute>{json.dumps(calls)}</execute>"))
    task = asyncio.ensure_future(drain(events))
    if pick.random() < 0.3:
        await rounds(pick.randrange(200))
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    saved = [content for type, content in log.rows if type == "call"]
    results = [json.loads(content) for type, content in log.rows if type == "result"]
    assert [len(batch) for batch in results] == ([len(saved)] if saved else [])
    return len(saved)


async def drain(events):
    async with contextlib.aclosing(events):
        async for _ in events:
            pass


async def many(seed):
    pick = random.Random(seed)
    tasks = set(asyncio.all_tasks())
    saved = 0
    for _ in range(0, TURNS, AT_ONCE):
        saved += sum(await asyncio.gather(*(turn(pick) for _ in range(AT_ONCE))))
    assert set(asyncio.all_tasks()) == tasks
    return saved


@in_both_ways
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_every_call_has_one_result_and_nothing_is_left_over(loop, caplog):
    caplog.set_level("CRITICAL", "cogency_rs")  # pytest would keep every logged traceback
    threads = threading.active_count()
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(many(0))  # creates what is created only once per process
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert runner.run(many(1)) > TURNS
        gc.collect()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert running == 0
    assert threading.active_count() <= threads + worker_threads()
    if sys.platform == "linux":  # where `ru_maxrss` is in KiB; other systems have other units
        assert grown < 20_000
