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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from .._core import decide
from ..errors import StopReason, StopRun
from ..outside import time
from ..runs.context import RunContext
from ..runs.result import NO_OUTPUT, RunResult, RunStatus, first_signal
from ..storage.claims import Claim, ClaimOfRun
from ..storage.log import Begun, Row, begins, is_log
from ..telemetry import current
from ..tools.toolbox import SortedTools
from ..types import CallMode, StreamMode, ToolCall, TurnOutcome
from .answer import answer_in
from .interruption import Interruption
from .prompt import Prompts
from .run_hooks import Triggers
from .settings import AgentSettings, Fault, text_of
from .step import FinishedStep, Refused, RunningStep, Stepping
from .stored_state import RunLog

if TYPE_CHECKING:
    from ..calls.record import CallRecord
    from ..hooks import AroundCall, Decision, ToolApproved, ToolDenied
    from ..hooks.approval import Approval
    from .serving import Serving
    from .stored_state import OpenBatch


logger: logging.Logger = logging.getLogger(__name__)

_CUT = "You were interrupted after what you said last, which the user has read."
_GO_ON = (
    "Go on exactly where it stopped: what you write now is joined to it as it is. Repeat nothing."
)

Shown = Literal["tokens", "events", "steps", "nothing"]
"""What a run yields: events with text as it arrives, events with whole texts, steps, or nothing."""

Beginning = tuple[Sequence[dict[str, Any]], RunningStep | None]
"""The events with which a run begins, and the step to go on with if an earlier run left one."""

_NO_CONTEXT = nullcontext()
"""One for all runs: it holds nothing."""


class Run:
    """One run of an agent.

    Args:
        settings: the agent's.
        ctx: the run as hooks and drivers see it.
        decisions: the decisions about calls, if the run is resumed.
        is_new: whether the log cannot have any row of its conversation yet.
        is_resumed: whether it goes on where an earlier run stopped, and asks no question.
        parent: the run that called it, if its agent is a tool of another.

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
        self._stream: StreamMode = "event"
        self._calls: CallMode = "whole"
        self._decisions: Mapping[str, Decision] = {}
        if decisions is not None:
            from .stored_state import decisions_of

            self._decisions = decisions_of(decisions)
        self._is_new = is_new
        self._is_resumed = is_resumed
        self._begun: Begun | None = None
        self._parent = parent
        self.triggers = Triggers(settings.hooks.objects, ctx)
        self._use(settings)
        self._log = RunLog(ctx)
        self._waiting: tuple[ToolCall, ...] = ()
        self._output: Any = NO_OUTPUT
        self._text = ""  # of the output, or as much of an answer as there is
        self._asked: str | None = None
        self._interruption = Interruption(ctx.account)
        self._is_finished = False
        self.status: RunStatus = "pending"
        self.result: RunResult[Any] | None = None

    def stop(self, message: str = "") -> None:
        """Ask the run to stop before its next step, when its calls have their results; from any thread."""
        self._asked = message

    def cancel(self, message: str = "") -> None:
        """Ask the run to stop at once; from any thread. Its model is asked no further, and its calls are cancelled."""
        self._asked = message
        self._interruption.ask()

    def items(self, shown: Shown, calls: CallMode = "whole") -> AsyncGenerator[Any, None]:
        """Carry out the run, once."""
        self._calls = calls
        self._stream = "token" if shown == "tokens" else "event"
        settings = self._settings
        tracing = settings.tracing or current()
        items = self._items(
            shows_events=shown in ("tokens", "events"), shows_steps=shown == "steps"
        )
        self._interruption.watch(items)
        if tracing is None:
            return items
        return tracing.run(items, settings.name, settings.model, self.ctx, lambda: self.result)

    # What is not shown is not yielded: each piece of a long answer would pass through all that wait for the run.

    async def _items(self, *, shows_events: bool, shows_steps: bool) -> AsyncGenerator[Any, None]:
        interruption = self._interruption
        interruption.begin()
        has_limit = self.ctx.limits.seconds is not None
        try:
            async with self._claimed() as self.triggers.claim, self._served():
                self.status = "in_progress"
                try:
                    try:
                        await self.triggers.tell("before_run")
                        self._prepare()
                        events, step = await (
                            self._go_on() if self._is_resumed else self._ask_question()
                        )
                        for event in events if shows_events else ():
                            yield event
                        events = ()  # not needed any longer
                        # The steps are here and not in their own generators, because every event would pass through
                        # those.
                        while step is not None or (step := await self._next_step()) is not None:
                            content = step.content
                            try:
                                if has_limit:
                                    interruption.check_time()
                                async for event in step.turn:
                                    content.take(event)
                                    if shows_events:
                                        yield event
                                        interruption.enter()
                                    if has_limit:
                                        interruption.check_time()
                            except GeneratorExit:
                                interruption.close()
                                raise
                            except asyncio.CancelledError:
                                if not interruption.ends_for_time():
                                    raise
                                step.is_out_of_time = True
                            finally:
                                await step.turn.aclose()
                            with interruption.held():
                                done = await self._finish_step(step)
                            step = None
                            for event in done.reports if shows_events else ():
                                yield event
                            if shows_steps:
                                yield done.step
                            if shows_events:
                                yield self._stepping.metric(done)
                            if done.error is not None:
                                raise done.error
                    except asyncio.CancelledError:
                        if not self._is_interrupted():
                            raise
                        await self._tell_of_time()
                    interruption.close()
                    if (why := self._stopped_by_person()) is not None:
                        cancelled = await self._log.cancelled(why)
                        if shows_events:
                            yield {"type": "interrupt", "timestamp": cancelled["timestamp"]}
                            yield cancelled
                    await self._finish()
                except (asyncio.CancelledError, GeneratorExit) as left:
                    interruption.close()
                    if self.status == "in_progress":
                        self.status = "stopped"
                        self.ctx.add(
                            StopRun("cancelled", reason=StopReason.USER_REQUESTED, source="user")
                        )
                        await self._log.note_cancellation()
                    elif isinstance(
                        left, GeneratorExit
                    ):  # the run is over, and only its end was not read
                        await self._finish_unread()
                    self.result = self.result or self._make_result()
                    raise
                except Exception as error:
                    interruption.close()
                    self.status = "failed"
                    self.ctx.add(
                        StopRun(str(error), reason=StopReason.ERROR, source=self._settings.name)
                    )
                    self.result = self._make_result()
                    await self._log.note_failure(error)
                    await self._tell_of(error)
                    raise
        except asyncio.CancelledError:
            # What waits for the conversation or the servers may be asked to end, too.
            if not self._is_interrupted():
                raise
            self.result = self._make_result()
        finally:
            interruption.close()

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
        if not is_log(storage) or self._is_new:
            return ClaimOfRun(storage.claim(ctx.conversation_id, wait=wait))
        if begins(storage):
            claim = storage.begin(
                ctx.conversation_id, user_id=ctx.user_id, wait=wait, resumes=self._is_resumed
            )
        else:
            claim = storage.claim(ctx.conversation_id, wait=wait)
        return ClaimOfRun(claim, self._check_user)

    async def _check_user(self, claimed: Any) -> None:
        """Check that the conversation is the user's; keep what was read with the claim, if no hook may change it."""
        from ..storage.log import check_owner, check_user

        ctx, begun = self.ctx, getattr(claimed, "begun", None)
        if begun is None:
            await check_user(self._settings.storage, ctx.conversation_id, ctx.user_id)
            return
        check_owner(begun.owner, ctx.conversation_id, ctx.user_id)
        if not self.triggers.has("before_run"):
            self._begun = begun

    def _served(self) -> AbstractAsyncContextManager[None]:
        """Start the agent's servers, with the tools that they offer now."""
        serving = self._settings.serving
        return _NO_CONTEXT if serving is None else self._serving(serving)

    @asynccontextmanager
    async def _serving(self, serving: Serving) -> AsyncGenerator[None, None]:
        async with serving:
            tools = SortedTools(await serving.tools(self._settings.tools))
            self._use(replace(self._settings, tools=tools, prompts=Prompts()))
            yield

    def _use(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._execution = settings.execution(self.ctx)
        self._tools = settings.tools.toolbox

    def _prepare(self) -> None:
        """Make the objects that the steps share."""
        settings = self._settings
        runtime = settings.runtime(
            self.ctx, self._execution, self.triggers, self._stream, self._calls
        )
        approve = self._approve()
        waits = approve is None and self._parent is None and is_log(settings.storage)
        layers: tuple[AroundCall, ...] = ()
        if settings.calls_agents:
            from .delegate import calling

            layers = (calling(self),)
        self._stepping = Stepping(
            settings, runtime, self._log, "wait" if waits else approve, layers
        )

    def _approve(self) -> Approval | None:
        """Return who decides about calls: for an agent that is a tool and has no `approve`, that of its caller."""
        approve, parent = self._settings.approve, self._parent
        return approve if approve is not None or parent is None else parent._approve()

    async def _ask_question(self) -> Beginning:
        """Settle calls that an earlier run left, and save the question in the log."""
        ctx, storage = self.ctx, self._settings.storage
        rows: list[Row] = []
        calls: list[CallRecord] = []
        if not self._is_new and is_log(storage):
            from ..protocol import format_results_array
            from .stored_state import StoredState, given_up_records

            state = await StoredState.before_question(
                storage, ctx.conversation_id, ctx.user_id, begun=self._begun
            )
            calls += given_up_records(state.stale)
            if state.batch is not None:
                results, records = state.batch.given_up()
                rows.append(("result", format_results_array(state.batch.calls, results), time()))
                calls += records
        now = time()
        await self._log.append([*rows, ("user", ctx.question, now)], calls)
        return [{"type": "user", "content": ctx.question, "timestamp": now}], None

    async def _go_on(self) -> Beginning:
        """Go on where an earlier run stopped."""
        from .resumption import with_decisions
        from .stored_state import StoredState, given_up_records

        ctx = self.ctx
        state = await StoredState.read(
            self._settings.storage, ctx.conversation_id, ctx.user_id, begun=self._begun
        )
        batch = await with_decisions(state, self._decisions, self._tools, ctx, self._log)
        if state.stale:
            await self._log.append((), given_up_records(state.stale))
        stepping = self._stepping
        stepping.answer, spoken = answer_in(state.rows, is_exact=self._settings.joins_exactly)
        if state.is_over:
            self._text, output = text_of(state.ended), stepping.typed(state.ended)
            if state.last == "respond":
                self._text, output = stepping.read(spoken, TurnOutcome.ANSWERED)
            if isinstance(output, Refused):
                stepping.answer.forget()
                return [
                    await self._log.report(output.code, output.message, finding=output.finding)
                ], None
            self._output = NO_OUTPUT if isinstance(output, Fault) else output
            self.status = "completed"
        elif batch is not None:
            return [], await self._go_on_with(batch, is_new=batch != state.batch)
        elif state.is_cut:  # a prompt ends with a message of the user
            finding = {"content": _CUT, "advice": "go_on"}
            told = f"{_CUT} {_GO_ON}"
            report = self._log.report("interrupted", told, kind="truncated", finding=finding)
            return [await report], None
        return [], None

    async def _go_on_with(self, batch: OpenBatch, *, is_new: bool) -> RunningStep | None:
        """Carry out calls that an earlier run left, unless one still waits for a decision.

        Args:
            batch: the calls.
            is_new: whether decisions have come since the log had them.
        """
        from ..outside import worker
        from .resumption import (
            approved_by,
            calls_again,
            denied_before,
            not_twice,
            put_off,
            recalled,
            reconciled,
            undecided,
        )

        approve, calls, left = self._approve(), recalled(batch, self._tools), batch
        batch = await reconciled(batch, calls, self.ctx, self._settings.hooks.objects)
        waiting = [] if approve is not None else await undecided(batch, calls)
        if waiting:
            waits = await put_off(batch, calls, waiting)
            if is_new or waits != left:
                await self._log.append((), waits.records)
            self._waiting = tuple(waiting)
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
        return self._stepping.carry_out(
            calls_again(batch.calls),
            not_twice(calls, taken),
            approved_by(batch, calls, approve),
            denied_before(batch.decided()),
        )

    # Its steps

    async def _next_step(self) -> RunningStep | None:
        """Ask the model once more; `None` if the run is over, or stops."""
        self._interruption.enter()
        if self.status != "in_progress" or await self._is_stopped(self.ctx.account.reached()):
            return None
        if self.triggers.has("before_step"):
            await self.triggers.tell("before_step")
            if await self._is_stopped(()):
                return None
        self.ctx.account.take_step()
        return await self._stepping.ask()

    async def _finish_step(self, step: RunningStep) -> FinishedStep:
        """Put together the results of a step, and do what follows it."""
        done = await self._stepping.finish(step)
        self.ctx.steps.append(done.step)
        self.ctx.step += 1
        if done.output is not NO_OUTPUT:
            self._output = done.output
        self._text = done.text
        if done.is_left:
            await self._log.append((("cancelled", "", time()),))
        if done.error is None:
            await self._follow(done)
        return done

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
            if run._asked is not None:
                return (StopRun(run._asked, reason=StopReason.USER_REQUESTED, source="user"),)
            run = run._parent
        return ()

    def _is_interrupted(self) -> bool:
        """Whether it is `cancel`, or the end of its time, that cancels the run, which then stops."""
        by = self._interruption.ends()
        if by is None:
            return False
        self.status = "stopped"
        self.ctx.add(
            StopRun(self._asked or "", reason=StopReason.USER_REQUESTED, source="user")
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
                self._waiting = done.waiting
                self.status = "waiting"
            case "stop":
                self.status = "completed" if signal is None else _status_of(signal)
                if done.outcome is TurnOutcome.FAILED:
                    self.status = "failed"
                if self.status == "completed" and not done.is_answer:
                    await self._log.ended(self._output)
            case _:
                ctx.went_on()

    # Its end

    async def _finish(self) -> None:
        self._is_finished = True
        self.result = self._make_result()
        self.result = await self.triggers.change("after_run", self.result)

    def _make_result(self) -> RunResult[Any]:
        ctx = self.ctx
        stop = first_signal(ctx.signals) if self.status not in ("in_progress", "waiting") else None
        return RunResult(
            text=self._text,
            status=self.status,
            stop=stop,
            usage=ctx.usage,
            steps=tuple(ctx.steps),
            waiting=self._waiting,
            conversation_id=ctx.conversation_id,
            run_id=ctx.run_id,
            _output=self._output,
        )

    async def _finish_unread(self) -> None:
        """Pass the result to hooks when the caller is gone, so that a hook's error can no longer be raised."""
        if self._is_finished:
            return
        try:
            await self._finish()
        except Exception:
            logger.exception("A hook failed at the end of a run")

    async def _tell_of(self, error: Exception) -> None:
        """Pass the error that ends the run to hooks; their own exceptions must not hide it."""
        try:
            await self.triggers.tell("on_error", error)
            if not self._is_finished:
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
