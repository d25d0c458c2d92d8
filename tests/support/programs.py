"""Runs programs, each in a Python process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable
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
from cogency_rs.errors import *
"""


def printed_by(file: Path, *arguments: str, cwd: Path, flags: Iterable[str] = ()) -> str:
    """What a program in a file prints; fails if it does not end with code 0, or writes to stderr, as warnings do.

    Args:
        file: the program.
        arguments: its arguments.
        cwd: the folder that it runs in.
        flags: further options of Python, after those that make every warning an error.
    """
    ran = subprocess.run(
        [sys.executable, "-W", "error", *flags, str(file), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def program(code: str, *arguments: Any) -> list[str]:
    """The command that runs `code` after `PRELUDE`."""
    return [sys.executable, "-c", PRELUDE + textwrap.dedent(code), *map(str, arguments)]


def environment() -> dict[str, str]:
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def started(code: str, *arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """Start `code` as it is, without `PRELUDE`; `options` are those of `Popen`.

    Warnings are ignored: what a program imports, such as cogency, may warn.
    """
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), text=True, **options)


def run(code: str, *arguments: Any, seconds: float = 100) -> subprocess.CompletedProcess[str]:
    """Run `code`, after `PRELUDE`, to its end; fails if that takes more than these `seconds`."""
    return subprocess.run(
        program(code, *arguments),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def printed(code: str, *arguments: Any, seconds: float = 100) -> str:
    """What `code` prints, after `PRELUDE`; fails if it does not end with code 0, or writes to stderr."""
    done = run(code, *arguments, seconds=seconds)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return done.stdout
