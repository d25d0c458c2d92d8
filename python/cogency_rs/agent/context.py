"""A run, as its hooks and its driver see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from ..errors import StopRun
from ..ids import uuid7
from ..models import Usage
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
        usage: the tokens that were used so far.
        step: the number of the step that runs, from 0.
    """

    def __init__(
        self, *, conversation_id: str, user_id: str, deps: Deps, question: str, storage: Any
    ) -> None:
        self.run_id = uuid7()
        self.conversation_id = conversation_id
        self.user_id = user_id
        self.deps = deps
        self.question = question
        self.storage = storage
        self.state: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.usage = Usage()
        self.step = 0
        self._signals: list[StopSignal] = []
        self._is_to_go_on = False

    def stop(
        self,
        message: str = "",
        *,
        reason: StopReason = StopReason.STOP_REQUESTED,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask that the run stops behind the present step."""
        self.add(StopSignal.of(StopRun(message, reason=reason, context=context), "hook"))

    def go_on(self) -> None:
        """Ask that the run goes on behind the present step, also where something asked that it stops."""
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
        """Whether a hook asked that the run goes on."""
        return self._is_to_go_on

    def went_on(self) -> None:
        """The run goes on: what asked for its end, and against it, was about the step before."""
        self._signals = []
        self._is_to_go_on = False
