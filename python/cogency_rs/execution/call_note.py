"""What is noted of a call of a batch while it is carried out: its attempts, its times, and what stopped it."""

from __future__ import annotations

import asyncio
from time import time
from typing import Any

from ..calls.records import CallRecord, ToolExecution
from ..calls.status import status_of
from ..calls.worker_process import worker
from ..ids import uuid7
from ..types import ToolCall, ToolResult
from .tool_events import HeldRun

__all__ = ["CallNote"]


class CallNote:
    """What is noted of one call of a batch.

    Attributes:
        before: the call's record from before it is carried out; `None` until `record_of` has made one.
        attempt: how often the tool was started.
        began: when the call began to be carried out, in seconds since the epoch; 0 before that.
        ended: when it was over; 0 before that.
        stopped: the cancellation that ended it.
        held: holds back what the call tells its run, if it began before its batch was complete.
        is_turned: whether a hook has made it a call of another tool.
        known: the result that an earlier program left.
    """

    # Defaults of the class, since most of a call's fields are never set, and each call has a note.
    before: CallRecord | None = None
    attempt: int = 0
    began: float = 0.0
    ended: float = 0.0
    stopped: asyncio.CancelledError | None = None
    held: HeldRun | None = None
    is_turned: bool = False
    known: ToolResult | None = None

    def record_of(self, call: Any, position: int) -> CallRecord:
        """The call's record from before: the log's, or one that is made at the first use."""
        if self.before is None:
            id = getattr(call, "id", None) or uuid7()
            server = getattr(call, "server", None)  # cogency knows no servers
            self.before = CallRecord(id, "", position, call.name, server)
        return self.before

    def execution(
        self, call: ToolCall, position: int, result: ToolResult, decision: str | None
    ) -> ToolExecution:
        """The call with this result, and its record.

        What an earlier start wrote in the record stays if the call was not started again.

        Args:
            call: the call as hooks left it.
            position: its place in the batch.
            result: its result.
            decision: what was decided about it here; `None` leaves what the record says.
        """
        before, ended = self.record_of(call, position), self.ended or time()
        attempt, started_at, by = before.attempt, before.started_at, before.worker
        if self.attempt or not attempt:
            attempt += self.attempt
            started_at, by = self.began or ended, worker()
        record = CallRecord(
            before.id,
            before.batch,
            before.position,
            before.name,
            before.server,
            status_of(result),
            attempt,
            started_at,
            ended,
            by,
            decision or before.decision,
            None,
            before.settling,
        )
        return ToolExecution(call, result, record)
