"""Spans around runs, requests and calls, and the metrics of each.

A run and an answer are async generators, which run in the context of the caller that asks for their next item. So a
span is the present one only while the next item is made, and never while the caller has the item: what the caller does
between two items is not part of the span, and no context outlives its task.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from opentelemetry.context import Context, attach, create_key, detach, get_value, set_value
from opentelemetry.metrics import Histogram, get_meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, get_tracer, set_span_in_context

from .._core import __version__
from ..errors import ConfigError
from ..hooks import Invocation, Next
from ..models import Finish, ModelRequest, Usage
from ..types import ToolResult
from . import conventions as names
from .options import Telemetry

if TYPE_CHECKING:
    from ..runs.context import RunContext
    from ..runs.result import RunResult


_SCOPE = "cogency_rs"
_KEY = create_key("cogency_rs-telemetry")

Item = TypeVar("Item")


def of_context() -> Tracing | None:
    """The tracing of the run that the present code is part of."""
    return cast("Tracing | None", get_value(_KEY))


class Tracing:
    """Makes the spans of runs, requests and calls, and records their metrics.

    Args:
        telemetry: where spans and metrics go, and how much they hold.

    Raises:
        ConfigError: a provider lacks the method of a provider.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        for option, method in (("tracer_provider", "get_tracer"), ("meter_provider", "get_meter")):
            given: object = getattr(telemetry, option)
            if given is not None and not callable(getattr(given, method, None)):
                raise ConfigError(f"{option} must have a method {method}, which {given!r} lacks")
        self._captures = telemetry.capture_content
        self._tracer = get_tracer(_SCOPE, __version__, telemetry.tracer_provider)
        meter = get_meter(_SCOPE, __version__, telemetry.meter_provider)

        def seconds(name: str, description: str, bounds: tuple[float, ...]) -> Histogram:
            return meter.create_histogram(
                name, "s", description, explicit_bucket_boundaries_advisory=bounds
            )

        calls, runs = names.CALL_SECONDS, names.AGENT_SECONDS
        self._of_runs = seconds("gen_ai.invoke_agent.duration", "Runs of agents.", runs)
        self._of_answers = seconds("gen_ai.client.inference.duration", "Answers of models.", calls)
        self._of_first_chunks = seconds(
            "gen_ai.client.inference.time_to_first_chunk", "Until an answer began.", calls
        )
        self._of_calls = seconds("gen_ai.execute_tool.duration", "Calls of tools.", calls)
        self._input_tokens = meter.create_counter(
            "gen_ai.client.inference.usage.input_tokens", "{token}", "Tokens that models read."
        )
        self._output_tokens = meter.create_counter(
            "gen_ai.client.inference.usage.output_tokens", "{token}", "Tokens that models wrote."
        )

    async def run(
        self,
        events: AsyncGenerator[Item, None],
        agent: str,
        model: Any,
        ctx: RunContext[Any],
        result: Callable[[], RunResult[Any] | None],
    ) -> AsyncGenerator[Item, None]:
        """The events of a run, with a span `invoke_agent` around it.

        Args:
            events: the events of the run.
            agent: the agent's name.
            model: the model that it asks.
            ctx: the run.
            result: returns the run's result, once the run is over.
        """
        asked = names.model_attributes(model)
        with self._operation(
            "invoke_agent",
            agent,
            self._of_runs,
            {"gen_ai.agent.name": agent, **asked},
            names.agent_attributes(agent, ctx.conversation_id),
        ) as operation:
            try:
                async with aclosing(operation.within(events)) as items:
                    async for item in items:
                        yield item
            finally:  # a run that is closed early has its result only now
                self._add_result(operation, ctx.question, result())

    def _add_result(
        self, operation: _Operation, question: str, result: RunResult[Any] | None
    ) -> None:
        if result is None or not operation.span.is_recording():
            return
        set_attribute = operation.span.set_attribute
        operation.span.set_attributes(names.usage_attributes(result.usage))
        set_attribute(names.RUN_STATUS, result.status)
        if result.stop is not None:
            set_attribute(names.STOP_REASON, result.stop.reason.value)
        if self._captures:
            if question:  # a resumed run has no question
                set_attribute(names.INPUT_MESSAGES, names.one_message("user", question))
            output = result.output if result.has_output else result.text
            set_attribute(names.OUTPUT_MESSAGES, names.one_message("assistant", output))

    async def answer(
        self,
        model: Any,
        request: ModelRequest,
        conversation_id: str,
        ask: Callable[[], Awaitable[AsyncIterator[Any]]],
    ) -> AsyncGenerator[Any, None]:
        """The pieces of an answer, with a span `chat` around the request.

        Args:
            model: the model that is asked.
            request: the request.
            conversation_id: the conversation's id.
            ask: sends the request.
        """
        asked = names.model_attributes(model)
        asked |= names.server_attributes(getattr(model, "base_url", None))
        with self._operation(
            "chat",
            asked.get("gen_ai.request.model", ""),
            self._of_answers,
            asked,
            {names.CONVERSATION_ID: conversation_id, **names.request_attributes(request)},
            kind=SpanKind.CLIENT,
        ) as operation:
            seen = _Seen(self._captures and operation.span.is_recording())
            if seen.content is not None:
                operation.span.set_attribute(names.INPUT_MESSAGES, names.messages(request.messages))
                if request.tools:
                    operation.span.set_attribute(names.TOOL_DEFINITIONS, names.definitions(request))
            try:
                async with aclosing(operation.within(_opened(ask))) as deltas:
                    async for delta in deltas:
                        if seen.seconds is None:
                            seen.seconds = operation.seconds
                        seen.take(delta)
                        yield delta
            finally:
                self._add_answer(operation, seen, asked)

    def _add_answer(self, operation: _Operation, seen: _Seen, asked: names.Attributes) -> None:
        span, labels = operation.span, {names.OPERATION: "chat", **asked}
        if seen.seconds is not None:
            span.set_attribute(names.TIME_TO_FIRST_CHUNK, seen.seconds)
            self._of_first_chunks.record(seen.seconds, labels)
        if seen.finish_reason is not None:
            span.set_attribute(names.FINISH_REASONS, [seen.finish_reason])
        if seen.content is not None:
            span.set_attribute(names.OUTPUT_MESSAGES, seen.content.message(seen.finish_reason))
        if seen.usage is not None and not seen.usage.is_estimate:
            span.set_attributes(names.usage_attributes(seen.usage))
            self._input_tokens.add(seen.usage.read_tokens, labels)
            self._output_tokens.add(seen.usage.written_tokens, labels)

    async def call(self, invocation: Invocation, next: Next) -> ToolResult:
        """A function around calls that puts a span `execute_tool` around each, outside of all others."""
        call, tool = invocation.call, invocation.tool
        name = str(call.name)
        with self._operation(
            "execute_tool",
            name,
            self._of_calls,
            {"gen_ai.tool.name": names.OTHER if tool is None else name},
            names.call_attributes(name, invocation.id, tool, invocation.context.conversation_id),
        ) as operation:
            captures = self._captures and operation.span.is_recording()
            if captures:
                operation.span.set_attribute(names.ARGUMENTS, names.in_json(call.args))
            with operation.present():
                result = await next(invocation)
            error = names.result_error(result, tool)
            if error is not None:
                operation.fail(error, result.outcome if captures else None)
            elif captures:
                value = result.outcome if result.content is None else result.content
                operation.span.set_attribute(names.RESULT, names.in_json(value))
            return result

    @contextmanager
    def _operation(
        self,
        operation_name: str,
        of: str,
        seconds: Histogram,
        labels: names.Attributes,
        attributes: names.Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Generator[_Operation]:
        """A span that lasts as long as the block. An exception is its error; an early close is not."""
        labels = {names.OPERATION: operation_name, **labels}
        span = self._tracer.start_span(
            f"{operation_name} {of}".rstrip(), kind=kind, attributes={**labels, **attributes}
        )
        operation = _Operation(span, set_span_in_context(span, set_value(_KEY, self)))
        try:
            yield operation
        except GeneratorExit:
            raise
        except BaseException as error:
            if self._captures:
                span.record_exception(error)
            operation.fail(names.error_type(error), str(error) if self._captures else None)
            raise
        finally:
            if operation.error is not None:
                labels[names.ERROR_TYPE] = operation.error
            seconds.record(operation.seconds, labels, set_span_in_context(span))
            span.end()


class _Operation:
    """A span that has begun.

    Attributes:
        span: the span.
        error: the class of its error, if it has one.
    """

    def __init__(self, span: Span, context: Context) -> None:
        self.span = span
        self.error: str | None = None
        self._context = context
        self._began = perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return perf_counter() - self._began

    def fail(self, error: str, description: str | None) -> None:
        """Note that it ended in an error of this class."""
        self.error = error
        self.span.set_attribute(names.ERROR_TYPE, error)
        self.span.set_status(Status(StatusCode.ERROR, description))

    @contextmanager
    def present(self) -> Generator[None]:
        """The span is the present one in the block, which must not yield to another task's context."""
        token = attach(self._context)
        try:
            yield
        finally:
            detach(token)

    async def within(self, items: AsyncGenerator[Item, None]) -> AsyncGenerator[Item, None]:
        """The items; the span is the present one while they are made, and only then."""
        try:
            while True:
                with self.present():
                    try:
                        item = await anext(items)
                    except StopAsyncIteration:
                        return
                yield item
        finally:
            with self.present():
                await items.aclose()


class _Seen:
    """What is noted of an answer while it streams.

    Attributes:
        content: the answer's content, if spans hold content.
        usage: the tokens that it used, if the model reports them.
        finish_reason: why it ended, if the model reports it.
        seconds: how long the answer took to begin.
    """

    def __init__(self, captures: bool) -> None:
        self.content = names.AnswerContent() if captures else None
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self.seconds: float | None = None

    def take(self, delta: Any) -> None:
        """Note the next piece."""
        match delta:
            case Usage():
                self.usage = delta
            case Finish(reason):
                self.finish_reason = reason
            case _ if self.content is not None:
                self.content.take(delta)
            case _:
                pass


async def _opened(ask: Callable[[], Awaitable[AsyncIterator[Any]]]) -> AsyncGenerator[Any, None]:
    """The items of an iterator that `ask` returns."""
    source = await ask()
    try:
        async for item in source:
            yield item
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()
