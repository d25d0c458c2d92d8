"""MCP servers whose start or list of tools never ends: an error names the server and ends it; others are left alone."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, MCPServer, RunLimits
from cogency_rs.errors import ConfigError, StopReason, ToolError
from cogency_rs.servers import ServerGroup, answers, connection
from cogency_rs.servers.answers import Answers, MessageSize
from cogency_rs.testing import ScriptedModel
from support.mcp_odd import OddHttp
from support.mcp_servers import is_running, small
from support.waiting import until

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.name != "posix", reason="needs the processes of POSIX"),
]

SERVER = r"""
import json, os, sys
NOTICE = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n'
mode, note = sys.argv[1:]
print(os.getpid(), file=open(note, "a"), flush=True)
def say(id, result): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
def endless():
    while True: sys.stdout.write("a" * 65536)
def tool(name, words=""): return {"name": name, "description": words, "inputSchema": {"type": "object"}}
page = 0
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if mode == method == "initialize" or mode == "line of initialize":
        if mode != method: endless()
    elif method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "s", "version": "1"}
        say(id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        page += 1
        print("listed", file=open(note + ".lists", "a"), flush=True)
        if mode == "silence": pass
        elif mode == "pages": say(id, {"tools": [], "nextCursor": str(page)})
        elif mode == "bytes": say(id, {"tools": [tool(f"t{page}", "d" * 100_000)], "nextCursor": str(page)})
        elif mode == "tools": say(id, {"tools": [tool(f"t{n}") for n in range(5_000)]})
        elif mode == "line": endless()
        elif mode == "notices":
            say(id, {"tools": [tool("t")]})
            sys.stdout.write(NOTICE * 20_000)
            sys.stdout.flush()
        else: say(id, {"tools": [tool("t")]})
    elif method == "tools/call": endless()
    elif id is not None:
        error = {"code": -32601, "message": ""}
        print(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}), flush=True)
"""


def server(mode: str, note: Path, **options: Any) -> MCPServer:
    options = {"name": "odd", "start_timeout": 60.0, "approve": "never"} | options
    return MCPServer.stdio(sys.executable, "-IS", "-c", SERVER, mode, str(note), **options)


def started_in(note: Path) -> list[int]:
    """The processes that were started."""
    return [int(line) for line in note.read_text().split()]


async def have_ended(note: Path) -> None:
    """Wait until all programs that were started have ended."""
    started = started_in(note)
    assert started
    await until(lambda: not any(map(is_running, started)), "a server is left")


@pytest.fixture(autouse=True)
def short_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 2**20)


LISTS = {
    "silence": "server 'odd' did not list its tools within 2 s",
    "pages": "server 'odd' lists its tools on more than 1,000 pages, so none of them is used",
    "bytes": "server 'odd' lists more than 1 MiB of tools, so none of them is used",
    "tools": "server 'odd' lists more than 2,000 tools, so none of them is used",
    "line": "server 'odd' did not list its tools: it sent a line of more than 1 MiB",
}


@pytest.mark.parametrize(("mode", "words"), LISTS.items(), ids=LISTS)
async def test_a_list_that_never_ends_is_an_error_and_ends_its_server(mode, words, tmp_path):
    note = tmp_path / "processes"
    seconds = 2.0 if mode == "silence" else 60.0
    async with server(mode, note, start_timeout=seconds) as odd:
        with pytest.raises(ToolError) as raised:
            await odd.tools()
        assert str(raised.value) == words
        await have_ended(note)
        with pytest.raises(ToolError):  # it is started again
            await odd.tools()
        assert len(started_in(note)) >= 2
        await have_ended(note)


@pytest.mark.parametrize("mode", LISTS)
async def test_the_tools_of_other_servers_are_used(mode, tmp_path, caplog):
    note = tmp_path / "processes"
    seconds = 2.0 if mode == "silence" else 60.0
    odd = server(mode, note, start_timeout=seconds)
    with caplog.at_level(logging.WARNING):
        async with ServerGroup([odd, small("a", name="well")]) as group:
            assert [tool.name for tool in await group.tools()] == ["a"]
    assert LISTS[mode] in caplog.text


async def test_notices_that_the_tools_changed_are_not_handed_on_and_cost_few_lists(
    tmp_path, monkeypatch
):
    passed: list[object] = []
    received = Answers.received

    def noting(self: Answers, item: Any) -> Any:
        passed.append(item)
        return received(self, item)

    monkeypatch.setattr(Answers, "received", noting)
    note, lists = tmp_path / "processes", tmp_path / "processes.lists"
    async with server("notices", note) as odd:
        for round in (1, 2, 3):
            await asyncio.gather(*(odd.tools() for _ in range(20)))
            # One is read, and one more for those who asked after it had begun.
            assert len(lists.read_text().split()) <= 2 * round
            await until(lambda: odd._connection.tools_may_have_changed, "no notice came")
    assert len(passed) < 30


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("initialize", "did not answer within 2 s; is it an MCP server?"),
        ("line of initialize", "it sent a line of more than 1 MiB"),
    ],
)
async def test_a_start_that_never_ends_is_an_error_and_ends_the_server(mode, words, tmp_path):
    note = tmp_path / "processes"
    with pytest.raises(ConfigError, match="server 'odd' could not be started: ") as raised:
        async with server(mode, note, start_timeout=2.0 if mode == "initialize" else 60.0):
            pytest.fail("it started")
    assert words in str(raised.value)
    await have_ended(note)


async def test_a_call_whose_answer_never_ends_is_unknown_and_ends_the_server(tmp_path):
    note = tmp_path / "processes"
    async with server("call", note) as odd:
        [tool] = await odd.tools()
        with pytest.raises(ToolError, match="it sent a line of more than 1 MiB, so whether"):
            await tool.execute()
        await have_ended(note)


@pytest.mark.parametrize("mode", ["initialize", "silence"])
async def test_the_time_of_a_run_bounds_a_start_and_a_list(mode, tmp_path):
    note = tmp_path / "processes"
    mine = Agent(ScriptedModel(["never"]), tools=[server(mode, note)])
    run = asyncio.ensure_future(mine.run("?", limits=RunLimits(seconds=3)))
    result = await run
    assert (result.status, result.stop.reason) == ("stopped", StopReason.TIME_LIMIT)
    await have_ended(note)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
async def test_an_answer_over_http_has_a_bound(method, is_packed):
    import gzip

    padding = "a" * 2**21

    class Long(OddHttp):
        def do_POST(self) -> None:  # noqa: N802
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            id, asked = message.get("id"), message.get("method")
            results = {
                "initialize": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"},
                },
                "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
                "tools/call": {"content": []},
            }
            if id is None:
                return self.reply(202)
            if asked not in results:
                error = {"code": -32601, "message": "no"}
                return self.reply(200, {"jsonrpc": "2.0", "id": id, "error": error})
            result = results[asked] | ({"_meta": {"x": padding}} if asked == method else {})
            body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
            if not is_packed:
                return self.reply(200, body)
            return self.reply(200, gzip.compress(body), **{"content-encoding": "gzip"})

    handler = type("Handler", (Long,), {"seen": [], "closes": False})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{http.server_address[1]}/mcp"
        with pytest.raises((ConfigError, ToolError), match="an answer of more than 1 MiB"):
            async with MCPServer.http(address, name="odd") as odd:
                [tool] = await odd.tools()
                await tool.execute()
    finally:
        http.shutdown()
        http.server_close()


def test_the_bounds_leave_room_for_real_servers():
    assert connection.MOST_TOOLS >= 1000
    assert connection.MOST_LIST_BYTES >= 2**20


def test_a_message_may_be_a_picture_but_not_millions_of_values(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(answers, "MOST_BYTES", 32 * 2**20)
    picture, values = MessageSize(), MessageSize()
    assert picture.excess(b'{"data": "' + b"A" * 20_000_000) is None
    assert values.excess(b"[" + b"[]," * 300_000) is None
    assert values.excess(b"[]," * 300_000) == "more than 1,000,000 values"
    assert MessageSize().excess(bytes(32 * 2**20 + 1)) == "more than 32 MiB"
