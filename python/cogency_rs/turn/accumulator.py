"""Carries out the turns of one conversation: what they have in common, and the checks of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal

from .._core import CircuitBreaker
from ..calls.record import CallRecord
from ..errors import ConfigError
from ..execution.scheduling import CallOptions
from ..guards.arguments import (
    ACCUMULATOR_NAMES,
    check_choice,
    check_execution,
    check_function,
    refuses_misnamed,
)
from ..hooks.approval import Approval, Approve
from ..hooks.chain import check_remote
from ..hooks.hooks import AnyHook, HookList
from ..storage.claims import Claim
from ..storage.log import Part, is_log
from ..types import Event, Execution, StreamMode, TurnEvent
from .settings import OnDropped, TurnRules, TurnSettings, TurnSource
from .turn import Turn, TurnAtWork, TurnResult, opened


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
            denied. With `"wait"` nobody is asked: if a batch has such a call, none of its calls runs,
            `TurnResult.waiting` has them all, and the log notes that they wait. Needs a storage that is a `Log`.
        on_busy: what to do if another run, in any program, has the conversation: `"wait"` for its end, or raise an
            `"error"`. Needs a storage with `claim`. With `None`, the conversation is not claimed.
        on_dropped: called with the executions of calls that began early and do not count, when they are over.

    Attributes:
        circuit_breaker: counts the batches for `max_failures`, from one `process` to the next; closed when the model
            has answered, and when it has ended a turn.
        state: the dict that hooks write and tools read, from one turn to the next.
        claim: the claim on the conversation of the run that the turns are part of, if there is one.

    Raises:
        ConfigError: one of the tools is not a tool, two tools have the same name, the storage has no `save_message`, or
            an option has a wrong value.
    """

    _rules: ClassVar[TurnRules] = TurnRules()

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
        tools = self._rules.toolbox(execution.tools)
        around = HookList.of(hooks)
        if around.is_around_calls or tools.options:
            check_remote(tools.names, around)
        options = CallOptions.of(calls)
        self.circuit_breaker: CircuitBreaker = self._rules.breaker(max_failures)
        if approve == "wait" and not is_log(execution.storage):
            raise ConfigError(
                f'approve="wait" needs a storage that keeps calls: {execution.storage!r} is not a Log'
            )
        self._settings = TurnSettings(
            user_id=user_id,
            conversation_id=conversation_id,
            execution=execution,
            stream=stream,
            calls=options,
            hooks=around,
            approve="wait" if approve == "wait" else Approval.of(approve),
            on_busy=_check_busy(on_busy, execution.storage),
            on_dropped=on_dropped,
            tools=tools if isinstance(execution.tools, tuple) else None,  # a list may change
            rules=self._rules,
        )
        self.user_id, self.conversation_id = user_id, conversation_id
        self.stream: StreamMode = stream
        self.storage: Any = execution.storage
        self.state: dict[str, Any] = {}
        self.claim: Claim | None = None

    def process(
        self,
        events: AsyncIterable[Event],
        *,
        known: Sequence[CallRecord] = (),
        goes_on: bool = False,
        parts_of_calls: Callable[[], tuple[Part, ...]] = tuple,
    ) -> Turn:
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

        Returns:
            The turn, which is carried out while it is iterated over. It yields events, each after its row is saved; in
            token mode text comes first and its row follows, as it does in both modes in front of `tool_call_start`.
            After `execute` the calls run, and events that their tools `emit` are yielded unchanged; the `result` event
            has all their results, in call order. A turn ends with `end`, or when the model's text does; then its
            `result` says how, and what came of its calls.

        Raises, while it is iterated over:
            BusyError: another run has the conversation, with `on_busy="error"`; or this code runs inside that run.
            asyncio.CancelledError: the caller was cancelled. By then running tools have been cancelled and awaited, and
                the log has a result for each of its calls, and the text so far.
            ToolError: a call failed, with `CallOptions(on_failure="raise")`; the turn is in the log.

        An exception of the source is raised unchanged, after the text already received has been emitted; one of the
        storage is raised at once. A `<results>` block that the model wrote itself is dropped.
        """
        result = TurnResult()
        source = TurnSource(events, known, goes_on, parts_of_calls)
        return Turn(result, self._carry_out(source, result))

    async def _carry_out(
        self, source: TurnSource, result: TurnResult
    ) -> AsyncGenerator[TurnEvent, None]:
        settings = self._settings
        async with settings.claimed() as claim:
            self.claim = claim or self.claim
            async with TurnAtWork(
                settings,
                await opened(settings, source),
                self.circuit_breaker,
                self.state,
                self.claim,
                result,
            ) as work:
                while (event := await work.next()) is not None:
                    yield event


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
