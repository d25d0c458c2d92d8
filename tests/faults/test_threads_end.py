"""A thread ends soon after what it does was given up, whatever it was given to read."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import Any

import pytest

from cogency_rs import Execution, MCPServer, ToolCall, execute_tools
from cogency_rs.tools import files, folder, workers
from cogency_rs.tools.files import file_tools
from support.waiting import until

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.concurrency,
    pytest.mark.skipif(os.name != "posix", reason="needs the processes of POSIX"),
]

# What it starts leaves its group and keeps its standard error open; told to, it writes there without end.
SERVER = r"""
import json, subprocess, sys
habit, note = sys.argv[1:]
child = {
    "silent": "import time; time.sleep(600)",
    "loud": "import sys\nwhile True: sys.stderr.write('a' * 1000 + '\\n')",
}
nothing = subprocess.DEVNULL
command = [sys.executable, "-c", child[habit]]
started = subprocess.Popen(command, start_new_session=True, stdin=nothing, stdout=nothing)
print(started.pid, file=open(note, "w"), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        info = {"name": "s", "version": "1"}
        answer = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
    elif "id" in message:
        error = {"code": -32601, "message": ""}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
print("the last line", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("habit", ["silent", "loud"])
async def test_no_thread_reads_on_for_what_a_server_left_behind(habit, tmp_path):
    note = tmp_path / "child"
    arguments = ["-IS", "-c", SERVER, habit, str(note)]

    def is_read() -> bool:
        return "errors of parent" in [each.name for each in threading.enumerate()]

    try:
        async with MCPServer.stdio(sys.executable, *arguments, name="parent"):
            assert is_read()
        await until(lambda: not is_read(), "a thread is left")
    finally:
        os.kill(int(note.read_text()), 9)


CALLS: dict[str, dict[str, Any]] = {
    "list_files": {"recursive": True},
    "search_files": {"text": "nowhere"},
    "read_file": {"path": "large", "first_line": 10**9},
}


@pytest.mark.parametrize(("name", "args"), CALLS.items(), ids=CALLS)
async def test_a_tool_for_files_that_was_given_up_looks_at_nothing_more(
    name, args, tmp_path, monkeypatch
):
    for number in range(50):
        (tmp_path / f"{number}").write_text("text\n" * 50)
    (tmp_path / "large").write_text("text\n" * 5_000)
    began, goes_on = threading.Event(), threading.Event()
    looks: list[str] = []

    def look() -> None:
        looks.append(threading.current_thread().name)
        began.set()
        goes_on.wait(60)
        workers.end_if_given_up()

    for place in (files, folder):
        monkeypatch.setattr(place, "end_if_given_up", look)
    execution = Execution(tools=file_tools(tmp_path))
    running = asyncio.ensure_future(execute_tools([ToolCall(name, args)], execution=execution))
    await asyncio.to_thread(began.wait, 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    goes_on.set()
    busy = workers._workers
    await until(lambda: busy._idle == busy.started, "a thread goes on")
    assert len(looks) == 1
