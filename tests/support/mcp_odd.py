"""MCP servers that answer a call in a way of their own: over HTTP in this process, and over stdio as a program."""

from __future__ import annotations

import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cogency_rs import MCPServer

INFO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "odd", "version": "1"},
}


class OddHttp(BaseHTTPRequestHandler):
    """One connection; `answers` and `tools` are set on a subclass."""

    protocol_version = "HTTP/1.1"
    tools: list[dict[str, Any]]
    answer: Callable[[OddHttp, Any], None]
    seen: list[str]
    closes: bool

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def reply(self, status: int, body: Any = b"", kind: str = "application/json", **more: str):
        """Send a whole answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        headers = {"content-type": kind, "content-length": str(len(data)), **more}
        for name, value in headers.items():
            self.send_header(name, value)
        if self.closes:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """There is no stream of the server's own."""
        self.reply(405)

    def do_DELETE(self) -> None:
        """Sessions end."""
        self.reply(200)

    def do_POST(self) -> None:
        """Answer as a server does, but for calls."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        id, method = message.get("id"), message.get("method")
        self.seen.append(method)
        if method == "tools/call":
            type(self).answer(self, id)
        elif id is None:
            self.reply(202)
        elif method == "initialize":
            result = {"jsonrpc": "2.0", "id": id, "result": INFO}
            self.reply(200, result, **{"mcp-session-id": uuid.uuid4().hex})
        elif method == "tools/list":
            self.reply(200, {"jsonrpc": "2.0", "id": id, "result": {"tools": self.tools}})
        else:
            error = {"code": -32601, "message": "no"}
            self.reply(200, {"jsonrpc": "2.0", "id": id, "error": error})


@contextmanager
def odd_http(
    answer: Callable[[OddHttp, Any], None],
    *tools: dict[str, Any],
    closes: bool = False,
    **options: Any,
) -> Iterator[tuple[MCPServer, list[str]]]:
    """A server over HTTP that answers calls with `answer(connection, id)`, and the methods that it was asked for.

    With `closes`, each answer ends its connection.
    """
    seen: list[str] = []
    made = {"tools": [*tools], "answer": answer, "seen": seen, "closes": closes}
    web = ThreadingHTTPServer(("127.0.0.1", 0), type("Odd", (OddHttp,), made))
    web.daemon_threads = True
    threading.Thread(target=web.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{web.server_address[1]}/mcp"
    try:
        yield MCPServer.http(url, name="odd", approve="never", **options), seen
    finally:
        web.shutdown()
        web.server_close()


PROGRAM = """
import json, sys
info, tools, lines = json.loads(sys.argv[1])
def say(id, **fields): print(json.dumps({"jsonrpc": "2.0", "id": id, **fields}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        say(id, result=info)
    elif method == "tools/list":
        say(id, result={"tools": tools})
    elif method == "tools/call":
        told = lines[message["params"]["name"]]
        token = message["params"].get("_meta", {}).get("progressToken")
        for each in told:
            print(each.replace("ID", str(id)).replace("TOKEN", json.dumps(token)), flush=True)
    elif id is not None:
        say(id, error={"code": -32601, "message": "no"})
"""


def odd_program(lines: dict[str, list[str]], *tools: dict[str, Any], **options: Any) -> MCPServer:
    """A program that prints these lines when a tool is called, with `ID` in place of the request's id."""
    given = json.dumps([INFO, [*tools], lines])
    options = {"approve": "never", "name": "odd", **options}
    return MCPServer.stdio(sys.executable, "-I", "-S", "-c", PROGRAM, given, **options)
