"""The calls of a batch: what is known of each, and what hooks and tools see of them.

Hooks, executors and tools reach the batch only through `BatchHost`: it makes their contexts, finds the tool of a call
that a hook has changed, pauses time limits, and passes on events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ..calls.record import CallRecord, ToolExecution
from ..calls.tool_result import is_result, status_of, stopped
from ..errors import StopRun
from ..hooks import Invocation
from ..hooks.approval import Approval, Decision, write_decision
from ..hooks.hooks import NO_HOOKS, HookList
from ..outside import time, uuid7, worker
from ..tools.cogency import injected_by
from ..tools.context import RunSignals, ToolContext
from ..tools.registry import is_blocking
from ..tools.toolbox import ResolvedCall, Toolbox
from ..types import ToolCall, ToolResult
from .scheduling import CallOptions, Timetable
from .tool_events import HeldRun


class BatchSettings(NamedTuple):
    """What a batch is made with, besides its calls.

    Attributes:
        tools: resolves a call that hooks put in place of another.
        execution: the log, and what tools are given.
        user_id: the id of the user whose turn it is; may be empty.
        conversation_id: the conversation's id; may be empty.
        options: how the calls are carried out.
        state: the dict that hooks read and write.
        hooks: what is around them.
        approval: decides about those that require approval; `None` denies them.
        is_blocking: whether a tool, with its `execute`, runs in a worker thread.
        is_result: whether what a tool returned is a result, and not the content of one.
        run: takes what tools tell the run that the batch is part of; `None` drops it.
        in_run: called in the context of each call: notes there that it is part of the run.
    """

    tools: Toolbox
    execution: Any
    user_id: str
    conversation_id: str
    options: CallOptions
    state: dict[str, Any]
    hooks: HookList = NO_HOOKS
    approval: Approval | None = None
    is_blocking: Callable[[Any, Any], bool] = is_blocking
    is_result: Callable[[object], bool] = is_result
    run: RunSignals | None = None
    in_run: Callable[[], object] | None = None


@dataclass(slots=True, eq=False)
class BatchCall:
    """One call of a batch, and what is known of it.

    Attributes:
        index: its place in the batch, from 0.
        resolved: the call as hooks left it, with its tool.
        before: the call's record from before it is carried out; `None` until `record` has made one.
        held: holds back what the call tells its run, if it began before its batch was complete.
        attempts: how often the tool was started.
        began: when the call began to be carried out, in seconds since the epoch; 0 before that.
        ended: when it was over, in seconds since the epoch; 0 before that.
        stopped: the cancellation that ended it.
        is_turned: whether a hook has made it a call of another tool.
    """

    index: int
    resolved: ResolvedCall
    before: CallRecord | None = None
    held: HeldRun | None = None
    attempts: int = 0
    began: float = 0.0
    ended: float = 0.0
    stopped: asyncio.CancelledError | None = None
    is_turned: bool = False

    @property
    def is_known(self) -> bool:
        """Whether an earlier program carried it out, so that its record has its result."""
        return self.before is not None and self.before.status == "ended"

    @property
    def record(self) -> CallRecord:
        """The call's record from before: the log's, or one that is made at the first use."""
        if self.before is None:
            call: Any = self.resolved.call
            # cogency's own calls have neither
            server, given = getattr(call, "server", None), getattr(call, "id", None)
            self.before = CallRecord(
                uuid7(), "", self.index, call.name, server, "saved", provider_id=given
            )
        return self.before

    def execution(self, result: ToolResult, decision: str | None) -> ToolExecution:
        """The call with this result, and its record.

        What an earlier start wrote in the record stays if the call was not started again.

        Args:
            result: its result.
            decision: what was decided about it here; `None` leaves what the record says.
        """
        record, ended = self.record, self.ended or time()
        if record.status == "early":  # its batch is complete, or the caller drops it
            record = record.to("open", "run")
        if self.attempts or not record.attempt:
            # A call that was refused has the time of that as both its times, and was not started.
            attempt, began = record.attempt + self.attempts, self.began or ended
            if self.attempts and record.status == "saved":
                record = record.to("open", "run")
            record = record._replace(attempt=attempt, started_at=began, worker=worker())
        record = record.to(
            status_of(result),
            "run",
            completed_at=ended,
            decision=decision or record.decision,
            result=None,
        )
        return ToolExecution(self.resolved.call, result, record)


class BatchHost:
    """What hooks, executors and tools see of a batch. It knows a call by its place, from 0.

    Args:
        settings: what the batch is made with.
        timetable: the time limits of the calls; `None` without limits.

    Attributes:
        settings: what the batch is made with.
        calls: the calls, by their places. The batch adds to it.
        decisions: the decisions about calls that needed approval, by the call's place.
        execution: the log, and what tools are given.
        injected: the arguments that every tool of cogency's kind is given.
    """

    def __init__(self, settings: BatchSettings, timetable: Timetable | None) -> None:
        self.settings = settings
        self.calls: list[BatchCall] = []
        self.decisions: dict[int, Decision] = {}
        self.execution = settings.execution
        self.injected = injected_by(settings.execution, settings.user_id, settings.conversation_id)
        self._timetable = timetable

    def invocation(self, index: int) -> Invocation:
        """A call as the first hook gets it."""
        one = self.calls[index]
        call, tool = one.resolved
        return Invocation(
            one.record.id,
            call,
            tool,
            self.context(index, call),
            index=index,
            state=self.settings.state,
            _host=self,
        )

    def known(self, invocation: object) -> Invocation:
        """An invocation as the next hook gets it: with its call under the tool's one name, its tool and its context.

        Raises:
            TypeError: the object is not an invocation.
        """
        if not isinstance(invocation, Invocation):
            raise TypeError(f"next takes an Invocation, got {type(invocation).__name__}")
        one = self.calls[invocation.index]
        before = one.resolved
        if invocation.call is before.call:
            return invocation if invocation.tool is before.tool else invocation.of_call(before)
        resolved = self.settings.tools.resolve_instead(invocation.call, before)
        one.resolved = resolved
        if resolved.tool is not before.tool:
            one.is_turned = True
        if resolved.options.sequential and self._timetable is not None:
            self._timetable.set_sequential(one.index)
        return invocation.of_call(resolved)

    def context(self, index: int, call: ToolCall) -> ToolContext[Any]:
        """The `ToolContext` of a call."""
        settings, execution = self.settings, self.execution
        return ToolContext(
            call,
            self.calls[index].record.execution_id,
            settings.conversation_id,
            settings.user_id,
            getattr(execution, "deps", None),
            execution.storage,
            execution.sandbox_dir,
            execution.access,
            MappingProxyType(settings.state),
            self._run_of(index),
        )

    def held(self, index: int) -> AbstractContextManager[None]:
        """A context whose time does not count for a call."""
        return nullcontext() if self._timetable is None else self._timetable.held(index)

    def emit(self, index: int, event: dict[str, Any]) -> None:
        """Pass an event about a call to the reader of the turn."""
        if (run := self._run_of(index)) is not None:
            run.emit(event)

    def end_run(self, index: int, why: StopRun, source: str) -> ToolResult:
        """Ask that the run ends, for a tool or a hook of this name; returns the result of the call that asked."""
        why.source = why.source or source
        if (run := self._run_of(index)) is not None:
            run.stop(why)
        return stopped(why)

    def execution_of(self, index: int, result: ToolResult) -> ToolExecution:
        """A call with this result."""
        decided = self.decisions.get(index)
        decision = None if decided is None else write_decision(decided)
        return self.calls[index].execution(result, decision)

    def _run_of(self, index: int) -> RunSignals | None:
        """The run as a call can reach it."""
        return self.calls[index].held or self.settings.run
