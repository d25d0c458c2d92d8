"""How the calls of a batch are carried out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..guards.arguments import (
    check_count,
    check_function,
    check_list,
    check_seconds,
    refused,
)
from ..hooks import Approve, Hooks, Middleware
from ..hooks.hooks import is_around_calls, sorted_hooks
from ..tools.toolbox import ResolvedCall
from .observers import OnToolEnd, OnToolStart
from .tool_events import OnEvent

__all__ = ["BatchOptions"]


@dataclass(slots=True)
class BatchOptions:
    """How the calls of a batch are carried out; see `execute_tools`.

    Raises:
        ConfigError: an option has a wrong value.
    """

    tool_timeout: float | None = None
    batch_timeout: float | None = None
    max_concurrency: int | None = None
    middleware: Iterable[Middleware] = ()
    hooks: Sequence[Hooks] = ()
    approve: Approve | None = None
    approval_timeout: float = 300.0
    on_tool_start: OnToolStart | None = None
    on_tool_end: OnToolEnd | None = None
    on_event: OnEvent | None = None
    on_block: Literal["continue", "stop"] = "continue"

    @property
    def has_call_hooks(self) -> bool:
        """Whether hooks run before or after calls."""
        return bool(self.hooks) and any(map(is_around_calls, self.hooks))

    def may_hold(self, calls: Sequence[ResolvedCall]) -> bool:
        """Whether one of these calls may have to wait for something before its tool is started."""
        if self.hooks or self.middleware or len(calls) > (self.max_concurrency or len(calls)):
            return True
        wants = [call.options for call in calls]
        return any(want.requires_approval or (want.sequential and calls[1:]) for want in wants)

    def __post_init__(self) -> None:
        if self.tool_timeout is not None:
            check_seconds("tool_timeout", self.tool_timeout)
        if self.batch_timeout is not None:
            check_seconds("batch_timeout", self.batch_timeout)
        check_seconds("approval_timeout", self.approval_timeout)
        if self.max_concurrency is not None:
            check_count("max_concurrency", self.max_concurrency, most=math.inf)
        if self.hooks != ():
            self.hooks = sorted_hooks(self.hooks)
        if self.middleware != ():
            self.middleware = tuple(
                check_list("middleware", self.middleware, "functions around a call")
            )
            for each in self.middleware:
                if not callable(each):
                    raise refused("middleware", each, "a list of functions")
        if self.approve is not None:
            check_function("approve", self.approve, "a function of a call, or None")
        if self.on_tool_start is not None:
            check_function("on_tool_start", self.on_tool_start)
        if self.on_tool_end is not None:
            check_function("on_tool_end", self.on_tool_end)
        if self.on_event is not None:
            check_function("on_event", self.on_event)
