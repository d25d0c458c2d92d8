"""The events of a watched run besides the event dicts of the run itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from ...types import ToolCall, ToolResult

__all__ = ["CallBegan", "CallEnded", "Warned", "is_event"]


@dataclass(frozen=True)
class CallBegan:
    """A call is carried out now."""

    id: str
    call: ToolCall


@dataclass(frozen=True)
class CallEnded:
    """A call is over; without a result, because the run was stopped.

    Attributes:
        preview: what it does, if its tool can say so and nobody was shown it before.
    """

    id: str
    call: ToolCall
    result: ToolResult | None
    seconds: float
    preview: str | None = None


@dataclass(frozen=True)
class Warned:
    """The package logged a warning."""

    text: str


def is_event(item: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is an event of the run itself."""
    return isinstance(item, dict)
