"""One way around every call: functions that may change it, answer it, repeat it, or look at its result.

Each is called with an `Invocation` and with `next`, which carries out the call. It runs in the tool's task, with the
tool's context variables. Tracing, hooks, approval, retries and executors are such functions; `chain` has their order.
"""

from .approval import Approve, Decision, ToolApproved, ToolDenied
from .hooks import AnyHook, NextReconcile
from .invocation import AroundCall, Invocation, Next

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
