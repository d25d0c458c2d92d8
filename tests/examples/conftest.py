"""Fixtures for the tests of the examples: their folder, and a way to run one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.programs import printed_by

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def examples() -> Path:
    """The folder of the examples."""
    return EXAMPLES


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Run an example as its reader does, in an empty folder; returns what it printed.

    The test fails if the example writes to stderr: an exception or any warning, for instance about an open file.
    """

    def run(example: str, *arguments: str) -> str:
        return printed_by(EXAMPLES / example, *arguments, cwd=tmp_path)

    return run
