"""What a run is and says, as its hooks, its driver and its program see it: its context, limits, steps and result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from .context import ModelResponse as ModelResponse, RunContext as RunContext
    from .result import RunStatus as RunStatus, StepKind as StepKind

__all__ = ["ModelResponse", "RunContext", "RunStatus", "StepKind"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".context": ("ModelResponse", "RunContext"),
        ".result": (
            "RunStatus",
            "StepKind",
        ),
    },
)
