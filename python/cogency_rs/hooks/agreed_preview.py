"""A call that was approved after its preview was shown runs only if the preview is still the same when it starts."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any

from ..calls.tool_result import failure
from ..errors import DeniedError
from ..loading.dataclass import replace
from ..types import ToolResult
from .invocation import Invocation

__all__ = ["refused_as_changed"]

logger: logging.Logger = logging.getLogger(__name__)


async def refused_as_changed(invocation: Invocation) -> ToolResult | None:
    """A refusal of a call that would do something other than what was approved; `None` if it may run."""
    preview, shown = invocation.resolved.options.preview, None
    call = replace(invocation.call, id=None)  # it no longer waits
    try:
        if preview is not None:
            found: Any = await asyncio.to_thread(preview, call)
            shown = await found if inspect.isawaitable(found) else found
    except Exception:
        logger.exception("The preview of a call to %r failed, so it is denied", call.name)
    if shown == invocation.agreed:
        return None
    text = (
        f"Tool '{call.name}' was not run: what it would do has changed since it was approved. "
        "Look again, and call it again if it is still needed"
    )
    return failure(text, DeniedError(text))
