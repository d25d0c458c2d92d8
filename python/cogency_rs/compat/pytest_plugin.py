"""Runs the test suite of any program that uses cogency on our core: `pytest -p cogency_rs.compat.pytest_plugin`."""

from __future__ import annotations

import pytest

from .. import __version__
from . import dropin


def pytest_configure(config: pytest.Config) -> None:
    """Install the core before the suite imports anything."""
    dropin.install()


def pytest_report_header(config: pytest.Config) -> str:
    """Say that the suite runs on our core."""
    made = dropin.installation()
    if made is None:
        return f"cogency-rs {__version__}: not installed"
    return f"cogency-rs {__version__}: in place of {len(made.replacements)} names of cogency {made.version}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session if a test put an original back."""
    missing = _missing()
    if missing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the originals that were back at the end."""
    for name in _missing():
        terminalreporter.write_line(f"cogency-rs: {name} was not ours at the end of the run")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Restore cogency."""
    dropin.uninstall()


def _missing() -> list[str]:
    made = dropin.installation()
    return ["everything"] if made is None else made.missing()
