"""Hooks: methods that run before and after a run, its steps, its model requests and its calls.

This file runs those around calls: first the hooks before all calls of a batch, in call order; then the calls that may
run start together.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from ..calls.records import ToolExecution
from ..calls.results import as_result, failure, reason, stopped
from ..errors import BlockTool, ConfigError, HookError, SkipTool, StopRun
from ..guards.arguments import check_list, refused
from ..tools.context import Deps, ToolContext
from ..tools.toolbox import ResolvedCall, names_of
from ..types import ToolCall, ToolResult
from .invocation import Invocation, Next

if TYPE_CHECKING:
    from ..models import ModelRequest
    from ..runs.context import RunContext
    from ..runs.response import ModelResponse
    from ..runs.results import RunResult, Step, StopSignal

T = TypeVar("T")

__all__ = ["CallOrder", "HookContext", "HookRunner", "Hooks", "is_around_calls", "sorted_hooks"]


@dataclass(frozen=True)
class HookContext(ToolContext[Deps], Generic[Deps]):
    """What a hook around a call can know of the call.

    Attributes:
        state: what hooks have written so far. The hooks and tools that run later see what is written here.
    """

    state: dict[str, Any] = field(default_factory=dict[str, Any])


class Hooks:
    """Base class of hooks: override any of the methods, as `def` or as `async def`.

    The two around calls run wherever calls run; the others only in an `Agent`. Any of them may raise `StopRun`. Any
    other exception is the error of the run, and names the hook; raised around a call of `execute_tools`, it is the
    error of that call.

    Args:
        matcher: a pattern for tool names, as `fnmatch` has them (`"fs_*"`), or several patterns; the hooks around calls
            run only for tools of which a name matches: the one that prompts list, or `server__tool` of a server's tool.
        priority: hooks with a higher priority run first; among equal ones, those registered first.

    If a hook makes of a call one of another tool, the hooks that have been asked about the first are asked again, about
    the new one, except for those that changed the tool themselves.

    Raises:
        ConfigError: `matcher` is not a pattern or several; or a subclass has another method that is named like a hook,
            so that it would never run. Begin the name of a method of your own with an underscore.
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

    def on_stop(self, ctx: RunContext[Any], signal: StopSignal) -> Awaitable[None] | None:
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
        """The model has answered. If any hook overrides this, answers are read when they are whole, and do not stream.

        Returns:
            The answer to read and to keep.
        """
        return response

    def before_tool_execute(
        self, ctx: HookContext[Any], call: ToolCall
    ) -> ToolCall | Awaitable[ToolCall]:
        """Look at a call before it runs.

        Returns:
            The call to run: the same, or another.

        Raises:
            BlockTool: to keep the call from running; the model reads why.
            SkipTool: to give the call this value as its result, without running it.
        """
        return call

    def after_tool_execute(
        self, ctx: HookContext[Any], execution: ToolExecution
    ) -> ToolExecution | Awaitable[ToolExecution]:
        """Look at the outcome of a call.

        Returns:
            The execution to keep: the same, or another; with another `result`, a failure can become a success.
        """
        return execution


_PREFIXES = ("before_", "after_", "on_")


def _unknown_hook(cls: type[Hooks], name: str) -> str:
    import difflib  # here, since only this error needs it

    hooks = [known for known in vars(Hooks) if known.startswith(_PREFIXES)]
    nearest = difflib.get_close_matches(name, hooks, n=1)
    meant = f"; did you mean {nearest[0]}?" if nearest else "."
    return (
        f"{cls.__name__}.{name} is named like a hook, and there is none of that name{meant} The hooks are "
        f"{', '.join(hooks)}. Begin the name of a method of your own with an underscore"
    )


def sorted_hooks(hooks: Iterable[Hooks]) -> tuple[Hooks, ...]:
    """Sort hooks into the order in which they run.

    Raises:
        ConfigError: one is not a `Hooks`, or its `matcher` is not a pattern or several.
    """
    if isinstance(hooks, Hooks):
        raise refused("hooks", hooks, "a list of Hooks", f"write hooks=[{type(hooks).__name__}()]")
    listed = check_list("hooks", hooks, "Hooks", "make a subclass of Hooks")
    for each in listed:
        if not isinstance(each, Hooks):
            raise refused("hooks", each, "a list of Hooks objects", "make a subclass of Hooks")
        _patterns(each)
    return tuple(sorted(listed, key=lambda each: -each.priority))


def is_around_calls(hooks: Hooks) -> bool:
    """Whether hooks override a method around calls, and not only around runs and steps."""
    around = (
        (hooks.before_tool_execute, Hooks.before_tool_execute),
        (hooks.after_tool_execute, Hooks.after_tool_execute),
    )
    return any(getattr(own, "__func__", own) is not default for own, default in around)


class CallOrder:
    """Lets the calls of a batch pass one after the other, in call order, and then go on together."""

    def __init__(self) -> None:
        self._turns: list[asyncio.Event] = []
        self._passed: list[bool] = []
        self._next = 0
        self._together = asyncio.Event()

    def expect(self, count: int) -> None:
        """Say how many calls the batch has."""
        self._turns = [asyncio.Event() for _ in range(count)]
        self._passed = [False] * count
        self._advance()

    async def turn(self, index: int) -> None:
        """Wait until all calls before this one have passed."""
        await self._turns[index].wait()

    def passed(self, index: int) -> None:
        """Note that a call has passed, or never will."""
        self._passed[index] = True
        self._advance()

    async def together(self) -> None:
        """Wait until all calls have passed."""
        await self._together.wait()

    def _advance(self) -> None:
        while self._next < len(self._passed) and self._passed[self._next]:
            self._next += 1
        if self._next < len(self._turns):
            self._turns[self._next].set()
        else:
            # By `call_soon`, so that the call that passed last goes on after those before it.
            asyncio.get_running_loop().call_soon(self._together.set)


class HookRunner:
    """Runs hooks around the calls of one batch.

    Args:
        hooks: in the order in which they run.
        order: the order of the calls.
        state: the dict that hooks write to.
        calls: the calls of the batch as they are now, with their tools, by their places.
        known: returns an invocation whose call was changed with the tool that the call means now.
        record: makes the record of a call from its invocation and its result.
        stop: called to ask that the run ends.
        on_block: whether the calls after a blocked one are still carried out; with `"stop"` they are not, and the run
            ends.
    """

    def __init__(
        self,
        hooks: Sequence[Hooks],
        order: CallOrder,
        state: dict[str, Any],
        calls: Sequence[tuple[ToolCall, Any]],
        known: Callable[[Invocation], Invocation],
        record: Callable[[Invocation, ToolResult], ToolExecution],
        stop: Callable[[StopRun], None] | None = None,
        on_block: Literal["continue", "stop"] = "continue",
    ) -> None:
        self._stop = stop
        self._on_block = on_block
        self._blocked_by: str | None = None  # the call after which no other starts
        self._hooks = hooks
        self._order = order
        self._state = state
        self._calls = calls
        self._known = known
        self._record = record

    async def __call__(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry out a call, with the hooks before and after it."""
        try:
            with invocation.waiting():
                await self._order.turn(invocation.index)
            decided = await self._before(invocation)
        finally:
            self._order.passed(invocation.index)
        with invocation.waiting():
            await self._order.together()
        if isinstance(decided, Invocation):
            invocation, decided = decided, await next(decided)
        return await self._after(invocation, decided)

    async def _before(self, invocation: Invocation) -> Invocation | ToolResult:
        """Run the hooks before a call; returns what is to run, or the result that replaces it."""
        if self._blocked_by is not None:
            text = f"Not started: the call of '{self._blocked_by}' before it was blocked"
            return failure(text, asyncio.CancelledError(text))
        # Those not asked about the present tool. One that changed the tool is not asked again, so there is an end.
        left, changed = [*self._hooks], set[int]()
        while left:
            hooks, call, tool = left.pop(0), invocation.call, invocation.tool
            try:
                if not _matches(hooks, invocation.resolved):
                    continue
            except Exception as error:
                return _failed(hooks, "matcher", error)
            try:
                answer = await self._ask(hooks.before_tool_execute, invocation, call, ToolCall)
            except BlockTool as block:
                text = f"Tool '{call.name}' was blocked: {block}"
                self._tell_of_block(invocation, hooks, str(block))
                if self._on_block == "stop":
                    self._blocked_by = call.name
                    self._ask_to_stop(hooks, StopRun(text))
                return failure(text, block)
            except StopRun as stop:
                self._ask_to_stop(hooks, stop)
                return stopped(stop)
            except SkipTool as skip:
                return as_result(skip.value)
            except Exception as error:
                return _failed(hooks, "before_tool_execute", error)
            if answer is not call:
                invocation = self._known(replace(invocation, call=answer))
                if invocation.tool is not tool:
                    changed.add(id(hooks))
                    left = [each for each in self._hooks if id(each) not in changed]
        return invocation

    async def _after(self, invocation: Invocation, result: ToolResult) -> ToolResult:
        """Run the hooks after a call; returns the result to keep."""
        execution = self._record(invocation, result)
        carried_out = ResolvedCall(*self._calls[invocation.index])  # middleware may have changed it
        for hooks in self._hooks:
            try:
                if not _matches(hooks, carried_out):
                    continue
            except Exception as error:
                return _failed(hooks, "matcher", error)
            try:
                changed = await self._ask(
                    hooks.after_tool_execute, invocation, execution, ToolExecution
                )
            except StopRun as stop:
                self._ask_to_stop(hooks, stop)
                continue
            except Exception as error:
                return _failed(hooks, "after_tool_execute", error)
            if changed.result is not execution.result:
                self._tell_of_change(invocation, hooks, execution)
            execution = changed
        return execution.result

    def _ask_to_stop(self, hooks: Hooks, why: StopRun) -> None:
        why.source = why.source or type(hooks).__name__
        if self._stop is not None:
            self._stop(why)

    def _tell_of_block(self, invocation: Invocation, hooks: Hooks, why: str) -> None:
        """Emit an event that says that a hook blocked a call."""
        call = invocation.call
        invocation.context.emit(
            {
                "type": "tool_blocked",
                "name": call.name,
                "args": call.args,
                "content": why,
                "hook": type(hooks).__name__,
            }
        )

    def _tell_of_change(
        self, invocation: Invocation, hooks: Hooks, execution: ToolExecution
    ) -> None:
        """Emit an event with the outcome of a call before a hook changed it."""
        invocation.context.emit(
            {
                "type": "tool_changed",
                "name": execution.name,
                "args": execution.args,
                "status": execution.status,
                "content": execution.value if execution.error is None else execution.error,
                "hook": type(hooks).__name__,
            }
        )

    async def _ask(
        self, trigger: Callable[[Any, T], object], invocation: Invocation, given: T, wanted: type[T]
    ) -> T:
        """Call a hook with what it is given; returns its answer, checked."""
        answer = trigger(self._context(invocation), given)
        if inspect.isawaitable(answer):
            answer = await answer
        if not isinstance(answer, wanted):
            kind = type(answer).__name__
            raise _WrongAnswer(f"must return a {wanted.__name__}, and returned {kind}")
        own, wanted_id = getattr(answer, "id", None), getattr(given, "id", None)
        if own != wanted_id:
            if own is not None or not isinstance(answer, ToolCall):
                raise _WrongAnswer(f"may not change 'id' of the {wanted.__name__}")
            answer.id = wanted_id  # the hook made a new call, which has no id
        made: Any = answer
        return cast("T", made)

    def _context(self, invocation: Invocation) -> HookContext[Any]:
        fields: dict[str, Any] = vars(invocation.context)
        fields = {**fields, "call": invocation.call, "state": self._state}
        return HookContext(**fields)


def _matches(hooks: Hooks, resolved: ResolvedCall) -> bool:
    """Whether hooks are asked about a call.

    Raises:
        ConfigError: their matcher is not a pattern or several.
    """
    patterns = _patterns(hooks)
    if patterns is None:
        return True
    names = names_of(resolved)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _patterns(hooks: Hooks) -> Collection[str] | None:
    """The patterns of the matcher of hooks; `None` if they are for all tools.

    Raises:
        ConfigError: it is not a pattern or several.
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


class _WrongAnswer(Exception):  # noqa: N818
    """A hook returned something that it may not."""


def _failed(hooks: Hooks, trigger: str, error: Exception) -> ToolResult:
    name = type(hooks).__name__
    why = str(error) if isinstance(error, _WrongAnswer) else f"failed: {reason(error)}"
    text = f"Hook {name}.{trigger} {why}"
    return failure(text, HookError(text, hook=name, trigger=trigger, cause=error))
