"""How a call ended, told from the exception of its result."""

from __future__ import annotations

import asyncio
from typing import Literal

from ..errors import BlockTool, DeniedError, ToolError, UnknownOutcome
from ..types import ToolResult
from .tool_result import exception_of

__all__ = ["Status", "status_of"]

Status = Literal["success", "failure", "blocked", "denied", "timeout", "cancelled", "unknown"]
"""How a call ended. `blocked`: a hook or a limit refused it. `denied`: it was not approved. `unknown`: it is not known
whether it had its effect."""


def status_of(result: ToolResult) -> Status:
    """How a call with this result ended."""
    if not result.error:
        return "success"
    match exception_of(result):
        case BlockTool():
            return "blocked"
        case DeniedError():
            return "denied"
        case UnknownOutcome():
            return "unknown"
        case ToolError(timeout=True):
            return "timeout"
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return "failure"
