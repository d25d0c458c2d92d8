"""What is found out about a call whose outcome is unknown, since the program that ran it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..guards.arguments import check_count, check_seconds, refused

__all__ = [
    "AskOutcome",
    "Happened",
    "NotHappened",
    "Outcome",
    "Reconcile",
    "Unknown",
    "UnsettledCall",
]


@dataclass(frozen=True)
class Happened:
    """The call had its effect.

    Attributes:
        result: what the tool would have returned; the model reads it.
    """

    result: Any = None


@dataclass(frozen=True)
class NotHappened:
    """The call had no effect, so it may run, with the same `execution_id`."""


@dataclass(frozen=True)
class Unknown:
    """It is unknown whether the call had its effect.

    Attributes:
        why: the reason; the model reads it.
        again_in: seconds after which the function is asked again, because it may be known by then; `None` if asking
            again does not help.

    Raises:
        ConfigError: `again_in` is not a time.
    """

    why: str = ""
    again_in: float | None = None

    def __post_init__(self) -> None:
        check_seconds("again_in", self.again_in)


Outcome = Happened | NotHappened | Unknown


@dataclass(frozen=True)
class UnsettledCall:
    """A call whose outcome is unknown, as a `reconcile` gets it.

    Attributes:
        id: its id in the log.
        execution_id: the `ToolContext.execution_id` of its tool.
        name: the tool's name.
        args: its arguments, as the model wrote them.
        conversation_id: the conversation that it is part of.
        user_id: whose conversation that is; may be empty.
        attempt: how many times the tool was started, as far as the log knows.
        started_at: when it was started, in UTC; `None` if that is not known.
        worker: the process that started it, `"host:pid"`.
        deps: the `deps` of the run that asks.
        waited: seconds since the function was first asked about the call in this run. The program that began the call
            was gone by then, so anything that it sent has been on its way for longer.
    """

    id: str
    execution_id: str
    name: str
    args: dict[str, Any]
    conversation_id: str
    user_id: str
    attempt: int
    started_at: datetime | None
    worker: str | None
    deps: Any = None
    waited: float = 0.0


AskOutcome = Callable[[UnsettledCall], Outcome | Awaitable[Outcome]]


@dataclass(frozen=True)
class Reconcile:
    """What `@tool(reconcile=…)` takes: a function, and how often and how long to ask it.

    The function alone stands for this with the default values.

    Attributes:
        ask: looks whether a call had its effect, without having one itself. A plain function runs in a worker thread.
        timeout: seconds that one try may take; a plain function is then abandoned, and ends on its own.
        tries: how often it is asked about one call at most, if it raises or takes too long.
        within: seconds from the first question on in which an answer `Unknown(…, again_in=…)` counts: after them, or
            when the time of the run is up, the outcome stays unknown.

    Raises:
        ConfigError: `ask` is not a function, or another value is out of range.
    """

    ask: AskOutcome
    timeout: float = 30.0
    tries: int = 3
    within: float = 120.0

    def __post_init__(self) -> None:
        if not callable(self.ask):
            raise refused("ask", self.ask, "a function of a call")
        check_seconds("timeout", self.timeout)
        check_count("tries", self.tries, or_none=False)
        given: Any = self.within
        if given is None:  # `check_seconds` takes it for no limit
            raise refused("within", self.within, "above 0 seconds and at most a year")
        check_seconds("within", self.within)

    @classmethod
    def of(cls, given: AskOutcome | Reconcile | None) -> Reconcile | None:
        """Read an option `reconcile`.

        Raises:
            ConfigError: it is something else.
        """
        if given is None or isinstance(given, Reconcile):
            return given
        if not callable(given):
            raise refused("reconcile", given, "a function of a call, a Reconcile, or None")
        return cls(given)
