"""Runs cogency 3.3.0's own test suite on our core: the proof that nothing its users rely on has changed.

    python tools/upstream.py [FOLDER]

Fetches the source distribution from the package index, unpacks it in FOLDER (`.upstream`), and runs its tests with
`-p cogency_rs.compat.pytest_plugin`. Fails if a test fails, if fewer tests ran than there are, or if a replaced name
was not ours at the end. Needs the extra `parity`; on a Python that cogency does not support it does nothing, and says
so.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from sdist import fetch

VERSION = "3.3.0"
SHA256 = "a47447d80a7b79d24ec08d7e4db8dff445b7622f7a4c53ff9c062998a5a2cb4a"
TESTS = 385


def run(root: Path, report: Path) -> int:
    """Run the suite on our core; returns pytest's exit code."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "cogency_rs.compat.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    options = [
        "-W",
        "ignore::pytest.PytestDeprecationWarning",
        "--tb=short",
        f"--junit-xml={report}",
    ]
    return subprocess.run([*command, *options], cwd=root, check=False).returncode


def main() -> None:
    """Fetch, run, and count."""
    if sys.version_info >= (3, 13):
        print(f"cogency {VERSION} does not support this Python, so its suite was not run")
        return
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".upstream").resolve()
    root = fetch(folder, "cogency", VERSION, SHA256)
    report = folder / "report.xml"
    code = run(root, report)
    if code:
        sys.exit(f"cogency's own suite does not pass on our core (pytest ended with {code})")
    suite = ElementTree.parse(report).getroot().find("testsuite")
    ran = 0 if suite is None else int(suite.get("tests", 0)) - int(suite.get("skipped", 0))
    if ran < TESTS:
        sys.exit(f"only {ran} of the {TESTS} tests of cogency {VERSION} ran")
    print(f"{ran} of cogency {VERSION}'s own tests pass on our core")


if __name__ == "__main__":
    main()
