"""What is noted of a call of a batch while it is carried out: its attempts, its times, and what stopped it."""

from __future__ import annotations

import asyncio
from typing import Any

from ..calls.record import CallRecord, ToolExecution
from ..calls.tool_result import status_of
from ..ids import uuid7
from ..outside import time, worker
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
            # cogency's own calls have neither
            server, given = getattr(call, "server", None), getattr(call, "id", None)
            self.before = CallRecord(
                uuid7(), "", position, call.name, server, "saved", provider_id=given
            )
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
        record, ended = self.record_of(call, position), self.ended or time()
        if record.status == "early":  # its batch is complete, or the caller drops it
            record = record.to("open", "run")
        if self.attempt or not record.attempt:
            # A call that was refused has the time of that as both its times, and was not started.
            attempt, began = record.attempt + self.attempt, self.began or ended
            if self.attempt and record.status == "saved":
                record = record.to("open", "run")
            record = record._replace(attempt=attempt, started_at=began, worker=worker())
        record = record.to(
            status_of(result),
            "run",
            completed_at=ended,
            decision=decision or record.decision,
            result=None,
        )
        return ToolExecution(call, result, record)
