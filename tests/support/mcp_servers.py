"""MCP servers for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cogency_rs import MCPServer, tool
from support.ports import free_port
from support.waiting import wait_until

HERE = Path(__file__).parent


@tool
def search(word: str) -> str:
    """Searches here."""
    return f"{word} here"


def small(*tools: str, habit: str = "plain", **options: Any) -> MCPServer:
    """A server that starts at once, whose tools run unasked; see `mcp_small`."""
    options = {"approve": "never", **options}
    command = [sys.executable, "-I", "-S", str(HERE / "mcp_small.py"), habit, *tools]
    return MCPServer.stdio(*command, **options)


def program(**options: Any) -> MCPServer:
    """A server made with the SDK, over stdio, whose tools run unasked; see `mcp_program`."""
    options = {"approve": "never", **options}
    return MCPServer.stdio(sys.executable, str(HERE / "mcp_program.py"), **options)


@contextmanager
def listening(*command: str, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a server over HTTP; yields its address and its process when it answers.

    Args:
        command: the command that starts it, with `PORT` in place of its port; `mcp_program` when not given.
        port: its port; any free one when not given.
    """
    port = port or free_port()
    command = command or (sys.executable, str(HERE / "mcp_program.py"), "PORT")
    process = subprocess.Popen(
        [each.replace("PORT", str(port)) for each in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:

        def listens() -> bool:
            assert process.poll() is None, "the server ended"
            with socket.socket() as asking:
                return asking.connect_ex(("127.0.0.1", port)) == 0

        wait_until(listens, "the server does not listen")
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()


def is_running(process: int) -> bool:
    """Whether there is a process with this id; on POSIX only."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
