"""The values that cross the border: calls, results, events, and what tools and storages must offer.

Shapes, key names and field order are cogency 3.3.0's, so that stored rows and user code fit both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Protocol,
    TypeAlias,
    TypedDict,
    final,
    runtime_checkable,
)

if TYPE_CHECKING:
    from ._core import Dialect

__all__ = [
    "Access",
    "BreakerOpened",
    "CallDeltaEvent",
    "CallEvent",
    "CallMode",
    "CallStartEvent",
    "Dialects",
    "EndEvent",
    "ErrorEvent",
    "ErrorMode",
    "Event",
    "ExecuteEvent",
    "Execution",
    "Message",
    "MessageMatch",
    "RespondEvent",
    "ResultCounts",
    "ResultEvent",
    "Storage",
    "StreamMode",
    "ThinkEvent",
    "Tool",
    "ToolCall",
    "ToolResult",
    "TurnEvent",
    "TurnOutcome",
    "WrittenResultEvent",
]

StreamMode = Literal["event", "token"]
"""`"event"`: complete units; `"token"`: `think` and `respond` text as it arrives."""

CallMode = Literal["whole", "stream"]
"""When a call is shown: once it counts, or before that too, while it is written."""

Dialects: TypeAlias = "str | Dialect | tuple[str | Dialect, ...]"
"""How a model writes its calls: a preset's name, a `Dialect`, or several that are all read."""

ErrorMode = Literal["respond", "event"]
"""Where it is said that output cannot be read: in the answer, or in an `error` event."""

Access = Literal["sandbox", "project", "system"]
"""How far file and shell tools may reach; passed on to every tool as `access`."""


class ThinkEvent(TypedDict):
    """Reasoning, not meant for the user."""

    type: Literal["think"]
    content: str
    timestamp: float


class RespondEvent(TypedDict):
    """Text for the user; also where malformed output is reported."""

    type: Literal["respond"]
    content: str
    timestamp: float


class CallEvent(TypedDict):
    """One tool call.

    `content` is `json.dumps({"name": ..., "args": ...})`, with `id` and `server` where it has them.
    """

    type: Literal["call"]
    content: str
    timestamp: float


class CallStartEvent(TypedDict):
    """A call has begun, of which nothing counts yet; it comes again when its name is known.

    `index` numbers the calls of a text from 0, those of blocks that turn out to be broken among them.
    """

    type: Literal["tool_call_start"]
    index: int
    name: str | None
    timestamp: float


class CallDeltaEvent(TypedDict):
    """The next piece of a call's arguments, as the model writes them."""

    type: Literal["tool_call_delta"]
    index: int
    content: str
    timestamp: float


class ExecuteEvent(TypedDict):
    """The batch is complete: its calls run now."""

    type: Literal["execute"]
    timestamp: float


@final
class ResultCounts(TypedDict):
    """How the calls of a batch went, in numbers."""

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

    When the circuit breaker opens, one more follows, whose only item says so and whose `payload` is a `BreakerOpened`.
    """

    type: Literal["result"]
    payload: ResultCounts | BreakerOpened
    content: str
    timestamp: float


class WrittenResultEvent(TypedDict):
    """What the model itself wrote between `<results>` tags. A parser emits it; an accumulator drops it."""

    type: Literal["result"]
    content: str
    timestamp: float
    payload: NotRequired[None]


class ErrorEvent(TypedDict):
    """Output that cannot be read: a block of calls that is none, or an answer that was cut.

    `code` says of a block that it cannot be read, or that a call in it has no name; it is `None` for anything else.
    `content` is what the model should be told of it. `raw` is the block as the model wrote it, from its opening tag on,
    and `line` and `column` are the place in it, from 1; an answer that was cut outside every block has none of these.
    """

    type: Literal["error"]
    kind: Literal["malformed", "unfinished", "truncated"]
    code: Literal["invalid_payload", "missing_tool_name"] | None
    content: str
    raw: str
    line: int | None
    column: int | None
    timestamp: float


class EndEvent(TypedDict):
    """The model said it is done."""

    type: Literal["end"]
    timestamp: float


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
)
"""What an accumulator emits."""


class TurnOutcome(StrEnum):
    """How a turn came out, which says what to do next."""

    ACTED = "acted"
    """Calls ran, and their results are in the log: ask the model again."""
    ANSWERED = "answered"
    """The model answered and called nothing."""
    ENDED = "ended"
    """The model said that it is done."""
    MALFORMED = "malformed"
    """A block could not be read and nothing ran: ask the model again, which is shown what was wrong."""
    TRUNCATED = "truncated"
    """What the model wrote was cut: at its length, or because its stream broke off."""
    WAITING = "waiting"
    """Calls wait for somebody's approval."""
    FAILED = "failed"
    """The turn was given up: too many batches in a row in which nothing succeeded, or the log failed."""


Event = TurnEvent | WrittenResultEvent
"""What a parser or an accumulator emits."""


class Message(TypedDict):
    """One entry of a prompt; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass
class ToolCall:
    """What the model asked for.

    Attributes:
        name: which tool.
        args: its arguments, by name.
        id: what the provider calls this call; `None` where it gave no name, as in text.
        server: which server the tool is on; `None` for the agent's own tools.
    """

    name: str
    args: dict[str, Any]
    id: str | None = field(default=None, repr=False, compare=False)
    server: str | None = field(default=None, repr=False, compare=False)


@dataclass
class ToolResult:
    """What a tool returns.

    Attributes:
        outcome: one line that says what happened; on failure, the error message.
        content: the output itself, any value JSON can hold; `None` or `""` when there is none.
        error: whether the call failed.
        exception: what led to a failure: what the tool raised, or why the call was refused, stopped or denied.
    """

    outcome: str
    content: Any = None
    error: bool = False
    exception: BaseException | None = field(default=None, repr=False, compare=False)


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
        """Run with the call's arguments and the injected ones (`storage`, `access`, ...)."""
        ...


class Storage(Protocol):
    """The one method a turn needs from the log; `SQLite` has the rest of cogency's protocol."""

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


@dataclass(frozen=True)
class Execution:
    """What the calls of a turn run with.

    Attributes:
        storage: the log; handed to every tool as `storage`.
        tools: the tools the model may call, by their `name`.
        shell_timeout: seconds, handed to the tool named `shell` as `timeout`.
        sandbox_dir: handed to every tool as `sandbox_dir`.
        access: handed to every tool as `access`.
        deps: any object of the program's, which tools reach through `ToolContext.deps`.
    """

    storage: Any = None
    tools: Sequence[Any] = ()
    shell_timeout: int = 30
    sandbox_dir: str = ".cogency/sandbox"
    access: Access = "sandbox"
    deps: Any = None
