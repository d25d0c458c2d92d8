"""Repeats failed calls of tools that allow it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..calls.tool_result import exception_of, status_of
from ..errors import ToolError
from ..outside import random
from ..types import ToolResult
from .approval import own_copy
from .invocation import Invocation, Next

__all__ = ["retry"]

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


async def retry(invocation: Invocation, next: Next) -> ToolResult:
    """Repeat a call that raised or ran out of time, as often as its tool allows, with growing pauses."""
    retries = invocation.resolved.options.retries
    kept = own_copy(
        invocation.call
    )  # what a tool does to its arguments must not reach the next attempt
    attempt = 1
    while True:
        result = await next(invocation)
        if attempt > retries or not _may_help(result):
            return result
        with invocation.waiting():
            await asyncio.sleep(pause(attempt))
        attempt += 1
        invocation = replace(invocation, call=own_copy(kept), attempt=attempt)


def _may_help(result: ToolResult) -> bool:
    """Whether a call failed, and another attempt could succeed."""
    match status_of(result), exception_of(result):
        case ("timeout", _):
            return True
        case ("failure", ToolError(validation_failed=True) | None):
            return False
        case ("failure", _):
            return True
        case _:
            return False


def pause(attempt: int) -> float:
    """Seconds to wait after this attempt: twice as long each time, and random, so that calls do not retry in step."""
    longest: float = min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
    return longest * (0.5 + random() / 2)
