"""The storage of the guide passes the tests that every log passes, run as the guide says."""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cogency_rs.errors import StorageError
from support.pages import CHECKOUT, blocks_of
from world import doors
from world.check import check
from world.plan import draw

_MODULE, _TESTS, _MAKE = blocks_of(CHECKOUT / "docs" / "add-a-storage.md")

# A reader puts this into a file, and imports it in the test file next to it.
_made = ModuleType("jsonlines_log")
exec(compile(_MODULE.code, _MODULE.name, "exec"), vars(_made))
exec(compile(_MAKE.code, _MAKE.name, "exec"), vars(_made))
sys.modules["jsonlines_log"] = _made
exec(compile(_TESTS.code, _TESTS.name, "exec"))


def test_it_carries_worlds() -> None:
    with doors.opened():
        for seed in range(1, 11):
            _, faults = check(draw(seed, "jsonlines_log:make", programs=1))
            assert not faults, f"{seed}: {faults}"


async def test_half_a_line_is_not_read(tmp_path: Path) -> None:
    """A reader can come while a line is written: the system writes a long one page by page."""
    log = _made.JsonLinesLog(tmp_path)
    await log.append("c", rows=[("user", "whole", 1.0)])
    with (tmp_path / "c.jsonl").open("ab") as file:
        file.write(b'{"user": "", "rows": [["user", "ha')
    assert [row["content"] for row in (await log.read("c")).rows] == ["whole"]
    log.close()


async def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    log = _made.JsonLinesLog(tmp_path)
    await log.append("c", rows=[("user", "first", 1.0)])
    size = (tmp_path / "c.jsonl").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
    try:
        with pytest.raises(StorageError, match="the disk is full"):
            await log.append("c", rows=[("user", "second", 2.0)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    await log.append("c", rows=[("user", "third", 3.0)])
    assert [row["content"] for row in (await log.read("c")).rows] == ["first", "third"]
    log.close()
