"""What traces and metrics say of a run: which spans there are, in which order they nest, and what they hold."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest
from agents import add, adding, agent, calls, fail
from opentelemetry import context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tools import Waiting, block, call, with_tools

from cogency_rs import (
    Accumulator,
    Agent,
    BlockTool,
    ConfigError,
    Execution,
    Finish,
    Hooks,
    LLMError,
    Memory,
    ReasoningDelta,
    Telemetry,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolDeclaration,
    Usage,
    execute_tools,
    instrument,
    parse_tokens,
    tool,
    uninstrument,
)
from cogency_rs.models import ModelRequest
from cogency_rs.telemetry import content

pytestmark = pytest.mark.timeout(30)


class Traces:
    """What was exported, read as a tree."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        """All of them, as they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> list[str]:
        """Their names, as they began, each indented under the one around it."""
        parents = {span.context.span_id: span.parent for span in self.spans}

        def depth(parent: Any) -> int:
            return 0 if parent is None else 1 + depth(parents.get(parent.span_id))

        return ["  " * depth(span.parent) + span.name for span in self.spans]

    def named(self, name: str) -> ReadableSpan:
        """The only span of this name."""
        [span] = [span for span in self.spans if span.name == name]
        return span


@pytest.fixture
def traces():
    yield Traces()
    uninstrument()
    assert trace.get_current_span() is trace.INVALID_SPAN


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def text_of(traces: Traces) -> str:
    """Everything that spans hold."""
    return "".join(span.to_json() for span in traces.spans)


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


async def test_it_is_part_of_the_callers_trace_and_the_caller_is_not_part_of_it(traces):
    tracer = traces.provider.get_tracer("test")
    mine = agent(adding(1, 2), "3.", telemetry=traces.provider)
    with tracer.start_as_current_span("request") as span:
        async with mine.stream("1 + 2?") as events:
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


async def test_what_tools_models_and_hooks_do_is_inside_of_their_span(traces):
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


async def test_an_agent_that_is_a_tool_has_its_run_inside_of_the_call(traces):
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
    async with mine.stream("?") as events:
        while await asyncio.create_task(anext(events, None)) is not None:
            pass
    assert len(traces.tree()) == 4
    assert caplog.records == [], "no context was detached where it was not attached"


# What spans hold


async def test_a_run_says_who_answered_where_and_what_it_took(traces):
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


async def test_a_call_says_which_tool_ran_for_which_call(traces):
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


async def test_tokens_that_were_only_estimated_are_not_reported(traces):
    await agent("Hi.", telemetry=traces.provider).run("?")
    assert "usage" not in text_of(traces)


async def test_settings_of_a_request_are_on_its_span(traces):
    class Cool(Hooks):
        def before_model_request(self, ctx: Any, request: ModelRequest) -> ModelRequest:
            settings = {"temperature": 0.5, "max_tokens": 10, "logit_bias": {}}
            return ModelRequest(request.messages, settings=settings, id=request.id)

    await agent("Hi.", telemetry=traces.provider, hooks=[Cool()]).run("?")
    said = attributes(traces.named("chat scripted"))
    assert said["gen_ai.request.temperature"] == 0.5
    assert said["gen_ai.request.max_tokens"] == 10
    assert "gen_ai.request.stop_sequences" not in said


# Errors


class Guard(Hooks):
    def before_tool_execute(self, ctx: Any, call: ToolCall) -> ToolCall:
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
        pytest.param("late", {"tool_timeout": 0.01}, "timeout", id="it took too long"),
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
    """What the SDK of a service might raise."""


async def test_a_model_that_fails_is_an_error_of_the_request_and_the_run(traces):
    error = LLMError("slower", cause=TooFastError())
    with pytest.raises(LLMError):
        await agent(error, telemetry=traces.provider).run("?")
    for span in traces.spans:
        assert span.status.status_code is StatusCode.ERROR
        assert attributes(span)["error.type"] == "TooFastError", "what its SDK calls it"
    assert attributes(traces.named("invoke_agent agent"))["cogency_rs.run.status"] == "failed"


async def test_a_model_that_cannot_even_be_asked_is_an_error_of_the_request(traces):
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
    assert "error.type" not in chat, "its answer was over"


@pytest.mark.parametrize("event", ["user", "respond", "execute", "result"])
async def test_a_stream_that_is_closed_early_ends_its_spans_without_an_error(traces, event):
    mine = agent(f"Adding.{adding(1, 2)}", "3.", telemetry=traces.provider)
    async with mine.stream("?") as events:
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


async def test_a_run_that_waits_is_no_error_and_what_resumes_it_is_another_trace(traces):
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
    same = "gen_ai.conversation.id"
    assert attributes(first)[same] == attributes(second)[same]
    assert first.context.trace_id != second.context.trace_id


# Content


@tool
async def tell(word: str) -> str:
    """Tell."""
    if word == "secret-3":
        raise ValueError("secret-4")
    return "secret-2"


SECRETS = calls(call("tell", word="secret-1"), call("tell", word="secret-3"))


async def test_spans_hold_nothing_that_was_said_unless_that_is_asked_for(traces):
    answers = ["<think>secret-5</think>" + SECRETS, LLMError("secret-6")]
    mine = agent(*answers, tools=[tell], telemetry=traces.provider, instructions="secret-7")
    with pytest.raises(LLMError):
        await mine.run("secret-8")
    assert "secret" not in text_of(traces)


async def test_asked_for_spans_hold_the_messages_the_arguments_and_the_results(traces):
    telemetry = Telemetry(traces.provider, capture_content=True)
    mine = agent(
        SECRETS, [TextDelta("secret-6"), Finish("stop")], tools=[tell], telemetry=telemetry
    )
    await mine.run("secret-8")
    run, first, told, failed, last = map(attributes, traces.spans)
    assert json.loads(run["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "secret-8"}]}
    ]
    assert json.loads(run["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "secret-6"}]}
    ]
    system, question = json.loads(first["gen_ai.input.messages"])
    assert system["role"] == "system"
    assert question == {"role": "user", "parts": [{"type": "text", "content": "secret-8"}]}
    assert json.loads(last["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "secret-6"}],
            "finish_reason": "stop",
        }
    ]
    assert json.loads(told["gen_ai.tool.call.arguments"]) == {"word": "secret-1"}
    assert json.loads(told["gen_ai.tool.call.result"]) == "secret-2"
    assert "gen_ai.tool.call.result" not in failed
    assert "secret-4" in (traces.spans[3].status.description or "")


def test_messages_have_the_parts_that_the_conventions_name():
    function = {"name": "look", "arguments": '{"x": 1}'}
    given = [
        {"role": "user", "content": "?"},
        {
            "role": "assistant",
            "content": "",
            "reasoning": [{"text": "hm", "signature": "…"}],
            "tool_calls": [{"id": "1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "seen"},
        {"role": "user", "content": [{"type": "image"}]},
    ]
    assert json.loads(content.messages(given)) == [
        {"role": "user", "parts": [{"type": "text", "content": "?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "1", **function},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "seen"}]},
        {"role": "user", "parts": [{"type": "text", "content": '[{"type": "image"}]'}]},
    ]


def test_an_answer_is_put_together_of_its_pieces():
    answer = content.AnswerContent()
    for delta in (
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        TextDelta("a"),
        "b",
        ToolCallDelta(0, "1", "look", '{"x"'),
        ToolCallDelta(0, arguments=": 1}"),
        ToolCallDelta(1, "2", "look"),
    ):
        answer.take(delta)
    [message] = json.loads(answer.message("tool_calls"))
    assert message["finish_reason"] == "tool_calls"
    assert message["parts"] == [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "ab"},
        {"type": "tool_call", "id": "1", "name": "look", "arguments": '{"x": 1}'},
        {"type": "tool_call", "id": "2", "name": "look", "arguments": ""},
    ]


def test_declared_tools_are_content():
    request = ModelRequest([], tools=(ToolDeclaration("look", "Looks.", {"type": "object"}),))
    assert json.loads(content.definitions(request)) == [
        {
            "type": "function",
            "name": "look",
            "description": "Looks.",
            "parameters": {"type": "object"},
        }
    ]


@pytest.mark.parametrize("value", [{1, 2}, {(1, 2): 3}, object(), float("nan"), "\ud800"])
def test_any_value_can_be_content(value):
    assert isinstance(content.in_json(value), str)


# On and off


async def test_instrument_is_for_everything_that_runs_calls(traces):
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


async def test_it_works_inside_of_cogency_too(traces):
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


async def test_an_agents_own_telemetry_counts_more_than_the_programs(traces):
    own = Traces()
    instrument(traces.provider)
    await agent(adding(1, 2), "3.", telemetry=own.provider).run("?")
    assert (len(own.spans), len(traces.spans)) == (4, 0)


async def test_true_is_the_global_provider_whatever_that_is():
    await agent("Hi.", telemetry=True).run("?")


def test_where_it_is_off_opentelemetry_is_not_even_imported():
    code = """
import asyncio, sys
from cogency_rs import Agent, tool, uninstrument
from cogency_rs.testing import ScriptedModel

@tool
async def look() -> str:
    "Look."
    return "seen"

uninstrument()
model = ScriptedModel(['<execute>[{"name": "look", "args": {}}]</execute>', "Seen."])
print(Agent(model, tools=[look]).run_sync("?").output)
print([name for name in sys.modules if name.startswith(("opentelemetry", "cogency_rs.telemetry."))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Seen.\n[]\n"


@pytest.mark.parametrize("ask", ["instrument()", "Agent(print, telemetry=True)"])
def test_without_the_extra_it_says_what_to_install(ask):
    code = f"""
import sys
sys.modules["opentelemetry"] = None
from cogency_rs import *
try:
    {ask}
except ConfigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = "telemetry needs the package opentelemetry-api; run: pip install 'cogency-rs[otel]'\n"
    assert done.stdout == wanted


@pytest.mark.parametrize("wrong", [3, "on", None, object()])
def test_a_telemetry_that_is_none_is_refused(wrong):
    with pytest.raises(ConfigError, match="telemetry must be True, False, a TracerProvider or"):
        agent("", telemetry=wrong)


@pytest.mark.parametrize("option", ["tracer_provider", "meter_provider"])
def test_a_provider_that_is_none_is_refused(option):
    with pytest.raises(ConfigError, match=f"{option} must have a method get_"):
        instrument(**{option: 3})
    with pytest.raises(ConfigError, match=f"{option} must have a method get_"):
        agent("", telemetry=Telemetry(**{option: 3}))


# Metrics


@dataclass
class Metrics:
    """What was measured: of each metric, its points by their labels."""

    reader: InMemoryMetricReader
    provider: MeterProvider

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            (dict(point.attributes or {}), point)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def metrics():
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    yield Metrics(reader, provider)
    provider.shutdown()


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
    of = {"gen_ai.operation.name": "execute_tool"}
    assert counted("gen_ai.execute_tool.duration") == [
        ({**of, "gen_ai.tool.name": "add"}, 2),
        ({**of, "gen_ai.tool.name": "fail", "error.type": "ValueError"}, 1),
        ({**of, "gen_ai.tool.name": "_OTHER", "error.type": "ToolError"}, 1),
    ]
    tokens = {
        kind: [point.value for _, point in metrics.points(f"gen_ai.client.inference.usage.{kind}")]
        for kind in ("input_tokens", "output_tokens")
    }
    assert tokens == {"input_tokens": [30], "output_tokens": [5]}


def test_the_context_is_clean_after_all_of_it():
    assert context.get_current() == {}
