"""Addresses of services in spans, and traces that go on in MCP servers; `test_ray` has those that go on in Ray."""

from __future__ import annotations

from typing import Any

import pytest

from cogency_rs import Agent, Execution, MCPServer, OpenAIModel, ToolCall
from cogency_rs.execution import execute_calls
from cogency_rs.telemetry import instrument
from cogency_rs.telemetry.conventions import server_attributes
from cogency_rs.testing import ModelServer
from support.mcp_servers import listening, program, small
from support.openai_served import DONE, STOP, delta, plain_environment, reply, usage
from support.traces import Traces, attributes

__all__ = ["plain_environment"]

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [
        ("http://localhost:11434/v1", "localhost", 11434),
        ("https://api.openai.com/v1", "api.openai.com", 443),
        ("http://10.1.2.80", "10.1.2.80", 80),
        ("http://[::1]:8000/v1", "::1", 8000),
        ("https://user:secret@example.com/v1?key=secret", "example.com", 443),
    ],
)
def test_an_address_is_its_host_and_its_port(url, address, port):
    assert server_attributes(url) == {"server.address": address, "server.port": port}


@pytest.mark.parametrize("url", [None, "", "nowhere", "http://[::1", "http://a:b/", 5])
def test_text_that_is_not_an_address_gives_no_attributes(url):
    assert server_attributes(url) == {}


async def test_a_request_says_where_its_service_is(traces, metrics):
    instrument(traces.provider, meter_provider=metrics.provider)
    answer = reply(
        delta(content="Hi."),
        STOP,
        usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        DONE,
    )
    async with (
        ModelServer([answer]) as server,
        OpenAIModel("m", base_url=f"{server.url}/v1") as model,
    ):
        await Agent(model).run("?")
    where = {"server.address": "127.0.0.1", "server.port": int(server.url.rpartition(":")[2])}
    span = attributes(traces.named("chat m"))
    assert {name: value for name, value in span.items() if name.startswith("server.")} == where
    [(labels, _)] = metrics.points("gen_ai.client.inference.duration")
    assert labels.items() >= where.items()
    assert "server.address" not in attributes(traces.named("invoke_agent agent"))


# MCP


async def called(server: MCPServer, name: str, **args: Any) -> Any:
    """The execution of one call of a server's tool."""
    async with server:
        [execution] = await execute_calls(
            [ToolCall(name, args)], execution=Execution(tools=await server.tools())
        )
    return execution


def call_attributes(traces: Traces, name: str) -> dict[str, Any]:
    """The attributes of a call's span that describe the server and the error."""
    prefixes = ("mcp.", "network.", "server.", "error.")
    span = attributes(traces.named(f"execute_tool {name}"))
    return {each: value for each, value in span.items() if each.startswith(prefixes)}


async def test_a_server_over_stdio_gets_the_trace_in_the_request_and_the_call_is_its_parent(traces):
    instrument(traces.provider)
    execution = await called(program(), "trace")
    context = traces.named("execute_tool trace").context
    version, trace, span, _ = execution.value.split("-")
    assert (version, trace, span) == (
        "00",
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
    )
    assert call_attributes(traces, "trace") == {
        "mcp.method.name": "tools/call",
        "network.transport": "pipe",
    }


async def test_a_server_over_http_gets_the_trace_too_and_the_call_says_where_that_server_is(traces):
    instrument(traces.provider)
    with listening() as (url, _):
        execution = await called(MCPServer.http(url, approve="never"), "trace")
    span = traces.named("execute_tool trace").context.span_id
    assert execution.value.split("-")[2] == f"{span:016x}"
    assert call_attributes(traces, "trace") == {
        "mcp.method.name": "tools/call",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "server.address": "127.0.0.1",
        "server.port": int(url.split(":")[2].removesuffix("/mcp")),
    }


async def test_without_telemetry_no_trace_is_sent():
    assert (await called(program(), "trace")).value == "None"


async def test_an_answer_that_is_marked_as_an_error_is_a_tool_error(traces):
    instrument(traces.provider)
    await called(program(), "refuse")
    assert call_attributes(traces, "refuse")["error.type"] == "tool_error"


async def test_a_refusal_of_a_server_has_its_error_code(traces):
    instrument(traces.provider)
    await called(small("refuse"), "refuse")
    assert call_attributes(traces, "refuse")["error.type"] == "-32602"


async def test_wrong_arguments_do_not_reach_the_server(traces):
    instrument(traces.provider)
    await called(program(), "add", a="x")
    assert call_attributes(traces, "add")["error.type"] == "ToolError"
