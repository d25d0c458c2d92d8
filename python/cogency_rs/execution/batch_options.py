"""How the calls of a batch are carried out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..guards.arguments import check_count, check_function, check_seconds
from ..hooks import Approve
from ..hooks.hooks import NO_HOOKS, HookList
from ..tools.toolbox import ResolvedCall
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
    hooks: HookList = NO_HOOKS
    approve: Approve | None = None
    approval_timeout: float = 300.0
    on_event: OnEvent | None = None
    on_block: Literal["continue", "stop"] = "continue"

    def may_hold(self, calls: Sequence[ResolvedCall]) -> bool:
        """Whether one of these calls may have to wait for something before its tool is started."""
        hooks = self.hooks
        if hooks.objects or hooks.around or len(calls) > (self.max_concurrency or len(calls)):
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
        if self.approve is not None:
            check_function("approve", self.approve, "a function of a call, or None")
        if self.on_event is not None:
            check_function("on_event", self.on_event)
