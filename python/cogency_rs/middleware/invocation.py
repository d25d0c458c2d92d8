"""A call on its way to its tool, as middleware sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..tools import ToolContext
from ..types import ToolCall, ToolResult

if TYPE_CHECKING:
    from ..executors import Executor

__all__ = ["Invocation", "Middleware", "Next"]


class CallDetails(Protocol):
    """What knows more of a call than most middleware asks."""

    def id(self, index: int) -> str: ...
    def context(self, index: int, call: ToolCall) -> ToolContext[Any]: ...
    def held(self, index: int) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Invocation:
    """A call that is to be carried out. `dataclasses.replace` makes another one, for `next`.

    Attributes:
        id: the call's own; the same in every attempt.
        call: what the model asked for, or what was made of it.
        tool: the tool of that name, or `None` if there is none. `next` looks it up anew, by the name in `call`.
        context: what the tool is told.
        attempt: which attempt this is, from 1.
        index: its place in the batch, from 0.
        executor: what runs the tool, if it takes it; `None` to run it here.
    """

    id: str
    call: ToolCall
    tool: Any
    context: ToolContext[Any]
    attempt: int = 1
    index: int = 0
    executor: Executor | None = None
    _source: CallDetails | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, source: CallDetails, index: int, call: ToolCall, tool: Any) -> Invocation:
        """Make one whose `id` and `context` are made when they are first asked for: most middleware never does."""
        made = cls.__new__(cls)
        fields = {"call": call, "tool": tool, "attempt": 1, "index": index, "_source": source}
        object.__setattr__(made, "__dict__", fields)
        return made

    def on(self, executor: Executor) -> Invocation:
        """The same call, whose tool an executor runs if it takes it. What is made late still is."""
        made = type(self).__new__(type(self))
        object.__setattr__(made, "__dict__", {**vars(self), "executor": executor})
        return made

    def waiting(self) -> AbstractContextManager[None]:
        """`with invocation.waiting():` around what is not the call's own work, such as waiting for a person.

        That time does not count against the call's time limit.
        """
        return nullcontext() if self._source is None else self._source.held(self.index)


class _Later:
    """A field that is made when it is first asked for, and is an ordinary one from then on.

    It is not a field's default, which dataclasses would take it for, so it is put into the class afterwards.
    """

    def __init__(self, name: str, make: Callable[[CallDetails, Invocation], Any]) -> None:
        self._name = name
        self._make = make

    def __get__(self, invocation: Invocation | None, owner: type) -> Any:
        source: CallDetails | None = None if invocation is None else vars(invocation).get("_source")
        if invocation is None or source is None:
            raise AttributeError(f"{owner.__name__} has no {self._name}")
        return vars(invocation).setdefault(self._name, self._make(source, invocation))


setattr(Invocation, "id", _Later("id", lambda source, made: source.id(made.index)))  # noqa: B010
setattr(  # noqa: B010
    Invocation,
    "context",
    _Later("context", lambda source, made: source.context(made.index, made.call)),
)

Next = Callable[[Invocation], Awaitable[ToolResult]]
"""Carries a call out. Called again, it makes another attempt. What the tool does is in the result; it raises only
`asyncio.CancelledError`, when the call is to stop."""

Middleware = Callable[[Invocation, Next], Awaitable[ToolResult]]
"""What stands around calls, in an order; the first is the outermost. What it raises, and what it returns that is not a
`ToolResult`, is a failure of that call."""
