"""One step of a run: the model is asked, its calls are carried out, and what came of it is put together.

What follows from it is the run's to decide.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Literal

from ..accumulator import Accumulator
from ..errors import BlockTool, HookError, ToolError
from ..middleware import Approve, Invocation, Middleware, Next
from ..models import Usage
from ..records import ToolExecution
from ..results import failure
from ..storage.log import CallRecord
from ..toolbox import Toolbox
from ..tools import options_of
from ..types import ToolCall, ToolResult, TurnOutcome
from .deadline import Deadline
from .delegate import calling, has_delegate
from .output import Fault
from .recovery import Repetition
from .results import Step, StopReason, StopSignal
from .step_content import StepContent, kind_of

if TYPE_CHECKING:
    from .run import Run
    from .run_log import RunLog
    from .runtime import Runtime
    from .settings import AgentSettings

__all__ = ["FinishedStep", "Refused", "Stepping"]

_NEVER = 2**31
"""Failures in a row at which a turn's breaker opens: a run counts equal errors itself."""


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """What came of a step.

    Attributes:
        step: the step, as hooks left it.
        outcome: how its turn came out; of one that a tool or a hook ended, that it acted.
        output: the answer, or what a tool that ends the run gave; `None` where there is neither.
        is_refused: whether the answer is not what was asked for.
        is_answer: whether the log ends with the answer.
        waiting: its calls, where they wait for somebody.
        signals: what asks that the run stops.
        error: what the batch or the driver left to raise, now that the step is over.
        metric: the event that says what it took.
    """

    step: Step
    outcome: TurnOutcome
    output: Any
    is_refused: bool
    is_answer: bool
    waiting: tuple[ToolCall, ...]
    signals: tuple[StopSignal, ...]
    error: Exception | None
    metric: dict[str, Any]


class Stepping:
    """Carries out the steps of one run.

    Args:
        run: the run.
        settings: the agent's.
        runtime: what drivers work with.
        log: the run's.
        approve: who is asked of calls that require approval; `"wait"` to let the run wait.

    Attributes:
        finished: what came of the last step; set when it is over.
    """

    finished: FinishedStep

    def __init__(
        self,
        run: Run,
        settings: AgentSettings,
        runtime: Runtime,
        log: RunLog,
        approve: Approve | Literal["wait"] | None,
    ) -> None:
        self._run = run
        self._settings = settings
        self._runtime = runtime
        self._log = log
        self._tools = Toolbox.of(settings.tools)
        self._repetition = Repetition(settings.recovery)
        self._over_limit: dict[
            str, StopSignal
        ] = {}  # of calls that were refused for a limit, by id
        self._counted: set[str] = set()  # the ids of calls that were counted for a limit
        self._accumulator = self._make_accumulator(approve)

    def ask(self) -> AsyncGenerator[Any, None]:
        """Ask the model, and carry out what it calls: the events of the step."""
        driver, ctx = self._settings.driver, self._run.ctx
        return self._step(self._accumulator, lambda: driver.step(ctx, self._runtime))

    def carry_out(
        self,
        calls: Callable[[], AsyncIterable[Any]],
        known: Sequence[CallRecord],
        approve: Approve,
        layers: Sequence[Middleware],
    ) -> AsyncGenerator[Any, None]:
        """Carry out calls that the log has already: the events of the step."""
        return self._step(self._make_accumulator(approve, layers), calls, known)

    async def _step(
        self,
        accumulator: Accumulator,
        source: Callable[[], AsyncIterable[Any]],
        known: Sequence[CallRecord] = (),
    ) -> AsyncGenerator[Any, None]:
        ctx, runtime, said = self._run.ctx, self._runtime, StepContent()
        runtime.used, runtime.finish_reason = Usage(), None
        runtime.refused, runtime.error = [], None
        self._over_limit.clear()
        self._counted.clear()
        began, deadline = monotonic(), Deadline(ctx.account)
        events: AsyncGenerator[Any, None] = accumulator.process(source(), known=known)
        in_time = deadline.until(events) if deadline.is_set else events
        async with aclosing(events), aclosing(in_time):
            async for event in in_time:
                said.take(event)
                yield event
        outcome = accumulator.outcome or TurnOutcome.FAILED
        if deadline.is_over:
            outcome = TurnOutcome.TRUNCATED
        executions = tuple(accumulator.executions)
        is_answer = (
            outcome in (TurnOutcome.ANSWERED, TurnOutcome.ENDED)
            and not (said.errors or said.calls)
            and accumulator.stop is None
        )
        output = self.read(said.text) if is_answer else None
        is_refused = isinstance(output, Refused)
        if isinstance(output, Refused):
            report = await self._log.report(output.code, output.message)
            said.take(report)
            yield report
            output = None
        step = Step(
            index=ctx.step,
            kind=kind_of(
                outcome, calls=bool(executions or accumulator.waiting), is_refused=is_refused
            ),
            outcome=outcome,
            text=said.text,
            thoughts=said.reasoning,
            calls=tuple(said.calls),
            executions=(*executions, *runtime.refused),
            usage=runtime.used,
            finish_reason=runtime.finish_reason or accumulator.finish_reason,
            error=said.error,
        )
        step = await self._run.triggers.change("after_step", step)
        ending = next(filter(self._ends_run, executions), None)
        if accumulator.stop is not None and outcome is TurnOutcome.ENDED:
            outcome = (
                TurnOutcome.ACTED
            )  # a tool asked for the end: a signal, and a hook may ask to go on
        self.finished = FinishedStep(
            step=step,
            outcome=outcome,
            output=output if ending is None else _given_by(ending),
            is_refused=is_refused,
            is_answer=is_answer and not is_refused and said.text != "",
            waiting=tuple(accumulator.waiting),
            signals=tuple(self._signals(executions, said, accumulator, deadline, ending)),
            error=runtime.error or self._error_of(executions),
            metric=self._metric(step, monotonic() - began),
        )

    def read(self, text: str) -> Any:
        """The value of an answer, or why it is not what was asked for."""
        if self._settings.require_tool:
            names = ", ".join(tool.name for tool in self._runtime.visible_tools)
            text = f"Your answer calls no tool, and each of your answers must call one. Tools: {names}."
            form: str = getattr(self._settings.driver, "call_form", "")
            return Refused(
                "no_tool_call", f"{text} Write the call like this:\n{form}" if form else text
            )
        value = self._settings.output.read(text)
        return Refused("invalid_output", value.message) if isinstance(value, Fault) else value

    def _ends_run(self, execution: ToolExecution) -> bool:
        ends = options_of(self._tools.find(execution.call)).ends_run
        asked = ends or execution.name in self._settings.stop_at_tools
        return asked and execution.status == "success"

    def _signals(
        self,
        executions: Sequence[ToolExecution],
        said: StepContent,
        accumulator: Accumulator,
        deadline: Deadline,
        ending: ToolExecution | None,
    ) -> Iterator[StopSignal]:
        """What a step asks for: that the run stops, and why."""
        if accumulator.stop is not None:
            yield StopSignal.of(accumulator.stop)
        if ending is not None:
            text = f"Tool '{ending.name}' ended the run"
            yield StopSignal(StopReason.COMPLETED, text, source=ending.name)
        finish_reason = self._runtime.finish_reason or accumulator.finish_reason
        if finish_reason in self._settings.finish_reasons:
            text = f"The model stopped for {finish_reason!r}"
            yield StopSignal(StopReason.FINISH_REASON, text, source="model")
        if deadline.is_over:
            yield self._run.ctx.account.out_of_time()
        if self._over_limit and len(self._over_limit) == len(executions):
            yield next(iter(self._over_limit.values()))
        repeated = self._repetition.enter(said.happened(executions, self._tools))
        if repeated is not None:
            yield repeated

    def _error_of(self, executions: Sequence[ToolExecution]) -> Exception | None:
        """What a batch left to raise."""
        for each in executions:
            if isinstance(error := getattr(each.result, "exception", None), HookError):
                return error
        failed = [each for each in executions if each.status in ("failure", "timeout")]
        if not failed or self._settings.on_failure != "raise":
            return None
        first = failed[0]
        error = ToolError(f"Tool '{first.name}' failed: {first.error}")
        error.executions = tuple(executions)
        error.__cause__ = getattr(first.result, "exception", None)
        return error

    def _metric(self, step: Step, seconds: float) -> dict[str, Any]:
        account = self._run.ctx.account
        return {
            "type": "metric",
            "step": _counted(step.usage, seconds),
            "total": _counted(account.usage, account.seconds),
            "is_estimate": step.usage.is_estimate,
            "timestamp": time(),
        }

    def _make_accumulator(
        self, approve: Approve | Literal["wait"] | None, layers: Sequence[Middleware] = ()
    ) -> Accumulator:
        settings, ctx = self._settings, self._run.ctx
        own = [*layers]
        if ctx.account.counts_calls:
            own.append(self._within_limit)
        if has_delegate(settings.tools):
            own.append(calling(self._run))
        accumulator = Accumulator(
            ctx.user_id,
            ctx.conversation_id,
            execution=self._runtime.execution,
            stream=self._runtime.stream,
            max_failures=_NEVER,
            tool_timeout=settings.tool_timeout,
            max_concurrency=settings.max_concurrency,
            middleware=(*own, *settings.middleware),
            hooks=settings.hooks,
            approve=approve,
            approval_timeout=settings.approval_timeout,
            on_block=settings.on_block,
            eager=settings.eager,
            on_dropped=self._give_back,
        )
        accumulator.state = ctx.state
        return accumulator

    def _give_back(self, dropped: Sequence[ToolExecution]) -> None:
        """Calls that began early do not count, for no limit either."""
        for execution in dropped:
            self._over_limit.pop(execution.id, None)
            if execution.id in self._counted:
                self._counted.discard(execution.id)
                self._run.ctx.account.give_back_call()

    async def _within_limit(self, invocation: Invocation, next: Next) -> ToolResult:
        """Refuse calls beyond the limit of calls."""
        reached = self._run.ctx.account.take_call()
        if reached is None:
            self._counted.add(invocation.id)
            return await next(invocation)
        self._over_limit[invocation.id] = reached
        text = f"Not run: {reached.message}. Answer with what you have."
        return failure(text, BlockTool(text))


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an answer is not what was asked for; the model is told."""

    code: str
    message: str


def _given_by(execution: ToolExecution) -> Any:
    """What a tool that ended the run gave."""
    value = execution.result.content
    return execution.result.outcome if value is None or value == "" else value


def _counted(usage: Usage, seconds: float) -> Mapping[str, Any]:
    return {"input": usage.read_tokens, "output": usage.written_tokens, "duration": seconds}
