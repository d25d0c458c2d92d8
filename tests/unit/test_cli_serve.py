"""`cogency-rs serve`: tools of a module as a server, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import commands
from support.mcp_servers import listening
from support.waiting import until

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import Execution, MCPServer, ToolCall
from cogency_rs.execution import execute_calls
from cogency_rs.outside import is_uuid7

MODULE = '''
import asyncio
from dataclasses import dataclass
from cogency_rs import ToolContext, tool

print("loading")

@dataclass
class Point:
    x: int
    y: int

@tool
def move(point: Point, by: int = 1) -> Point:
    """Moves a point.

    Args:
        point: where it is.
        by: how far.
    """
    print("moving")
    return Point(point.x + by, point.y + by)

@tool
def divide(a: float, b: float) -> float:
    if not b:
        raise ZeroDivisionError("by nothing")  # Python's own words depend on its version
    return a / b

@tool
async def count(to: int, context: ToolContext) -> list[int]:
    for number in range(1, to + 1):
        context.emit({"type": "progress", "progress": number, "total": to, "message": "on"})
    return [*range(1, to + 1)]

@tool
async def wait(context: ToolContext) -> str:
    context.emit({"type": "progress", "progress": 0})
    try:
        await asyncio.Event().wait()
    finally:
        open("cancelled", "w").close()

@tool
def key(context: ToolContext) -> str:
    return context.execution_id

@tool
def half() -> str:
    return "half of \\ud83d"

some = [move, divide]
nothing = 5
'''


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "geometry.py").write_text(MODULE)
    return tmp_path


def served(folder: Path, tools: str = "geometry") -> MCPServer:
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    command = [*commands.PROGRAM, "serve", tools]
    return MCPServer.stdio(
        *command, cwd=str(folder), env=environment, name="geometry", approve="never"
    )


async def run(server: MCPServer, *calls: ToolCall, **options: Any) -> list[Any]:
    execution = Execution(tools=await server.tools())
    done = await execute_calls(calls, execution=execution, **options)
    return [each.error or each.value for each in done]


async def test_over_stdio_tools_are_called_checked_and_cancelled(folder):
    events: list[dict[str, Any]] = []
    async with served(folder) as server:
        tools = await server.tools()
        assert [tool.name for tool in tools] == ["move", "divide", "count", "wait", "key", "half"]
        assert tools[0].description == "Moves a point."
        assert tools[0].schema["properties"]["by"]["description"] == "how far."
        calls = [
            ToolCall("move", {"point": {"x": 1, "y": 2}}),
            ToolCall("divide", {"a": 1, "b": 4}),
            ToolCall("divide", {"a": 1, "b": 0}),
            ToolCall("count", {"to": 2}),
            ToolCall("half", {}),
        ]
        assert await run(server, *calls, on_event=events.append) == [
            {"x": 2, "y": 3},
            "0.25",
            "Tool execution failed: ZeroDivisionError: by nothing",
            "[1, 2]",
            "half of \ufffd",
        ]
        assert [(event["progress"], event["total"]) for event in events] == [(1, 2), (2, 2)]

        [key] = await run(server, ToolCall("key", {}, id="the model's"))
        assert is_uuid7(key)

        unchecked = await server.call("move", {"point": {"x": "one"}})
        assert unchecked.error
        assert unchecked.outcome.startswith("Invalid arguments for tool 'move': ")
        unknown = await server.call("nope", {})
        assert unknown.outcome == (
            "Tool 'nope' not registered. Known tools: move, divide, count, wait, key, half"
        )

        began = asyncio.Event()
        call = run(server, ToolCall("wait", {}), on_event=lambda _: began.set())
        task = asyncio.create_task(call)
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until((folder / "cancelled").exists, "the tool is not cancelled")


@pytest.mark.parametrize(
    ("tools", "names"),
    [("geometry:some", ["move", "divide"]), ("geometry:divide", ["divide"])],
)
async def test_a_list_or_one_tool_can_be_named(folder, tools, names):
    async with served(folder, tools) as server:
        assert [tool.name for tool in await server.tools()] == names


LOUD = """
import atexit, ctypes, os, subprocess, sys
from cogency_rs import tool

C = ctypes.CDLL(None) if os.name == "posix" else None

def speak(when):
    sys.stdout.write(f"print {when};")  # stays in a buffer until the end
    sys.__stdout__.write(f"__stdout__ {when};")
    os.write(1, f"file 1 {when};".encode())
    subprocess.run([sys.executable, "-c", f"print('child {when};')"], check=True)
    if C:
        C.printf(f"C {when};".encode())  # stays in a buffer of C's until the end

@tool
def shout() -> str:
    speak("in a tool")
    return "asked: " + sys.stdin.read() + subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.stdin.read(), end='')"], stdout=-1, text=True, check=True
    ).stdout

speak("at import")
atexit.register(speak, "at the end")
"""


def asked(id: int | None, method: str, **params: Any) -> bytes:
    request = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(request if id is None else {**request, "id": id}).encode() + b"\n"


def test_over_stdio_nothing_that_is_printed_is_on_the_wire_whoever_prints_it_and_when(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    with subprocess.Popen(
        [*commands.PROGRAM, "serve", "loud"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as program:
        assert program.stdin
        assert program.stdout
        client = {"name": "test", "version": "1"}
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        requests = (
            asked(1, "initialize", **version),
            asked(None, "notifications/initialized"),
            asked(2, "tools/call", name="shout", arguments={}),
        )
        program.stdin.write(b"".join(requests))
        program.stdin.flush()
        answers = [json.loads(program.stdout.readline()) for _ in range(2)]
        out, err = program.communicate(timeout=60)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["content"] == [{"type": "text", "text": "asked: "}]
    assert (program.returncode, out) == (0, b"")
    ways = ("print", "__stdout__", "file 1", "child", *(["C"] * (os.name == "posix")))
    for when in ("at import", "in a tool", "at the end"):
        assert [way for way in ways if f"{way} {when};".encode() in err] == [*ways]


async def test_over_http_tools_are_called(folder, monkeypatch):
    monkeypatch.chdir(folder)
    command = [*commands.PROGRAM, "serve", "geometry", "--http", "127.0.0.1:PORT"]
    with listening(*command) as (url, _):
        async with MCPServer.http(url, approve="never") as server:
            assert await run(server, ToolCall("divide", {"a": 1, "b": 2})) == ["0.5"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["geometri"], "there is no module geometri; name one as for python -m"),
        (["geometry:all"], "module geometry has no all"),
        (["geometry:nothing"], "geometry:nothing: 5 cannot be a tool"),
        (["empty"], "module empty makes no tools; write @cogency_rs.tool above a function"),
        (["broken"], "broken cannot be imported: ZeroDivisionError: division by zero"),
        (
            ["geometry", "--http", "8000"],
            "--http takes HOST:PORT, such as 127.0.0.1:8000, not 8000",
        ),
    ],
)
def test_a_tool_that_cannot_be_served_is_an_error_in_one_line(folder, args, words):
    (folder / "empty.py").write_text("from geometry import move\n")
    (folder / "broken.py").write_text("1 / 0\n")
    ended = commands.run("serve", *args, cwd=folder)
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.removeprefix("loading\n").count("\n") == 1  # the module prints the first


def test_an_address_in_use_is_an_error_that_says_so(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = commands.run("serve", "geometry", "--http", address, cwd=folder)
    assert ended.code == 2
    assert f"{address} cannot be served at: Address already in use" in ended.err


@commands.POSIX
def test_an_interrupt_ends_the_server(folder, monkeypatch):
    monkeypatch.chdir(folder)
    command = [*commands.PROGRAM, "serve", "geometry", "--http", "127.0.0.1:PORT"]
    with listening(*command) as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_without_the_package_mcp_the_command_says_what_to_install(folder):
    program = "import sys; sys.modules['mcp'] = None; from cogency_rs.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "serve", "geometry"],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr == (
        "cogency-rs: serve needs the package mcp, and mcp is not installed; "
        "run: pip install 'cogency-rs[mcp]'\n"
    )
