"""One run: steps of the model until it has answered or has a reason to stop.

The core decides what follows a step (`decide`); this file carries that out.

Invariants: when a run is over, every call in the log has its result there, unless the run waits for approval; a request
to stop is heeded between steps, when the batch is settled; a run that is cancelled leaves a row that says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from .._core import decide
from ..errors import StopReason, StopRun
from ..outside import time, worker
from ..protocol import format_results_array
from ..runs.context import RunContext
from ..runs.result import NO_OUTPUT, RunResult, RunStatus, first_signal
from ..storage.claims import Claim, ClaimOfRun
from ..storage.log import Begun, Row, begins, check_owner, check_user, is_log
from ..telemetry import current
from ..tools.toolbox import SortedTools
from ..types import CallMode, StreamMode, ToolCall, TurnOutcome
from .answer import answer_in
from .delegate import calling
from .interruption import Interruption
from .prompt import Prompts
from .resumption import (
    approved_by,
    calls_again,
    denied_before,
    not_twice,
    put_off,
    recalled,
    reconciled,
    undecided,
    with_decisions,
)
from .run_hooks import Triggers
from .settings import AgentSettings, Fault, text_of
from .step import FinishedStep, Refused, RunningStep, Stepping
from .stored_state import OpenBatch, RunLog, StoredState, decisions_of, given_up_records

if TYPE_CHECKING:
    from ..calls.record import CallRecord
    from ..hooks import AroundCall, Decision, ToolApproved, ToolDenied
    from ..hooks.approval import Approval
    from .serving import Serving


logger: logging.Logger = logging.getLogger(__name__)

_CUT = "You were interrupted after what you said last, which the user has read."
_GO_ON = (
    "Go on exactly where it stopped: what you write now is joined to it as it is. Repeat nothing."
)

Shown = Literal["tokens", "events", "steps", "nothing"]
"""What a run yields: events with text as it arrives, events with whole texts, steps, or nothing."""


@dataclass(slots=True)
class RunStart:
    """How a run begins.

    Attributes:
        decisions: the decisions about calls, if the run is resumed.
        is_new: whether the log cannot have any row of its conversation yet.
        is_resumed: whether it goes on where an earlier run stopped, and asks no question.
        parent: the run that called it, if its agent is a tool of another.
        begun: what was read with the claim, if no hook may change it.
    """

    decisions: Mapping[str, Decision]
    is_new: bool
    is_resumed: bool
    parent: Run | None
    begun: Begun | None = None


@dataclass(slots=True)
class RunEnd:
    """What will be the result of a run, as far as it is known.

    Attributes:
        text: the output as text, or as much of an answer as there is.
        output: the value; `NO_OUTPUT` if there is none.
        waiting: the calls that wait for a decision.
        is_over: whether its steps are over.
        is_finished: whether hooks have seen the result.
    """

    text: str = ""
    output: Any = NO_OUTPUT
    waiting: tuple[ToolCall, ...] = ()
    is_over: bool = False
    is_finished: bool = False


@dataclass(slots=True)
class RunView:
    """What a run yields.

    Attributes:
        events: whether it yields events.
        steps: whether it yields steps.
        stream: how their text comes.
        calls: how calls are shown.
        queue: what is yielded next; an exception in it is raised.
    """

    events: bool = False
    steps: bool = False
    stream: StreamMode = "event"
    calls: CallMode = "whole"
    queue: list[Any] = field(default_factory=list[Any])

    def show(self, *events: dict[str, Any]) -> None:
        """Yield these events next, if it yields events."""
        if self.events:
            self.queue += events

    @classmethod
    def of(cls, shown: Shown, calls: CallMode) -> RunView:
        """What is yielded of a run of which this is shown."""
        is_shown = shown in ("tokens", "events")
        return cls(is_shown, shown == "steps", "token" if shown == "tokens" else "event", calls)


_NO_CONTEXT = nullcontext()
"""One for all runs: it holds nothing."""


class Run:
    """One run of an agent.

    Args:
        settings: the agent's.
        ctx: the run as hooks and drivers see it.
        decisions: see `RunStart`.
        is_new: see `RunStart`.
        is_resumed: see `RunStart`.
        parent: see `RunStart`.

    Attributes:
        result: its result, once it is over.
        status: its state.
        triggers: its hooks.
    """

    def __init__(
        self,
        settings: AgentSettings,
        ctx: RunContext[Any],
        *,
        decisions: Mapping[str, ToolApproved | ToolDenied | bool] | None = None,
        is_new: bool = False,
        is_resumed: bool = False,
        parent: Run | None = None,
    ) -> None:
        self.ctx = ctx
        self.triggers = Triggers(settings.hooks.objects, ctx)
        self.status: RunStatus = "pending"
        self.result: RunResult[Any] | None = None
        self._settings = settings
        self._start = RunStart(decisions_of(decisions), is_new, is_resumed, parent)
        self._view = RunView()
        self._end = RunEnd()
        self._log = RunLog(ctx)
        self._interruption = Interruption(ctx.account)
        self._stepping: Stepping | None = None  # once it has begun
        self._step: RunningStep | None = None

    def stop(self, message: str = "") -> None:
        """Ask the run to stop before its next step, when its calls have their results; from any thread."""
        self._interruption.message = message

    def cancel(self, message: str = "") -> None:
        """Ask the run to stop at once; from any thread. Its model is asked no further, and its calls are cancelled."""
        self._interruption.message = message
        self._interruption.ask()

    def items(self, shown: Shown, calls: CallMode = "whole") -> AsyncGenerator[Any, None]:
        """Carry out the run, once."""
        self._view = RunView.of(shown, calls)
        settings = self._settings
        tracing = settings.tracing or current()
        items = self._items()
        self._interruption.watch(items)
        if tracing is None:
            return items
        return tracing.run(items, settings.name, settings.model, self.ctx, lambda: self.result)

    async def _items(self) -> AsyncGenerator[Any, None]:
        """What is shown of the run, while it is carried out."""
        self._interruption.begin()
        try:
            async with self._claimed() as self.triggers.claim, self._served(), self:
                while (item := await self._next()) is not None:
                    yield item
                await self._finish()
        except asyncio.CancelledError:
            # What waits for the conversation or the servers may be asked to end, too.
            if not self._is_interrupted():
                raise
            self.result = self._make_result()
        finally:
            self._interruption.close()

    async def _next(self) -> Any:
        """What is shown next; `None` when the steps are over.

        Raises the error of a step, once what is shown of the step was given.
        """
        queue = self._view.queue
        try:
            if self._stepping is None and not self._end.is_over:
                self._step = await self._begin()
            while not (queue or self._end.is_over):
                step = self._step = self._step or await self._ask()
                if step is None:
                    await self._be_over()
                    continue
                try:
                    self._check_interruption()
                    event: Any = await anext(step.turn.events)
                except StopAsyncIteration:
                    await self._finish_step(step)
                else:
                    step.content.take(event)
                    self._view.show(event)
        except asyncio.CancelledError:
            if (step := self._step) is not None and self._interruption.ends_for_time():
                step.is_out_of_time = True
                await self._finish_step(step)
                return await self._next()
            await self._leave_step()
            if not self._is_interrupted():
                raise
            await self._tell_of_time()
            await self._be_over()
        item = queue.pop(0) if queue else None
        if isinstance(item, Exception):
            raise item
        return item

    def _check_interruption(self) -> None:
        """Check that nobody has asked the run to end, and that it has time left."""
        self._interruption.enter()
        if self.ctx.limits.seconds is not None:
            self._interruption.check_time()

    async def _be_over(self) -> None:
        """The steps are over; if a person has stopped the run, the log says so."""
        self._end.is_over = True
        self._view.show(*await self._cancelled_by_person())

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Whatever ends the run, its result says so, and the log and the hooks are told."""
        if error is None:
            return
        self._interruption.close()
        try:
            await self._leave_step()
        finally:  # even if this is cancelled while it leaves
            if isinstance(error, Exception):
                await self._note_failure(error)
            elif isinstance(error, asyncio.CancelledError | GeneratorExit):
                await self._note_leaving(is_closed=isinstance(error, GeneratorExit))

    async def _note_leaving(self, *, is_closed: bool) -> None:
        """Note that the run was left, or that only its end was not read."""
        if self.status == "in_progress":
            self.status = "stopped"
            self.ctx.add(StopRun("cancelled", reason=StopReason.USER_REQUESTED, source="user"))
            await self._log.note_cancellation()
        elif is_closed:
            await self._finish_unread()
        self.result = self.result or self._make_result()

    async def _note_failure(self, error: Exception) -> None:
        """Note the error that ends the run."""
        self.status = "failed"
        self.ctx.add(StopRun(str(error), reason=StopReason.ERROR, source=self._settings.name))
        self.result = self._make_result()
        await self._log.note_failure(error)
        await self._tell_of(error)

    async def _leave_step(self) -> None:
        """End the step that is carried out, if there is one."""
        step, self._step = self._step, None
        if step is not None:
            await step.turn.aclose()

    async def _cancelled_by_person(self) -> Sequence[dict[str, Any]]:
        """Note that a person has stopped the run, if it is so; returns what is shown of that."""
        self._interruption.close()
        why = self._stopped_by_person()
        if why is None:
            return ()
        cancelled = await self._log.cancelled(why)
        return ({"type": "interrupt", "timestamp": cancelled["timestamp"]}, cancelled)

    # Its beginning

    def _claimed(self) -> AbstractAsyncContextManager[Claim | None]:
        """Claim the conversation for this run alone, if the log has claims, and check that it is the user's.

        Under the claim, so that of two users who begin one conversation at the same time the second is refused.
        """
        storage = self._settings.storage
        given: object = storage
        if not hasattr(type(given), "claim"):
            return _NO_CONTEXT
        ctx, wait = self.ctx, self.ctx.limits.on_busy == "wait"
        if not is_log(storage) or self._start.is_new:
            return ClaimOfRun(storage.claim(ctx.conversation_id, wait=wait))
        if begins(storage):
            claim = storage.begin(
                ctx.conversation_id, user_id=ctx.user_id, wait=wait, resumes=self._start.is_resumed
            )
        else:
            claim = storage.claim(ctx.conversation_id, wait=wait)
        return ClaimOfRun(claim, self._check_user)

    async def _check_user(self, claimed: Any) -> None:
        """Check that the conversation is the user's; keep what was read with the claim, if no hook may change it."""
        ctx, begun = self.ctx, getattr(claimed, "begun", None)
        if begun is None:
            await check_user(self._settings.storage, ctx.conversation_id, ctx.user_id)
            return
        check_owner(begun.owner, ctx.conversation_id, ctx.user_id)
        if not self.triggers.has("before_run"):
            self._start.begun = begun

    def _served(self) -> AbstractAsyncContextManager[None]:
        """Start the agent's servers, with the tools that they offer now."""
        serving = self._settings.serving
        return _NO_CONTEXT if serving is None else self._serving(serving)

    @asynccontextmanager
    async def _serving(self, serving: Serving) -> AsyncGenerator[None, None]:
        async with serving:
            tools = SortedTools(await serving.tools(self._settings.tools))
            self._settings = replace(self._settings, tools=tools, prompts=Prompts())
            yield

    async def _begin(self) -> RunningStep | None:
        """Begin; returns the step to go on with if an earlier run left one."""
        self.status = "in_progress"
        await self.triggers.tell("before_run")
        self._stepping = self._prepared()
        if self._start.is_resumed:
            return await self._go_on(self._stepping)
        await self._save_question()
        return None

    def _prepared(self) -> Stepping:
        """The objects that the steps share."""
        settings, view = self._settings, self._view
        execution = settings.execution(self.ctx)
        runtime = settings.runtime(self.ctx, execution, self.triggers, view.stream, view.calls)
        approve = self._approve()
        waits = approve is None and self._start.parent is None and is_log(settings.storage)
        layers: tuple[AroundCall, ...] = ()
        if settings.calls_agents:
            layers = (calling(self),)
        return Stepping(settings, runtime, self._log, "wait" if waits else approve, layers)

    def _approve(self) -> Approval | None:
        """Return who decides about calls: for an agent that is a tool and has no `approve`, that of its caller."""
        approve, parent = self._settings.approve, self._start.parent
        return approve if approve is not None or parent is None else parent._approve()

    async def _save_question(self) -> None:
        """Settle calls that an earlier run left, and save the question in the log."""
        ctx, storage = self.ctx, self._settings.storage
        rows: list[Row] = []
        calls: list[CallRecord] = []
        if not self._start.is_new and is_log(storage):
            state = await StoredState.before_question(
                storage, ctx.conversation_id, ctx.user_id, begun=self._start.begun
            )
            calls += given_up_records(state.stale)
            if state.batch is not None:
                results, records = state.batch.given_up()
                rows.append(("result", format_results_array(state.batch.calls, results), time()))
                calls += records
        now = time()
        await self._log.append([*rows, ("user", ctx.question, now)], calls)
        self._view.show({"type": "user", "content": ctx.question, "timestamp": now})

    async def _go_on(self, stepping: Stepping) -> RunningStep | None:
        """Go on where an earlier run stopped."""
        ctx, end = self.ctx, self._end
        state = await StoredState.read(
            self._settings.storage, ctx.conversation_id, ctx.user_id, begun=self._start.begun
        )
        tools = self._settings.tools.toolbox
        batch = await with_decisions(state, self._start.decisions, tools, ctx, self._log)
        if state.stale:
            await self._log.append((), given_up_records(state.stale))
        stepping.answer, spoken = answer_in(state.rows, is_exact=self._settings.joins_exactly)
        if state.is_over:
            end.text, output = text_of(state.ended), stepping.typed(state.ended)
            if state.last == "respond":
                end.text, output = stepping.read(spoken, TurnOutcome.ANSWERED)
            if isinstance(output, Refused):
                stepping.answer.forget()
                code, told = output.code, output.message
                self._view.show(await self._log.report(code, told, finding=output.finding))
                return None
            end.output = NO_OUTPUT if isinstance(output, Fault) else output
            self.status = "completed"
        elif batch is not None:
            return await self._go_on_with(stepping, batch, is_new=batch != state.batch)
        elif state.is_cut:  # a prompt ends with a message of the user
            finding = {"content": _CUT, "advice": "go_on"}
            told = f"{_CUT} {_GO_ON}"
            report = self._log.report("interrupted", told, kind="truncated", finding=finding)
            self._view.show(await report)
        return None

    async def _go_on_with(
        self, stepping: Stepping, batch: OpenBatch, *, is_new: bool
    ) -> RunningStep | None:
        """Carry out calls that an earlier run left, unless one still waits for a decision.

        Args:
            stepping: carries them out.
            batch: the calls.
            is_new: whether decisions have come since the log had them.
        """
        approve, left = self._approve(), batch
        calls = recalled(batch, self._settings.tools.toolbox)
        batch = await reconciled(batch, calls, self.ctx, self._settings.hooks.objects)
        waiting = [] if approve is not None else await undecided(batch, calls)
        if waiting:
            waits = await put_off(batch, calls, waiting)
            if is_new or waits != left:
                await self._log.append((), waits.records)
            self._end.waiting = tuple(waiting)
            self.status = "waiting"
            return None
        here, now = worker(), time()
        taken = [record.taken_over(here) for record in batch.records]
        again = [
            record.begun(here, now)
            if record.status == "open" and each.options.may_run_twice
            else record
            for each, record in zip(calls, taken, strict=True)
        ]
        await self._log.append((), again)
        return stepping.carry_out(
            calls_again(batch.calls),
            not_twice(calls, taken),
            approved_by(batch, calls, approve),
            denied_before(batch.decided()),
        )

    # Its steps

    async def _ask(self) -> RunningStep | None:
        """Ask the model once more; `None` if the run is over, or stops."""
        self._interruption.enter()
        stepping = self._stepping
        if stepping is None or self.status != "in_progress":
            return None
        if await self._is_stopped(self.ctx.account.reached()):
            return None
        if self.triggers.has("before_step"):
            await self.triggers.tell("before_step")
            if await self._is_stopped(()):
                return None
        self.ctx.account.take_step()
        return await stepping.ask()

    async def _finish_step(self, step: RunningStep) -> None:
        """Put together the results of a step that is over, do what follows it, and show it."""
        await self._leave_step()
        stepping, view, end = self._stepping, self._view, self._end
        if stepping is None:
            return
        with self._interruption.held():
            done = await stepping.finish(step)
            self.ctx.steps.append(done.step)
            self.ctx.step += 1
            if done.output is not NO_OUTPUT:
                end.output = done.output
            end.text = done.text
            if done.is_left:
                await self._log.append((("cancelled", "", time()),))
            if done.error is None:
                await self._follow(done)
        self._view.show(*done.reports)
        if view.steps:
            self._view.queue.append(done.step)
        self._view.show(stepping.metric(done))
        if done.error is not None:
            self._view.queue.append(done.error)

    async def _is_stopped(self, signals: Iterator[StopRun] | tuple[()]) -> bool:
        """Whether the run stops here, before a step."""
        for asked in (*signals, *self._asked_for()):
            self.ctx.add(asked)
        signal = first_signal(self.ctx.signals)
        if signal is None:
            return False
        with self._interruption.held():
            await self.triggers.tell("on_stop", signal)
        if self.ctx.is_to_go_on:
            self.ctx.went_on()
            return False
        self.status = _status_of(signal)
        return True

    def _asked_for(self) -> Sequence[StopRun]:
        """The request of a person to stop this run, or the run that called it, if there is one."""
        run: Run | None = self
        while run is not None:
            asked = run._interruption.message
            if asked is not None:
                return (StopRun(asked, reason=StopReason.USER_REQUESTED, source="user"),)
            run = run._start.parent
        return ()

    def _is_interrupted(self) -> bool:
        """Whether it is `cancel`, or the end of its time, that cancels the run, which then stops."""
        by = self._interruption.ends()
        if by is None:
            return False
        self.status = "stopped"
        self.ctx.add(
            StopRun(
                self._interruption.message or "", reason=StopReason.USER_REQUESTED, source="user"
            )
            if by == "person"
            else self.ctx.account.out_of_time()
        )
        return True

    async def _tell_of_time(self) -> None:
        """Pass the end of the run's time to hooks, if it is what has ended the run."""
        signal = first_signal(self.ctx.signals)
        if signal is not None and signal.reason is StopReason.TIME_LIMIT:
            await self.triggers.tell("on_stop", signal)

    def _stopped_by_person(self) -> str | None:
        signal = first_signal(self.ctx.signals) if self.status == "stopped" else None
        is_person = signal is not None and signal.reason is StopReason.USER_REQUESTED
        return signal.message if signal is not None and is_person else None

    async def _follow(self, done: FinishedStep) -> None:
        """Do what follows a step."""
        ctx = self.ctx
        for asked in (*done.signals, *self._asked_for()):
            ctx.add(asked)
        signal = first_signal(ctx.signals)
        if signal is not None:
            await self.triggers.tell("on_stop", signal)
        decision = decide(
            done.outcome,
            is_to_stop=signal is not None,
            is_to_go_on=ctx.is_to_go_on,
            is_refused=done.is_refused,
        )
        match decision:
            case "wait":
                self._end.waiting = done.waiting
                self.status = "waiting"
            case "stop":
                self.status = "completed" if signal is None else _status_of(signal)
                if done.outcome is TurnOutcome.FAILED:
                    self.status = "failed"
                if self.status == "completed" and not done.is_answer:
                    await self._log.ended(self._end.output)
            case _:
                ctx.went_on()

    # Its end

    async def _finish(self) -> None:
        self._end.is_finished = True
        self.result = self._make_result()
        self.result = await self.triggers.change("after_run", self.result)

    def _make_result(self) -> RunResult[Any]:
        ctx = self.ctx
        stop = first_signal(ctx.signals) if self.status not in ("in_progress", "waiting") else None
        return RunResult(
            text=self._end.text,
            status=self.status,
            stop=stop,
            usage=ctx.usage,
            steps=tuple(ctx.steps),
            waiting=self._end.waiting,
            conversation_id=ctx.conversation_id,
            run_id=ctx.run_id,
            _output=self._end.output,
        )

    async def _finish_unread(self) -> None:
        """Pass the result to hooks when the caller is gone, so that a hook's error can no longer be raised."""
        if self._end.is_finished:
            return
        try:
            await self._finish()
        except Exception:
            logger.exception("A hook failed at the end of a run")

    async def _tell_of(self, error: Exception) -> None:
        """Pass the error that ends the run to hooks; their own exceptions must not hide it."""
        try:
            await self.triggers.tell("on_error", error)
            if not self._end.is_finished:
                await self._finish()
        except Exception:
            logger.exception("A hook failed on %r", error)


def _status_of(signal: StopRun) -> RunStatus:
    match signal.reason:
        case StopReason.COMPLETED:
            return "completed"
        case StopReason.ERROR:
            return "failed"
        case _:
            return "stopped"
