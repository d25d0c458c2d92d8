"""The agent: a loop around the core that a person can start, watch, stop, resume and trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..runs.context import RunContext
from ..runs.limits import UsageLimits
from ..runs.response import ModelResponse
from ..runs.run_result import RunResult, RunStatus, Step, StepKind
from . import drivers
from .agent import Agent
from .drivers import Driver, TextDriver
from .first_prompt import Prompt
from .recovery import Recovery
from .run_handle import RunHandle
from .runtime import Runtime

if TYPE_CHECKING:
    from .drivers import (
        NativeDriver as NativeDriver,
        ReActDriver as ReActDriver,
        ScriptedDriver as ScriptedDriver,
    )

__all__ = [
    "Agent",
    "Driver",
    "ModelResponse",
    "NativeDriver",
    "Prompt",
    "ReActDriver",
    "Recovery",
    "RunContext",
    "RunHandle",
    "RunResult",
    "RunStatus",
    "Runtime",
    "ScriptedDriver",
    "Step",
    "StepKind",
    "TextDriver",
    "UsageLimits",
]


def __getattr__(name: str) -> Any:
    if name not in drivers.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(drivers, name)
