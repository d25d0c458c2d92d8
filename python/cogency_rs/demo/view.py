"""What a view of a session is told, and the view for programs: JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Event, ToolCall, ToolResult

__all__ = ["JsonLines", "UserEvent", "View"]


class UserEvent(TypedDict):
    """What the user wrote."""

    type: Literal["user"]
    content: str
    timestamp: float


class View:
    """What shows a session while it is played; this one shows nothing."""

    def session_begins(self, turns: int) -> None:
        """So many turns will be played."""

    def turn_begins(self, number: int) -> None:
        """The model's turn `number`, from 1, begins."""

    def event(self, event: Event | UserEvent) -> None:
        """The user wrote something, or the accumulator emitted an event."""

    def tool_started(self, call: ToolCall) -> None:
        """A call begins."""

    def tool_ended(self, call: ToolCall, result: ToolResult, seconds: float) -> None:
        """A call is over, after so many seconds."""

    def session_ends(self, messages: Sequence[Mapping[str, Any]], rows: int) -> None:
        """All turns were played.

        Args:
            messages: what the next model call would receive.
            rows: how many rows the log has.
        """


class JsonLines(View):
    """Prints every event as a line of JSON, and nothing else."""

    def event(self, event: Event | UserEvent) -> None:
        """Print the event."""
        print(json.dumps(event), flush=True)
