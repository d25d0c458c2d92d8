"""Runs a turn: events go to the consumer, rows to the log, calls to the tools.

The async shell over `_core.Turn`, which decides; this file only waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from .._core import CircuitBreaker, EarlyCall, Turn, WithdrawnCalls
from ..calls.record import CallRecord, ToolExecution
from ..calls.tool_result import is_result
from ..errors import ConfigError, StopRun
from ..execution.scheduling import CallOptions
from ..execution.tool_events import ToolEvents
from ..guards.arguments import (
    ACCUMULATOR_NAMES,
    check_choice,
    check_execution,
    check_function,
    refuses_misnamed,
)
from ..hooks.approval import Approval, Approve, need_of, shown_digest
from ..hooks.chain import check_remote
from ..hooks.hooks import AnyHook, HookList
from ..protocol import ClosedOnce, LateEvents, unread_text_of
from ..storage.claims import Claim, ClaimOfRun
from ..storage.log import Part, is_log
from ..tools.options import ToolOptions, all_options
from ..tools.registry import is_blocking
from ..tools.toolbox import ResolvedCall, Toolbox
from ..types import Event, Execution, StreamMode, ToolCall, TurnEvent, TurnOutcome
from .early_calls import TO_WAIT, EarlyCalls, OnDropped, may_have_early_calls
from .turn_log import Steps, TurnLog

if TYPE_CHECKING:
    from ..execution.batch import ToolBatch
    from .early_calls import CallEnds


_WITH_CONTENT = frozenset({"think", "respond", "call", "call_ready"})
_PASSING = frozenset({"tool_call_start", "tool_call_delta"})

_OUTCOMES = {str(outcome): outcome for outcome in TurnOutcome}

_CLOSING = (TurnOutcome.ANSWERED, TurnOutcome.ENDED, TurnOutcome.FAILED)
"""How a turn comes out whose question is answered or given up."""

_NO_CLAIM = nullcontext()
"""One for all turns: it holds nothing."""


class Accumulator:
    """Carries out the turns of one conversation.

    Args:
        user_id: the id of the user; may be empty.
        conversation_id: the conversation's id.
        execution: the log, the tools, and what tools are given.
        stream: `"event"` to emit text joined and stripped, once it is saved; `"token"` to emit it as it arrives.
        max_failures: a turn ends after this many batches in a row in which no call succeeded.
        calls: how calls are carried out, such as `CallOptions(timeout=10)`.
        hooks: what runs before, after and around every call: `Hooks`, functions (see `AroundCall`) and executors. What
            they write to `ctx.state` stays for later turns.
        approve: decides about calls of tools that require approval: a function, or an `Approval`. Without it, those are
            denied. With `"wait"` nobody is asked: if a batch has such a call, none of its calls runs, `waiting` has
            them all, and the log notes that they wait. Needs a storage that is a `Log`.
        on_busy: what to do if another run, in any program, has the conversation: `"wait"` for its end, or raise an
            `"error"`. Needs a storage with `claim`. With `None`, the conversation is not claimed.
        on_dropped: called with the executions of calls that began early and do not count, when they are over.

    Attributes:
        circuit_breaker: counts the batches for `max_failures`, from one `process` to the next; closed when the model
            has answered, and when it has ended a turn.
        outcome: how the last turn came out; `None` before the first and while one runs.
        finish_reason: why the model stopped writing, if its source gave a `Finish`.
        replaced_characters: how many characters of the last turn's text became U+FFFD, since half of each was missing.
        stop: the `StopRun` that ended the last turn, raised by a tool or a hook; `None` if there was none.
        state: the dict that hooks write and tools read, from one turn to the next.
        claim: the claim on the conversation of the run that the turn is part of, if there is one.
        executions: the records of the last turn's calls, in call order.
        waiting: the calls of a batch that waits for approval, with their ids.
        untold: events of text that is in the log but had not been emitted when the last turn was left.

    Raises:
        ConfigError: one of the tools is not a tool, two tools have the same name, the storage has no `save_message`, or
            an option has a wrong value.
    """

    @staticmethod
    def _parse_call(json_str: str) -> ToolCall:
        from ..protocol import parse_tool_call

        return parse_tool_call(json_str)

    _is_blocking = staticmethod(is_blocking)
    _is_result = staticmethod(is_result)
    _toolbox = staticmethod(Toolbox.of)
    _breaker: Callable[[int], CircuitBreaker] = CircuitBreaker
    _keeps_text = True

    @refuses_misnamed("Accumulator", ACCUMULATOR_NAMES)
    def __init__(
        self,
        user_id: str,
        conversation_id: str,
        *,
        execution: Execution,
        stream: StreamMode = "event",
        max_failures: int = 3,
        calls: CallOptions | None = None,
        hooks: Iterable[AnyHook] | HookList = (),
        approve: Approve | Approval | Literal["wait"] | None = None,
        on_busy: Literal["wait", "error"] | None = None,
        on_dropped: OnDropped | None = None,
    ) -> None:
        check_choice("stream", stream, "event", "token")
        check_execution(execution)
        check_function("on_dropped", on_dropped)
        _check_storage(execution.storage)
        tools = self._toolbox(execution.tools)
        self._options, self._hooks = CallOptions.of(calls), HookList.of(hooks)
        if self._hooks.is_around_calls or tools.options:
            check_remote(tools.names, self._hooks)
        self._tools = tools if isinstance(execution.tools, tuple) else None  # a list may change
        self.user_id = user_id
        self.conversation_id = conversation_id
        self.stream: StreamMode = stream
        self.storage: Any = execution.storage
        self.circuit_breaker: CircuitBreaker = self._breaker(max_failures)
        self._execution = execution
        self._waits = approve == "wait"
        self._approval = None if approve == "wait" else Approval.of(approve)
        if self._waits and not is_log(execution.storage):
            raise ConfigError(
                f'approve="wait" needs a storage that keeps calls: {execution.storage!r} is not a Log'
            )
        self._on_busy = _check_busy(on_busy, execution.storage)
        self._on_dropped = on_dropped
        self.state: dict[str, Any] = {}
        self.claim: Claim | None = None
        self.outcome: TurnOutcome | None = None
        self.finish_reason: str | None = None
        self.replaced_characters = 0
        self.stop: StopRun | None = None
        self.executions: list[ToolExecution] = []
        self._resolved: Sequence[tuple[ToolCall, Any]] = ()
        self.waiting: list[ToolCall] = []
        self._asking: Sequence[ToolCall] = ()
        self.untold: Sequence[TurnEvent] = ()

    async def process(
        self,
        events: AsyncIterable[Event],
        *,
        known: Sequence[CallRecord] = (),
        goes_on: bool = False,
        parts_of_calls: Callable[[], tuple[Part, ...]] = tuple,
    ) -> AsyncGenerator[TurnEvent, None]:
        """Carry out one turn.

        Args:
            events: a parser's events. If it is a `parse_tokens(...)` that has not begun, its source is read directly,
                so `stream="token"` works whatever its own mode. With `parse_tokens(..., errors="event")`, output that
                cannot be read becomes an `error` event and a row `error` with the model's own text, which `assemble`
                shows to the model until a later step succeeds.
            known: if `events` repeats calls that the log has already, their records, in order: their rows are not saved
                a second time.
            goes_on: whether the text continues where the last turn was cut: space at its beginning is kept.
            parts_of_calls: gives the parts of the row of a batch's first call, when it is saved; a `Log` keeps them.

        Yields:
            Events, each after its row is saved; in token mode text comes first and its row follows, as it does in both
            modes in front of `tool_call_start`. After `execute` the
            calls run, and events that their tools `emit` are yielded unchanged; the `result` event has all their
            results, in call order. A turn ends with `end`, or when the model's text does; then `outcome` says how.

        Raises:
            BusyError: another run has the conversation, with `on_busy="error"`; or this code runs inside that run.
            asyncio.CancelledError: the caller was cancelled. By then running tools have been cancelled and awaited, and
                the log has a result for each of its calls, and the text so far.

            ToolError: a call failed, with `CallOptions(on_failure="raise")`; the turn is in the log.

        An exception of the source is raised unchanged, after the text already received has been emitted; one of the
        storage is raised at once. A `<results>` block that the model wrote itself is dropped.
        """
        async with self._claimed() as claim:
            if claim is not None:
                self.claim = claim
            self.outcome = self.finish_reason = self.stop = None
            self.replaced_characters = 0
            self.executions, self.waiting = [], []
            self.untold, self._resolved, self._asking = (), (), ()
            if isinstance(events, LateEvents):
                events = await events.make()
            text = unread_text_of(events)
            eager = self._options.eager and may_have_early_calls(self._tool_options())
            if text is None:
                turn = Turn(stream=self.stream, errors="event", eager=eager, goes_on=goes_on)
                enter = partial(self._enter_event, turn, eager)
                source = ClosedOnce(aiter(events), turn, enter)
            else:
                turn = Turn(stream=self.stream, **text.reading, eager=eager, goes_on=goes_on)
                source = text.open(turn)
            log = TurnLog(
                self.storage,
                self.conversation_id,
                self.user_id,
                known,
                toolbox=self._known_tools,
                may_be_held=self._may_hold,
                written_ids=text is not None,
                parts=parts_of_calls,
            )
            early: EarlyCalls | None = None  # made for the first call, which most answers lack
            is_over = is_left = is_collected = False
            try:
                while not is_over:
                    given: Steps | TurnEvent | None
                    try:
                        given = await source
                    except Exception as error:
                        source.failed, given = error, None
                    except GeneratorExit:
                        # Thrown into an `await`, not a `yield`: Python collects the task, and nothing can wait.
                        is_collected = True
                        raise
                    if isinstance(given, dict):  # most are, in token mode
                        yield given
                        continue
                    if given is None:
                        is_over = True
                        await source.aclose()
                        given = turn.finish(error=source.failed)
                    steps: Steps = given
                    for step in steps:  # running a batch appends its results' steps
                        if isinstance(step, dict):
                            yield step
                            continue
                        if isinstance(step, tuple):
                            await log.save(step)
                            continue
                        early = early or EarlyCalls(log, self._open, self._on_dropped)
                        if isinstance(step, EarlyCall):
                            await early.begin(step.place, step.call)
                        elif isinstance(step, WithdrawnCalls):
                            await early.withdraw(step.place)
                        elif self._waits and await self._is_to_wait(log):
                            await early.withdraw(0, TO_WAIT)
                            self.waiting, self._asking = await log.wait()
                        else:
                            batch, tool_events = early.complete()
                            ends = _ends_of(log, batch) if log.keeps_ends else None
                            try:
                                if batch.may_speak:
                                    async with aclosing(tool_events.until(batch.join())) as spoken:
                                        async for event in spoken:
                                            with ends.consumer_at_work() if ends else _NO_CLAIM:
                                                yield cast("TurnEvent", event)
                                else:
                                    await batch.join()
                            except (asyncio.CancelledError, GeneratorExit):
                                # A stopped batch says nothing about the tools, so it does not count.
                                if batch.is_over:  # it is not if the event loop is gone
                                    left = self._results(batch, turn, log, CircuitBreaker())
                                    await log.save_what_is_left(left)
                                raise
                            steps += self._results(batch, turn, log, self.circuit_breaker)
                            self.stop = tool_events.stopped
                    if self.stop is not None:
                        break
                    if is_over and source.failed is not None:
                        raise source.failed
            except (asyncio.CancelledError, GeneratorExit):
                is_left = not is_over and not is_collected
                raise
            except Exception as error:
                if error is source.failed:
                    self._end(turn)
                else:
                    self.outcome = TurnOutcome.FAILED
                raise
            else:
                self._end(turn)
                failed = self._options.error_of(self.executions)
                if failed is not None:
                    raise failed
            finally:
                try:
                    try:
                        if early is not None and early.has_begun:
                            await early.close()
                    finally:  # even if this is cancelled a second time
                        if log.calls:
                            stopped = None if early is None else early.stopped
                            await self._settle_calls(log, turn, stopped)
                    if is_left and self._keeps_text and not log.is_torn:
                        left = turn.leave()
                        self.untold = [step for step in left if isinstance(step, dict)]
                        await log.save_what_is_left(_texts(left))
                finally:
                    await source.aclose()

    @property
    def stopped(self) -> str | None:
        """The message of the tool or hook that ended the last turn; `None` if none did."""
        return None if self.stop is None else self.stop.message

    @property
    def resolved(self) -> Sequence[tuple[ToolCall, Any]]:
        """The calls of `executions`, with their tools."""
        return self._resolved

    @property
    def asking(self) -> Sequence[ToolCall]:
        """Those of the calls that wait that somebody must decide about."""
        return self._asking

    async def _settle_calls(self, log: TurnLog, turn: Turn, stopped: ToolBatch | None) -> None:
        """Save results for calls that are saved, if the turn was stopped before they could run.

        Args:
            log: the turn's log, which has the calls.
            turn: writes the results.
            stopped: the batch of the calls, if some had begun.
        """
        if stopped is not None and stopped.is_over:
            left = self._results(stopped, turn, log, CircuitBreaker())
        else:
            left = turn.results(log.results_of_stopped(), CircuitBreaker())
        await log.save_what_is_left(left)

    def _claimed(self) -> AbstractAsyncContextManager[Claim | None]:
        if self._on_busy is None:
            return _NO_CLAIM
        return ClaimOfRun(self.storage.claim(self.conversation_id, wait=self._on_busy == "wait"))

    def _end(self, turn: Turn) -> None:
        """Keep how a turn came out. If its question is answered or given up, the circuit breaker is closed."""
        self.outcome, self.finish_reason = _OUTCOMES[turn.outcome], turn.finish_reason
        self.replaced_characters = turn.replaced_characters
        if self.stop is not None and self.outcome is TurnOutcome.ACTED:
            self.outcome = TurnOutcome.ENDED
        if self.waiting:
            self.outcome = TurnOutcome.WAITING
        if self.outcome in _CLOSING:
            self.circuit_breaker.close()

    def _enter_event(self, turn: Turn, eager: bool, event: Any) -> Any:
        """Hand an event that another parser made to the turn, or return it if it must be yielded unchanged.

        A turn takes only what it saves, and pieces of calls that are not complete yet are not saved.
        """
        kind = event["type"]
        if kind in _PASSING:
            return turn.pass_on(event)
        if kind == "call_ready" and not eager:
            return None
        if kind == "error":
            raw, place = event.get("raw") or "", (event.get("line"), event.get("column"))
            kind, code = event.get("kind") or "malformed", event.get("code")
            content, finding = event.get("content") or "", event.get("finding")
            turn.error(kind, content, raw, *place, code, finding)
            return None
        content = event.get("content") or "" if kind in _WITH_CONTENT else ""
        if kind in ("call", "call_ready"):
            from ..protocol import format_call_agent

            content = format_call_agent(self._parse_call(content))
        turn.event(kind, content)
        return None

    def _may_hold(self, calls: Sequence[ResolvedCall]) -> bool:
        """Whether one of these calls may have to wait for something before its tool is started."""
        most = self._options.max_concurrency
        if self._hooks.is_around_calls or len(calls) > (most or len(calls)):
            return True
        wants = all_options([tool for _, tool in calls])
        return any(want.asks_when or (want.sequential and calls[1:]) for want in wants)

    def _known_tools(self) -> Toolbox:
        return self._tools or self._toolbox(self._execution.tools)

    def _tool_options(self) -> Sequence[ToolOptions]:
        return all_options(self._execution.tools) if self._tools is None else self._tools.options

    def _open(self, tools: Toolbox, tool_events: ToolEvents) -> ToolBatch:
        """Open a batch without calls."""
        # Here, since most answers have no calls.
        from ..execution.batch import ToolBatch
        from ..execution.host import BatchSettings

        settings = BatchSettings(
            tools=tools,
            execution=self._execution,
            user_id=self.user_id,
            conversation_id=self.conversation_id,
            options=self._options,
            hooks=self._hooks,
            approval=self._approval,
            state=self.state,
            is_blocking=self._is_blocking,
            is_result=self._is_result,
            run=tool_events,
            in_run=None if self.claim is None else self.claim.enter_context,
        )
        return ToolBatch(settings)

    def _results(
        self, batch: ToolBatch, turn: Turn, log: TurnLog, breaker: CircuitBreaker
    ) -> Steps:
        log.settle(lambda: self.executions)
        results = batch.results()
        self.executions, self._resolved = batch.executions(results), batch.resolved
        return turn.results(results, breaker)

    async def _is_to_wait(self, log: TurnLog) -> bool:
        """Whether one of the calls in the log has to be approved first."""
        if any(options.asks_when for options in self._tool_options()):
            log.needs = [await need_of(call) for call in log.calls]
        if True in log.needs:
            # Nobody can agree to what cannot be shown, so such a call does not wait.
            shown = [
                await shown_digest(call) if need is True else need
                for call, need in zip(log.calls, log.needs, strict=True)
            ]
            log.digests = [each if isinstance(each, str) else None for each in shown]
            log.needs = [True if isinstance(each, str) else each for each in shown]
        return True in log.needs


def _ends_of(log: TurnLog, batch: ToolBatch) -> CallEnds:
    from .early_calls import CallEnds

    return CallEnds(log, batch)


def _texts(steps: Steps) -> Steps:
    """The model's text among the last steps of a stopped turn; a block that it had begun is dropped."""
    rows = [row for step in steps if isinstance(step, tuple) for row in step]
    texts = tuple(row for row in rows if row[0] in ("think", "respond"))
    return [texts] if texts else []


def _check_busy(
    on_busy: Literal["wait", "error"] | None, storage: Any
) -> Literal["wait", "error"] | None:
    if on_busy not in (None, "wait", "error"):
        raise ConfigError(f'on_busy must be "wait", "error" or None, got {on_busy!r}')
    given: object = storage
    if on_busy is not None and not hasattr(type(given), "claim"):
        raise ConfigError(
            f"on_busy needs a storage that can claim conversations: {storage!r} has no claim"
        )
    return on_busy


def _check_storage(storage: Any) -> None:
    """Refuse a storage that cannot keep the log."""
    if not is_log(storage) and not callable(getattr(storage, "save_message", None)):
        raise ConfigError(
            f"storage has no save_message method: {storage!r}. Use SQLite(), or any object with "
            "async def save_message(conversation_id, user_id, type, content, timestamp)"
        )
