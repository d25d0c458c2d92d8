"""Hooks: methods around a run, its steps, its model requests and its calls; and functions around calls."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, Protocol, TypeAlias

from ..calls.record import CallRecord, ToolExecution
from ..calls.tool_result import Outcome, UnsettledCall, status_of
from ..errors import ConfigError, StopRun
from ..guards.arguments import HOOK_NAMES, check_list, refused
from ..models import ModelRequest
from ..runs.context import ModelResponse, RunContext
from ..runs.result import RunResult, Step
from ..tools.context import ToolContext
from ..tools.toolbox import ResolvedCall
from ..types import ToolCall, ToolResult


class CallHost(Protocol):
    """What runs the calls of a batch, as hooks and executors need to know it."""

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
    _host: CallHost | None = field(default=None, repr=False, compare=False)

    @property
    def resolved(self) -> ResolvedCall:
        """The call with its tool."""
        return ResolvedCall(self.call, self.tool)

    def of_call(self, resolved: ResolvedCall) -> Invocation:
        """The same invocation with another call in the place of this one, and the tool that it means."""
        call, tool = resolved
        return replace(self, call=call, tool=tool, context=replace(self.context, call=call))

    def on(self, executor: Executor) -> Invocation:
        """The same call, for an executor to run."""
        return replace(self, executor=executor)

    def execution(self, result: ToolResult) -> ToolExecution:
        """The call as it was carried out, with this result, and its record: its status, times and attempts."""
        if self._host is not None:
            return self._host.execution_of(self.index, result)
        call, status = self.call, status_of(result)
        record = CallRecord(self.id, "", self.index, call.name, call.server, status, self.attempt)
        return ToolExecution(call, result, record)

    def waiting(self) -> AbstractContextManager[None]:
        """`with invocation.waiting():` pauses the call's time limit.

        For time that is not the call's own work, such as waiting for a person.
        """
        return nullcontext() if self._host is None else self._host.held(self.index)


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


class Hooks:
    """Base class of hooks: override any of the methods, as `def` or as `async def`; `around_call` as `async def`.

    `around_call` runs wherever calls run; the others only in an `Agent`. Any of them may raise `StopRun`. Any other
    exception is the error of the run, and names the hook; what `around_call` raises is the error of its call alone.

    Args:
        matcher: a pattern for tool names, as `fnmatch` has them (`"fs_*"`), or several patterns; `around_call` runs
            only for tools of which a name matches: the one that prompts list, or `server__tool` of a server's tool.
        priority: hooks with a higher priority run first, and are outermost around a call; among equal ones, those that
            are first in the list. A plain function in the list has priority 0.

    Raises:
        ConfigError: `matcher` is neither a pattern nor several; or a subclass has another method that is named like a
            hook, so that it would never run. Begin the name of a method of your own with an underscore.
    """

    matcher: str | Sequence[str] | None = None
    priority: int = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if inspect.isfunction(value) and name.startswith(_PREFIXES) and name not in vars(Hooks):
                raise ConfigError(_unknown_hook(cls, name))

    def __init__(
        self, *, matcher: str | Sequence[str] | None = None, priority: int | None = None
    ) -> None:
        if matcher is not None:
            self.matcher = matcher
            _patterns(self)
        if priority is not None:
            self.priority = priority

    def before_run(self, ctx: RunContext[Any]) -> Awaitable[None] | None:
        """The run begins; the log has no row of it yet."""

    def after_run(
        self, ctx: RunContext[Any], result: RunResult[Any]
    ) -> RunResult[Any] | Awaitable[RunResult[Any] | None] | None:
        """The run is over, and was not cancelled.

        Returns:
            The result that the caller gets: the same, or one with another `output`, `stop` or `waiting`. `None` leaves
            it as it is.
        """
        return result

    def before_step(self, ctx: RunContext[Any]) -> Awaitable[None] | None:
        """The model is about to be asked."""

    def after_step(self, ctx: RunContext[Any], step: Step) -> Step | Awaitable[Step | None] | None:
        """A step is over, and in the log.

        Returns:
            The step for the result: the same, or another with the same index, executions and usage. `None` leaves it
            as it is.
        """
        return step

    def on_stop(self, ctx: RunContext[Any], stop: StopRun) -> Awaitable[None] | None:
        """The run was asked to stop. `ctx.go_on()` keeps it going."""

    def on_error(self, ctx: RunContext[Any], error: Exception) -> Awaitable[None] | None:
        """The run failed; the error then goes on to the caller."""

    def before_model_request(
        self, ctx: RunContext[Any], request: ModelRequest
    ) -> ModelRequest | Awaitable[ModelRequest]:
        """A request is about to be sent.

        Returns:
            The request to send: the same, or another with the same id.
        """
        return request

    def after_model_response(
        self, ctx: RunContext[Any], response: ModelResponse
    ) -> ModelResponse | Awaitable[ModelResponse]:
        """The model has answered. If any hook overrides this, answers are read once complete, and do not stream.

        Returns:
            The answer to read and to keep.
        """
        return response

    async def around_call(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry out a call with `next`, change it, block or answer it, or run it again; see `AroundCall`.

        If it makes of the call one of another tool, all hooks are asked about that one, except for those that have
        changed the tool.

        Returns:
            The result to keep: that of `next`, or another; a failure can become a success.

        Raises:
            BlockTool: before `next` is called: the call does not run, and the model reads why.
            SkipTool: before `next` is called: the call does not run, and this value is its result.
        """
        return await next(invocation)

    async def around_reconcile(self, call: UnsettledCall, next: NextReconcile) -> Outcome:
        """Ask a tool's `reconcile` with `next` whether a call happened whose outcome is unknown, or answer instead.

        It runs again for each try, within the time of the try; what it raises makes the try fail.

        Returns:
            The answer to act on.
        """
        return await next(call)


NextReconcile = Callable[["UnsettledCall"], "Awaitable[Outcome]"]
"""Asks a tool's `reconcile` whether a call happened, once."""

AnyHook: TypeAlias = Hooks | AroundCall
"""What `hooks=` takes a list of: `Hooks` objects, functions around calls, and `Executor`s, which are such functions."""

_PREFIXES = ("before_", "after_", "on_", "around_")


def _unknown_hook(cls: type[Hooks], name: str) -> str:
    import difflib  # here, since only this error needs it

    if name in HOOK_NAMES:
        return f"{cls.__name__}.{name} would never run: write {HOOK_NAMES[name]}"
    hooks = [known for known in vars(Hooks) if known.startswith(_PREFIXES)]
    nearest = difflib.get_close_matches(name, hooks, n=1)
    meant = f"; did you mean {nearest[0]}?" if nearest else "."
    return (
        f"{cls.__name__}.{name} is named like a hook, but there is no such hook{meant} The hooks are "
        f"{', '.join(hooks)}. Begin the name of a method of your own with an underscore"
    )


_ACCEPTED = "a list of Hooks objects and functions around a call"


@dataclass(frozen=True)
class HookList:
    """What `hooks=` was given, sorted: a higher priority first, and equal ones in the order of the list.

    Attributes:
        objects: the `Hooks` objects.
        given: those that are around calls, the outermost first.
        outer: the run's own functions around calls, outside of `given`.
        inner: the same, inside of it.
    """

    objects: tuple[Hooks, ...] = ()
    given: tuple[AnyHook, ...] = ()
    outer: tuple[AroundCall, ...] = ()
    inner: tuple[AroundCall, ...] = ()

    @classmethod
    def of(cls, hooks: Iterable[AnyHook] | HookList) -> HookList:
        """Read an argument `hooks`.

        Raises:
            ConfigError: one of them is neither a `Hooks` nor a function, or its `matcher` is neither a pattern nor
                several.
        """
        if isinstance(hooks, HookList):
            return hooks
        if hooks == ():
            return NO_HOOKS
        advice = "make a subclass of Hooks, or write an async function"
        if callable(hooks) or isinstance(hooks, Hooks):
            advice = f"write hooks=[{_written(hooks)}]"
        listed = check_list("hooks", hooks, "Hooks objects and functions around a call", advice)
        objects: list[Hooks] = []
        for each in listed:
            if type(each) is FunctionType:  # most are, and quick
                continue
            if isinstance(each, Hooks):
                _patterns(each)
                objects.append(each)
            elif isinstance(each, type):
                raise refused("hooks", each, _ACCEPTED, f"write hooks=[{_written(each)}]")
            elif not callable(each):
                raise refused("hooks", each, _ACCEPTED, advice)
        if objects:
            listed.sort(key=_order)
            objects.sort(key=_order)
        around = (
            each for each in listed if not isinstance(each, Hooks) or has(each, "around_call")
        )
        return cls(tuple(objects), tuple(around))

    def around_also(self, outer: Sequence[AroundCall], inner: Sequence[AroundCall]) -> HookList:
        """These, with a run's own functions around calls."""
        return HookList(self.objects, self.given, tuple(outer), tuple(inner))

    @property
    def is_around_calls(self) -> bool:
        """Whether anything is around calls."""
        return bool(self.given or self.outer or self.inner)


def _order(hook: AnyHook) -> int:
    return -hook.priority if isinstance(hook, Hooks) else 0


NO_HOOKS = HookList()


def _written(hook: Any) -> str:
    """A hook as it is written in a list."""
    name: str = (hook if isinstance(hook, type) else type(hook)).__name__
    return hook.__name__ if inspect.isroutine(hook) else f"{name}()"


def has(hooks: Hooks, method: str) -> bool:
    """Whether hooks override a method."""
    own = getattr(hooks, method)
    return getattr(own, "__func__", own) is not getattr(Hooks, method)


def matches(hooks: Hooks, resolved: ResolvedCall) -> bool:
    """Whether hooks are asked about a call.

    Raises:
        ConfigError: their matcher is neither a pattern nor several.
    """
    from fnmatch import fnmatchcase

    from ..tools.toolbox import names_of

    patterns = _patterns(hooks)
    if patterns is None:
        return True
    names = names_of(resolved)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _patterns(hooks: Hooks) -> Collection[str] | None:
    """The patterns of the matcher of hooks; `None` if they are for all tools.

    Raises:
        ConfigError: it is neither a pattern nor several.
    """
    matcher: Any = hooks.matcher
    if matcher is None:
        return None
    patterns: Any = [matcher] if isinstance(matcher, str) else matcher
    given: object = patterns
    if isinstance(given, Collection) and all(isinstance(each, str) for each in patterns):
        return tuple(patterns)
    raise refused(
        f"the matcher of {type(hooks).__name__}",
        matcher,
        'a pattern of tool names such as "fs_*", or a list of patterns',
    )
