"""Programs that may come to harm: each runs in a Python of its own, with the modules of these tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]

PRELUDE = """
import asyncio, json, os, signal, sys, threading, time
from pathlib import Path
from support.aftermath import *
from support.tools import block, rounds
from support.turns import carry_out, results_in, types
from cogency_rs import *
"""


def program(code: str, *arguments: Any) -> list[str]:
    """The command that runs `code` behind `PRELUDE`."""
    return [sys.executable, "-c", PRELUDE + textwrap.dedent(code), *map(str, arguments)]


def environment() -> dict[str, str]:
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run(code: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run `code` to its end."""
    return subprocess.run(
        program(code, *arguments),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def printed(code: str, *arguments: Any) -> str:
    """What `code` prints; fail if it does not end in order, or complains."""
    done = run(code, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return done.stdout
