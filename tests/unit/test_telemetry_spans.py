"""What spans and metrics hold: the model, tokens, durations and errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from cogency_rs import Agent, CallOptions, Hooks, tool
from cogency_rs.errors import BlockTool, LLMError
from cogency_rs.models import Finish, ModelRequest, TextDelta, Usage
from cogency_rs.telemetry import instrument
from support.agents import add, adding, agent, calls, fail
from support.tools import Waiting, block, call
from support.traces import attributes

pytestmark = pytest.mark.timeout(30)


# What spans hold


async def test_a_run_s_span_has_the_model_its_address_and_the_usage(traces):
    usage = Usage(100, 20, cache_read_tokens=40, cache_write_tokens=5, reasoning_tokens=7)
    mine = agent([TextDelta("Hi."), usage, Finish("stop")], telemetry=traces.provider, name="a")
    await mine.run("?", conversation_id="c1")
    counted = {
        "gen_ai.usage.input_tokens": 145,
        "gen_ai.usage.output_tokens": 27,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_write.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 7,
    }
    run, chat = traces.spans
    assert (run.kind, chat.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert attributes(run) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.agent.name": "a",
        "gen_ai.conversation.id": "c1",
        "cogency_rs.run.status": "completed",
        **counted,
    }
    first = attributes(chat).pop("gen_ai.response.time_to_first_chunk")
    assert 0 <= first <= (chat.end_time - chat.start_time) / 1e9
    assert attributes(chat) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.stream": True,
        "gen_ai.request.stop_sequences": ("<results>",),
        "gen_ai.conversation.id": "c1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": first,
        **counted,
    }
    assert (run.status.status_code, chat.status.status_code) == (StatusCode.UNSET,) * 2


async def test_a_call_s_span_has_the_tool_and_the_call_s_id(traces):
    mine = agent(adding(1, 2), "3.", telemetry=traces.provider)
    result = await mine.run("?", conversation_id="c1")
    span = traces.named("execute_tool add")
    assert span.kind is SpanKind.INTERNAL
    assert attributes(span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": result.steps[0].executions[0].id,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Add two numbers.",
        "gen_ai.conversation.id": "c1",
    }


async def test_estimated_tokens_are_only_on_the_run_and_marked_as_estimates(traces, metrics):
    instrument(traces.provider, meter_provider=metrics.provider)
    result = await agent("Hi.").run("?")
    run, chat = map(attributes, traces.spans)
    assert run["gen_ai.usage.input_tokens"] == result.usage.read_tokens > 0
    assert run["cogency_rs.usage.is_estimate"] is True
    assert "gen_ai.usage.input_tokens" not in chat
    assert metrics.points("gen_ai.client.inference.usage.input_tokens") == []


async def test_settings_of_a_request_are_on_its_span(traces):
    class Cool(Hooks):
        def before_model_request(self, ctx: Any, request: ModelRequest) -> ModelRequest:
            settings = {"temperature": 0.5, "max_tokens": 10, "logit_bias": {}}
            return ModelRequest(request.messages, settings=settings, id=request.id)

    await agent("Hi.", telemetry=traces.provider, hooks=[Cool()]).run("?")
    recorded = attributes(traces.named("chat scripted"))
    assert recorded["gen_ai.request.temperature"] == 0.5
    assert recorded["gen_ai.request.max_tokens"] == 10
    assert "gen_ai.request.stop_sequences" not in recorded


# Errors


class Guard(Hooks):
    async def around_call(self, invocation: Any, next: Any) -> Any:
        raise BlockTool("a secret reason")


@tool
async def late() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@tool(requires_approval=True)
async def pay() -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize(
    ("called", "options", "error"),
    [
        pytest.param("fail", {}, "ValueError", id="it raised"),
        pytest.param("missing", {}, "ToolError", id="there is no such tool"),
        pytest.param("add", {}, "ToolError", id="its arguments are wrong"),
        pytest.param(
            "late", {"calls": CallOptions(timeout=0.01)}, "timeout", id="it took too long"
        ),
        pytest.param("late", {"hooks": [Guard()]}, "blocked", id="a hook blocked it"),
        pytest.param("pay", {"approve": lambda *_: False}, "denied", id="it was not approved"),
    ],
)
async def test_a_call_that_failed_is_an_error_of_its_span_alone(traces, called, options, error):
    tools = [add, fail, late, pay]
    mine = agent(calls(called), "Done.", tools=tools, telemetry=traces.provider, **options)
    await mine.run("?")
    span = traces.named(f"execute_tool {called}")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == error
    others = [each for each in traces.spans if each is not span]
    assert {each.status.status_code for each in others} == {StatusCode.UNSET}
    assert len(others) == 3


class TooFastError(Exception):
    """An exception of the SDK of a service."""


async def test_a_model_that_fails_is_an_error_of_the_request_and_the_run(traces):
    error = LLMError("slower", cause=TooFastError())
    with pytest.raises(LLMError):
        await agent(error, telemetry=traces.provider).run("?")
    for span in traces.spans:
        assert span.status.status_code is StatusCode.ERROR
        assert attributes(span)["error.type"] == "TooFastError", (
            "the error is not named as the SDK names it"
        )
    assert attributes(traces.named("invoke_agent agent"))["cogency_rs.run.status"] == "failed"


async def test_a_model_that_raises_before_it_answers_is_an_error_of_the_request(traces):
    async def wrong(messages: Any) -> int:
        return 3

    with pytest.raises(TypeError):
        await Agent(wrong, telemetry=traces.provider).run("?")
    assert attributes(traces.named("chat"))["error.type"] == "TypeError"


async def test_a_run_that_is_cancelled_ends_all_its_spans(traces):
    waiting = Waiting()
    mine = agent(block("wait"), tools=[waiting], telemetry=traces.provider)
    running = asyncio.create_task(mine.run("?"))
    await waiting.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert traces.tree() == [
        "invoke_agent agent",
        "  chat scripted",
        "  execute_tool wait",
    ]
    run, chat, tool_span = map(attributes, traces.spans)
    assert (run["error.type"], tool_span["error.type"]) == ("cancelled", "cancelled")
    assert run["cogency_rs.run.status"] == "stopped"
    assert "error.type" not in chat, "the answer had ended before the run was cancelled"


@pytest.mark.parametrize("event", ["user", "respond", "execute", "result"])
async def test_a_stream_that_is_closed_early_ends_its_spans_without_an_error(traces, event):
    mine = agent(f"Adding.{adding(1, 2)}", "3.", telemetry=traces.provider)
    async with mine.run("?") as events:
        async for each in events:
            if each["type"] == event:
                break
    run = attributes(traces.named("invoke_agent agent"))
    assert run["cogency_rs.run.status"] == "stopped"
    assert run["cogency_rs.run.stop_reason"] == "user_requested"
    for span in traces.spans:
        assert span.end_time is not None
        cancelled = attributes(span).get("error.type") == "cancelled"
        assert cancelled or span.status.status_code is StatusCode.UNSET


async def test_a_waiting_run_is_not_an_error_and_resuming_it_is_another_trace(traces):
    mine = agent(calls("pay"), "Paid.", tools=[pay], telemetry=traces.provider)
    result = await mine.run("?")
    assert traces.tree() == ["invoke_agent agent", "  chat scripted"]
    await mine.resume(result.conversation_id, {result.waiting[0].id: True})
    assert traces.tree()[2:] == [
        "invoke_agent agent",
        "  execute_tool pay",
        "  chat scripted",
    ]
    first, *_, second = [span for span in traces.spans if "invoke_agent" in span.name]
    assert attributes(first)["cogency_rs.run.status"] == "waiting"
    assert first.status.status_code is StatusCode.UNSET
    key = "gen_ai.conversation.id"
    assert attributes(first)[key] == attributes(second)[key]
    assert first.context.trace_id != second.context.trace_id


# Metrics


async def test_metrics_count_runs_answers_calls_and_tokens(traces, metrics):
    instrument(traces.provider, meter_provider=metrics.provider)
    batch = calls(call("add", a=1, b=2), call("add", a=3, b=4), "fail", "made_up")
    mine = agent([Usage(10, 2), batch], [Usage(20, 3), "Done."], name="a")
    await mine.run("?")
    model = {"gen_ai.provider.name": "scripted", "gen_ai.request.model": "scripted"}
    asked = {"gen_ai.operation.name": "chat", **model}

    def counted(name: str) -> list[tuple[dict[str, Any], int]]:
        return [(labels, point.count) for labels, point in metrics.points(name)]

    run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", **model}
    assert counted("gen_ai.invoke_agent.duration") == [(run, 1)]
    assert counted("gen_ai.client.inference.duration") == [(asked, 2)]
    assert counted("gen_ai.client.inference.time_to_first_chunk") == [(asked, 2)]
    operation = {"gen_ai.operation.name": "execute_tool"}
    assert counted("gen_ai.execute_tool.duration") == [
        ({**operation, "gen_ai.tool.name": "add"}, 2),
        ({**operation, "gen_ai.tool.name": "fail", "error.type": "ValueError"}, 1),
        ({**operation, "gen_ai.tool.name": "_OTHER", "error.type": "ToolError"}, 1),
    ]
    tokens = {
        kind: [point.value for _, point in metrics.points(f"gen_ai.client.inference.usage.{kind}")]
        for kind in ("input_tokens", "output_tokens")
    }
    assert tokens == {"input_tokens": [30], "output_tokens": [5]}
