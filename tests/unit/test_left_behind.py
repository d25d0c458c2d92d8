"""A run whose tests leave something behind fails, and names the test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.programs import environment

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no /proc")

BEGIN = """
import subprocess, sys, threading
import support.left_behind
support.left_behind.PATIENCE = 0.1
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
def test_nothing():
    pass
"""

LEFT = {
    "a thread": (
        "def test_it():\n"
        "    threading.Thread(target=threading.Event().wait, name='mine', daemon=True).start()\n",
        "thread mine, begun in test_it.py::test_it\n",
    ),
    "a program": (
        "def test_it():\n    global kept\n    kept = subprocess.Popen(SLEEP)\n",
        "begun in test_it.py::test_it (call)\n",
    ),
    "a program that another one started": (
        "def test_it():\n"
        "    starts = f'import subprocess; subprocess.Popen({SLEEP})'\n"
        "    subprocess.run([sys.executable, '-c', starts], check=True)\n",
        "begun in test_it.py::test_it (call)\n",
    ),
    "memory": (
        "support.left_behind.MOST_MEMORY = 200_000\n"
        "def test_it():\n    bytearray(b'x') * 200_000_000\n",
        " more than before in test_it.py::test_it (",
    ),
}
ENDED = {
    "a thread": "def test_it():\n"
    "    thread = threading.Thread(target=lambda: None)\n    thread.start()\n    thread.join()\n",
    "a program": "def test_it():\n    subprocess.run([sys.executable, '-c', ''], check=True)\n",
}


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(BEGIN + test)
    plugins = ("-p", "no:cacheprovider", "-p", "support.left_behind")
    scope = ("-o", "asyncio_default_fixture_loop_scope=function")  # unset, it is warned of
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *scope, *options, "test_it.py"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(autouse=True)
def _programs_are_ended(tmp_path):
    """What these tests leave behind on purpose."""
    yield
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cwd").readlink() == tmp_path:
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["here", "in a worker"])
@pytest.mark.parametrize(("test", "line"), LEFT.values(), ids=LEFT)
def test_what_is_left_behind_is_named_and_fails_the_run(tmp_path, test, line, options):
    done = run(tmp_path, test, *options)
    assert done.returncode == 1, done.stdout
    assert "left behind by tests" in done.stdout
    assert line in done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("test", ENDED.values(), ids=ENDED)
def test_what_has_ended_is_not(tmp_path, test):
    done = run(tmp_path, test)
    assert (done.returncode, done.stderr) == (0, "")
    assert "left behind" not in done.stdout


BLOCKING = """
import asyncio
from cogency_rs.tools.workers import in_thread
def run(function):
    has_begun = threading.Event()
    async def main():
        work = asyncio.ensure_future(in_thread(lambda: has_begun.set() or function()))
        while not has_begun.is_set():
            await asyncio.wait([work], timeout=0.001)
    asyncio.run(main())
"""


@pytest.mark.parametrize(("function", "code"), [("int", 0), ("threading.Event().wait", 1)])
def test_a_thread_for_tools_that_block_is_left_only_while_one_blocks(tmp_path, function, code):
    done = run(tmp_path, f"{BLOCKING}\ndef test_it():\n    run({function})\n")
    assert done.returncode == code, done.stdout
    assert ("thread cogency-rs-1, begun in test_it.py::test_it" in done.stdout) == bool(code)
