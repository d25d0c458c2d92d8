"""`CallOptions`, and by them: makes the calls of a batch wait until they may run, and stops those whose time is up.

`_core.Schedule` decides; this file has the futures on which calls wait, and the one timer.
"""

from __future__ import annotations

import asyncio
import math
import sys
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from .._core import Schedule
from ..calls.record import ToolExecution
from ..calls.tool_result import failure
from ..errors import ToolError, UnknownOutcome
from ..guards.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_instance,
    check_seconds,
    refused,
)
from ..tools.options import ToolOptions, options_of
from ..types import ToolResult


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """How calls are carried out: `calls=CallOptions(...)` of `Agent`, `Accumulator`, `execute_tools` and their like.

    Attributes:
        timeout: seconds that one attempt of a call may take from its start, and that the hooks around it may take
            besides; `None` for no limit. A tool's own `timeout` takes precedence. Time spent waiting for a person or
            for a free slot does not count.
        batch_timeout: seconds that the calls of a batch may take together, once the batch is complete; `None` for no
            limit.
        max_concurrency: how many calls of a batch may run at once; `None` for all.
        on_failure: `"raise"` to raise `ToolError` when a call fails, once all calls of its batch have their results,
            which are in the log; its `executions` are those of the batch.
        on_block: whether the calls after one that a hook blocks are still carried out; with `"stop"` they are not, and
            the run ends. Hooks are then asked about one call after the other, in call order.
        eager: whether calls of tools with `read_only=True` begin as soon as the model has written them, while it
            still writes their batch. They count only with their batch: if that is not valid, they are cancelled, and
            the model does not see their results.

    Raises:
        ConfigError: an option has a value that cannot work.
    """

    timeout: float | None = None
    batch_timeout: float | None = None
    max_concurrency: int | None = None
    on_failure: Literal["continue", "raise"] = "continue"
    on_block: Literal["continue", "stop"] = "continue"
    eager: bool = True

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        check_seconds("batch_timeout", self.batch_timeout)
        check_count("max_concurrency", self.max_concurrency, most=math.inf)
        check_choice("on_failure", self.on_failure, "continue", "raise")
        check_choice("on_block", self.on_block, "continue", "stop")
        check_flag("eager", self.eager)

    @classmethod
    def of(cls, calls: CallOptions | None) -> CallOptions:
        """Read an argument `calls`; `None` means all defaults.

        Raises:
            ConfigError: it is something else.
        """
        if calls is None:
            return _DEFAULTS
        if isinstance(calls, str):
            advice = f"run.events(calls={calls!r}) says when calls are shown"
            raise refused("calls", calls, "a CallOptions", advice)
        check_instance("calls", calls, cls)
        return calls

    def error_of(self, executions: Sequence[ToolExecution]) -> ToolError | None:
        """The exception to raise after a batch, if there is one."""
        from ..calls.tool_result import exception_of

        if self.on_failure != "raise":
            return None
        for each in executions:
            if each.status in ("failure", "timeout"):
                error = ToolError(f"Tool '{each.name}' failed: {each.error}")
                error.executions = tuple(executions)
                error.__cause__ = exception_of(each.result)
                return error
        return None


_DEFAULTS = CallOptions()


Late = Literal["call", "batch"]
"""Which time limit is over: that of the call, or that of the batch."""

Ticket = tuple[int, int]


class Timetable:
    """The order and the time limits of the calls of one batch, on the running event loop.

    Args:
        options: how the calls are carried out.
        wants: the options of the tools that have some.
        stop: called with the index of a call whose time is up.

    Attributes:
        late: the calls whose time is up and that have not noticed yet.
    """

    def __init__(
        self, options: CallOptions, wants: Sequence[ToolOptions], stop: Callable[[int], object]
    ) -> None:
        self.late: dict[int, Late] = {}
        self._options = options
        self._has_limits = options.timeout is not None or any(want.timeout for want in wants)
        self._has_barriers = any(want.sequential for want in wants)
        self._first_barrier = math.inf
        most = options.max_concurrency
        self._schedule = Schedule(0, concurrency=most and min(most, sys.maxsize))
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Ticket, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._goes_off = math.inf

    @classmethod
    def of(
        cls, options: CallOptions, wants: Sequence[ToolOptions], stop: Callable[[int], object]
    ) -> Timetable | None:
        """Make one as above, or `None` if all calls may run at once and without a limit."""
        if options.timeout is not None or options.batch_timeout or options.max_concurrency:
            return cls(options, wants, stop)
        if wants and [want for want in wants if want.sequential or want.timeout]:
            return cls(options, wants, stop)
        return None

    async def admission(self, index: int) -> None:
        """Wait until a call may run. When it has run, `leave` must be called.

        Raises:
            asyncio.CancelledError: the caller was cancelled, or no further call may run.
        """
        ticket = self._schedule.ask(index)
        if ticket is True:
            return
        if ticket is False:
            raise asyncio.CancelledError
        waiter = self._waiting[ticket] = self._loop.create_future()
        try:
            with self.held(index):
                await waiter
        except asyncio.CancelledError:
            if self._waiting.pop(ticket, None) is not None:
                self._schedule.withdraw(ticket)
            else:  # admitted, but cancelled before it went on
                self.leave(index)
            raise

    async def turn(self, index: int) -> None:
        """Wait until the sequential calls before this one are over; if it is one itself, until all before it are.

        What is around a call begins only then: a hook that holds a lock must not wait for a call that waits for it.

        Raises:
            asyncio.CancelledError: as `admission`.
        """
        if index >= self._first_barrier:
            await self.admission(index)
            self.leave(index)

    def add(self, calls: Sequence[tuple[Any, Any]]) -> None:
        """Add calls, with their tools, after those that are there."""
        first = self._schedule.count
        self._schedule.add(len(calls))
        if self._has_barriers:
            for index, (_, tool) in enumerate(calls, first):
                if options_of(tool).sequential:
                    self._first_barrier = min(self._first_barrier, index)
                    self.set_sequential(index)
        self.arm()

    def set_sequential(self, index: int) -> None:
        """Make a call sequential, if it is not over."""
        self._schedule.set_sequential(index)

    def truncate(self, count: int) -> None:
        """Forget the calls from this index on, all of which have ended."""
        for index in range(count, self._schedule.count):
            self.over(index)
            self.late.pop(index, None)
        self._schedule.truncate(count)

    def set_deadline(self) -> None:
        """Give all calls together their `batch_timeout`, from now on."""
        if seconds := self._options.batch_timeout:
            self._schedule.set_deadline(self._loop.time() + seconds)
            self.arm()

    def leave(self, index: int) -> None:
        """Note that a call does not run now; it may ask for admission again."""
        self._admit(self._schedule.leave(index))

    def over(self, index: int) -> None:
        """Note that a call is over, and will not ask again."""
        self._admit(self._schedule.over(index))

    def close(self) -> None:
        """Let no further calls run."""
        self._schedule.close()

    def start_clock(self, index: int, tool: Any) -> None:
        """Give a call of this tool its time from now on: for an attempt, or for the hooks around it."""
        if self._has_limits and (limit := _limit(tool, self._options)) is not None:
            self._schedule.start_clock(index, self._loop.time(), limit)
            self.arm()

    @contextmanager
    def held(self, index: int) -> Generator[None, None, None]:
        """`with timetable.held(index):` stops the clock of a call."""
        self._schedule.hold_clock(index, self._loop.time())
        try:
            yield
        finally:
            self._schedule.resume_clock(index, self._loop.time())
            self.arm()

    def arm(self) -> None:
        """Set the timer to the next deadline, unless it goes off earlier."""
        deadline = self._schedule.next_deadline()
        if deadline is None or self._goes_off <= deadline or self._loop.is_closed():
            return
        self.disarm()
        self._goes_off = deadline
        # Weak, so that the timer does not keep a dropped batch alive.
        weak: weakref.ref[Timetable] = weakref.ref(self)
        self._timer = self._loop.call_at(deadline, _tick, weak, deadline)

    def disarm(self) -> None:
        """Cancel the timer."""
        timer, self._timer = self._timer, None
        self._goes_off = math.inf
        if timer is not None:
            timer.cancel()

    def tick(self, now: float) -> None:
        """Stop the calls whose time is up."""
        self._timer, self._goes_off = None, math.inf
        is_batch, due = self._schedule.due(now)
        for index in due:
            self.late[index] = "batch" if is_batch else "call"
            self._stop(index)
        self.arm()

    def _admit(self, tickets: list[Ticket]) -> None:
        if tickets and not self._loop.is_closed():
            for ticket in tickets:
                waiter = self._waiting.pop(ticket)
                if not waiter.done():
                    waiter.set_result(None)


def timed_out(
    late: Late, name: str, tool: Any, options: CallOptions, *, has_begun: bool
) -> ToolResult:
    """The result of a call of this tool that was stopped because of this time limit.

    A tool that has its effects elsewhere may have had them, if it has begun.
    """
    if late == "batch":
        text = f"Tool '{name}' timed out: its batch took longer than {options.batch_timeout:g} s"
    else:
        text = f"Tool '{name}' timed out after {_limit(tool, options):g} s"
    if has_begun and getattr(tool, "has_effects_elsewhere", False) is True:
        text += ", so whether the call had an effect is not known"
        return failure(text, UnknownOutcome(text, timeout=True), "unknown")
    return failure(text, ToolError(text, timeout=True), "timeout")


def _limit(tool: Any, options: CallOptions) -> float | None:
    return options_of(tool).timeout or options.timeout


def _tick(timetable: weakref.ref[Timetable], now: float) -> None:
    alive = timetable()
    if alive is not None:
        alive.tick(now)
