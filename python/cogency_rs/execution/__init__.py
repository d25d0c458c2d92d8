"""Carries out calls: one, or a batch in parallel, with results in call order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from ..calls.record import ToolExecution as ToolExecution
    from ..calls.tool_result import (
        Happened as Happened,
        NotHappened as NotHappened,
        Outcome as Outcome,
        Reconcile as Reconcile,
        Unknown as Unknown,
        UnsettledCall as UnsettledCall,
    )
    from ..tools.workers import (
        set_worker_threads as set_worker_threads,
        worker_threads as worker_threads,
    )
    from .executor import execute_calls as execute_calls, execute_tool as execute_tool

__all__ = [
    "Happened",
    "NotHappened",
    "Outcome",
    "Reconcile",
    "ToolExecution",
    "Unknown",
    "UnsettledCall",
    "execute_calls",
    "execute_tool",
    "set_worker_threads",
    "worker_threads",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..calls.tool_result": (
            "Happened",
            "NotHappened",
            "Outcome",
            "Reconcile",
            "Unknown",
            "UnsettledCall",
        ),
        "..calls.record": ("ToolExecution",),
        ".executor": ("execute_calls", "execute_tool"),
        "..tools.workers": ("set_worker_threads", "worker_threads"),
    },
)
