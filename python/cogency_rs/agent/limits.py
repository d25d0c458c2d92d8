"""How much a run may use, and how much it has used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

from ..models.deltas import NO_USAGE, Usage
from ..tools.options import check_count, check_seconds
from .results import StopReason, StopSignal

__all__ = ["Account", "UsageLimits"]


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """Bounds of one run, and of the runs of agents that are its tools.

    A run that reaches one stops before its next step; it does not fail.

    Attributes:
        steps: answers of the model; `None` for any number.
        tool_calls: calls that are carried out. Further calls are refused, and the model is told; after a step in which
            every call was refused for this, the run stops.
        total_tokens: tokens of all kinds: read, written, cached, reasoned.
        seconds: seconds since the run began. A step that takes longer is stopped: its running calls are cancelled, and
            have their results in the log.

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


class Account:
    """What a run has used, and what it may still use.

    Its use counts for the run that called it, too, and so on upwards; if one of those has reached a limit, so has this
    run.

    Args:
        limits: the limits of the run.
        parent: the account of the run that called it.

    Attributes:
        steps: answers of the model.
        tool_calls: calls that were carried out.
        usage: tokens.
    """

    def __init__(self, limits: UsageLimits, parent: Account | None = None) -> None:
        self._limits = limits
        self._above: tuple[Account, ...] = () if parent is None else parent._upwards
        self._began: float | None = None
        self.steps = 0
        self.tool_calls = 0
        self.usage: Usage = NO_USAGE

    @property
    def _upwards(self) -> tuple[Account, ...]:
        return (self, *self._above)

    def begin(self) -> None:
        """Start the clock."""
        self._began = monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has lasted."""
        return 0.0 if self._began is None else monotonic() - self._began

    @property
    def seconds_left(self) -> float | None:
        """How long it may still last; `None` for no limit, negative when the time is over."""
        limit = self._limits.seconds
        return None if limit is None else limit - self.seconds

    def take_step(self) -> None:
        """Count an answer of the model."""
        for account in self._upwards:
            account.steps += 1

    def take_usage(self, usage: Usage) -> None:
        """Count tokens."""
        for account in self._upwards:
            account.usage = account.usage + usage

    @property
    def counts_calls(self) -> bool:
        """Whether there is a limit of calls."""
        return any(account._limits.tool_calls is not None for account in self._upwards)

    def take_call(self) -> StopSignal | None:
        """Count a call, if it may be carried out; else return why not."""
        for account in self._upwards:
            most = account._limits.tool_calls
            if most is not None and account.tool_calls >= most:
                text = f"Tool call limit reached: {account.tool_calls}/{most}"
                return StopSignal(StopReason.STEPS_LIMIT, text, source="limits")
        for account in self._upwards:
            account.tool_calls += 1
        return None

    def give_back_call(self) -> None:
        """Take back the count of a call."""
        for account in self._upwards:
            account.tool_calls -= 1

    def reached(self) -> Iterator[StopSignal]:
        """The limits that keep a further step from beginning."""
        for account in self._upwards:
            limits, used = account._limits, account.usage
            if (most := limits.steps) is not None and account.steps >= most:
                text = f"Step limit reached: {account.steps}/{most}"
                yield StopSignal(StopReason.STEPS_LIMIT, text, source="limits")
            if (most := limits.total_tokens) is not None and used.total_tokens >= most:
                text = f"Token limit reached: {used.total_tokens}/{most}"
                yield StopSignal(StopReason.TOKEN_LIMIT, text, source="limits")
            if limits.seconds is not None and account.seconds >= limits.seconds:
                yield account.out_of_time()

    def out_of_time(self) -> StopSignal:
        """The signal that the time is over."""
        message = f"Time limit reached: {self.seconds:.1f}/{self._limits.seconds:g} s"
        return StopSignal(StopReason.TIME_LIMIT, message, source="limits")
