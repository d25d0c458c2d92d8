"""The sentence about a run that waits for approval: which calls wait, and what to call next."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import ToolCall

__all__ = ["what_waits"]

_LISTED = 5
"""Calls that are named."""


def what_waits(calls: Sequence[ToolCall], conversation_id: str) -> str:
    """Say which calls wait, and how the run goes on.

    Args:
        calls: the calls that wait, with their ids.
        conversation_id: the conversation of the run.
    """
    count = "1 call waits" if len(calls) == 1 else f"{len(calls)} calls wait"
    names = ", ".join(call.name for call in calls[:_LISTED])
    more = f" and {len(calls) - _LISTED} more" if len(calls) > _LISTED else ""
    decisions = ", ".join(f"{str(call.id)!r}: True" for call in calls[:_LISTED])
    others = ", ..." if len(calls) > _LISTED else ""
    return (
        f"{count} for approval: {names}{more}; go on with "
        f"agent.resume({conversation_id!r}, decisions={{{decisions}{others}}}), where False refuses a call; "
        "to be asked at once, give the agent approve=; "
        'to run tools of an MCP server unasked, give the server approve="never"'
    )
