"""The agent: a loop around the core that a person can start, watch, stop, resume and trust."""

from .agent import Agent
from .context import RunContext
from .drivers import Driver, NativeDriver, ReActDriver, ScriptedDriver, TextDriver
from .limits import UsageLimits
from .recovery import Recovery
from .response import ModelResponse
from .results import RunResult, RunStatus, Step, StepKind, StopReason, StopSignal
from .runtime import Runtime
from .stream import EventStream, StepStream

__all__ = [
    "Agent",
    "Driver",
    "EventStream",
    "ModelResponse",
    "NativeDriver",
    "ReActDriver",
    "Recovery",
    "RunContext",
    "RunResult",
    "RunStatus",
    "Runtime",
    "ScriptedDriver",
    "Step",
    "StepKind",
    "StepStream",
    "StopReason",
    "StopSignal",
    "TextDriver",
    "UsageLimits",
]
