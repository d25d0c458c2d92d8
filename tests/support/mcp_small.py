"""A small MCP server for tests that starts at once, since it imports nothing: `python -IS mcp_small.py HABIT`.

It speaks the older protocol over stdio. The arguments after its habit name its tools. Each tool returns its arguments
and the id of the process, but `die` ends the server, a call of `hang` is never answered, and `refuse` is an error of
the protocol. Its habits:

- `plain`: none.
- `mute`: it never answers.
- `shy`: it ends if the first request is not `initialize`, as some servers do.
- `noisy`: it prints lines that are not messages between its messages.
- `broken`: it ends at once, with a line on standard error.
"""

import json
import os
import sys


def answer(message, **fields):
    if habit == "noisy":
        print("Server is ready!", flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **fields}), flush=True)


def listed(name):
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}}


def called(params):
    if params["name"] == "die":
        os._exit(3)
    echo = {"arguments": params.get("arguments"), "process": os.getpid()}
    return {"content": [{"type": "text", "text": json.dumps(echo)}]}


habit, *tools = sys.argv[1:]
if habit == "broken":
    sys.exit("no module named tools")
if habit == "mute":
    sys.stdin.read()
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == "initialize":
        habit = habit.replace("shy", "plain")
        version = message["params"]["protocolVersion"]
        info = {"name": "small", "version": "1"}
        capabilities = {"tools": {}}
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        answer(message, result=result)
    elif habit == "shy":
        sys.exit(1)
    elif method == "tools/list":
        answer(message, result={"tools": [listed(name) for name in tools]})
    elif method == "tools/call" and message["params"]["name"] == "refuse":
        answer(message, error={"code": -32602, "message": "Not this."})
    elif method == "tools/call":
        if message["params"]["name"] != "hang":
            answer(message, result=called(message["params"]))
    elif "id" in message:
        answer(message, error={"code": -32601, "message": "Method not found"})
