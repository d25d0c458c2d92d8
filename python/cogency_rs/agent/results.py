"""What a run gives: its result, its steps, and why it stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from ..errors import StopRun
from ..models import Usage
from ..records import ToolExecution
from ..types import ToolCall, TurnOutcome

__all__ = [
    "Deps",
    "Output",
    "RunResult",
    "RunStatus",
    "Step",
    "StepKind",
    "StopReason",
    "StopSignal",
    "first_signal",
]

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    Deps = DefaultTypeVar("Deps", default=Any)
    Output = DefaultTypeVar("Output", default=str)
else:  # Python 3.11 knows no defaults
    Deps = TypeVar("Deps")
    Output = TypeVar("Output")

RunStatus = Literal["pending", "in_progress", "waiting", "completed", "stopped", "failed"]
"""How far a run has come. `failed` only if the run did, not if a tool of it did."""

StepKind = Literal["error", "tool_execution", "final_response"]
"""What a step was: output that could not be used, calls, or an answer."""


class StopReason(StrEnum):
    """Why a run stopped, in the order in which they count where there are several."""

    ERROR = "error"
    STOP_REQUESTED = "stop_requested"
    USER_REQUESTED = "user_requested"
    STEPS_LIMIT = "steps_limit"
    TOKEN_LIMIT = "token_limit"
    TIME_LIMIT = "time_limit"
    RETRY_LIMIT = "retry_limit"
    FINISH_REASON = "finish_reason"
    COMPLETED = "completed"
    UNKNOWN = "unknown"


_PRECEDENCE = {reason: place for place, reason in enumerate(StopReason)}


@dataclass(frozen=True, slots=True)
class StopSignal:
    """That a run is to stop, and why.

    Attributes:
        reason: what kind of reason it is.
        message: the reason in words.
        context: what else there is to say, by name.
        source: who says it: a tool's or a hook's name, `"limits"`, `"recovery"`, `"model"` or `"user"`.
    """

    reason: StopReason
    message: str = ""
    context: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""

    @classmethod
    def of(cls, stop: StopRun, source: str = "") -> StopSignal:
        """What a tool or a hook raised."""
        context, source = stop.context, source or stop.source
        try:
            reason = StopReason(stop.reason)
        except ValueError:
            reason, context = StopReason.UNKNOWN, {"reason": stop.reason, **context}
        return cls(reason, stop.message, MappingProxyType(context), source)


def first_signal(signals: Iterable[StopSignal]) -> StopSignal | None:
    """The signal that counts: the first of those whose reason comes first; `None` if there is none."""
    return min(signals, key=lambda signal: _PRECEDENCE[signal.reason], default=None)


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model, and what came of it.

    Attributes:
        index: which step of the run, from 0.
        kind: what it was.
        outcome: how the turn came out.
        text: what it says to the user, joined and stripped.
        thoughts: its reasoning, likewise.
        calls: what it asked for, as the model wrote it.
        executions: what became of the calls, in their order; and, as failures, what a driver could make no call of.
        usage: the tokens it took.
        finish_reason: why the model stopped writing, in its provider's word.
        error: what was wrong with it, as the model is told; `None` if nothing was.
    """

    index: int
    kind: StepKind
    outcome: TurnOutcome
    text: str = ""
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunResult(Generic[Output]):
    """What came of a run.

    Attributes:
        output: the final answer: its text, or the value of `output_type`; of a run that a tool ended, what that tool
            gave. Of any other run that did not complete, what the last step said.
        status: how it ended.
        stop: why it stopped; `None` where the model simply answered.
        usage: the tokens of all its steps.
        steps: its steps, in order.
        waiting: the calls that wait for somebody's agreement, with their ids; see `Agent.resume`.
        conversation_id: which conversation; to be given to the next run.
        run_id: the run's own.
    """

    output: Output
    status: RunStatus
    stop: StopSignal | None
    usage: Usage
    steps: tuple[Step, ...]
    waiting: tuple[ToolCall, ...]
    conversation_id: str
    run_id: str
