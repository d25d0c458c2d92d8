"""The command line as the tests run it, and how a run of it ended."""

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

COLOURS = ("FORCE_COLOR", "TTY_COMPATIBLE", "PY_COLORS", "NO_COLOR", "COLUMNS")
"""What in an environment changes how the same output looks."""


@dataclass
class Ended:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Its output as lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**changes: str) -> dict[str, str]:
    """The environment, with nothing in it that asks for colour or a width, in UTC."""
    kept = {name: value for name, value in os.environ.items() if name not in COLOURS}
    return kept | {"TZ": "UTC", "PYTHONIOENCODING": "utf-8"} | changes


def run(*args: object, stdin: bytes = b"", cwd: Path | None = None, **changes: str) -> Ended:
    """Run the command line as a program of its own.

    Args:
        args: behind the program's name.
        stdin: all of its standard input.
        cwd: where it runs.
        changes: of its environment.
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
