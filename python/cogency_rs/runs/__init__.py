"""What a run is and says, as its hooks, its driver and its program see it: its context, limits, steps and result."""

from .context import RunContext
from .response import ModelResponse
from .run_result import RunStatus, StepKind

__all__ = ["ModelResponse", "RunContext", "RunStatus", "StepKind"]
