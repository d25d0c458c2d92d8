"""How much a run may take, and what is seen before each of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..models import Usage
from ..tools.options import check_count, check_seconds
from .results import StopReason, StopSignal

__all__ = ["Spent", "UsageLimits"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has taken so far.

    Attributes:
        steps: answers of the model.
        tool_calls: calls that were carried out.
        usage: tokens.
        seconds: since it began.
    """

    steps: int
    tool_calls: int
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """Bounds of one run. Where one is reached the run stops before its next step; it does not fail.

    Attributes:
        steps: answers of the model; `None` for any number.
        tool_calls: calls that are carried out. Those beyond are refused, and the model is told.
        total_tokens: tokens of all kinds: read, written, cached, reasoned.
        seconds: since the run began. A step that takes longer is stopped: its running calls are cancelled, and have
            their results in the log.

    Raises:
        ConfigError: a bound below 1, or seconds that are not above 0.
    """

    steps: int | None = 20
    tool_calls: int | None = None
    total_tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "tool_calls", "total_tokens"):
            check_count(name, getattr(self, name))
        check_seconds("seconds", self.seconds)

    def reached(self, spent: Spent) -> Iterator[StopSignal]:
        """The bounds that are reached."""
        for reason, what, used, most in (
            (StopReason.STEPS_LIMIT, "Step", spent.steps, self.steps),
            (StopReason.STEPS_LIMIT, "Tool call", spent.tool_calls, self.tool_calls),
            (StopReason.TOKEN_LIMIT, "Token", spent.usage.total_tokens, self.total_tokens),
        ):
            if most is not None and used >= most:
                yield StopSignal(reason, f"{what} limit reached: {used}/{most}", source="limits")
        if self.seconds is not None and spent.seconds >= self.seconds:
            yield self.out_of_time(spent.seconds)

    def out_of_time(self, seconds: float) -> StopSignal:
        """That the time is over."""
        message = f"Time limit reached: {seconds:.1f}/{self.seconds:g} s"
        return StopSignal(StopReason.TIME_LIMIT, message, source="limits")
