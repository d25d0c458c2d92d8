"""Ends a process in which a test hangs: a plugin of pytest, and the second line after pytest-timeout.

pytest-timeout raises an exception in the main thread. A test that waits in native code never sees it, one that swallows
it goes on, and after a failure it watches no longer. So `GRACE` seconds after its time, a thread of C, which needs no
interpreter, writes the stacks of all threads to stderr and ends the process. The same holds for collecting tests, and
for the end of the process, which waits for threads.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

GRACE = "hang_grace"
"""The setting: how many seconds longer than pytest-timeout this waits."""

_output = pytest.StashKey[int]()
_seconds = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(GRACE, "seconds from a test's timeout until its process is ended", default="60")


def pytest_configure(config: pytest.Config) -> None:
    """Keep stderr as it is now: while a test runs, pytest captures it."""
    assert sys.__stderr__ is not None
    config.stash[_output] = os.dup(sys.__stderr__.fileno())


def _end_after(timeout: float, config: pytest.Config) -> None:
    """End this process so many seconds and the grace from now; with a timeout of 0, as for debugging, never."""
    if timeout > 0:
        seconds = timeout + float(config.getini(GRACE))
        faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[_output])


def _usual(config: pytest.Config) -> float:
    """The timeout of a test that names none."""
    return float(config.getini("timeout") or 0)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """All files are imported here, which takes many times as long as a test on a busy machine."""
    _end_after(5 * _usual(session.config), session.config)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """End nothing between two tests: a worker may wait long for its next one."""
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    item.stash[_seconds] = settings.timeout
    _end_after(settings.timeout, item.config)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Watch what follows a failure too, such as its fixtures: pytest and pytest-timeout have just stopped doing so."""
    if not node.config.getoption("usepdb"):
        _end_after(node.stash.get(_seconds, _usual(node.config)), node.config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    _end_after(_usual(session.config), session.config)
