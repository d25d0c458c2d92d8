"""The values that programs exchange with this package: calls, results, events, and the protocols of tools and logs.

Their shapes, key names and order of fields are those of cogency 3.3.0, so that stored rows and user code fit both.

Only type checkers and few programs look at these classes, which take as long to make as a tenth of an agent's import.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Protocol,
    TypeAlias,
    final,
    runtime_checkable,
)

from ._core import Dialect
from .loading import ExceptionField, TypedDict, lazy_names

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


class ThinkEvent(TypedDict):
    """Reasoning, not meant for the user."""

    type: Literal["think"]
    content: str
    timestamp: float


class RespondEvent(TypedDict):
    """Text for the user; with `errors="respond"`, also reports of malformed output."""

    type: Literal["respond"]
    content: str
    timestamp: float


class CallEvent(TypedDict):
    """One tool call.

    `content` is `json.dumps({"name": ..., "args": ...})`, with `id` and `server` if the call has them.
    """

    type: Literal["call"]
    content: str
    timestamp: float


class CallStartEvent(TypedDict):
    """The model writes a call of one of the tools, and its arguments have begun.

    `index` numbers the calls of an answer from 0. A call that is not handed out in the end has the number of the next.
    """

    type: Literal["tool_call_start"]
    timestamp: float
    index: int
    name: str


class CallDeltaEvent(TypedDict):
    """A value in the arguments of a call that is written, or the next piece of one that is a string.

    `path` leads to it: keys and indices, of which the first is the argument's name. `content` is the text of a string,
    and the JSON of any other value.
    """

    type: Literal["tool_call_delta"]
    content: str
    timestamp: float
    index: int
    path: list[str | int]


class ExecuteEvent(TypedDict):
    """The batch is complete, and its calls run now."""

    type: Literal["execute"]
    timestamp: float


@final
class ResultCounts(TypedDict):
    """How many calls of a batch ran, succeeded and failed."""

    tools_executed: int
    success_count: int
    failure_count: int


@final
class BreakerOpened(TypedDict):
    """Why a turn ends after too many failures in a row."""

    outcome: str
    content: str
    error: bool


class ResultEvent(TypedDict):
    """Results of a batch: `content` is a JSON array in call order, and `payload` counts them.

    If the circuit breaker opens, another such event follows. Its only item says so, and its `payload` is a
    `BreakerOpened`.
    """

    type: Literal["result"]
    payload: ResultCounts | BreakerOpened
    content: str
    timestamp: float


class WrittenResultEvent(TypedDict):
    """Text that the model itself wrote between `<results>` tags. A parser emits it, and an accumulator drops it."""

    type: Literal["result"]
    content: str
    timestamp: float
    payload: NotRequired[None]


class ErrorEvent(TypedDict):
    """Output that cannot be read: a malformed block of calls, or an answer that was cut.

    `code` tells why. A parser has `"invalid_payload"` for a block that cannot be read, `"missing_tool_name"` for one
    with a call that has no name, and otherwise `None`; drivers and runs have their own codes.
    `content` says what is wrong and what to do, in the form of the model that wrote it. The log keeps what was wrong in
    plain words, and a model that reads the log is told what to do in its own form. `raw` is the block as the model
    wrote it, from its opening tag on, and `line` and `column` are the place of the error in it, from 1. If the answer
    was cut outside every block, `raw` is empty and the place is `None`.
    """

    type: Literal["error"]
    content: str
    timestamp: float
    kind: Literal["malformed", "unfinished", "truncated", "refused"]
    code: str | None
    line: int | None
    column: int | None
    raw: str


class EndEvent(TypedDict):
    """The model wrote that it is done."""

    type: Literal["end"]
    timestamp: float


class ToolBlockedEvent(TypedDict):
    """A hook blocked a call (`BlockTool`): `content` is why, and `hook` is the hook's name."""

    type: Literal["tool_blocked"]
    content: str
    timestamp: float
    execution_id: str
    name: str
    args: dict[str, Any]
    hook: str


class ToolChangedEvent(TypedDict):
    """A hook changed the result of a call: `status` and `content`, a value or an error, are those from before."""

    type: Literal["tool_changed"]
    content: Any
    timestamp: float
    execution_id: str
    name: str
    args: dict[str, Any]
    status: str
    hook: str


TurnEvent = (
    ThinkEvent
    | RespondEvent
    | CallStartEvent
    | CallDeltaEvent
    | CallEvent
    | ExecuteEvent
    | ResultEvent
    | ErrorEvent
    | EndEvent
    | ToolBlockedEvent
    | ToolChangedEvent
)
"""What an accumulator emits.

What a tool emits of its own (`ToolContext.emit`), such as an MCP tool's `progress`, has a type that is not among these.
"""


class UserEvent(TypedDict):
    """The question of a run."""

    type: Literal["user"]
    content: str
    timestamp: float


class StepCost(TypedDict):
    """Tokens read and written, and seconds."""

    input: int
    output: int
    duration: float


class MetricEvent(TypedDict):
    """What a step of a run cost, and all its steps so far; `is_estimate` says whether the step's tokens are a guess."""

    type: Literal["metric"]
    step: StepCost
    total: StepCost
    is_estimate: bool
    timestamp: float


class InterruptEvent(TypedDict):
    """A person asked a run to stop, and it stops here."""

    type: Literal["interrupt"]
    timestamp: float


class CancelledEvent(TypedDict):
    """The end of a run that a person asked to stop; `content` is what they said."""

    type: Literal["cancelled"]
    content: str
    timestamp: float


RunEvent = TurnEvent | UserEvent | MetricEvent | InterruptEvent | CancelledEvent
"""What a run of an agent emits, but for what its tools emit of their own; see `TurnEvent`."""


Event = TurnEvent | WrittenResultEvent
"""What a parser or an accumulator emits."""


class Message(TypedDict):
    """One entry of a prompt; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


class MessageMatch(NamedTuple):
    """A past user message found by `Storage.search_messages`."""

    content: str
    timestamp: float
    conversation_id: str


@runtime_checkable
class Tool(Protocol):
    """What a tool offers.

    `schema` is flat, `{"arg": {"type": "string", "required": True, ...}}`, or JSON Schema,
    `{"type": "object", "properties": ...}`.
    """

    name: str
    description: str
    schema: dict[str, Any]

    def execute(self, **kwargs: Any) -> Awaitable[Any]:
        """Run with the model's arguments and the injected ones (`storage`, `access`, ...)."""
        ...


class Storage(Protocol):
    """The one method of a log that a turn needs; `SQLite` has the rest of cogency's protocol."""

    async def save_message(
        self,
        conversation_id: str,
        user_id: str,
        type: str,
        content: str,
        timestamp: float | None = None,
    ) -> Any:
        """Save one row; returning means it is safe."""
        ...


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
        ".types": (
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
