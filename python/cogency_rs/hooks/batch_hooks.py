"""Runs hooks before and after calls: first those before, for all calls of the batch, in call order.

Then the calls that may run start together, and the hooks after each follow it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

from ..calls.records import ToolExecution
from ..calls.tool_result import as_result, failure, reason
from ..errors import BlockTool, HookError, SkipTool, StopRun
from ..tools.toolbox import ResolvedCall
from ..types import ToolCall, ToolResult
from .hooks import HookContext, Hooks, matches
from .invocation import CallBatch, Invocation, Next

T = TypeVar("T")

__all__ = ["BatchHooks", "CallOrder"]


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


class BatchHooks:
    """Runs hooks before and after the calls of one batch.

    Args:
        hooks: in the order in which they run.
        batch: the calls.
        order: the order of the calls.
        state: the dict that hooks write to.
        on_block: whether the calls after a blocked one are still carried out; with `"stop"` they are not, and the run
            ends.
    """

    def __init__(
        self,
        hooks: Sequence[Hooks],
        batch: CallBatch,
        order: CallOrder,
        state: dict[str, Any],
        on_block: Literal["continue", "stop"],
    ) -> None:
        self._hooks = hooks
        self._batch = batch
        self._order = order
        self._state = state
        self._on_block = on_block
        self._blocked_by: str | None = None  # the call after which no other starts

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
        return await self.after(invocation, decided)

    async def _before(self, invocation: Invocation) -> Invocation | ToolResult:
        """Run the hooks before a call; returns the call that should run, or the result that replaces it."""
        if self._blocked_by is not None:
            text = f"Not started: the call to '{self._blocked_by}' before it was blocked"
            return failure(text, asyncio.CancelledError(text))
        # Those not asked about the present tool. One that changed the tool is not asked again, so there is an end.
        left, changed = [*self._hooks], set[int]()
        while left:
            hooks, call, tool = left.pop(0), invocation.call, invocation.tool
            try:
                if not matches(hooks, invocation.resolved):
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
                    self._end_run(invocation, hooks, StopRun(text))
                return failure(text, block)
            except StopRun as stop:
                return self._end_run(invocation, hooks, stop)
            except SkipTool as skip:
                return as_result(skip.value)
            except Exception as error:
                return _failed(hooks, "before_tool_execute", error)
            if answer is not call:
                invocation = self._batch.known(replace(invocation, call=answer))
                if invocation.tool is not tool:
                    changed.add(id(hooks))
                    left = [each for each in self._hooks if id(each) not in changed]
        return invocation

    async def after(self, invocation: Invocation, result: ToolResult) -> ToolResult:
        """Run the hooks after a call; returns the result to keep."""
        execution = self._batch.execution_of(invocation.index, result)
        carried_out = ResolvedCall(*self._batch.resolved[invocation.index])  # as it was changed
        for hooks in self._hooks:
            try:
                if not matches(hooks, carried_out):
                    continue
            except Exception as error:
                return _failed(hooks, "matcher", error)
            try:
                changed = await self._ask(
                    hooks.after_tool_execute, invocation, execution, ToolExecution
                )
            except StopRun as stop:
                self._end_run(invocation, hooks, stop)
                continue
            except Exception as error:
                return _failed(hooks, "after_tool_execute", error)
            if changed.result is not execution.result:
                self._tell_of_change(invocation, hooks, execution)
            execution = changed
        return execution.result

    def _end_run(self, invocation: Invocation, hooks: Hooks, why: StopRun) -> ToolResult:
        return self._batch.end_run(invocation.index, why, type(hooks).__name__)

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
            raise _WrongAnswer(f"must return a {wanted.__name__}, but returned {kind}")
        fixed = "id" if wanted is ToolCall else "record"
        own, expected = getattr(answer, fixed, None), getattr(given, fixed, None)
        if own != expected:
            if own is not None or not isinstance(answer, ToolCall):
                raise _WrongAnswer(f"may not change {fixed!r} of the {wanted.__name__}")
            answer.id = expected  # the hook made a new call, which has no id
        made: Any = answer
        return cast("T", made)

    def _context(self, invocation: Invocation) -> HookContext[Any]:
        fields: dict[str, Any] = vars(invocation.context)
        fields = {**fields, "call": invocation.call, "state": self._state}
        return HookContext(**fields)


class _WrongAnswer(Exception):  # noqa: N818
    """A hook returned something that it must not."""


def _failed(hooks: Hooks, trigger: str, error: Exception) -> ToolResult:
    name = type(hooks).__name__
    why = str(error) if isinstance(error, _WrongAnswer) else f"failed: {reason(error)}"
    text = f"Hook {name}.{trigger} {why}"
    return failure(text, HookError(text, hook=name, trigger=trigger, cause=error))
