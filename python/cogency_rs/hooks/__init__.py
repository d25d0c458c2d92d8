"""Middleware: code around every call, which may change the call, answer it, repeat it, or look at its result.

A middleware is called with an `Invocation` and with `next`, which carries out the call. It runs in the tool's task,
with the tool's context variables. Hooks, approval and retries are middleware too.
"""

from .approval import Approval, Approve, Decision, ToolApproved, ToolDenied
from .hooks import HookContext, HookRunner, Hooks
from .invocation import Invocation, Middleware, Next
from .retries import retry

__all__ = [
    "Approval",
    "Approve",
    "Decision",
    "HookContext",
    "HookRunner",
    "Hooks",
    "Invocation",
    "Middleware",
    "Next",
    "ToolApproved",
    "ToolDenied",
    "retry",
]
