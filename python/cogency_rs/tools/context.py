"""What a tool is told of the call it carries out, beside the model's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from ..errors import StopRun
from ..types import ToolCall

__all__ = ["TURN_EVENTS", "Deps", "ToolContext"]

Deps = TypeVar("Deps")

TURN_EVENTS = frozenset({"think", "respond", "call", "execute", "result", "error", "end"})
"""The types of events that a turn makes itself."""


class RunSignals(Protocol):
    """What a tool can reach of the run that it is part of, from any thread."""

    def emit(self, event: dict[str, Any]) -> None: ...

    def stop(self, why: StopRun) -> None: ...


@dataclass(frozen=True)
class ToolContext(Generic[Deps]):
    """One call, and what it belongs to. A function that is a tool gets it in a parameter annotated so.

    Attributes:
        call: the call as it is carried out.
        execution_id: the id of this call; the same in every attempt.
        conversation_id: which conversation.
        user_id: whose turn it is; may be empty.
        deps: what the program gave to `Execution`.
        storage: the log.
        sandbox_dir: where files of the sandbox are.
        access: how far tools that work on files and run programs may reach.
        state: what hooks have noted so far; read-only.
    """

    call: ToolCall
    execution_id: str
    conversation_id: str = ""
    user_id: str = ""
    deps: Deps = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    storage: Any = None
    sandbox_dir: str = ""
    access: str = ""
    state: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    _run: RunSignals | None = field(default=None, repr=False, compare=False)

    def emit(self, event: dict[str, Any]) -> None:
        """Hand an event to whoever reads the turn, while the call runs: how far it has come, or what it has found.

        It comes between `execute` and `result`, in the order in which events were emitted, from any thread. It is not
        in the log, and the model does not see it. Where nobody reads it is dropped.

        Args:
            event: with a `type` of the tool's own, and whatever else. `execution_id`, and `timestamp` in seconds since
                the epoch, are added where it has none.

        Raises:
            TypeError: it is no dict, or its `type` is no text.
            ValueError: its `type` is one of the turn's own: `think`, `respond`, `call`, `execute`, `result`, `error`,
                `end`.
        """
        given: object = event
        if not isinstance(given, dict) or not isinstance(event.get("type"), str):
            raise TypeError(f'an event is a dict with a "type", which is text, not {event!r:.200}')
        if event["type"] in TURN_EVENTS:
            raise ValueError(
                f"events of the type {event['type']!r} are the turn's own; give yours another type"
            )
        if self._run is not None:
            self._run.emit({"execution_id": self.execution_id, "timestamp": time(), **event})

    def stop(self, message: str) -> None:
        """Ask that the run ends once this batch has its results, which are saved as always.

        The turn's outcome is then `ended`, and `Accumulator.stopped` is the message of the first call that asked.

        Args:
            message: the reason, which the program that started the run gets.
        """
        given: object = message
        if not isinstance(given, str):
            raise TypeError(f"why a run is to end is said in text, not {message!r:.200}")
        if self._run is not None:
            why = StopRun(message)
            why.source = self.call.name
            self._run.stop(why)
