"""A test that hangs ends its process, with the stacks of all threads, and fails the run; so does what follows it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import POSIX
from support.programs import environment

pytestmark = POSIX

SCOPE = "asyncio_default_fixture_loop_scope=function"  # unset, it is warned of

DEAF = """
import ctypes, signal, threading, time
import pytest

def wait_in_c():
    "Waits for a signal while all are blocked, and never gives the interpreter away."
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    ctypes.PyDLL(None).pause()
"""

HANGS = {
    "in native code": "def test_it():\n    wait_in_c()\n",
    "in exceptions that it swallows": (
        "def test_it():\n"
        "    while True:\n"
        "        try:\n"
        "            threading.Event().wait()\n"
        "        except BaseException:\n"
        "            pass\n"
    ),
    "in a fixture after a failure": (
        "@pytest.fixture\n"
        "def late():\n"
        "    yield\n"
        "    wait_in_c()\n"
        "def test_it(late):\n"
        "    assert False\n"
    ),
    "while it is collected": "wait_in_c()\ndef test_it():\n    pass\n",
    "in a thread that its process waits for": (
        "def test_it():\n    threading.Thread(target=threading.Event().wait).start()\n"
    ),
}


def run(
    folder: Path, test: str, *options: str, timeout: float = 0.5
) -> subprocess.CompletedProcess[str]:
    """Run pytest on a file whose tests are ended three seconds after their timeout."""
    (folder / "test_it.py").write_text(DEAF + test)
    limits = ("-o", f"timeout={timeout}", "-o", "hang_grace=3", "-o", SCOPE)
    plugins = ("-p", "no:cacheprovider", "-p", "support.hanging")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *limits, *options, "test_it.py"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("test", HANGS.values(), ids=HANGS)
def test_a_run_that_hangs_is_ended(tmp_path, test):
    done = run(tmp_path, test)
    assert done.returncode == 1
    assert re.search(
        r"Timeout \(0:00:0[35]\.500000\)!", done.stderr
    )  # all files have five times as long
    assert "Thread 0x" in done.stderr


def test_a_worker_that_hangs_is_ended_and_its_test_named(tmp_path):
    done = run(tmp_path, HANGS["in native code"], "-n", "1")
    assert done.returncode == 1
    assert "crashed while running 'test_it.py::test_it'" in done.stdout
    assert "in wait_in_c" in done.stderr


def test_a_test_in_time_is_left_alone(tmp_path):
    done = run(tmp_path, "def test_it():\n    pass\n", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_each_test_has_as_long_as_it_says(tmp_path):
    test = "@pytest.mark.timeout(2)\n" + HANGS["in native code"]
    assert "Timeout (0:00:05)!" in run(tmp_path, test).stderr
