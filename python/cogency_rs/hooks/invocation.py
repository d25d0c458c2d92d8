"""`Invocation`: a call on its way to its tool, as hooks around it see it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..calls.record import CallRecord, ToolExecution
from ..calls.tool_result import status_of
from ..errors import StopRun
from ..tools.context import ToolContext
from ..tools.toolbox import ResolvedCall
from ..types import ToolCall, ToolResult

__all__ = ["AroundCall", "CallBatch", "Executor", "Invocation", "Next"]


class CallBatch(Protocol):
    """The calls of a batch, as what is around them needs to know them.

    Attributes:
        state: the dict that hooks write to.
    """

    state: dict[str, Any]

    def id(self, index: int) -> str:
        """The id of a call."""
        ...

    def context(self, index: int, call: ToolCall) -> ToolContext[Any]:
        """What a call's tool is told."""
        ...

    def held(self, index: int) -> AbstractContextManager[None]:
        """A context whose time does not count for a call."""
        ...

    def known(self, invocation: object) -> Invocation:
        """An invocation with the tool that its call means now.

        Raises:
            TypeError: the object is not an invocation.
        """
        ...

    def execution_of(self, index: int, result: ToolResult) -> ToolExecution:
        """A call with this result."""
        ...

    def emit(self, index: int, event: dict[str, Any]) -> None:
        """Pass an event about a call to the reader of the turn."""
        ...

    def end_run(self, index: int, why: StopRun, source: str) -> ToolResult:
        """Ask for the run to end; returns the result of the call that asked."""
        ...


@dataclass(frozen=True)
class Invocation:
    """A call on its way to its tool. To hand another one to `next`, copy it with `dataclasses.replace`.

    Attributes:
        id: the id of the call; the same in every attempt.
        call: what the model asked for, under the tool's one name, perhaps changed by outer hooks.
        tool: the tool that `call` means, or `None` if it means none. If `call` is changed, `next` finds its tool anew.
        context: the tool's context.
        attempt: the number of this attempt, from 1.
        index: the call's place in the batch, from 0.
        executor: runs the tool elsewhere; `None` to run it here.
        agreed: a digest of what was approved: the call, and what its tool's preview said if that was shown. The call
            runs only if it is still that when it is its turn. `None` if nobody had to approve it.
        state: what hooks have written so far. The hooks and tools that run later see what is written here.
    """

    id: str
    call: ToolCall
    tool: Any
    context: ToolContext[Any]
    attempt: int = 1
    index: int = 0
    executor: Executor | None = None
    agreed: str | None = None
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    _source: CallBatch | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, source: CallBatch, index: int, call: ToolCall, tool: Any) -> Invocation:
        """Make an invocation whose `id` and `context` are made when first read: most hooks never read them."""
        made = cls.__new__(cls)
        fields = {"call": call, "tool": tool, "attempt": 1, "index": index, "_source": source}
        object.__setattr__(made, "__dict__", fields)
        return made

    @property
    def resolved(self) -> ResolvedCall:
        """The call with its tool."""
        return ResolvedCall(self.call, self.tool)

    def of_call(self, resolved: ResolvedCall) -> Invocation:
        """The same invocation with another call in the place of this one, and the tool that it means."""
        call, tool = resolved
        return replace(self, call=call, tool=tool, context=replace(self.context, call=call))

    def on(self, executor: Executor) -> Invocation:
        """The same call, for an executor to run. An `id` and `context` not made yet are still made when first read."""
        made = type(self).__new__(type(self))
        object.__setattr__(made, "__dict__", {**vars(self), "executor": executor})
        return made

    def execution(self, result: ToolResult) -> ToolExecution:
        """The call as it was carried out, with this result, and its record: its status, times and attempts."""
        if self._source is not None:
            return self._source.execution_of(self.index, result)
        call, status = self.call, status_of(result)
        record = CallRecord(self.id, "", self.index, call.name, call.server, status, self.attempt)
        return ToolExecution(call, result, record)

    def waiting(self) -> AbstractContextManager[None]:
        """`with invocation.waiting():` pauses the call's time limit.

        For time that is not the call's own work, such as waiting for a person.
        """
        return nullcontext() if self._source is None else self._source.held(self.index)


class _Later:
    """A field whose value is made when it is first read, and is an ordinary attribute from then on.

    It is put into the class after `@dataclass` has run, which would take it for the field's default.
    """

    def __init__(self, name: str, make: Callable[[CallBatch, Invocation], Any]) -> None:
        self._name = name
        self._make = make

    def __get__(self, invocation: Invocation | None, owner: type) -> Any:
        source: CallBatch | None = None if invocation is None else vars(invocation).get("_source")
        if invocation is None or source is None:
            raise AttributeError(f"{owner.__name__} has no {self._name}")
        return vars(invocation).setdefault(self._name, self._make(source, invocation))


_LATER: dict[str, Callable[[CallBatch, Invocation], Any]] = {
    "id": lambda source, made: source.id(made.index),
    "context": lambda source, made: source.context(made.index, made.call),
    "state": lambda source, _: source.state,
}
for _name, _make in _LATER.items():
    setattr(Invocation, _name, _Later(_name, _make))

Next = Callable[[Invocation], Awaitable[ToolResult]]
"""Carries out a call. Called again, it makes another attempt. Whatever the tool does is in the result: it raises only
`asyncio.CancelledError`, when the call must stop."""

AroundCall = Callable[[Invocation, Next], Awaitable[ToolResult]]
"""A function around calls: it may change a call, block or answer it, run it again, and change its result. It runs in
the call's own task and context. In place of calling `next`, it may raise `BlockTool` or `SkipTool`. If it raises
anything else, or returns anything but a `ToolResult`, the call fails; `StopRun` ends the run."""


class Executor(ABC):
    """Base class of executors: functions around calls that run tools elsewhere."""

    @abstractmethod
    def takes(self, tool: Any) -> bool:
        """Whether this executor runs the tool. A tool that no executor takes runs in the program."""

    @abstractmethod
    async def run(self, invocation: Invocation, execution: Any) -> Any:
        """Run the tool of a call whose arguments have been checked, once.

        Args:
            invocation: the call.
            execution: the `Execution` that the calls of the batch share.

        Returns:
            What the tool returned. An exception of the tool is raised here.

        Raises:
            asyncio.CancelledError: the caller was cancelled; the tool has been cancelled before that.
            UnknownOutcome: it is not known whether the tool ran to its end.
        """

    def check(self, tool: Any) -> None:  # noqa: B027  # most have nothing to refuse
        """Check that this executor can run a tool that it takes.

        Raises:
            ConfigError: the executor cannot run it; the message says why.
        """

    async def __call__(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry out a call, whose tool runs here if this executor takes it."""
        if self.takes(invocation.tool):
            invocation = invocation.on(self)
        return await next(invocation)
