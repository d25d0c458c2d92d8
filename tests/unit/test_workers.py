"""Worker threads: programs that end or fork while tools block, or that bound the number of threads."""

import subprocess
import sys
import textwrap
import time

import pytest

from cogency_rs import ConfigError, set_worker_threads


def run_python(code):
    """Run code in a Python process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


PROGRAM = """
import asyncio, os, sys, time
from cogency_rs import Execution, ToolCall, execute_tools, set_worker_threads, worker_threads

class Busy:
    name, description, schema = "busy", "", {}
    def execute(self, seconds=30, **_):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.0005)

class Endless:
    name, description, schema, blocking = "endless", "", {}, True
    async def execute(self, **_):
        while True:
            await asyncio.sleep(0.0005)

def batch(*names, seconds=30, **options):
    calls = [ToolCall(name, {"seconds": seconds}) for name in names]
    execution = Execution(storage=None, tools=[Busy(), Endless()])
    return execute_tools(calls, execution=execution, user_id="", conversation_id="", **options)
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "asyncio.run(batch('busy', 'busy', 'endless', tool_timeout=0.05))", id="after a timeout"
        ),
        pytest.param(
            """
async def main():
    task = asyncio.create_task(batch('busy', 'busy', 'endless'))
    await asyncio.sleep(0.05)
    sys.exit(0)
asyncio.run(main())
""",
            id="in the middle of a batch",
        ),
        pytest.param(
            """
loop = asyncio.new_event_loop()
task = loop.create_task(batch('busy', seconds=0.1, tool_timeout=5))
loop.run_until_complete(asyncio.sleep(0.05))
tasks = asyncio.all_tasks(loop)
loop.close()
time.sleep(0.2)
for task in tasks:
    task._log_destroy_pending = False  # or asyncio reports every task that its loop leaves
""",
            id="with its loop closed in the middle of a batch",
        ),
    ],
)
def test_a_program_that_ends_while_tools_block_ends_at_once_and_without_an_error(code):
    start = time.monotonic()
    done = run_python(PROGRAM + code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - start < 20  # seconds; the tools would take 30


def test_a_forked_child_runs_batches_of_its_own():
    done = run_python(
        PROGRAM
        + """
asyncio.run(batch('busy', seconds=0, tool_timeout=5))
child = os.fork()
if child == 0:
    asyncio.run(batch('busy', 'busy', seconds=0.01, tool_timeout=5))
    os._exit(7)
_, status = os.waitpid(child, 0)
asyncio.run(batch('busy', seconds=0, tool_timeout=5))
print(os.waitstatus_to_exitcode(status))
"""
    )
    assert done.stdout == "7\n", done.stderr


def test_the_number_of_worker_threads_is_set_before_the_first_one_starts():
    done = run_python(
        PROGRAM
        + """
import threading
from cogency_rs import ConfigError
set_worker_threads(2)
class Count:
    name, description, schema = "count", "", {}
    now = most = 0
    lock = threading.Lock()
    def execute(self, **_):
        with self.lock:
            Count.now += 1
            Count.most = max(Count.most, Count.now)
        time.sleep(0.02)
        with self.lock:
            Count.now -= 1
execution = Execution(storage=None, tools=[Count()])
calls = [ToolCall("count", {})] * 6
asyncio.run(execute_tools(calls, execution=execution, user_id="", conversation_id=""))
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
ran = []
class Once:
    name, description, schema = "once", "", {}
    def execute(self, **_):
        ran.append(1)
        time.sleep(1.5)
execution = Execution(storage=None, tools=[Once()])
calls = [ToolCall("once", {})] * 3
asyncio.run(execute_tools(calls, execution=execution, user_id="", conversation_id="", tool_timeout=0.75))
time.sleep(1.5)
print(len(ran))
"""
    )
    assert done.stdout == "1\n", done.stderr
