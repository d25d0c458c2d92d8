"""The values that programs exchange with this package: calls, results, events, and the protocols of tools and storages.

Their shapes, key names and order of fields are those of cogency 3.3.0, so that stored rows and user code fit both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from ._core import Dialect
from .loading import lazy_names
from .loading.plain_data import ExceptionField

if TYPE_CHECKING:
    from .shapes import (
        BreakerOpened as BreakerOpened,
        CallDeltaEvent as CallDeltaEvent,
        CallEvent as CallEvent,
        CallStartEvent as CallStartEvent,
        CancelledEvent as CancelledEvent,
        EndEvent as EndEvent,
        ErrorEvent as ErrorEvent,
        Event as Event,
        ExecuteEvent as ExecuteEvent,
        InterruptEvent as InterruptEvent,
        Message as Message,
        MessageMatch as MessageMatch,
        MetricEvent as MetricEvent,
        RespondEvent as RespondEvent,
        ResultCounts as ResultCounts,
        ResultEvent as ResultEvent,
        RunEvent as RunEvent,
        StepCost as StepCost,
        Storage as Storage,
        ThinkEvent as ThinkEvent,
        Tool as Tool,
        ToolBlockedEvent as ToolBlockedEvent,
        ToolChangedEvent as ToolChangedEvent,
        TurnEvent as TurnEvent,
        UserEvent as UserEvent,
        WrittenResultEvent as WrittenResultEvent,
    )

__all__ = [
    "Access",
    "BreakerOpened",
    "CallDeltaEvent",
    "CallEnd",
    "CallEvent",
    "CallMode",
    "CallStartEvent",
    "CancelledEvent",
    "Dialects",
    "EndEvent",
    "ErrorEvent",
    "ErrorMode",
    "ExecuteEvent",
    "FinishKind",
    "InterruptEvent",
    "Message",
    "MessageMatch",
    "MetricEvent",
    "RespondEvent",
    "ResultCounts",
    "ResultEvent",
    "RunEvent",
    "StepCost",
    "Storage",
    "StreamMode",
    "ThinkEvent",
    "Tool",
    "ToolBlockedEvent",
    "ToolChangedEvent",
    "TurnEvent",
    "TurnOutcome",
    "UserEvent",
    "WrittenResultEvent",
]

StreamMode = Literal["event", "token"]
"""`"event"`: complete units; `"token"`: `think` and `respond` text as it arrives."""

FinishKind = Literal["whole", "calls", "length", "refused", "broken", "unknown"]
"""What a provider's word for the end of an answer means; see `Finish`."""

CallMode = Literal["whole", "stream"]
"""When a call is shown: `"whole"`, when its block is complete; `"stream"`, even while the model writes it."""

Dialects: TypeAlias = str | Dialect | tuple[str | Dialect, ...]
"""How a model writes its calls: a preset's name, a `Dialect`, or several that are all read."""

ErrorMode = Literal["respond", "event"]
"""Where output that cannot be read is reported: in the text of the answer, or in an `error` event."""

CallEnd = Literal["success", "failure", "blocked", "denied", "timeout", "cancelled", "unknown"]
"""How a call ended. `blocked`: a hook or a limit refused it. `denied`: it was not approved. `cancelled`: it was
stopped, or never began. `unknown`: it is not known whether it had its effect."""

Access = Literal["sandbox", "project", "system"]
"""How far tools that work on files and run programs may reach; every tool is given it as `access`."""


class TurnOutcome(StrEnum):
    """How a turn came out. It decides what to do next."""

    ACTED = "acted"
    """Calls ran, and their results are in the log: ask the model again."""
    ANSWERED = "answered"
    """The model answered and called nothing."""
    ENDED = "ended"
    """The model wrote that it is done."""
    MALFORMED = "malformed"
    """A block could not be read, and nothing ran: ask the model again; its prompt shows what was wrong."""
    TRUNCATED = "truncated"
    """The model's text was cut: it reached its maximum length, or its stream broke off."""
    REFUSED = "refused"
    """The model refused to answer, or its provider withheld the answer. None of its calls ran."""
    WAITING = "waiting"
    """Calls wait for approval."""
    FAILED = "failed"
    """The turn was given up: no call succeeded in too many batches in a row, or the log failed."""


@dataclass
class ToolCall:
    """What the model asked for.

    Attributes:
        name: the name of the tool.
        args: the arguments, by name.
        id: what tells it from every other call, once it is part of a turn: made here, never used twice, and what
            decisions name. In a call that is read from text, the id that is written there; `None` if there is none.
        server: the name of the server that the tool is on; `None` for the agent's own tools.
        provider_id: of a call that is part of a turn, the id that its provider gave, which it may give to others too;
            `None` if it gave none, as in text.
    """

    name: str
    args: dict[str, Any]
    id: str | None = field(default=None, repr=False, compare=False)
    server: str | None = field(default=None, repr=False, compare=False)
    provider_id: str | None = field(default=None, repr=False, compare=False)


@dataclass
class ToolResult:
    """What a tool returns.

    Attributes:
        outcome: one line that says what happened; of a failure, the error message.
        content: the output itself, any value that JSON can hold; `None` or `""` if there is none.
        error: whether the call failed.
        exception: the cause of a failure: what the tool raised, or why the call was refused, stopped or denied.
        status: how a call failed, where more is known than that it did; one of `CallEnd`. It counts only with `error`.
    """

    outcome: str
    content: Any = None
    error: bool = False
    exception: Annotated[BaseException | None, ExceptionField()] = field(
        default=None, repr=False, compare=False
    )
    status: CallEnd | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Execution:
    """The log, the tools, and what tools are given.

    Attributes:
        storage: the log; every tool is given it as `storage`.
        tools: the tools that the model may call, by their `name`.
        shell_timeout: in seconds; the tool named `shell` is given it as `timeout`.
        sandbox_dir: every tool is given it as `sandbox_dir`.
        access: every tool is given it as `access`.
        deps: any object of the program; tools reach it as `ToolContext.deps`.
    """

    storage: Any = None
    tools: Sequence[Any] = ()
    shell_timeout: int = 30
    sandbox_dir: str = ".cogency/sandbox"
    access: Access = "sandbox"
    deps: Any = None


__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..shapes": (
            "BreakerOpened",
            "CallDeltaEvent",
            "CallEvent",
            "CallStartEvent",
            "CancelledEvent",
            "EndEvent",
            "ErrorEvent",
            "Event",
            "ExecuteEvent",
            "InterruptEvent",
            "Message",
            "MessageMatch",
            "MetricEvent",
            "RespondEvent",
            "ResultCounts",
            "ResultEvent",
            "RunEvent",
            "StepCost",
            "Storage",
            "ThinkEvent",
            "Tool",
            "ToolBlockedEvent",
            "ToolChangedEvent",
            "TurnEvent",
            "UserEvent",
            "WrittenResultEvent",
        )
    },
)
