"""`ToolContext`: what a tool can know of its call, besides the model's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from .._core import EVENTS
from ..errors import ArgumentError, ConfigError, StopRun
from ..outside import time
from ..types import ToolCall

Deps = TypeVar("Deps")

_RESERVED = frozenset(type for type, _ in EVENTS)
"""The types of events that tools do not make."""


class RunSignals(Protocol):
    """What a tool can tell the run that it is part of, from any thread."""

    def emit(self, event: dict[str, Any]) -> None:
        """Give the run an event of the tool's own."""
        ...

    def stop(self, why: StopRun) -> None:
        """End the run once its calls have ended."""
        ...


@dataclass(frozen=True)
class ToolContext(Generic[Deps]):
    """One call, and the turn that it belongs to. A tool function gets it in a parameter annotated `ToolContext`.

    Attributes:
        call: the call as it is carried out.
        execution_id: the id of the call in the log. It identifies the call to other services, as an idempotency key
            does: at most 255 characters, hard to guess, never used twice, and the same in every attempt, in any
            process.
        conversation_id: the conversation's id.
        user_id: the id of the user whose turn it is; may be empty.
        deps: the object that the program gave to `Execution`.
        storage: the log.
        sandbox_dir: the folder for files of the sandbox.
        access: how far tools that work on files and run programs may reach.
        state: what hooks have written so far; read-only.
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
        """Pass an event to the reader of the turn while the call runs, such as its progress. From any thread.

        The reader gets such events between `execute` and `result`, in the order in which they were emitted. They are
        not in the log, and the model does not see them. If nobody reads the turn, they are dropped.

        Args:
            event: a dict with the tool's own `type`, and any other keys. `execution_id`, and `timestamp` in
                seconds since the epoch, are added if they are missing.

        Raises:
            ArgumentError: the event is not a dict, or its `type` is not text.
            ConfigError: its `type` is that of an event of this package; see *Events* in the guide to the protocol.
        """
        given: object = event
        if not isinstance(given, dict) or not isinstance(event.get("type"), str):
            raise ArgumentError(
                f'an event is a dict with a "type", which is text, not {event!r:.200}'
            )
        if event["type"] in _RESERVED:
            raise ConfigError(
                f"events of the type {event['type']!r} are the turn's own; give yours another type"
            )
        if self._run is not None:
            self._run.emit({"execution_id": self.execution_id, "timestamp": time(), **event})

    def stop(self, message: str) -> None:
        """Ask for the run to end once all calls of this batch have their results, which are saved as always.

        The turn's outcome is then `ended`, and `Accumulator.stopped` is the message of the first call that asked.

        Args:
            message: the reason, for the program that started the run.

        Raises:
            ArgumentError: `message` is not text.
        """
        given: object = message
        if not isinstance(given, str):
            raise ArgumentError(
                f"message, the reason why a run ends, must be a str, not {message!r:.200}"
            )
        if self._run is not None:
            why = StopRun(message)
            why.source = self.call.name
            self._run.stop(why)
