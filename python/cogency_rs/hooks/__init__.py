"""One way around every call: functions that may change it, answer it, repeat it, or look at its result.

Each is called with an `Invocation` and with `next`, which carries out the call. It runs in the tool's task, with the
tool's context variables. Tracing, hooks, approval, retries and executors are such functions; `chain` has their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from .approval import (
        Approve as Approve,
        Decision as Decision,
        ToolApproved as ToolApproved,
        ToolDenied as ToolDenied,
    )
    from .hooks import (
        AnyHook as AnyHook,
        AroundCall as AroundCall,
        Invocation as Invocation,
        Next as Next,
        NextReconcile as NextReconcile,
    )

__all__ = [
    "AnyHook",
    "Approve",
    "AroundCall",
    "Decision",
    "Invocation",
    "Next",
    "NextReconcile",
    "ToolApproved",
    "ToolDenied",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".approval": (
            "Approve",
            "Decision",
            "ToolApproved",
            "ToolDenied",
        ),
        ".hooks": ("AnyHook", "AroundCall", "Invocation", "Next", "NextReconcile"),
    },
)
