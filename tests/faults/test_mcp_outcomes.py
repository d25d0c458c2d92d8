"""What became of a call of an MCP server that has no answer that can be used: what may have happened is unknown."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

import pytest

from cogency_rs import CallOptions, Execution, MCPServer, ToolCall, ToolResult
from cogency_rs.calls.tool_result import failure, status_of
from cogency_rs.errors import ToolError, UnknownOutcome
from cogency_rs.execution import execute_calls
from cogency_rs.guards.secrets import NO_SECRETS
from cogency_rs.servers import serve, tool as content_module
from cogency_rs.servers.answers import MOST_PARTS
from cogency_rs.servers.tool import Answer, LostAnswer, MCPTool, as_tool_result
from cogency_rs.tools import Retries, ToolOptions
from support.mcp_odd import OddHttp, odd_http, odd_program
from support.mcp_servers import small

pytestmark = pytest.mark.timeout(60)

LINE = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "%s"}]}}'


def named(name: str = "pay", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


EFFECT = named()
READS = named(annotations={"readOnlyHint": True})
AGAIN = named(annotations={"idempotentHint": True})


async def called(server: MCPServer, *names: str, **options: Any) -> list[Any]:
    async with asyncio.timeout(30):
        execution = Execution(tools=await server.tools())
        return await execute_calls(
            [ToolCall(name, {}) for name in names or ("pay",)], execution=execution, **options
        )


def result(connection: OddHttp, id: Any, **fields: Any) -> None:
    connection.reply(200, {"jsonrpc": "2.0", "id": id, "result": fields})


def error(connection: OddHttp, id: Any, status: int = 200) -> None:
    body = {"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no such card"}}
    connection.reply(status, body)


def cut(connection: OddHttp, id: Any) -> None:
    """Read the request, and close the connection without a byte."""
    connection.close_connection = True


def reset(connection: OddHttp, id: Any) -> None:
    linger = struct.pack("ii", 1, 0)
    connection.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.connection.close()
    connection.close_connection = True


def half(connection: OddHttp, id: Any, kind: str = "application/json") -> None:
    connection.send_response(200)
    connection.send_header("content-type", kind)
    connection.send_header("content-length", "1000")
    connection.end_headers()
    connection.wfile.write(b'data: {"jsonrpc"')
    connection.close_connection = True


def events(connection: OddHttp, id: Any, data: str = "") -> None:
    text = f"event: message\ndata: {data}\n\n" if data else ": nothing\n\n"
    connection.reply(200, text.encode(), "text/event-stream")


UNKNOWN = {
    "502": lambda c, _: c.reply(502, b"<html>Bad Gateway</html>", "text/html"),
    "504": lambda c, _: c.reply(504),
    "500 with an error of the protocol": lambda c, n: error(c, n, 500),
    "closed": cut,
    "reset": reset,
    "half an answer": half,
    "half an answer, as events": lambda c, n: half(c, n, "text/event-stream"),
    "half an emoji": lambda c, n: c.reply(
        200, (LINE % r"Paid \ud83d").replace("ID", str(n)).encode()
    ),
    "half an emoji, as an event": lambda c, n: events(
        c, n, (LINE % r"Paid \ud83d").replace("ID", str(n))
    ),
    "events without an answer": events,
    "no JSON": lambda c, _: c.reply(200, b"Paid."),
    "a page": lambda c, _: c.reply(200, b"<html>Log in</html>", "text/html"),
    "202": lambda c, _: c.reply(202),
    "204": lambda c, _: c.reply(204),
    "an error with the id null": lambda c, _: error(c, None),
    "an error with another id": lambda c, _: error(c, "server-error"),
    "an answer with another id": lambda c, _: result(c, 999, content=[]),
    "an answer that is not a result": lambda c, n: result(c, n, paid=True),
}


@pytest.mark.parametrize("answer", UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_over_http_what_may_have_happened_is_unknown(answer):
    with odd_http(answer, EFFECT) as (server, seen):
        async with server:
            [call] = await called(server)
    assert call.status == "unknown", call.error
    assert "whether the call had an effect is not known" in call.error
    assert seen.count("tools/call") == 1


@pytest.mark.parametrize("tool", [READS, AGAIN], ids=["reads", "idempotent"])
@pytest.mark.parametrize("answer", UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_if_it_does_not_matter_whether_it_happened_the_call_has_failed(answer, tool):
    with odd_http(answer, tool) as (server, _):
        async with server:
            [call] = await called(server)
    assert call.status == "failure"
    assert "not known" not in call.error


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda c, _: c.reply(401), "server 'odd' refused 'pay': HTTP 401 Unauthorized"),
        (lambda c, _: c.reply(403), "server 'odd' refused 'pay': HTTP 403 Forbidden"),
        (
            lambda c, n: error(c, n, 400),
            "server 'odd' refused 'pay': HTTP 400 Bad Request: no such card",
        ),
        (error, "server 'odd' refused 'pay': no such card"),
        (
            lambda c, n: result(c, n, content=[{"type": "text", "text": "no"}], isError=True),
            "no",
        ),
    ],
    ids=["401", "403", "400", "an error of the protocol", "isError"],
)
async def test_what_surely_did_not_happen_is_a_failure(answer, words):
    with odd_http(answer, EFFECT) as (server, _):
        async with server:
            [call] = await called(server)
    assert call.status == "failure"
    assert call.error.removeprefix("Tool execution failed: ") == words


async def test_a_server_that_is_not_reached_has_not_been_called():
    with odd_http(result, EFFECT, closes=True) as (server, _):
        await server.__aenter__()
        tools = await server.tools()
    [call] = await execute_calls([ToolCall("pay", {})], execution=Execution(tools=tools))
    assert call.status == "failure"
    assert "'pay' was not called: server 'odd' cannot be reached" in call.error
    await server.__aexit__(None, None, None)


async def test_a_call_that_fails_ends_no_other_call_of_its_server():
    both = asyncio.Event()
    loop = asyncio.get_running_loop()

    def answer(connection: OddHttp, id: Any) -> None:
        if not both.is_set():
            loop.call_soon_threadsafe(both.set)
            return cut(connection, id)
        return result(connection, id, content=[{"type": "text", "text": "paid"}])

    with odd_http(answer, EFFECT) as (server, _):
        async with server:
            calls = await called(server, "pay", "pay")
    assert sorted(call.status for call in calls) in (["success", "unknown"], ["unknown"] * 2)


# Over stdio


GOOD = LINE % "paid"
LOST = {
    "half an emoji": [LINE % r"Paid \ud83d"],
    "a line that is cut": [GOOD[:40]],
    "an error with the id null": [
        '{"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": "no"}}'
    ],
    "an error with another id": [
        '{"jsonrpc": "2.0", "id": "x", "error": {"code": -32603, "message": "no"}}'
    ],
    "no result": ['{"jsonrpc": "2.0", "id": ID, "result": 5}'],
    "an error that is a text": ['{"jsonrpc": "2.0", "id": ID, "error": "no"}'],
    "a batch": [f"[{LINE % 'a'}]"],
}


@pytest.mark.parametrize("lines", LOST.values(), ids=LOST.keys())
async def test_over_stdio_an_answer_that_nobody_can_match_ends_the_call(lines):
    async with odd_program({"pay": lines}, EFFECT) as server:
        [call] = await called(server)
    assert call.status == "unknown", call.error


@pytest.mark.parametrize(
    "noise",
    ["Server is ready!", '{"level": "info", "jsonrpc": "yes"}', '{"level": "in', "{}", "[1]", "7"],
)
async def test_lines_that_are_no_answers_end_nothing(noise):
    async with odd_program({"pay": [noise, GOOD]}, EFFECT) as server:
        [call] = await called(server)
    assert (call.status, call.value) == ("success", "paid")


async def test_of_several_calls_those_that_are_answered_have_their_answers():
    lines = {"pay": [GOOD[:40]], "send": [LINE % "sent"]}
    async with odd_program(lines, EFFECT, named("send")) as server:
        pay, send = await called(server, "pay", "send")
    assert (pay.status, send.status, send.value) == ("unknown", "success", "sent")


# Time


async def test_a_server_that_does_not_answer_in_time_leaves_the_outcome_unknown():
    async with small("hang", "hang2:reads", timeout=0.3) as server:
        [call] = await called(server, "hang")
    assert (call.status, call.error) == (
        "unknown",
        "Tool execution failed: Tool 'hang' timed out after 0.3 s, so whether the call had an effect is not known",
    )


@pytest.mark.parametrize("options", [CallOptions(timeout=0.3), CallOptions(batch_timeout=0.3)])
async def test_so_do_the_limits_of_the_program(options):
    async with small("hang") as server:
        [call] = await called(server, "hang", calls=options)
    assert call.status == "unknown"


async def test_a_tool_that_only_reads_has_run_out_of_time():
    async with odd_program({"pay": []}, READS, timeout=0.3) as server:
        [call] = await called(server)
    assert (call.status, call.error) == (
        "timeout",
        "Tool execution failed: Tool 'pay' timed out after 0.3 s",
    )


async def test_each_report_of_progress_begins_the_time_anew():
    step = (
        '{"jsonrpc": "2.0", "method": "notifications/progress", '
        '"params": {"progressToken": TOKEN, "progress": 1}}'
    )
    clocks: list[float] = []

    async def tell(*_: Any) -> None:
        clocks.append(asyncio.get_running_loop().time())

    async with odd_program({"pay": [step]}, EFFECT) as server:
        began = asyncio.get_running_loop().time()
        with pytest.raises(UnknownOutcome, match=r"timed out after 0\.5 s"):
            await server.call("pay", {}, tell, timeout=0.5)
        ended = asyncio.get_running_loop().time()
    [moment] = clocks
    assert began <= moment
    assert ended - moment >= 0.45


@pytest.mark.parametrize(
    ("given", "own", "besides"), [({}, None, 300.0), ({"timeout": None}, None, None), ({"timeout": 7}, 7, None)]
)  # fmt: skip
async def test_the_limit_of_a_call(given, own, besides):
    async with small("a", **given) as server:
        [tool] = await server.tools()
    assert (tool.options.timeout, tool.limit, tool.keeps_time) == (own, besides, own is not None)


async def test_a_failed_call_of_an_idempotent_tool_is_retried():
    tries: list[Any] = []

    async def call(*_: Any, **__: Any) -> ToolResult:
        tries.append(1)
        if len(tries) == 1:
            raise LostAnswer("the server ended")
        return ToolResult("Success", "paid")

    tool = MCPTool(
        "pay", "", {"type": "object"}, "odd", "pay", ToolOptions(idempotent=Retries(1)), call
    )
    [made] = await execute_calls([ToolCall("pay", {})], execution=Execution(tools=[tool]))
    assert (made.status, made.value, len(tries)) == ("success", "paid", 2)


# What was answered reaches the model


SCHEMA = {
    "type": "object",
    "properties": {"receipt": {"type": "integer"}},
    "required": ["receipt"],
}
PAID = {"type": "text", "text": "Paid. Receipt 7."}


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"content": [PAID]}, "Paid. Receipt 7."),
        (
            {"content": [PAID], "structuredContent": {"receipt": "7"}},
            {"text": "Paid. Receipt 7.", "structured": {"receipt": "7"}},
        ),
        (
            {"content": [PAID, {"type": "hologram", "rays": 3}]},
            'Paid. Receipt 7.\n{"type": "hologram", "rays": 3}',
        ),
        ({"content": "Paid."}, '"Paid."'),
        ({"content": [{"type": "image", "mimeType": "image/png"}]}, None),
        ({"content": [{"type": "text"}, 5]}, '{"type": "text"}\n5'),
    ],
)
@pytest.mark.parametrize("how", ["http", "stdio"])
async def test_an_answer_that_breaks_its_promise_is_a_success_with_a_note(how, fields, content):
    tool = named(outputSchema=SCHEMA)
    if how == "http":
        with odd_http(lambda c, n: result(c, n, **fields), tool) as (server, _):
            async with server:
                [call] = await called(server)
    else:
        line = f'{{"jsonrpc": "2.0", "id": ID, "result": {json.dumps(fields)}}}'
        async with odd_program({"pay": [line]}, tool) as server:
            [call] = await called(server)
    assert call.status == "success"
    assert call.result.outcome.startswith("The server answered, but not as it promises: ")
    assert content is None or call.value == content


async def test_a_pattern_of_an_output_schema_that_backtracks_without_end_holds_nothing():
    receipt = {"type": "string", "pattern": "^(a+)+$"}
    tool = named(outputSchema=SCHEMA | {"properties": {"receipt": receipt}})
    fields = {"content": [], "structuredContent": {"receipt": "a" * 60 + "!"}}
    line = f'{{"jsonrpc": "2.0", "id": ID, "result": {json.dumps(fields)}}}'
    async with odd_program({"pay": [line]}, tool) as server:
        [call] = await called(server)
    assert call.status == "success"
    assert "'receipt' must match the pattern" in call.result.outcome


async def test_a_result_of_very_many_parts_is_shown_up_to_a_bound(monkeypatch):
    looked_at: list[int] = []
    line = f'{{"jsonrpc": "2.0", "id": ID, "result": {{"content": [{"1, " * 5_000}1]}}}}'
    whole = content_module._text_of

    def counting(part):
        looked_at.append(part)
        return whole(part)

    monkeypatch.setattr(content_module, "_text_of", counting)
    async with odd_program({"pay": [line]}, named()) as server:
        [call] = await called(server)
    assert len(looked_at) == MOST_PARTS + 1
    assert call.value.endswith("(only the first 2,000 parts are shown)")


@pytest.mark.parametrize(
    ("error", "status"), [(UnknownOutcome("who knows"), "unknown"), (None, "failure")]
)
def test_a_server_of_ours_says_whether_an_outcome_is_unknown(error, status):
    served = serve._answer(failure("who knows", error, status))
    answer = served.model_dump(by_alias=True, mode="json", exclude_none=True)
    made = as_tool_result(Answer(answer), "pay", NO_SECRETS)
    assert (status_of(made), made.outcome) == (status, "who knows")


# A list of tools


async def test_a_server_that_does_not_list_its_tools_holds_nobody():
    async with small("a", habit="unlisted", start_timeout=2.0) as server:
        with pytest.raises(ToolError, match=r"server '.*' did not list its tools within 2 s"):
            await server.tools()


def test_a_lost_answer_is_told_as_a_failure_without_the_doubt():
    lost = LostAnswer("the server ended", "; its last output: no", timeout=True)
    assert str(lost) == (
        "the server ended, so whether the call had an effect is not known; its last output: no"
    )
    failed = lost.as_failure()
    assert type(failed) is ToolError
    assert (str(failed), failed.timeout) == ("the server ended; its last output: no", True)
