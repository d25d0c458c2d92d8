"""One turn: events go to the consumer, rows to the log, calls to the tools.

The async shell over `_core.Turn`, which decides; this file only waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from .._core import CircuitBreaker, EarlyCall, Turn as CoreTurn, WithdrawnCalls
from ..calls.record import ToolExecution
from ..errors import StopRun
from ..execution.batch import ToolBatch
from ..execution.tool_events import ToolEvents
from ..hooks.approval import need_of, shown_digest
from ..protocol import ClosedOnce, LateEvents, format_call_agent, unread_text_of
from ..storage.claims import Claim
from ..types import ToolCall, TurnEvent, TurnOutcome
from .early_calls import TO_WAIT, CallEnds, EarlyCalls, may_have_early_calls
from .settings import TurnSettings, TurnSource
from .turn_log import Steps, TurnLog, TurnStep

_WITH_CONTENT = frozenset({"think", "respond", "call", "call_ready"})
_PASSING = frozenset({"tool_call_start", "tool_call_delta"})

_OUTCOMES = {str(outcome): outcome for outcome in TurnOutcome}

_CLOSING = (TurnOutcome.ANSWERED, TurnOutcome.ENDED, TurnOutcome.FAILED)
"""How a turn comes out whose question is answered or given up."""


@dataclass(slots=True)
class TurnResult:
    """What came of a turn. It is filled while the turn goes on.

    Attributes:
        outcome: how the turn came out; `None` while it runs.
        finish_reason: why the model stopped writing, if its source gave a `Finish`.
        replaced_characters: how many characters of its text became U+FFFD, since half of each was missing.
        stop: the `StopRun` that ended it, raised by a tool or a hook; `None` if there was none.
        executions: the records of its calls, in call order.
        resolved: the same calls as hooks left them, with their tools.
        waiting: the calls of a batch that waits for approval, with their ids.
        asking: those of them that somebody must decide about.
        untold: events of text that is in the log but had not been emitted when the turn was left.
    """

    outcome: TurnOutcome | None = None
    finish_reason: str | None = None
    replaced_characters: int = 0
    stop: StopRun | None = None
    executions: Sequence[ToolExecution] = ()
    resolved: Sequence[tuple[ToolCall, Any]] = ()
    waiting: Sequence[ToolCall] = ()
    asking: Sequence[ToolCall] = ()
    untold: Sequence[TurnEvent] = ()


class Turn(AsyncGenerator[TurnEvent, None]):
    """A turn that is carried out while its events are read, once.

    Read it to its end, or leave it with `aclose()`: its running tools are cancelled and awaited, and the log has the
    text so far.

    Args:
        result: filled by `events`.
        events: carries the turn out.

    Attributes:
        result: what came of it so far.
        events: carries it out. Iterating over the turn iterates over these.
    """

    __slots__ = ("events", "result")

    def __init__(self, result: TurnResult, events: AsyncGenerator[TurnEvent, None]) -> None:
        self.result = result
        self.events = events

    def __aiter__(self) -> AsyncGenerator[TurnEvent, None]:
        return self.events

    async def asend(self, value: None) -> TurnEvent:
        """The next event."""
        return await self.events.asend(value)

    async def athrow(self, *error: Any) -> TurnEvent:
        """Throw an error into the turn, which ends it."""
        return await self.events.athrow(*error)

    async def aclose(self) -> None:
        """Leave the turn."""
        await self.events.aclose()


async def opened(settings: TurnSettings, given: TurnSource) -> tuple[CoreTurn, ClosedOnce, TurnLog]:
    """Begin to read: the core's machine, what is read into it, and the log."""
    events = given.events
    if isinstance(events, LateEvents):
        events = await events.make()
    text = unread_text_of(events)
    eager = settings.calls.eager and may_have_early_calls(settings.tool_options())
    reading: Any = {"errors": "event"} if text is None else text.reading
    core = CoreTurn(stream=settings.stream, eager=eager, goes_on=given.goes_on, **reading)
    if text is None:
        enter = partial(_enter_event, core, eager, settings.rules.parse_call)
        source = ClosedOnce(aiter(events), core, enter)
    else:
        source = text.open(core)
    return core, source, TurnLog(settings, given, written_ids=text is not None)


class TurnAtWork:
    """Carries out a turn, an event at a time; on the way out it settles what was left.

    Args:
        settings: the conversation's.
        opened: what `opened` gave.
        breaker: counts batches without success.
        state: the dict that hooks write and tools read.
        claim: the claim on the conversation, if there is one.
        result: filled while the turn goes on.
    """

    __slots__ = (
        "_batch",
        "_breaker",
        "_claim",
        "_core",
        "_early",
        "_ends",
        "_is_collected",
        "_is_over",
        "_log",
        "_result",
        "_settings",
        "_source",
        "_state",
        "_steps",
        "_told",
    )

    def __init__(
        self,
        settings: TurnSettings,
        opened: tuple[CoreTurn, ClosedOnce, TurnLog],
        breaker: CircuitBreaker,
        state: dict[str, Any],
        claim: Claim | None,
        result: TurnResult,
    ) -> None:
        self._settings = settings
        self._core, self._source, self._log = opened
        self._breaker = breaker
        self._result = result
        self._state, self._claim = state, claim
        self._early: EarlyCalls | None = None  # made for the first call, which most answers lack
        self._steps: Steps = []  # the last one first
        self._batch: tuple[ToolBatch, ToolEvents] | None = None  # while it runs
        self._told: AsyncGenerator[Any, None] | None = None  # what its tools tell the run
        self._ends: CallEnds | None = None
        self._is_over = self._is_collected = False

    async def next(self) -> TurnEvent | None:
        """The next event; `None` when the turn is over."""
        while True:
            if self._told is not None and (told := await self._next_told(self._told)) is not None:
                return told
            if self._steps:
                step = self._steps.pop()
                if isinstance(step, dict):
                    return step
                await self._carry_out(step)
            elif self._result.stop is not None:
                return None
            elif self._is_over:
                if self._source.failed is not None:
                    raise self._source.failed
                return None
            else:
                given: Steps | TurnEvent | None
                try:
                    given = await self._source
                except Exception as error:
                    self._source.failed, given = error, None
                except GeneratorExit:
                    # Thrown into an `await`, not a `yield`: Python collects the task, and nothing can wait.
                    self._is_collected = True
                    raise
                if given is None:
                    given = await self._last_steps()
                if isinstance(given, dict):  # most are, in token mode
                    return given
                self._steps = given[::-1]

    async def _last_steps(self) -> Steps:
        """What follows from the end of the source."""
        self._is_over = True
        await self._source.aclose()
        return self._core.finish(error=self._source.failed)

    async def _carry_out(self, step: TurnStep) -> None:
        """Do what a step says that is not an event."""
        if isinstance(step, tuple):
            await self._log.save(step)
            return
        early = self._early = self._early or self._early_calls()
        if isinstance(step, EarlyCall):
            await early.begin(step.place, step.call)
        elif isinstance(step, WithdrawnCalls):
            await early.withdraw(step.place)
        elif (digests := await self._asked()) is not None:
            await early.withdraw(0, TO_WAIT)
            self._result.waiting, self._result.asking = await self._log.wait(digests)
        else:
            await self._run_batch(early)

    def _early_calls(self) -> EarlyCalls:
        settings = self._settings
        batch = partial(settings.batch, self._state, self._claim)
        return EarlyCalls(self._log, batch, settings.on_dropped)

    async def _asked(self) -> Sequence[str | None] | None:
        """If a call in the log has to be approved first: digests of what is shown of those; else `None`."""
        log = self._log
        if self._settings.approve != "wait":
            return None
        if any(options.asks_when for options in self._settings.tool_options()):
            log.needs = [await need_of(call) for call in log.calls]
        if True not in log.needs:
            return None
        # Nobody can agree to what cannot be shown, so such a call does not wait.
        shown = [
            await shown_digest(call) if need is True else need
            for call, need in zip(log.calls, log.needs, strict=True)
        ]
        log.needs = [True if isinstance(each, str) else each for each in shown]
        if True not in log.needs:
            return None
        return [each if isinstance(each, str) else None for each in shown]

    # A batch

    async def _run_batch(self, early: EarlyCalls) -> None:
        """Run the calls of the batch. If one of them may speak, `next` gives what they tell the run."""
        batch, events = self._batch = early.complete()
        self._ends = CallEnds(self._log, batch) if self._log.saves.keeps_ends else None
        if batch.may_speak:
            self._told = events.until(batch.join())
        else:
            await batch.join()
            self._take_results(batch, events)

    async def _next_told(self, told: AsyncGenerator[Any, None]) -> TurnEvent | None:
        """What a tool tells the run; `None` when the batch is over."""
        if self._ends is not None:
            self._ends.consumer_is_back()
        event: TurnEvent | None = await anext(told, None)
        if event is not None:
            if self._ends is not None:
                self._ends.consumer_is_at_work()
            return event
        self._told = None
        if self._batch is not None:
            self._take_results(*self._batch)
        return None

    def _take_results(self, batch: ToolBatch, events: ToolEvents) -> None:
        """Put the steps that follow from the results of a batch behind those that are left."""
        self._batch = None
        self._steps[:0] = self._results(batch, self._breaker)[::-1]
        self._result.stop = events.stopped

    def _results(self, batch: ToolBatch, breaker: CircuitBreaker) -> Steps:
        result = self._result
        self._log.settle(lambda: result.executions)
        results = batch.results()
        result.executions, result.resolved = batch.executions(results), batch.resolved
        return self._core.results(results, breaker)

    # Its end

    async def __aenter__(self) -> TurnAtWork:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._leave_batch()
        finally:  # even if this is cancelled while it leaves
            await self._settle(error)
        failed = self._settings.calls.error_of(self._result.executions) if error is None else None
        if failed is not None:
            raise failed

    def _end(self) -> None:
        """Keep how the turn came out. If its question is answered or given up, the circuit breaker is closed."""
        result, core = self._result, self._core
        outcome, result.finish_reason = _OUTCOMES[core.outcome], core.finish_reason
        result.replaced_characters = core.replaced_characters
        if result.stop is not None and outcome is TurnOutcome.ACTED:
            outcome = TurnOutcome.ENDED
        if result.waiting:
            outcome = TurnOutcome.WAITING
        if outcome in _CLOSING:
            self._breaker.close()
        result.outcome = outcome

    async def _leave_batch(self) -> None:
        """Stop the batch that runs, if there is one whose events somebody reads."""
        if self._told is not None:
            await self._told.aclose()

    async def _settle(self, error: BaseException | None) -> None:
        """Say how the turn came out, and save what is left of it, as far as that can be done."""
        is_left = isinstance(error, asyncio.CancelledError | GeneratorExit)
        try:
            try:
                if is_left:
                    await self._save_stopped_batch()
                elif error is None or error is self._source.failed:
                    self._end()
                elif isinstance(error, Exception):
                    self._result.outcome = TurnOutcome.FAILED
            finally:
                await self._settle_calls()
            if is_left and not self._is_over and not self._is_collected:
                await self._save_text()
        finally:
            await self._source.aclose()

    async def _save_stopped_batch(self) -> None:
        """Save the results of a batch that was stopped. They say nothing about its tools, so they do not count."""
        batch = None if self._batch is None else self._batch[0]
        if batch is not None and batch.is_over:  # it is not if the event loop is gone
            await self._log.save_what_is_left(self._results(batch, CircuitBreaker()))

    async def _settle_calls(self) -> None:
        """Settle calls that are left, also if this is cancelled a second time."""
        try:
            if self._early is not None and self._early.has_begun:
                await self._early.close()
        finally:
            if self._log.calls:
                await self._log.save_what_is_left(self._results_of_stopped())

    async def _save_text(self) -> None:
        """Save the text of a turn that was left."""
        log = self._log
        if self._settings.rules.keeps_text and not log.saves.is_torn:
            left = self._core.leave()
            self._result.untold = [step for step in left if isinstance(step, dict)]
            await log.save_what_is_left(_texts(left))

    def _results_of_stopped(self) -> Steps:
        """The results of calls that are saved, if the turn was stopped before they could run."""
        stopped = None if self._early is None else self._early.stopped
        if stopped is not None and stopped.is_over:
            return self._results(stopped, CircuitBreaker())
        return self._core.results(self._log.results_of_stopped(), CircuitBreaker())


def _enter_event(
    core: CoreTurn, eager: bool, parse_call: Callable[[str], ToolCall], event: Any
) -> Any:
    """Hand an event that another parser made to the turn, or return it if it must be yielded unchanged.

    A turn takes only what it saves, and pieces of calls that are not complete yet are not saved.
    """
    kind = event["type"]
    if kind in _PASSING:
        return core.pass_on(event)
    if kind == "call_ready" and not eager:
        return None
    if kind == "error":
        raw, place = event.get("raw") or "", (event.get("line"), event.get("column"))
        kind, code = event.get("kind") or "malformed", event.get("code")
        content, finding = event.get("content") or "", event.get("finding")
        core.error(kind, content, raw, *place, code, finding)
        return None
    content = event.get("content") or "" if kind in _WITH_CONTENT else ""
    if kind in ("call", "call_ready"):
        content = format_call_agent(parse_call(content))
    core.event(kind, content)
    return None


def _texts(steps: Steps) -> Steps:
    """The model's text among the last steps of a stopped turn; a block that it had begun is dropped."""
    rows = [row for step in steps if isinstance(step, tuple) for row in step]
    texts = tuple(row for row in rows if row[0] in ("think", "respond"))
    return [texts] if texts else []
