"""What the tests of the examples share: a way to run one, and a way to import one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(EXAMPLES))


@pytest.fixture
def examples() -> Path:
    """The folder of the examples."""
    return EXAMPLES


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Run an example as its reader does, in an empty folder; returns what it printed.

    Whatever it writes to stderr fails it: an exception, and any warning, so also what it left open.
    """

    def run(example: str, *arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-W", "error", str(EXAMPLES / example), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    return run
