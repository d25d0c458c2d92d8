"""A run, as its hooks and its driver see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from ..errors import StopRun
from ..ids import uuid7
from ..models import Usage
from .limits import Account, UsageLimits
from .results import Step, StopReason, StopSignal

__all__ = ["RunContext"]

Deps = TypeVar("Deps")


class RunContext(Generic[Deps]):
    """One run.

    Attributes:
        run_id: the run's own id.
        conversation_id: which conversation.
        user_id: whose; may be empty.
        deps: what the program gave to the run.
        question: what the user asked; "" of a run that is resumed.
        storage: the log.
        state: what hooks note, by name; tools read it. It lasts as long as the run.
        steps: the steps that are over.
        step: the number of the step that runs, from 0.
        parent: the run that called this one, where its agent is a tool of another; otherwise `None`.
        account: what the run has taken, against its limits.
    """

    def __init__(
        self,
        *,
        conversation_id: str,
        user_id: str,
        deps: Deps,
        question: str,
        storage: Any,
        limits: UsageLimits | None = None,
        parent: RunContext[Any] | None = None,
    ) -> None:
        self.run_id = uuid7()
        self.conversation_id = conversation_id
        self.user_id = user_id
        self.deps = deps
        self.question = question
        self.storage = storage
        self.parent = parent
        self.state: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.step = 0
        self.account: Account = Account(
            limits or UsageLimits(), None if parent is None else parent.account
        )
        self._signals: list[StopSignal] = []
        self._is_to_go_on = False

    @property
    def usage(self) -> Usage:
        """The tokens that were used so far, also by the runs that this one called."""
        return self.account.usage

    @property
    def depth(self) -> int:
        """How many runs stand above this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    def stop(
        self,
        message: str = "",
        *,
        reason: StopReason = StopReason.STOP_REQUESTED,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask that the run stops after the present step."""
        self.add(StopSignal.of(StopRun(message, reason=reason, context=context), "hook"))

    def go_on(self) -> None:
        """Ask that the run goes on after the present step, also where something asked that it stops.

        What a person asked through `RunStream.stop` stays.
        """
        self._is_to_go_on = True

    def add(self, signal: StopSignal) -> None:
        """Note that something asks that the run stops."""
        self._signals.append(signal)

    @property
    def signals(self) -> list[StopSignal]:
        """What asks that the run stops, in the order in which it came."""
        return self._signals

    @property
    def is_to_go_on(self) -> bool:
        """Whether a hook asked that the run goes on, and no person that it stops."""
        return self._is_to_go_on and not any(
            signal.reason is StopReason.USER_REQUESTED for signal in self._signals
        )

    def went_on(self) -> None:
        """The run goes on: what asked for its end, and against it, was about the step before."""
        self._signals = []
        self._is_to_go_on = False
