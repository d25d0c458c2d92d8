"""A run, as its hooks and its driver see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from ..errors import StopReason, StopRun
from ..ids import uuid7
from ..models import Usage
from .limits import Account, RunLimits
from .run_result import Step

__all__ = ["RunContext"]

Deps = TypeVar("Deps")


class RunContext(Generic[Deps]):
    """One run.

    Attributes:
        run_id: the run's own id.
        conversation_id: the conversation's id.
        user_id: the id of its user; may be empty.
        deps: the object that the program gave to the run.
        question: the user's question; "" if the run is resumed.
        storage: the log.
        state: a dict for the notes of hooks; tools read it. It lasts as long as the run.
        steps: the steps that are over.
        step: the number of the step that runs, from 0.
        parent: the run that called this one, if its agent is a tool of another; else `None`.
        limits: what ends the run.
        account: what the run has used, against its limits.
    """

    def __init__(
        self,
        *,
        conversation_id: str,
        user_id: str,
        deps: Deps,
        question: str,
        storage: Any,
        limits: RunLimits | None = None,
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
        self.limits: RunLimits = limits or RunLimits()
        self.account: Account = Account(self.limits, None if parent is None else parent.account)
        self._signals: list[StopRun] = []
        self._is_to_go_on = False

    @property
    def usage(self) -> Usage:
        """The tokens used so far, including those of the runs that this one called."""
        return self.account.usage

    @property
    def depth(self) -> int:
        """How many runs are above this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    def stop(
        self,
        message: str = "",
        *,
        reason: StopReason = StopReason.STOP_REQUESTED,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask the run to stop after the current step."""
        self.add(StopRun(message, reason=reason, context=context, source="hook"))

    def go_on(self) -> None:
        """Ask the run to go on after the current step, even if something asked it to stop.

        A request through `RunHandle.stop` is not overruled, nor the end of the run's time.
        """
        self._is_to_go_on = True

    def add(self, signal: StopRun) -> None:
        """Note a reason to stop the run."""
        self._signals.append(signal)

    @property
    def signals(self) -> list[StopRun]:
        """The reasons to stop the run, in the order in which they came."""
        return self._signals

    @property
    def is_to_go_on(self) -> bool:
        """Whether a hook asked the run to go on, no person asked it to stop, and it has time left."""
        return (
            self._is_to_go_on
            and not self.account.is_out_of_time
            and not any(signal.reason is StopReason.USER_REQUESTED for signal in self._signals)
        )

    def went_on(self) -> None:
        """Forget the requests to stop and to go on, since the run goes on: they were about the step before."""
        self._signals = []
        self._is_to_go_on = False
