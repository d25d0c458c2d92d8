"""One step of a run: the model is asked, its calls are carried out, and the results are put together.

The run decides what follows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..calls.record import ToolExecution
from ..calls.tool_result import failure
from ..errors import BlockTool, HookError, StopReason, StopRun
from ..hooks import Invocation, Next
from ..models.request import NO_USAGE, Usage
from ..outside import monotonic, time
from ..runs.context import Account
from ..runs.result import NO_OUTPUT, Step
from ..turn.accumulator import Accumulator
from ..turn.turn import Turn
from ..types import ToolCall, TurnOutcome
from .answer import EMPTY, Answer, Repetition, StepContent, kind_of
from .settings import Fault, text_of

if TYPE_CHECKING:
    from ..calls.record import CallRecord
    from ..hooks import AroundCall
    from ..hooks.approval import Approval
    from ..types import ToolResult
    from .runtime import Runtime
    from .settings import AgentSettings
    from .stored_state import RunLog


class CallLimit:
    """Refuses the calls of a run beyond its limit; `layer` is the function around calls that does it.

    Args:
        account: what the run has used, against its limits.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        # Of the current step, by the ids of its calls.
        self._counted: set[str] = set()
        self._refused: dict[str, StopRun] = {}

    def begin_step(self) -> None:
        """Forget the calls of the step before."""
        self._counted.clear()
        self._refused.clear()

    async def layer(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry a call out, or tell the model why it is not. A call that a hook runs again counts once."""
        id = invocation.id
        reached = None if id in self._counted else self._account.take_call()
        if reached is None:
            self._counted.add(id)
            return await next(invocation)
        self._refused[id] = reached
        text = f"Not run: {reached.message}. Answer with what you have."
        return failure(text, BlockTool(text), "blocked")

    def give_back(self, dropped: Sequence[ToolExecution]) -> None:
        """Take back the count of calls that began early and were dropped."""
        for execution in dropped:
            id = execution.id
            self._refused.pop(id, None)
            if id in self._counted:
                self._counted.discard(id)
                self._account.give_back_call()

    def reached(self, executions: Sequence[ToolExecution]) -> StopRun | None:
        """The reason to stop after a step with these executions: the limit, if it refused every one of them."""
        if not self._refused or len(self._refused) != len(executions):
            return None
        return next(iter(self._refused.values()))


_ANSWERS = (TurnOutcome.ANSWERED, TurnOutcome.ENDED)
"""How a turn comes out whose text is the answer."""

_NEVER = 2**31
"""After how many failures in a row a turn's breaker opens: never, since a run counts equal errors itself."""


class RunningStep:
    """A step while it is carried out.

    Args:
        turn: carries it out: what happens, to be read to its end or closed. The reader shows each event to `content`.

    Attributes:
        content: the content of the events read so far.
        is_out_of_time: whether the time of its run has ended it.
    """

    __slots__ = ("began", "content", "is_out_of_time", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.content = StepContent()
        self.began = monotonic()
        self.is_out_of_time = False


@dataclass(frozen=True)
class FinishedStep:
    """A step that is over.

    Attributes:
        reports: events that say what is wrong with its answer; they are emitted before the step itself.
        step: the step, as hooks left it.
        outcome: the outcome of its turn; `ACTED` if a tool or a hook ended the turn.
        output: the answer, or the result of a tool that ends the run; `NO_OUTPUT` if there is neither.
        text: the output as text; without an output, what there is of an answer, or the text of the step.
        is_refused: whether the answer is empty, or does not have the type that was asked for.
        is_answer: whether the log ends with the answer.
        is_left: whether the step was left in the middle, so that the log ends with text that is not whole.
        waiting: those of its calls that somebody must decide about, if its batch waits for approval.
        signals: the reasons to stop the run.
        error: an exception of the batch or the driver to raise, now that the step is over.
        seconds: how long it took.
    """

    reports: tuple[dict[str, Any], ...]
    step: Step
    outcome: TurnOutcome
    output: Any
    text: str
    is_refused: bool
    is_answer: bool
    is_left: bool
    waiting: tuple[ToolCall, ...]
    signals: tuple[StopRun, ...]
    error: Exception | None
    seconds: float


class Stepping:
    """Carries out the steps of one run.

    Args:
        settings: the agent's.
        runtime: the objects that drivers use.
        log: the log of the run.
        approve: decides about calls that require approval; `"wait"` to let the run wait.
        own: the run's own functions around every call, outside of all hooks.

    Attributes:
        answer: the parts of the answer so far.
    """

    # Nothing here refers to the run, so that a run that is over is freed at once, without a garbage collection.

    def __init__(
        self,
        settings: AgentSettings,
        runtime: Runtime,
        log: RunLog,
        approve: Approval | Literal["wait"] | None,
        own: Sequence[AroundCall],
    ) -> None:
        self._ctx, self._triggers = runtime.ctx, runtime.triggers
        self._settings = settings
        self._runtime = runtime
        self._own = own
        self._log = log
        named = (ToolCall(name, {}) for name in self._ctx.limits.stop_at_tools)
        self._stop_at = tuple(runtime.toolbox.resolve(call).call.name for call in named)
        self._may_end = bool(self._stop_at) or any(
            options.ends_run for options in runtime.toolbox.options
        )
        self._repetition = Repetition(self._ctx.limits.same_errors)
        self._empty = 0  # how many steps in a row gave no answer and no call
        self.answer = Answer(is_exact=settings.joins_exactly)
        account = self._ctx.account
        self._call_limit = _call_limit(account) if account.counts_calls else None
        self._accumulator = self._make_accumulator(approve)

    async def ask(self) -> RunningStep:
        """Ask the model, and carry out its calls."""
        await self._runtime.ask_instructions()
        source = self._settings.driver.step(self._ctx, self._runtime)
        return self._begin(self._accumulator, source)

    def carry_out(
        self,
        calls: AsyncIterable[Any],
        known: Sequence[CallRecord],
        approve: Approval,
        inner: AroundCall,
    ) -> RunningStep:
        """Carry out calls that the log has already, with `inner` inside of all hooks."""
        return self._begin(self._make_accumulator(approve, [inner]), calls, known)

    def _begin(
        self,
        accumulator: Accumulator,
        source: AsyncIterable[Any],
        known: Sequence[CallRecord] = (),
    ) -> RunningStep:
        runtime = self._runtime
        runtime.used = NO_USAGE
        runtime.finish_reason = runtime.output_limit = None
        runtime.refused, runtime.error, runtime.newest = (), None, None
        if self._call_limit is not None:
            self._call_limit.begin_step()
        return RunningStep(
            accumulator.process(
                source,
                known=known,
                goes_on=self.answer.is_open,
                parts_of_calls=runtime.parts_of_calls,
            )
        )

    async def finish(self, running: RunningStep) -> FinishedStep:
        """Put together the results of a step whose events have been read."""
        runtime, content, result = self._runtime, running.content, running.turn.result
        outcome = result.outcome or TurnOutcome.FAILED
        if running.is_out_of_time:
            outcome = TurnOutcome.TRUNCATED
            for event in result.untold:
                content.take(event)
        executions = tuple(result.executions)
        is_answer = (
            outcome in _ANSWERS and not (content.errors or content.calls) and result.stop is None
        )
        said = text = content.text
        output, at_limit = NO_OUTPUT, None
        if content.calls:
            self.answer.forget()
        elif not is_answer:
            text = self.answer.with_rest(content)
        if is_answer:
            text, output = self.read(content, outcome)
        elif content.is_cut:
            self.answer.cut(content)
            if runtime.output_limit is not None and not content.calls:
                output, at_limit = self._at_limit(text, runtime.output_limit)
        reports: tuple[dict[str, Any], ...] = ()
        self._empty = self._empty + 1 if _is_empty(output) else 0
        if isinstance(output, Refused):
            told = output.message
            report = self._log.report(output.code, told, kind=output.kind, finding=output.finding)
            reports = (await report,)
            content.take(reports[0])
            if content.is_unfit:
                self.answer.forget()
            output = NO_OUTPUT
        finish_reason = runtime.finish_reason or result.finish_reason
        kind = kind_of(outcome, calls=bool(executions or result.waiting), is_refused=bool(reports))
        if at_limit is not None and output is not NO_OUTPUT:
            kind = "final_response"
        # By position, as below: to pass a dozen names takes four times as long.
        step = Step(
            self._ctx.step,
            kind,
            outcome,
            said,
            content.reasoning,
            tuple(content.calls),
            (*executions, *runtime.refused),
            runtime.used,
            finish_reason,
            content.error,
            result.replaced_characters,
        )
        if self._triggers.has("after_step"):
            step = await self._triggers.change("after_step", step)
        resolved = result.resolved
        ending = self._ending(executions, resolved)
        if ending is not None:
            text, output = text_of(_given_by(ending)), self.typed(_given_by(ending))
        if result.stop is not None and outcome is TurnOutcome.ENDED:
            # A tool asked for the end. This is only a signal: a hook may ask to go on.
            outcome = TurnOutcome.ACTED
        signals = self._signals(executions, resolved, running, finish_reason, ending, at_limit)
        return FinishedStep(
            reports,
            step,
            outcome,
            output,
            text,
            bool(reports),
            is_answer and not reports and text != "",
            running.is_out_of_time,
            tuple(result.asking),
            tuple(signals),
            runtime.error or self._error_of(executions),
            monotonic() - running.began,
        )

    def read(self, content: StepContent, outcome: TurnOutcome) -> tuple[str, Any]:
        """The text of an answer whose last step this is, and its value or why it is refused.

        A model that only says that it is done completes the run without an output, if any text is an answer.
        """
        text = self.answer.with_rest(content)
        if self._ctx.limits.require_tool:
            return text, self._no_tool_call()
        if not content.text:
            if outcome is TurnOutcome.ENDED and self._settings.output.is_text:
                return text, text or NO_OUTPUT
            told = _ONLY_THOUGHTS if content.reasoning else _NOTHING
            return text, Refused(EMPTY, told, "unfinished")
        value = self._settings.output.read(text)
        if isinstance(value, Fault) and self.answer.has_parts:
            # A model may begin again instead of going on where it was cut.
            again = self._settings.output.read(content.text)
            if not isinstance(again, Fault):
                return content.text, again
        return text, Refused("invalid_output", value.message) if isinstance(value, Fault) else value

    def _at_limit(self, text: str, limit: str) -> tuple[Any, StopRun | None]:
        """What there is of an answer that was cut at a limit of the user, and the reason to stop the run there."""
        if self._ctx.limits.require_tool:
            return NO_OUTPUT, None
        value = self._settings.output.read(text)
        if text and not isinstance(value, Fault):
            told = f"The answer was cut at {limit}"
            return value, StopRun(told, reason=StopReason.COMPLETED, source="model")
        what = "of the type that was asked for" if text else "written"
        told = f"the answer was cut at {limit} before it was {what}: raise that, or ask for less"
        return NO_OUTPUT, StopRun(told, reason=StopReason.TRUNCATED, source="model")

    def _no_tool_call(self) -> Refused:
        from ..protocol import format_call_agent
        from .prompt import example_call

        tools = self._runtime.visible_tools
        names = ", ".join(tool.name for tool in tools)
        text = f"Your answer calls no tool, and each of your answers must call one. Tools: {names}."
        write = getattr(self._settings.driver, "call_form", None)
        form: str = "" if write is None else write(tools)
        told = f"{text} Write the call like this:\n{form}" if form else text
        call = example_call(tools)
        if call is None:
            return Refused("no_tool_call", told)
        finding = {"content": text, "advice": "call", "call": format_call_agent(call)}
        return Refused("no_tool_call", told, finding=finding)

    def _ending(
        self, executions: Sequence[ToolExecution], calls: Sequence[tuple[ToolCall, Any]]
    ) -> ToolExecution | None:
        """The first call that ended the run. One whose result is not of the type that was asked for does not."""
        from ..tools.options import options_of

        if not self._may_end:
            return None
        for execution, (call, tool) in zip(executions, calls, strict=True):
            ends = options_of(tool).ends_run or call.name in self._stop_at
            if ends and execution.status == "success":
                if isinstance(self.typed(_given_by(execution)), Fault):
                    continue
                return execution
        return None

    def typed(self, given: Any) -> Any:
        """What a tool gave as the run's output, in the type that was asked for, or a `Fault`."""
        reader = self._settings.output
        if reader.is_text or given is NO_OUTPUT:
            return given
        value = reader.read(json.dumps(given, default=str))
        is_written = isinstance(value, Fault) and isinstance(given, str)
        return reader.read(given) if is_written else value

    def _signals(
        self,
        executions: Sequence[ToolExecution],
        calls: Sequence[tuple[ToolCall, Any]],
        running: RunningStep,
        finish_reason: str | None,
        ending: ToolExecution | None,
        at_limit: StopRun | None,
    ) -> Iterator[StopRun]:
        """The reasons of a step to stop the run."""
        if (stop := running.turn.result.stop) is not None:
            yield stop.told_by(stop.source)
        if ending is not None:
            text = f"Tool '{ending.name}' ended the run"
            yield StopRun(text, reason=StopReason.COMPLETED, source=ending.name)
        if finish_reason in self._ctx.limits.finish_reasons:
            text = f"The model stopped for {finish_reason!r}"
            yield StopRun(text, reason=StopReason.FINISH_REASON, source="model")
        if running.content.is_refused:
            yield StopRun(running.content.error or "", reason=StopReason.REFUSED, source="model")
        if self._empty > 1:
            yield StopRun(_NO_ANSWER, reason=StopReason.EMPTY_ANSWER, source="model")
        if running.is_out_of_time:
            yield self._ctx.account.out_of_time()
        limit = self._call_limit
        if limit is not None and (refused := limit.reached(executions)) is not None:
            yield refused
        if at_limit is not None:
            yield at_limit
            return
        repeated = self._repetition.enter(running.content.happened(executions, calls))
        if repeated is not None:
            yield repeated

    def _error_of(self, executions: Sequence[ToolExecution]) -> Exception | None:
        """The exception of a batch that must be raised, if any."""
        from ..calls.tool_result import exception_of

        for each in executions:
            # A hook of another agent that is a tool.
            if isinstance(error := exception_of(each.result), HookError):
                return error
        return self._settings.calls.error_of(executions)

    def metric(self, done: FinishedStep) -> dict[str, Any]:
        """The event with the tokens and seconds of a step, and of all so far."""
        account = self._ctx.account
        return {
            "type": "metric",
            "step": _counted(done.step.usage, done.seconds),
            "total": _counted(account.usage, account.seconds),
            "is_estimate": done.step.usage.is_estimate,
            "timestamp": time(),
        }

    def _make_accumulator(
        self,
        approve: Approval | Literal["wait"] | None,
        inner: Sequence[AroundCall] = (),
    ) -> Accumulator:
        settings, ctx, limit = self._settings, self._ctx, self._call_limit
        if limit is not None:
            inner = [limit.layer, *inner]
        calls, hooks = settings.calls, settings.hooks
        if self._own or inner:
            hooks = hooks.around_also(self._own, inner)
        if calls.on_failure == "raise":
            calls = replace(calls, on_failure="continue")  # raised later, when the step is over
        accumulator = Accumulator(
            ctx.user_id,
            ctx.conversation_id,
            execution=self._runtime.execution,
            stream=self._runtime.stream,
            max_failures=_NEVER,
            calls=calls,
            hooks=hooks,
            approve=approve,
            on_dropped=None if limit is None else limit.give_back,
        )
        accumulator.state, accumulator.claim = ctx.state, self._triggers.claim
        return accumulator


@dataclass(frozen=True)
class Refused:
    """Why an answer is empty, or does not have the type that was asked for; the model reads why.

    Attributes:
        code: the code of the event.
        message: the message to the model.
        kind: the kind of the event.
        finding: see `RunLog.report`.
    """

    code: str
    message: str
    kind: str = "malformed"
    finding: Mapping[str, str] | None = None


def _is_empty(output: Any) -> bool:
    return isinstance(output, Refused) and output.code == EMPTY


_NOTHING = "You wrote no answer. Write it now, or call a tool."
_ONLY_THOUGHTS = (
    "You thought, and wrote no answer. Write it now, outside your thoughts, or call a tool."
)
_NO_ANSWER = "the model wrote no answer, even when asked once more"


def _given_by(execution: ToolExecution) -> Any:
    """The output of a run that this call ended."""
    value = execution.result.content
    return execution.result.outcome if value is None or value == "" else value


def _counted(usage: Usage, seconds: float) -> Mapping[str, Any]:
    return {"input": usage.read_tokens, "output": usage.written_tokens, "duration": seconds}


def _call_limit(account: Account) -> CallLimit:

    return CallLimit(account)
