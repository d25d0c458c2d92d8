"""Fails a run that leaves something behind: a thread, a process, or too much memory. A plugin of pytest.

Each process that runs tests looks at itself when they have ended, and names the test that began what is left. It looks
in `/proc`, so it finds nothing where there is none, as on macOS.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

MOST_MEMORY = 1_500_000
"""What a process may have used at most, at any time: resident, in kB."""

PATIENCE = 10
"""Seconds that threads and processes which are about to end are waited for."""

LASTING_THREADS = {
    "cogency-rs-net": "those of Tokio, for all answers of a process",
    "python": "of libraries in C, which do not name them, as ours and Python's all are; llama.cpp has some",
}
"""Threads that last as long as their process, by the beginnings of their names, and why they may."""

IDLE = "_work"
"""What a thread for tools that block runs when it waits for the next one; it lasts as long as its process, too."""

LASTING_PROCESSES = {
    "multiprocessing.resource_tracker": "Python's own; it ends with the process that it belongs to",
    "multiprocessing.forkserver": "Python's own; it ends with the process that it belongs to",
}
"""The same for processes, by a part of their command lines."""

MARK = "COGENCY_RS_TESTED_BY"
"""The environment variable by which a program is known to have been started by tests of a process, however deep."""

PROC = Path("/proc")


class LeftBehind:
    """What the tests of this process have left behind."""

    def __init__(self) -> None:
        self.threads: dict[str, str] = dict.fromkeys(_thread_ids(), "")
        self.peak = _peak()
        self.growth: list[tuple[int, str]] = []
        os.environ[MARK] = str(os.getpid())

    def note(self, test: str) -> None:
        """Note what is new since the test before this one: O(threads), since it is asked after each test."""
        for thread in _thread_ids():
            self.threads.setdefault(thread, test)
        peak = _peak()
        if peak > self.peak:
            self.growth.append((peak - self.peak, test))
            self.peak = peak

    def found(self) -> list[str]:
        """A line for each thing that is left, after those that are about to end had their time."""
        gc.collect()
        deadline = time.monotonic() + PATIENCE
        while (left := [*self._threads_left(), *_processes_left()]) and time.monotonic() < deadline:
            threading.Event().wait(PATIENCE / 100)
        return [*left, *self._memory()]

    def _threads_left(self) -> Iterable[str]:
        ours = {str(thread.native_id): thread for thread in threading.enumerate()}
        frames = sys._current_frames()
        for id in _thread_ids():
            test = self.threads.get(id, "the end of the run")
            name = _read(PROC / "self/task" / id / "comm").strip()
            if thread := ours.get(id):
                frame = frames.get(thread.ident or 0)
                is_idle = frame is not None and frame.f_code.co_name == IDLE
                name = "" if is_idle else thread.name
            if test and name and not name.startswith(tuple(LASTING_THREADS)):
                yield f"thread {name}, begun in {test}"

    def _memory(self) -> Iterable[str]:
        if self.peak > MOST_MEMORY:
            most = sorted(self.growth, reverse=True)[:5]
            tests = ", ".join(f"{test} ({grown // 1000} MB more)" for grown, test in most)
            yield f"{self.peak // 1000} MB of memory were used at a time, more than before in {tests}"


def _thread_ids() -> list[str]:
    try:
        return [folder.name for folder in (PROC / "self/task").iterdir()]
    except FileNotFoundError:
        return []


def _peak() -> int:
    """The most resident memory that this process has had, in kB."""
    status = _read(PROC / "self/status").partition("VmHWM:")[2]
    return int(status.split(maxsplit=1)[0]) if status else 0


def _read(file: Path) -> str:
    """A file of `/proc`; empty if what it is about has ended, or is somebody else's."""
    with suppress(OSError):
        return file.read_bytes().decode(errors="replace")
    return ""


def _processes_left() -> Iterable[str]:
    """The programs that the tests of this process started, and what these started, as far as they run."""
    for folder in PROC.glob("[0-9]*"):
        status = _read(folder / "status")
        variables = dict(
            variable.split("=", 1)
            for variable in _read(folder / "environ").split("\0")
            if "=" in variable
        )
        is_child = f"\nPPid:\t{os.getpid()}\n" in status
        if not (is_child or variables.get(MARK) == str(os.getpid())) or "State:\tZ" in status:
            continue
        command = _read(folder / "cmdline").replace("\0", " ").strip()
        if command and not any(part in command for part in LASTING_PROCESSES):
            test = variables.get("PYTEST_CURRENT_TEST", "a test")
            yield f"process {folder.name}, {command[:200]!r}, begun in {test}"


_noted = pytest.StashKey[LeftBehind]()
_lines = pytest.StashKey[list[str]]()


def _runs_tests(config: pytest.Config) -> bool:
    """Whether tests run in this process: not if it only hands them to workers."""
    return hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_lines] = []
    if _runs_tests(session.config):
        session.config.stash[_noted] = LeftBehind()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        item.config.stash[_noted].note(item.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    lines = session.config.stash[_lines]
    if noted := session.config.stash.get(_noted, None):
        lines += noted.found()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left behind"] = lines
    elif lines and session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker has found; one that crashed has found nothing, and fails the run anyway."""
    node.config.stash[_lines] += getattr(node, "workeroutput", {}).get("left behind", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if lines := terminalreporter.config.stash[_lines]:
        terminalreporter.section("left behind by tests", red=True)
        for line in lines:
            terminalreporter.write_line(line)
