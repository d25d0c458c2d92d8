"""One run: steps of the model until it has answered, or something asks it to stop.

What follows a step is decided in the core (`decide`); here is what is done about it.

Invariants: every call in the log has its result there when a run is over, unless the run waits for somebody; what asks
for a stop is heeded between steps, when the batch is settled; a run that is cancelled leaves a row that says so.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Any, Literal

from .._core import decide
from ..accumulator import Accumulator
from ..codec import format_call_agent, format_results_array, parse_tool_call
from ..errors import HookError, ToolError
from ..history import History
from ..middleware import Hooks, Invocation, Middleware, Next
from ..middleware.approval import Approve, ToolApproved, ToolDenied
from ..middleware.hooks import sorted_hooks
from ..models import Usage
from ..records import ToolExecution
from ..results import failure
from ..storage.log import CallRecord, is_log
from ..storage.worker import worker
from ..tools import ToolContext, options_of
from ..turn_log import save_to_the_end
from ..types import CallMode, Execution, StreamMode, ToolCall, ToolResult, TurnOutcome
from .context import RunContext
from .drivers import Driver
from .limits import Spent, UsageLimits
from .output import Fault, OutputReader
from .recovery import Recovery, Repetition
from .results import (
    RunResult,
    RunStatus,
    Step,
    StepKind,
    StopReason,
    StopSignal,
    first_signal,
)
from .runtime import Runtime
from .stored import OpenBatch, StoredState, decisions_of, unknown
from .triggers import Triggers

__all__ = ["Run", "Settings"]

logger: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What all runs of an agent have in common; see `Agent`."""

    model: Any
    tools: tuple[Any, ...]
    driver: Driver
    storage: Any
    instructions: str
    identity: str | None
    limits: UsageLimits
    recovery: Recovery
    history: History
    hooks: tuple[Hooks, ...]
    middleware: tuple[Middleware, ...]
    approve: Approve | None
    approval_timeout: float
    tool_timeout: float | None
    max_concurrency: int | None
    output: OutputReader
    require_tool: bool
    stop_at_tools: frozenset[str]
    finish_reasons: frozenset[str]
    on_failure: Literal["continue", "raise"]
    on_block: Literal["continue", "stop"]
    on_busy: Literal["wait", "error"]
    calls: CallMode
    sandbox_dir: str
    access: Any
    name: str


@dataclass
class _Said:
    """What the events of a step say."""

    text: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    errors: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def take(self, event: Mapping[str, Any]) -> None:
        """See an event."""
        match event["type"]:
            case "respond":
                self.text.append(event["content"])
            case "think":
                self.thoughts.append(event["content"])
            case "call":
                self.calls.append(parse_tool_call(event["content"]))
            case "error":
                self.errors.append(event)
            case _:
                pass


class Run:
    """One run of an agent.

    Args:
        settings: the agent's.
        ctx: what hooks and drivers see.
        stream: whether text comes as it arrives.
        decisions: of a run that is resumed, what somebody decided; `None` of a run with a question.
        limits: in place of the agent's.

    Attributes:
        result: what came of it, once it is over.
        status: how far it has come.
    """

    def __init__(
        self,
        settings: Settings,
        ctx: RunContext[Any],
        *,
        stream: StreamMode,
        decisions: Mapping[str, ToolApproved | ToolDenied | bool] | None = None,
        is_resumed: bool = False,
        limits: UsageLimits | None = None,
    ) -> None:
        self._settings = settings
        self.ctx = ctx
        self._stream: StreamMode = stream
        self._decisions = decisions_of(decisions)
        self._is_resumed = is_resumed
        self._limits = limits or settings.limits
        self._triggers = Triggers(sorted_hooks(settings.hooks), ctx)
        self._execution = Execution(
            storage=settings.storage,
            tools=settings.tools,
            sandbox_dir=settings.sandbox_dir,
            access=settings.access,
            deps=ctx.deps,
        )
        self._repetition = Repetition(settings.recovery)
        self._calls_made = 0
        self._waiting: tuple[ToolCall, ...] = ()
        self._output: Any = ""
        self._is_asked_to_stop: str | None = None
        self.status: RunStatus = "pending"
        self.result: RunResult[Any] | None = None

    def stop(self, message: str = "") -> None:
        """Ask that the run stops at its next boundary, when its calls have their results; from any thread."""
        self._is_asked_to_stop = message

    async def events(self) -> AsyncGenerator[Any, None]:
        """Carry the run out: its events, and a `Step` behind those of each step."""
        self._began = monotonic()
        async with self._claim():
            self.status = "in_progress"
            try:
                await self._triggers.tell("before_run")
                async with aclosing(self._begin()) as begun:
                    async for event in begun:
                        yield event
                if not self._waiting and self.status == "in_progress":
                    async with aclosing(self._loop()) as events:
                        async for event in events:
                            yield event
                await self._finish()
            except (asyncio.CancelledError, GeneratorExit):
                self.status = "stopped"
                self.ctx.add(StopSignal(StopReason.USER_REQUESTED, "cancelled", source="user"))
                self.result = self._make_result()
                await self._note_cancellation()
                raise
            except Exception as error:
                self.status = "failed"
                self.ctx.add(StopSignal(StopReason.ERROR, str(error), source=self._settings.name))
                self.result = self._make_result()
                await self._tell_of(error)
                raise

    # Its parts

    def _claim(self) -> AbstractAsyncContextManager[Any]:
        """The conversation for this run alone, where the log can give that."""
        storage = self._settings.storage
        given: object = storage
        if not hasattr(type(given), "claim"):
            return nullcontext()
        claim: AbstractAsyncContextManager[Any] = storage.claim(
            self.ctx.conversation_id, wait=self._settings.on_busy == "wait"
        )
        return claim

    async def _begin(self) -> AsyncGenerator[Any, None]:
        """Settle what an earlier run left, and ask the question, or go on where it stopped."""
        ctx, storage = self.ctx, self._settings.storage
        state = StoredState(None, "", None, ())
        if is_log(storage):
            state = await StoredState.read(storage, ctx.conversation_id)
        if state.stale:
            await self._append((), OpenBatch((), state.stale).given_up_records())
        self._runtime = Runtime(
            ctx=ctx,
            model=self._settings.model,
            execution=self._execution,
            triggers=self._triggers,
            history=self._settings.history,
            instructions=self._instructions(),
            identity=self._settings.identity,
            stream=self._stream,
            calls=self._settings.calls,
        )
        self._accumulator = self._make_accumulator(self._settings.approve or "wait")
        if not self._is_resumed:
            if state.batch is not None:
                results, records = state.batch.given_up()
                row = ("result", results_row(state.batch.calls, results), time())
                await self._append((row,), records)
            now = time()
            await self._append((("user", ctx.question, now),))
            yield {"type": "user", "content": ctx.question, "timestamp": now}
            return
        self._say_which_are_unknown(state.batch)
        if state.batch is not None:
            async with aclosing(self._go_on_with(state.batch)) as events:
                async for event in events:
                    yield event
        elif state.last in (None, "respond"):
            self.status = "completed"
            self._output = self._read_output(state.answer)

    def _say_which_are_unknown(self, batch: OpenBatch | None) -> None:
        waiting = {record.id for record in batch.records} if batch and batch.waits else set[str]()
        for id in self._decisions.keys() - waiting:
            logger.warning("Nothing waits for the decision of %r: it is ignored", id)

    async def _go_on_with(self, batch: OpenBatch) -> AsyncGenerator[Any, None]:
        """Carry out calls that an earlier run left: what somebody agreed to, and what may be run twice."""
        if batch.waits:
            batch = batch.with_decisions(self._decisions)
            decided = batch.decided()
            await self._append((), batch.records)
            tools = {tool.name: tool for tool in self._execution.tools}
            undecided = [
                call
                for call in batch.calls
                if str(call.id) not in decided
                and options_of(tools.get(call.name)).requires_approval is not False
            ]
            if undecided:
                self._waiting = batch.calls
                self.status = "waiting"
                return
            layers: tuple[Middleware, ...] = ()
        else:
            decided = {}
            layers = (_not_twice,)
        begun = batch.begun(worker())
        await self._append((), begun)

        def approve(ctx: ToolContext[Any], call: ToolCall) -> ToolApproved | ToolDenied:
            return decided.get(ctx.execution_id) or ToolDenied("nobody agreed to it")

        accumulator = self._make_accumulator(
            approve if batch.waits else self._settings.approve, layers
        )
        async with aclosing(
            self._step(accumulator, lambda: _calls_again(batch.calls), begun)
        ) as events:
            async for event in events:
                yield event

    async def _loop(self) -> AsyncGenerator[Any, None]:
        """Ask the model, step by step."""
        while not self._is_to_end():
            if await self._is_stopped(self._limits.reached(self._spent())):
                return
            await self._triggers.tell("before_step")
            if await self._is_stopped(()):
                return
            async with aclosing(self._step(self._accumulator, self._ask)) as events:
                async for event in events:
                    yield event
            if self._is_asked_to_stop is not None and self.status == "in_progress":
                now = time()
                yield {"type": "interrupt", "timestamp": now}
                await self._append((("cancelled", self._is_asked_to_stop, now),))
                yield {"type": "cancelled", "content": self._is_asked_to_stop, "timestamp": now}
                self.status = "stopped"

    def _ask(self) -> AsyncIterable[Any]:
        return self._settings.driver.step(self.ctx, self._runtime)

    def _is_to_end(self) -> bool:
        return self.status != "in_progress"

    async def _is_stopped(self, signals: Any) -> bool:
        """Whether the run stops here, before a step."""
        for signal in signals:
            self.ctx.add(signal)
        if self._is_asked_to_stop is not None:
            self.ctx.add(
                StopSignal(StopReason.USER_REQUESTED, self._is_asked_to_stop, source="user")
            )
        signal = first_signal(self.ctx.signals)
        if signal is None:
            return False
        await self._triggers.tell("on_stop", signal)
        if self.ctx.is_to_go_on:
            self.ctx.went_on()
            return False
        self.status = _status_of(signal)
        return True

    async def _step(
        self,
        accumulator: Accumulator,
        source: Callable[[], AsyncIterable[Any]],
        known: Sequence[CallRecord] = (),
    ) -> AsyncGenerator[Any, None]:
        """Carry out one step, and decide what follows."""
        ctx, runtime, said = self.ctx, self._runtime, _Said()
        runtime.used, runtime.finish_reason = Usage(), None
        began = monotonic()
        async with aclosing(accumulator.process(source(), known=known)) as events:
            async for event in self._in_time(events):
                said.take(event)
                yield event
        outcome = accumulator.outcome or TurnOutcome.FAILED
        if self._is_out_of_time:
            outcome = TurnOutcome.TRUNCATED
        executions = tuple(accumulator.executions)
        self._calls_made += len(executions)
        fault = self._fault(outcome, said)
        if fault is not None:
            event = await self._report(fault)
            said.errors.append(event)
            yield event
        step = Step(
            index=ctx.step,
            kind=_kind_of(outcome, fault, executions, bool(accumulator.waiting)),
            outcome=outcome,
            text="".join(said.text).strip(),
            thoughts="".join(said.thoughts).strip(),
            calls=tuple(said.calls),
            executions=executions,
            usage=runtime.used,
            finish_reason=runtime.finish_reason or accumulator.finish_reason,
            error=said.errors[-1].get("content") if said.errors else None,
        )
        step = await self._triggers.change("after_step", step)
        ctx.steps.append(step)
        ctx.step += 1
        yield step
        yield self._metric(step, monotonic() - began)
        self._raise_for(executions)
        if accumulator.stop is not None:
            source_name = next((e.name for e in executions), "")
            ctx.add(StopSignal.of(accumulator.stop, source_name))
        for signal in self._signals(step, said):
            ctx.add(signal)
        if not executions and not fault:
            self._output = step.text if self._read is None else self._read
        await self._decide(outcome, accumulator, is_refused=fault is not None)

    async def _decide(
        self, outcome: TurnOutcome, accumulator: Accumulator, *, is_refused: bool
    ) -> None:
        ctx = self.ctx
        signal = first_signal(ctx.signals)
        if signal is not None:
            await self._triggers.tell("on_stop", signal)
        if outcome is TurnOutcome.ENDED and accumulator.stop is not None:
            outcome = TurnOutcome.ACTED  # the tool asked for the end, and a hook may ask to go on
        decision = decide(
            outcome,
            is_to_stop=signal is not None,
            is_to_go_on=ctx.is_to_go_on,
            is_refused=is_refused,
        )
        match decision:
            case "wait":
                self._waiting = tuple(accumulator.waiting)
                self.status = "waiting"
            case "stop":
                self.status = "completed" if signal is None else _status_of(signal)
                if outcome is TurnOutcome.FAILED:
                    self.status = "failed"
            case _:
                ctx.went_on()

    # What a step says

    _is_out_of_time = False
    _read: Any = None

    async def _in_time(self, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """The events, until the time of the run is over; then the step is stopped, and its calls settled."""
        self._is_out_of_time = False
        if self._limits.seconds is None:
            async for event in events:
                yield event
            return
        while True:
            left = self._limits.seconds - (monotonic() - self._began)
            limit = asyncio.timeout(max(left, 0))
            try:
                async with limit:
                    event = await anext(events, None)
            except TimeoutError:
                if not limit.expired():
                    raise
                self._is_out_of_time = True
                return
            if event is None:
                return
            yield event

    def _fault(self, outcome: TurnOutcome, said: _Said) -> tuple[str, str] | None:
        """Why an answer is not what was asked for: a code, and what the model is told."""
        self._read = None
        if outcome not in (TurnOutcome.ANSWERED, TurnOutcome.ENDED) or said.errors:
            return None
        if self._accumulator.stop is not None or said.calls:
            return None
        if self._settings.require_tool:
            names = ", ".join(tool.name for tool in self._runtime.visible_tools)
            return (
                "no_tool_call",
                f"Your answer calls no tool, and each of your answers must call one. Tools: {names}.",
            )
        value = self._settings.output.read("".join(said.text).strip())
        if isinstance(value, Fault):
            return "invalid_output", value.message
        self._read = value
        return None

    def _read_output(self, text: str) -> Any:
        value = self._settings.output.read(text)
        return text if isinstance(value, Fault) else value

    async def _report(self, fault: tuple[str, str]) -> dict[str, Any]:
        """Say what was wrong with an answer: to whoever reads the run, and in the log, where the model is shown it."""
        code, content = fault
        now = time()
        row = json.dumps({"kind": "malformed", "content": content, "raw": "", "code": code})
        await self._append((("error", row, now),))
        return {
            "type": "error",
            "kind": "malformed",
            "code": code,
            "content": content,
            "raw": "",
            "line": None,
            "column": None,
            "timestamp": now,
        }

    def _signals(self, step: Step, said: _Said) -> Any:
        """What a step asks for: that the run stops, and why."""
        settings = self._settings
        tools = {tool.name: tool for tool in settings.tools}
        for each in step.executions:
            ends = each.name in settings.stop_at_tools or options_of(tools.get(each.name)).ends_run
            if ends and each.status == "success":
                value = each.result.content
                self._output = each.result.outcome if value is None or value == "" else value
                text = f"Tool '{each.name}' ended the run"
                yield StopSignal(StopReason.COMPLETED, text, source=each.name)
                break
        if step.finish_reason in settings.finish_reasons:
            text = f"The model stopped for {step.finish_reason!r}"
            yield StopSignal(StopReason.FINISH_REASON, text, source="model")
        if self._is_out_of_time:
            yield self._limits.out_of_time(monotonic() - self._began)
        if self._is_asked_to_stop is not None:
            yield StopSignal(StopReason.USER_REQUESTED, self._is_asked_to_stop, source="user")
        errors = [
            ((str(error.get("code") or error.get("kind")), ""), str(error.get("content")))
            for error in said.errors
        ]
        repeated = self._repetition.enter(
            [
                *errors,
                *(
                    (_error_key(each, tools), str(each.error)) if each.error else None
                    for each in step.executions
                ),
                *([None] if not errors and not step.executions else []),
            ]
        )
        if repeated is not None:
            yield repeated

    def _raise_for(self, executions: Sequence[ToolExecution]) -> None:
        """Raise what a batch left to raise, now that it is settled."""
        for each in executions:
            if isinstance(error := getattr(each.result, "exception", None), HookError):
                raise error
        failed = [each for each in executions if each.result.error and not each.blocked]
        if failed and self._settings.on_failure == "raise":
            first = failed[0]
            error = ToolError(f"Tool '{first.name}' failed: {first.error}")
            error.executions = tuple(executions)
            raise error from getattr(first.result, "exception", None)

    def _metric(self, step: Step, seconds: float) -> dict[str, Any]:
        def counted(usage: Usage, seconds: float) -> dict[str, Any]:
            return {
                "input": usage.read_tokens,
                "output": usage.written_tokens,
                "duration": seconds,
            }

        return {
            "type": "metric",
            "step": counted(step.usage, seconds),
            "total": counted(self.ctx.usage, monotonic() - self._began),
            "is_estimate": step.usage.is_estimate,
            "timestamp": time(),
        }

    # Its end

    async def _finish(self) -> None:
        self.result = await self._triggers.change("after_run", self._make_result())

    def _make_result(self) -> RunResult[Any]:
        ctx = self.ctx
        stop = first_signal(ctx.signals) if self.status not in ("in_progress", "waiting") else None
        output = self._output
        if self.status != "completed" and not output and ctx.steps:
            output = ctx.steps[-1].text
        return RunResult(
            output=output,
            status=self.status,
            stop=stop,
            usage=ctx.usage,
            steps=tuple(ctx.steps),
            waiting=self._waiting,
            conversation_id=ctx.conversation_id,
            run_id=ctx.run_id,
        )

    async def _tell_of(self, error: Exception) -> None:
        """Tell hooks of the error that ends the run; what they raise themselves must not hide it."""
        try:
            await self._triggers.tell("on_error", error)
            await self._finish()
        except Exception:
            logger.exception("A hook failed when it was told of %r", error)

    async def _note_cancellation(self) -> None:
        try:
            await self._append((("cancelled", "", time()),))
        except Exception:
            logger.exception("That a run was cancelled could not be saved")

    # Its log

    async def _append(
        self, rows: Sequence[tuple[str, str, float]], calls: Sequence[CallRecord] = ()
    ) -> None:
        ctx = self.ctx
        await save_to_the_end(self._settings.storage, ctx.conversation_id, ctx.user_id, rows, calls)

    def _spent(self) -> Spent:
        return Spent(
            len(self.ctx.steps), self._calls_made, self.ctx.usage, monotonic() - self._began
        )

    def _instructions(self) -> str:
        parts = [self._settings.instructions, self._settings.output.instructions]
        return "\n\n".join(part for part in parts if part)

    def _make_accumulator(
        self, approve: Approve | Literal["wait"] | None, layers: Sequence[Middleware] = ()
    ) -> Accumulator:
        settings = self._settings
        if approve == "wait" and not is_log(settings.storage):
            approve = None
        budget = () if self._limits.tool_calls is None else (self._within_budget,)
        accumulator = Accumulator(
            self.ctx.user_id,
            self.ctx.conversation_id,
            execution=self._execution,
            stream=self._stream,
            max_failures=_NEVER,
            tool_timeout=settings.tool_timeout,
            max_concurrency=settings.max_concurrency,
            middleware=(*layers, *budget, *settings.middleware),
            hooks=settings.hooks,
            approve=approve,
            approval_timeout=settings.approval_timeout,
            on_block=settings.on_block,
        )
        accumulator.state = self.ctx.state
        return accumulator

    async def _within_budget(self, invocation: Invocation, next: Next) -> ToolResult:
        """Refuse calls beyond the limit of calls."""
        most = self._limits.tool_calls
        if most is not None and self._calls_made + invocation.index >= most:
            return failure(f"Not run: this run may make {most} tool calls, and has made them")
        return await next(invocation)


_NEVER = 2**31
"""Failures in a row at which a turn's breaker opens: a run counts equal errors itself."""


def results_row(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
    """The results of a batch as the log has them."""
    return format_results_array(calls, results)


async def _calls_again(calls: Sequence[ToolCall]) -> AsyncGenerator[dict[str, Any], None]:
    """Calls of the log, as events."""
    for call in calls:
        yield {"type": "call", "content": format_call_agent(call)}
    yield {"type": "execute"}


async def _not_twice(invocation: Invocation, next: Next) -> ToolResult:
    """Run a call again only if its tool may run twice."""
    if not options_of(invocation.tool).may_run_twice:
        return unknown(invocation.call)
    return await next(invocation)


def _status_of(signal: StopSignal) -> RunStatus:
    match signal.reason:
        case StopReason.COMPLETED:
            return "completed"
        case StopReason.ERROR:
            return "failed"
        case _:
            return "stopped"


def _kind_of(
    outcome: TurnOutcome, fault: object, executions: Sequence[ToolExecution], waits: bool
) -> StepKind:
    if executions or waits:
        return "tool_execution"
    is_error = fault is not None or outcome in (
        TurnOutcome.MALFORMED,
        TurnOutcome.TRUNCATED,
        TurnOutcome.FAILED,
    )
    return "error" if is_error else "final_response"


def _error_key(execution: ToolExecution, tools: Mapping[str, Any]) -> tuple[str, str]:
    known = execution.name in tools
    return ("tool_execution" if known else "unknown_tool", execution.name)
