"""Runs the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "cogency_rs"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")

COLOURS = ("FORCE_COLOR", "TTY_COMPATIBLE", "PY_COLORS", "NO_COLOR", "COLUMNS", "LINES")
"""The environment variables that change how output looks."""


@dataclass
class Ended:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The values of its output, which is lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**changes: str) -> dict[str, str]:
    """The environment variables, without those for colours and widths, and with UTC as the time zone."""
    kept = {name: value for name, value in os.environ.items() if name not in COLOURS}
    return kept | {"TZ": "UTC", "PYTHONIOENCODING": "utf-8"} | changes


def run(*args: object, stdin: bytes = b"", cwd: Path | None = None, **changes: str) -> Ended:
    """Run the command line as a program of its own.

    Args:
        args: its arguments.
        stdin: all of its standard input.
        cwd: the folder that it runs in.
        changes: environment variables to set.
    """
    done = subprocess.run(
        [*PROGRAM, *map(str, args)],
        input=stdin,
        capture_output=True,
        env=environment(**changes),
        cwd=cwd,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
