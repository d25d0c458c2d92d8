"""One way around every call: what may change it, answer in its place, run it again, or look at its result.

A middleware is called with an `Invocation` and with `next`, which carries the call out; it runs in the task and the
context of the tool. Hooks, approval and retries are middleware too.
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
