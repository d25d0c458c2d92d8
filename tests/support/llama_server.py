"""A real server of llama.cpp, with a model that is made for the test; see `tiny_model`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["LlamaServer", "llama_server", "needs_llama"]

needs_llama = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None,
    reason="llama.cpp's server comes with the package xllamacpp, which is not installed",
)


@dataclass(frozen=True)
class LlamaServer:
    """A server that runs.

    Attributes:
        url: its address, with the path of the API.
        log: the server's log file.
    """

    url: str
    log: Path

    @property
    def cancelled(self) -> int:
        """How many answers it has left unfinished because the client stopped reading."""
        return self.log.read_text(errors="replace").count("cancel task")


@contextmanager
def llama_server(model: Path, *keys: str) -> Iterator[LlamaServer]:
    """Serve a model while the block lasts.

    Args:
        model: the file.
        keys: the keys that it accepts; if there are none, it answers every request.
    """
    program = Path(__file__).with_name("llama_program.py")
    log = model.with_suffix(".log")
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, str(program), str(model), *keys],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as server,
    ):
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address, f"the server did not start:\n{log.read_text(errors='replace')}"
            yield LlamaServer(f"{address}/v1", log)
        finally:
            server.kill()
