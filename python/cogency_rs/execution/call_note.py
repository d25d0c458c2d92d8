"""What is noted of a call of a batch while it is carried out: its ids, its attempts, its times, and what stopped it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import time
from typing import Any

from ..calls.records import ToolExecution, status_of, utc
from ..ids import uuid7
from ..types import ToolCall, ToolResult
from .tool_events import HeldRun

__all__ = ["CallNote", "notes_of"]


class CallNote:
    """What is noted of one call of a batch.

    Attributes:
        id: the log's or the provider's id of the call; `None` until `id_of` has made one.
        execution_id: what the call's tool is told; without one it is told the id.
        attempt: how often the tool was started.
        began: when the call began to be carried out, in seconds since the epoch; 0 before that.
        ended: when it was over; 0 before that.
        stopped: the cancellation that ended it.
        held: holds back what the call tells its run, if it began before its batch was complete.
        is_turned: whether a hook has made it a call of another tool.
        known: the result that an earlier program left.
    """

    # Defaults of the class, since most of a call's fields are never set, and each call has a note.
    id: str | None = None
    execution_id: str = ""
    attempt: int = 0
    began: float = 0.0
    ended: float = 0.0
    stopped: asyncio.CancelledError | None = None
    held: HeldRun | None = None
    is_turned: bool = False
    known: ToolResult | None = None

    def id_of(self, call: Any) -> str:
        """The id of the call: the log's, the provider's, or one that is made at the first use."""
        self.id = made = self.id or getattr(call, "id", None) or uuid7()
        return made

    def record(self, call: ToolCall, result: ToolResult) -> ToolExecution:
        """The record of the call with this result."""
        ended = self.ended or time()
        return ToolExecution(
            id=self.id_of(call),
            call=call,
            result=result,
            started_at=utc(self.began or ended),
            completed_at=utc(ended),
            status=status_of(result),
            attempt=self.attempt,
        )


def notes_of(count: int, ids: Sequence[str], execution_ids: Sequence[str]) -> list[CallNote]:
    """A note for each of so many calls, the first of which have these ids already."""
    notes = [CallNote() for _ in range(count)]
    for note, id in zip(notes, ids, strict=False):
        note.id = id
    for note, execution_id in zip(notes, execution_ids, strict=False):
        note.execution_id = execution_id
    return notes
