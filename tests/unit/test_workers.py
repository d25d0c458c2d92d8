"""Worker threads: programs that end or fork while tools block, or that bound the number of threads."""

import subprocess
import sys
import textwrap

import pytest

from cogency_rs.errors import ConfigError
from cogency_rs.execution import set_worker_threads
from support.programs import environment

pytestmark = pytest.mark.concurrency


def run_python(code):
    """Run code in a Python process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    env = environment()
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


PROGRAM = """
import asyncio, os, sys, threading, time
from cogency_rs import CallOptions, Execution, ToolCall, execute_tools
from cogency_rs.execution import set_worker_threads, worker_threads
from support.waiting import until

begun, released, ended = [], threading.Event(), []

class Quick:
    name, description, schema = "quick", "", {}
    def execute(self, **_):
        pass

class Busy:
    name, description, schema = "busy", "", {}
    def execute(self, **_):
        begun.append(1)
        while not released.is_set():
            time.sleep(0)  # runs Python all the time, as a tool does that computes
        ended.append(1)

class Endless:
    name, description, schema, blocking = "endless", "", {}, True
    async def execute(self, **_):
        begun.append(1)
        while True:
            await asyncio.sleep(0)

async def begins(count):
    await until(lambda: len(begun) >= count, "a call does not begin")

def batch(*names, more=(), timeout=None):
    calls = [ToolCall(name, {}) for name in names]
    execution = Execution(storage=None, tools=[Quick(), Busy(), Endless(), *more])
    return execute_tools(calls, execution=execution, calls=CallOptions(timeout=timeout))
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "asyncio.run(batch('busy', 'busy', 'endless', timeout=0.05))", id="after a timeout"
        ),
        pytest.param(
            """
async def main():
    task = asyncio.create_task(batch('busy', 'busy', 'endless'))
    await begins(3)
    sys.exit(0)
asyncio.run(main())
""",
            id="in the middle of a batch",
        ),
        pytest.param(
            """
set_worker_threads(1)
loop = asyncio.new_event_loop()
task = loop.create_task(batch('busy', timeout=60))
loop.run_until_complete(begins(1))
tasks = asyncio.all_tasks(loop)
loop.close()
released.set()
asyncio.run(batch('quick'))  # in the same thread, after the call whose loop is closed
assert ended
for task in tasks:
    task._log_destroy_pending = False  # or asyncio reports every task that its loop leaves
""",
            id="with its loop closed in the middle of a batch",
        ),
    ],
)
def test_a_program_that_ends_while_tools_block_ends_at_once_and_without_an_error(code):
    done = run_python(PROGRAM + code)  # the tools never end
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_forked_child_runs_batches_of_its_own():
    done = run_python(
        PROGRAM
        + """
asyncio.run(batch('quick', timeout=60))
child = os.fork()
if child == 0:
    asyncio.run(batch('quick', 'quick', timeout=60))
    os._exit(7)
_, status = os.waitpid(child, 0)
asyncio.run(batch('quick', timeout=60))
print(os.waitstatus_to_exitcode(status))
"""
    )
    assert done.stdout == "7\n", done.stderr


def test_the_number_of_worker_threads_is_set_before_the_first_one_starts():
    done = run_python(
        PROGRAM
        + """
from cogency_rs.errors import ConfigError
set_worker_threads(2)
class Count:
    name, description, schema = "count", "", {}
    now = most = 0
    lock, pair = threading.Lock(), threading.Barrier(2)
    def execute(self, **_):
        with self.lock:
            Count.now += 1
            Count.most = max(Count.most, Count.now)
        self.pair.wait()
        with self.lock:
            Count.now -= 1
asyncio.run(batch(*["count"] * 6, more=[Count()]))
print(worker_threads(), Count.most)
try:
    set_worker_threads(3)
except ConfigError as error:
    print("refused")
"""
    )
    assert done.stdout == "2 2\nrefused\n", done.stderr


@pytest.mark.parametrize("count", [0, -1])
def test_a_bound_below_1_worker_thread_is_refused(count):
    with pytest.raises(ConfigError, match=f"there must be at least 1 worker thread, got {count}"):
        set_worker_threads(count)


def test_a_blocking_call_that_is_given_up_while_it_waits_for_a_thread_never_runs():
    done = run_python(
        PROGRAM
        + """
set_worker_threads(1)
asyncio.run(batch("busy", "busy", "busy", timeout=1))
released.set()
asyncio.run(batch("quick"))  # in the same thread, after all that wait for it
print(len(begun))
"""
    )
    assert done.stdout == "1\n", done.stderr
