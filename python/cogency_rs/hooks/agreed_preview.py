"""A call that was approved runs only as it was approved: with the same arguments, and what its preview showed."""

from __future__ import annotations

import logging
from dataclasses import replace

from ..calls.tool_result import failure
from ..errors import DeniedError
from ..tools.toolbox import ResolvedCall
from ..types import ToolResult
from .approval import call_digest, preview_of
from .invocation import Invocation

__all__ = ["refused_as_changed"]

logger: logging.Logger = logging.getLogger(__name__)


async def refused_as_changed(invocation: Invocation) -> ToolResult | None:
    """A refusal of a call that would do something other than what was approved; `None` if it may run."""
    call, agreed = invocation.call, invocation.agreed or ""
    preview: str | None = None
    try:
        if ":" in agreed:
            waits_no_longer = replace(call, id=None)
            preview = await preview_of(ResolvedCall(waits_no_longer, invocation.tool))
        if call_digest(invocation.resolved, preview) == agreed:
            return None
    except Exception:
        logger.exception("The preview of a call to %r failed, so it is denied", call.name)
    text = (
        f"Tool '{call.name}' was not run: what it would do has changed since it was approved. "
        "Look again, and call it again if it is still needed"
    )
    return failure(text, DeniedError(text), "denied")
