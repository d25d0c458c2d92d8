"""A small MCP server for tests that starts at once, since it imports nothing: `python -IS mcp_small.py HABIT`.

It speaks the older protocol over stdio. The arguments after its habit, up to `--`, name its tools; of one that is named
`name:reads` it says that it only reads. Each tool returns its arguments and the id of the process, but `die` ends the
server, a call of `hang` is never answered, and `refuse` is an error of the protocol. Its habits:

- `plain`: none.
- `mute`: it never answers.
- `shy`: it ends if the first request is not `initialize`, as some servers do.
- `unlisted`: it never lists its tools.
- `noisy`: it prints lines that are not messages between its messages.
- `broken`: it ends at once, with a line on standard error.
- `leaky`: it ends at once, and shows its arguments and its environment on standard error.

A tool `cry` ends the server with a few lines on standard error, the last of which says nothing. Three tools show the
arguments and the environment: `leak` in a result that is an error, `leak_refuse` in an error of the protocol, and
`leak_die` on standard error, at its end.
"""

import json
import os
import sys


def answer(message, **fields):
    if habit == "noisy":
        print("Server is ready!", flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **fields}), flush=True)


def listed(tool):
    name, _, reads = tool.partition(":")
    hints = {"annotations": {"readOnlyHint": True}} if reads else {}
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}, **hints}


def called(params):
    if params["name"] == "die":
        os._exit(3)
    if params["name"] == "cry":
        print("connecting", "no such table: notes", "node v20", sep="\n", file=sys.stderr)
        sys.exit(1)
    if params["name"] == "leak":
        return {"content": [{"type": "text", "text": everything()}], "isError": True}
    if params["name"] == "leak_die":
        sys.exit(everything())
    echo = {"arguments": params.get("arguments"), "process": os.getpid()}
    return {"content": [{"type": "text", "text": json.dumps(echo)}]}


def everything():
    return " ".join([*sys.argv, *os.environ.values()])


habit, *tools = sys.argv[1:]
tools = tools[: tools.index("--")] if "--" in tools else tools
if habit == "leaky":
    sys.exit(everything())
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
    elif method == "tools/list" and habit == "unlisted":
        pass
    elif method == "tools/list":
        answer(message, result={"tools": [listed(name) for name in tools]})
    elif method == "tools/call" and message["params"]["name"] == "leak_refuse":
        answer(message, error={"code": -32602, "message": everything()})
    elif method == "tools/call" and message["params"]["name"] == "refuse":
        answer(message, error={"code": -32602, "message": "Not this."})
    elif method == "tools/call":
        if message["params"]["name"] != "hang":
            answer(message, result=called(message["params"]))
    elif "id" in message:
        answer(message, error={"code": -32601, "message": "Method not found"})
