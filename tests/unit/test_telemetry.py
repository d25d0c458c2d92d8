"""Which spans there are around runs, requests and calls, how they nest, and how they are turned on and off."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from cogency_rs import (
    Accumulator,
    Agent,
    Execution,
    Hooks,
    Memory,
    execute_tools,
    parse_tokens,
    tool,
)
from cogency_rs.errors import ConfigError
from cogency_rs.telemetry import Telemetry, instrument, uninstrument
from support.agents import add, adding, agent, calls
from support.tools import call, with_tools
from support.traces import Traces
from support.waiting import until

pytestmark = pytest.mark.timeout(30)


# The tree


async def test_a_run_has_a_span_around_its_requests_and_calls(traces):
    mine = agent(calls(call("add", a=1, b=2), "fail"), "3.", telemetry=traces.provider, name="sums")
    await mine.run("1 + 2?")
    assert traces.tree() == [
        "invoke_agent sums",
        "  chat scripted",
        "  execute_tool add",
        "  execute_tool fail",
        "  chat scripted",
    ]


async def test_a_run_is_part_of_the_caller_s_trace_and_the_caller_s_spans_are_not_part_of_the_run(
    traces,
):
    tracer = traces.provider.get_tracer("test")
    mine = agent(adding(1, 2), "3.", telemetry=traces.provider)
    with tracer.start_as_current_span("request") as span:
        async with mine.run("1 + 2?") as events:
            async for event in events:
                assert trace.get_current_span() is span
                if event["type"] == "respond":
                    tracer.start_span("render").end()
    tree = traces.tree()
    assert [line for line in tree if "render" not in line] == [
        "request",
        "  invoke_agent agent",
        "    chat scripted",
        "    execute_tool add",
        "    chat scripted",
    ]
    assert {line for line in tree if "render" in line} == {"  render"}


async def test_spans_made_by_tools_models_and_hooks_are_inside_the_span_around_them(traces):
    tracer = traces.provider.get_tracer("test")

    @tool
    async def look() -> str:
        """Look."""
        tracer.start_span("http of the tool").end()
        return "seen"

    @tool
    def block() -> str:
        """Look, in a worker thread."""
        tracer.start_span("http of the thread").end()
        return "seen"

    async def model(messages: Any):
        tracer.start_span("http of the model").end()
        yield calls("look", "block") if len(messages) < 4 else "Done."

    class Own(Hooks):
        async def before_run(self, ctx: Any) -> None:
            tracer.start_span("hook").end()

    mine = Agent(model, tools=[look, block], telemetry=traces.provider, hooks=[Own()])
    await mine.run("?")
    around = {
        span.name: parent.name
        for span in traces.spans
        for parent in traces.spans
        if span.parent is not None and span.parent.span_id == parent.context.span_id
    }
    assert around["http of the tool"] == "execute_tool look"
    assert around["http of the thread"] == "execute_tool block"
    assert around["http of the model"] == "chat", "a plain function has no name"
    assert around["hook"] == "invoke_agent agent"


async def test_an_agent_that_is_a_tool_has_its_run_inside_the_call(traces):
    inner = agent("Blue.", "Red.", name="research")
    outer = agent(
        calls(call("ask", question="Why?")),
        "Since it is blue.",
        tools=[inner.as_tool("ask", "Asks.")],
        telemetry=traces.provider,
        name="outer",
    )
    await outer.run("?")
    assert traces.tree() == [
        "invoke_agent outer",
        "  chat scripted",
        "  execute_tool ask",
        "    invoke_agent research",
        "      chat scripted",
        "  chat scripted",
    ]
    await inner.run("By itself")
    assert len(traces.spans) == 6


async def test_runs_at_the_same_time_have_traces_of_their_own(traces):
    agents = [
        agent(adding(n, n), "Done.", telemetry=traces.provider, name=str(n)) for n in range(8)
    ]
    await asyncio.gather(*[each.run("?") for each in agents])
    for n in range(8):
        trace_id = traces.named(f"invoke_agent {n}").context.trace_id
        names = [span.name for span in traces.spans if span.context.trace_id == trace_id]
        assert names == [
            f"invoke_agent {n}",
            "chat scripted",
            "execute_tool add",
            "chat scripted",
        ]


async def test_a_stream_may_be_read_from_another_task_each_time(traces, caplog):
    mine = agent(adding(1, 2), "3.", telemetry=traces.provider)
    async with mine.run("?") as events:
        while await asyncio.create_task(anext(events, None)) is not None:
            pass
    assert len(traces.tree()) == 4
    assert caplog.records == [], "a context was detached where it was not attached"


async def test_a_stream_that_is_forgotten_ends_its_spans_too(traces, caplog):
    mine = agent(adding(1, 2), "3.", telemetry=traces.provider)

    async def forget() -> None:
        async for event in mine.run("?"):
            if event["type"] == "execute":
                break

    await forget()
    gc.collect()
    await until(
        lambda: any(span.name == "invoke_agent agent" for span in traces.spans), "no span ends"
    )
    assert traces.tree() == ["invoke_agent agent", "  chat scripted"], "the calls began"
    assert caplog.records == []


# On and off


async def test_instrument_traces_everything_that_runs_calls(traces):
    instrument(traces.provider)
    execution = with_tools(add, storage=Memory())
    await execute_tools([call("add", a=1, b=2)], execution=execution)
    accumulator = Accumulator("", "c", execution=execution)
    async with aclosing(accumulator.process(parse_tokens(adding(1, 2)))) as events:
        async for _ in events:
            pass
    await agent("Hi.").run("?")
    assert traces.tree() == [
        "execute_tool add",
        "execute_tool add",
        "invoke_agent agent",
        "  chat scripted",
    ]
    uninstrument()
    await agent("Hi.").run("?")
    await execute_tools([call("add", a=1, b=2)], execution=Execution(tools=[add]))
    assert len(traces.spans) == 4


async def test_instrument_traces_the_calls_of_cogency_too(traces):
    cogency = pytest.importorskip("cogency", reason="cogency supports Python 3.11 and 3.12")
    import cogency_rs

    assert cogency is not None
    instrument(traces.provider)

    class Look:
        name, description, schema = "look", "Looks.", {}

        async def execute(self, **_: Any) -> Any:
            from cogency.core.protocols import ToolResult

            return ToolResult(outcome="seen")

    with cogency_rs.install():
        from cogency.core import executor
        from cogency.core.protocols import ToolCall as TheirCall

        execution = Execution(storage=Memory(), tools=[Look()])
        calls = [TheirCall(name="look", args={}), TheirCall(name="gone", args={})]
        await executor.execute_tools(calls, execution=execution, user_id="u", conversation_id="c")
    assert traces.tree() == ["execute_tool look", "execute_tool gone"]
    assert [span.status.status_code for span in traces.spans] == [
        StatusCode.UNSET,
        StatusCode.ERROR,
    ]


async def test_an_agent_s_own_telemetry_goes_before_the_program_s(traces):
    own = Traces()
    instrument(traces.provider)
    await agent(adding(1, 2), "3.", telemetry=own.provider).run("?")
    assert (len(own.spans), len(traces.spans)) == (4, 0)


async def test_true_means_the_program_s_global_provider(traces, monkeypatch):
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: traces.provider)
    await agent("Hi.", telemetry=True).run("?")
    assert traces.tree() == ["invoke_agent agent", "  chat scripted"]


async def test_true_works_without_a_global_provider():
    result = await agent("Hi.", telemetry=True).run("?")
    assert result.output == "Hi."


def test_opentelemetry_is_not_imported_when_telemetry_is_off():
    code = """
import asyncio, sys
from cogency_rs import Agent, tool
from cogency_rs.telemetry import uninstrument
from cogency_rs.testing import ScriptedModel

@tool
async def look() -> str:
    "Look."
    return "seen"

uninstrument()
model = ScriptedModel(['<execute>[{"name": "look", "args": {}}]</execute>', "Seen."])
print(Agent(model, tools=[look]).run_sync("?").output)
print([name for name in sys.modules if name.startswith(("opentelemetry", "cogency_rs.telemetry.spans"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Seen.\n[]\n"


@pytest.mark.parametrize("ask", ["instrument()", "Agent(print, telemetry=True)"])
def test_without_the_extra_an_error_says_what_to_install(ask):
    code = f"""
import sys
sys.modules["opentelemetry"] = None
from cogency_rs import *
from cogency_rs.errors import ConfigError
from cogency_rs.telemetry import instrument
try:
    {ask}
except ConfigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = (
        "telemetry needs the package opentelemetry-api; run: pip install 'cogency-rs[otel]'\n"
    )
    assert done.stdout == expected


@pytest.mark.parametrize("wrong", [3, "on", None, object()])
def test_a_telemetry_of_another_type_is_refused(wrong):
    with pytest.raises(ConfigError, match="telemetry must be True, False, a TracerProvider or"):
        agent("", telemetry=wrong)


@pytest.mark.parametrize("option", ["tracer_provider", "meter_provider"])
def test_a_provider_of_another_type_is_refused(option):
    with pytest.raises(ConfigError, match=f"{option} must have a method get_"):
        instrument(**{option: 3})
    with pytest.raises(ConfigError, match=f"{option} must have a method get_"):
        agent("", telemetry=Telemetry(**{option: 3}))
