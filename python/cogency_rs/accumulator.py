"""Runs a turn: events go to the consumer, rows to the log, calls to the tools.

The async shell over `_core.Turn`, which decides; here is only the waiting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine
from functools import partial
from typing import Any

from ._core import CircuitBreaker, Turn
from .codec import format_call_agent, parse_tool_call
from .errors import ConfigError
from .executor import (
    BatchLimits,
    OnToolEnd,
    OnToolStart,
    RunningTools,
    failure,
    is_blocking,
    tool_call,
)
from .parser import ClosedOnce, text_behind
from .types import Event, Execution, StreamMode, TurnEvent

__all__ = ["Accumulator", "CircuitBreaker"]

logger: logging.Logger = logging.getLogger(__name__)

Row = tuple[str, str, float]
"""Type, content and time, as a turn saves it."""

Steps = list[TurnEvent | tuple[Row, ...] | list[str]]
"""Event dicts to emit, tuples of rows to save, lists of calls to run; in order."""


class Accumulator:
    """Carries out the turns of one conversation.

    Args:
        user_id: whose conversation; may be empty.
        conversation_id: which one.
        execution: the log, the tools and what they run with.
        stream: `"event"` to emit text joined and stripped, once it is saved; `"token"` to emit it as it arrives.
        max_failures: after so many failed calls in a row a turn ends.
        tool_timeout: seconds one call may take; `None` for no limit.
        batch_timeout: seconds the calls of a batch may take together; `None` for no limit.
        max_concurrency: how many calls of a batch may run at once; `None` for all.
        on_tool_start: called with a call when it starts.
        on_tool_end: called with a call, its result and the seconds it took when it is over. What these two raise is
            logged and harms nothing.

    Attributes:
        circuit_breaker: counts the failures, across turns.

    Raises:
        ConfigError: a tool is no tool, the storage has no `save_message`, or a number makes no sense.
    """

    _parse_call = staticmethod(parse_tool_call)
    _is_blocking = staticmethod(is_blocking)

    def __init__(
        self,
        user_id: str,
        conversation_id: str,
        *,
        execution: Execution,
        stream: StreamMode = "event",
        max_failures: int = 3,
        tool_timeout: float | None = None,
        batch_timeout: float | None = None,
        max_concurrency: int | None = None,
        on_tool_start: OnToolStart | None = None,
        on_tool_end: OnToolEnd | None = None,
    ) -> None:
        Turn(stream=stream)  # refuses a mode that is none
        _check_execution(execution)
        self.user_id = user_id
        self.conversation_id = conversation_id
        self.stream: StreamMode = stream
        self.storage: Any = execution.storage
        self.circuit_breaker: CircuitBreaker = CircuitBreaker(max_failures)
        self._execution = execution
        self._limits = BatchLimits(tool_timeout, batch_timeout, max_concurrency)
        self._on_tool_start = on_tool_start
        self._on_tool_end = on_tool_end

    async def process(self, events: AsyncIterable[Event]) -> AsyncGenerator[TurnEvent, None]:
        """Carry out one turn.

        Args:
            events: a parser's events. A `parse_tokens(...)` that has not begun is read at its source, so that
                `stream="token"` streams whatever mode it was made with.

        Yields:
            Events, each after its row is saved; in token mode text comes first and its row follows. After
            `execute` the calls run; the `result` event has all their results, in call order. A turn ends with
            `end`, or when the model's text does.

        Raises:
            asyncio.CancelledError: the caller was cancelled. Running tools have been cancelled and awaited, and
                every call in the log has its result there.

        What the source raises passes on unchanged, after the text already received has been emitted; what the
        storage raises passes on at once. A `<results>` block that the model wrote itself is dropped.
        """
        text = text_behind(events)
        if text is None:
            turn = Turn(stream=self.stream)
            source = ClosedOnce(aiter(events), turn, partial(self._enter_event, turn))
        else:
            turn = Turn(stream=self.stream, limits=text.limits)
            source = text.open(turn)
        log = _Log(self.storage, self.conversation_id, self.user_id)
        batches = _steps(source, turn)
        try:
            async for steps in batches:
                if isinstance(steps, dict):
                    yield steps
                    continue
                for step in steps:  # running a batch appends what follows from its results
                    if isinstance(step, dict):
                        yield step
                    elif isinstance(step, tuple):
                        await log.save(step)
                    else:
                        steps += await self._run(step, turn, log)
        finally:
            try:
                if log.open_calls:  # saved, but the turn was stopped before they could run
                    results = [failure("Cancelled")] * log.open_calls
                    await log.save_what_is_left(turn.results(results, CircuitBreaker()))
            finally:
                await batches.aclose()

    def _enter_event(self, turn: Turn, event: Any) -> None:
        """Hand over an event that some other parser made."""
        kind = event["type"]
        content = event.get("content") or "" if kind in ("think", "respond", "call") else ""
        if kind == "call":
            content = format_call_agent(self._parse_call(content))
        turn.event(kind, content)

    async def _run(self, calls: list[str], turn: Turn, log: _Log) -> Steps:
        """Run a batch; returns the steps that follow from its results."""
        running = RunningTools(
            [tool_call(call) for call in calls],
            execution=self._execution,
            user_id=self.user_id,
            conversation_id=self.conversation_id,
            limits=self._limits,
            on_tool_start=self._on_tool_start,
            on_tool_end=self._on_tool_end,
            is_blocking=self._is_blocking,
        )
        try:
            await running.join()
        except asyncio.CancelledError:
            # What was stopped says nothing about the tools, so it does not count.
            await log.save_what_is_left(turn.results(running.results(), CircuitBreaker()))
            raise
        return turn.results(running.results(), self.circuit_breaker)


async def _steps(source: ClosedOnce, turn: Turn) -> AsyncGenerator[Steps | TurnEvent, None]:
    """The steps of a turn, as its source brings them on; most in token mode are one event."""
    failed: Exception | None = None
    try:
        while True:
            try:
                steps = await source
            except Exception as error:
                failed = error
                break
            if steps is None:
                break
            yield steps
        await source.aclose()
        yield turn.finish()
        if failed is not None:
            raise failed
    finally:
        await source.aclose()


class _Log:
    """The rows of one conversation, on their way to the storage.

    Attributes:
        open_calls: how many calls are in the log that have no result there.
    """

    def __init__(self, storage: object, conversation_id: str, user_id: str) -> None:
        self._storage: Any = storage
        self._key = (conversation_id, user_id)
        # Of the class, since a mock has every attribute.
        self._saves_together = hasattr(type(storage), "save_messages")
        self.open_calls = 0

    async def save(self, rows: tuple[Row, ...]) -> None:
        """Save rows that belong together.

        Calls and results are saved to the end also when the turn is cancelled meanwhile, so that it is known
        which calls are in the log.
        """
        kinds = {kind for kind, _, _ in rows}
        if "result" in kinds:
            self.open_calls = 0
        if kinds & {"call", "result"}:
            await _to_the_end(partial(self._save, rows))
        else:
            await self._save(rows)

    async def save_what_is_left(self, steps: Steps) -> None:
        """Save the rows among `steps`, of a turn that something else has ended: a failure is logged, not raised."""
        for step in steps:
            if isinstance(step, tuple):
                try:
                    await self.save(step)
                except Exception:
                    logger.exception("The results of a turn that was stopped could not be saved")

    async def _save(self, rows: tuple[Row, ...]) -> None:
        if self._saves_together:
            await self._storage.save_messages([(*self._key, *row) for row in rows])
            self.open_calls += sum(kind == "call" for kind, _, _ in rows)
            return
        for row in rows:
            await self._storage.save_message(*self._key, *row)
            self.open_calls += row[0] == "call"


async def _to_the_end(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Await `work` to its end, also when cancelled meanwhile; the cancellation goes on afterwards."""
    # There is no loop where a turn is collected behind one that was closed: then nothing is begun.
    task = asyncio.get_running_loop().create_task(work())
    # Whoever cancels all tasks, as the end of `asyncio.run` does, cancels the turn a second time, and not this.
    asyncio.tasks._unregister_task(task)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        failed = "it was cancelled too" if task.cancelled() else task.exception()
        if failed:
            logger.error("The log could not be written while its turn was cancelled: %s", failed)
        raise cancelled
    task.result()


def _check_execution(execution: Execution) -> None:
    """Refuse what could not carry a turn."""
    if not callable(getattr(execution.storage, "save_message", None)):
        raise ConfigError(
            f"storage has no save_message method: {execution.storage!r}. Use SQLite(), or any object with "
            "async def save_message(conversation_id, user_id, type, content, timestamp)"
        )
    for tool in execution.tools:
        if not isinstance(getattr(tool, "name", None), str):
            raise ConfigError(f"{tool!r} is no tool: its name must be a str")
        if not callable(getattr(tool, "execute", None)):
            raise ConfigError(f"tool {tool.name!r} has no execute method")
