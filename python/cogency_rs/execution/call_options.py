"""`CallOptions`: how the calls of a model are carried out, wherever that is done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..calls.record import ToolExecution
from ..errors import ToolError
from ..guards.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_instance,
    check_seconds,
    refused,
)

__all__ = ["CallOptions"]


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """How calls are carried out: `calls=CallOptions(...)` of `Agent`, `Accumulator`, `execute_tools` and their like.

    Attributes:
        timeout: seconds that one attempt of a call may take from its start, and that the hooks around it may take
            besides; `None` for no limit. A tool's own `timeout` takes precedence. Time spent waiting for a person or
            for a free slot does not count.
        batch_timeout: seconds that the calls of a batch may take together, once the batch is complete; `None` for no
            limit.
        max_concurrency: how many calls of a batch may run at once; `None` for all.
        on_failure: `"raise"` to raise `ToolError` when a call fails, once all calls of its batch have their results,
            which are in the log; its `executions` are those of the batch.
        on_block: whether the calls after one that a hook blocks are still carried out; with `"stop"` they are not, and
            the run ends. Hooks are then asked about one call after the other, in call order.
        eager: whether calls of tools with `read_only=True` begin as soon as the model has written them, while it
            still writes their batch. They count only with their batch: if that is not valid, they are cancelled, and
            the model does not see their results.

    Raises:
        ConfigError: an option has a value that cannot work.
    """

    timeout: float | None = None
    batch_timeout: float | None = None
    max_concurrency: int | None = None
    on_failure: Literal["continue", "raise"] = "continue"
    on_block: Literal["continue", "stop"] = "continue"
    eager: bool = True

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        check_seconds("batch_timeout", self.batch_timeout)
        check_count("max_concurrency", self.max_concurrency, most=math.inf)
        check_choice("on_failure", self.on_failure, "continue", "raise")
        check_choice("on_block", self.on_block, "continue", "stop")
        check_flag("eager", self.eager)

    @classmethod
    def of(cls, calls: CallOptions | None) -> CallOptions:
        """Read an argument `calls`; `None` means all defaults.

        Raises:
            ConfigError: it is something else.
        """
        if calls is None:
            return _DEFAULTS
        if isinstance(calls, str):
            advice = f"run.events(calls={calls!r}) says when calls are shown"
            raise refused("calls", calls, "a CallOptions", advice)
        check_instance("calls", calls, cls)
        return calls

    def error_of(self, executions: Sequence[ToolExecution]) -> ToolError | None:
        """The exception to raise after a batch, if there is one."""
        from ..calls.tool_result import exception_of

        if self.on_failure != "raise":
            return None
        for each in executions:
            if each.status in ("failure", "timeout"):
                error = ToolError(f"Tool '{each.name}' failed: {each.error}")
                error.executions = tuple(executions)
                error.__cause__ = exception_of(each.result)
                return error
        return None


_DEFAULTS = CallOptions()
