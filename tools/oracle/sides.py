"""The two sides of a comparison: each a process with one version of the package."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["CHECKOUT", "Side", "package_of"]

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "target" / "oracle"

PATIENCE = 120
"""Seconds for one request; a case that never ends is noticed."""


def package_of(wheel: Path) -> Path:
    """The folder with the package of a wheel. It is unpacked once: a package without dependencies needs no more."""
    folder = FOLDER / hashlib.sha256(wheel.read_bytes()).hexdigest()[:16]
    if not folder.exists():
        unpacked = folder.with_suffix(".new")
        shutil.rmtree(unpacked, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        unpacked.rename(folder)
    return folder


class Side:
    """A process with one version of the package, started when it is asked, and again after it died.

    Args:
        name: what it is called in reports.
        package: the folder that has `cogency_rs`.
        fault: one of `faults.FAULTS`, to see that it is found.
    """

    def __init__(self, name: str, package: Path, fault: str | None = None) -> None:
        self.name = name
        script = CHECKOUT / "tools" / "oracle" / "worker.py"
        self._command = [
            sys.executable,
            "-I",
            "-S",
            str(script),
            str(package),
            *filter(None, [fault]),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def send(self, request: dict[str, Any]) -> None:
        """Send a request; `receive` waits for its answer."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # `receive` says that it has died
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> list[Any] | None:
        """The answers to what was sent; `None` if the process died or took too long."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if not line.endswith(b"\n"):
            self.close()
            return None
        answers: list[Any] = json.loads(line)
        return answers

    def draw(self, request: dict[str, Any]) -> list[Any]:
        """Cases.

        Raises:
            RuntimeError: the process died.
        """
        self.send(request)
        cases = self.receive()
        if cases is None:
            raise RuntimeError(f"{self.name} died when it drew {request}")
        return cases

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            self._process = None
