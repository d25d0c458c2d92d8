"""The one chain around every call. If a function in it goes wrong, only the call that it is around fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

from ..calls.tool_result import as_result, exception_of, failure, is_result, reason, status_of
from ..errors import BlockTool, ConfigError, SkipTool, StopRun, ToolError
from ..outside import random, time
from ..types import ToolCall, ToolResult
from .approval import AskFirst, own_copy
from .hooks import AnyHook, AroundCall, CallHost, HookList, Hooks, Invocation, Next, matches

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


async def retry(invocation: Invocation, next: Next) -> ToolResult:
    """Repeat a call that raised or ran out of time, as often as its tool allows, with growing pauses."""
    retries = invocation.resolved.options.retries
    kept = own_copy(
        invocation.call
    )  # what a tool does to its arguments must not reach the next attempt
    attempt = 1
    while True:
        result = await next(invocation)
        if attempt > retries or not _may_help(result):
            return result
        with invocation.waiting():
            await asyncio.sleep(pause(attempt))
        attempt += 1
        invocation = replace(invocation, call=own_copy(kept), attempt=attempt)


def _may_help(result: ToolResult) -> bool:
    """Whether a call failed, and another attempt could succeed."""
    match status_of(result), exception_of(result):
        case ("timeout", _):
            return True
        case ("failure", ToolError(validation_failed=True) | None):
            return False
        case ("failure", _):
            return True
        case _:
            return False


def pause(attempt: int) -> float:
    """Seconds to wait after this attempt: twice as long each time, and random, so that calls do not retry in step."""
    longest: float = min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
    return longest * (0.5 + random() / 2)


def check_remote(tools: Mapping[str, Any], hooks: HookList) -> None:
    """Check that every tool that must run elsewhere has an executor.

    Raises:
        ConfigError: a tool says `remote=...` and no executor takes it, or an executor takes a tool that it cannot run.
    """
    if not tools:
        return
    from ..tools.options import options_of
    from .hooks import Executor

    executors = [each for each in hooks.given if isinstance(each, Executor)]
    for name, tool in tools.items():
        taking = [executor for executor in executors if executor.takes(tool)]
        for executor in taking:
            executor.check(tool)
        if options_of(tool).remote and not taking:
            raise ConfigError(
                f"tool {name!r} must run in another process, but nothing in hooks= takes it there: add a "
                "cogency_rs.executors.ray.RayExecutor, or leave out remote="
            )


logger: logging.Logger = logging.getLogger(__name__)


def chain(
    last: Next,
    host: CallHost,
    *,
    tracing: AroundCall | None,
    hooks: HookList,
    on_block: Literal["continue", "stop"],
    approval: AskFirst | None,
    has_retries: bool,
) -> Next | None:
    """Put what is around the calls of a batch around `last`, which makes one attempt of a call.

    This is the order, from the outside in: the span of a trace; the hooks, between the run's own functions; the
    question whether the call may run; the attempts. `last` runs the tool, or has it run by the executor that a hook has
    put into the invocation.

    Returns:
        What carries out a call; `None` if there is nothing around it.
    """
    outermost = last
    for layer in (retry if has_retries else None, approval, *reversed(hooks.inner)):
        outermost = outermost if layer is None else partial(_enter, layer, outermost, host)
    if hooks.given:
        outermost = HookChain(hooks.given, host, on_block).around(outermost)
    for layer in (*reversed(hooks.outer), tracing):
        outermost = outermost if layer is None else partial(_enter, layer, outermost, host)
    return None if outermost is last else outermost


async def shown_to(
    hooks: Sequence[AnyHook], host: CallHost, invocation: Invocation, found: ToolResult
) -> ToolResult:
    """Pass a result that was found out through hooks, as if the call had just returned it.

    A hook that does not call `next` has blocked the call or answered it. It is too late for either, since the call was
    started before: then the result stays.

    Returns:
        The result, as the hooks left it.
    """
    is_seen = False

    async def find(_: Invocation) -> ToolResult:
        nonlocal is_seen
        is_seen = True
        return found

    result = await HookChain(hooks, host, None).around(find)(invocation)
    return result if is_seen and status_of(result) not in ("blocked", "denied") else found


class HookChain:
    """The hooks around the calls of one batch.

    Args:
        hooks: the outermost first.
        host: runs the calls.
        on_block: whether the calls after a blocked one are still carried out; with `"stop"` they are not, and the run
            ends. `None` if calls were carried out already, so that no hook can block one.
    """

    def __init__(
        self,
        hooks: Sequence[AnyHook],
        host: CallHost,
        on_block: Literal["continue", "stop"] | None,
    ) -> None:
        self._hooks = hooks
        self._host = host
        self._on_block = on_block
        self._blocked: str | None = None  # the tool of the call after which no other starts
        # Fair: calls get it in the order in which their tasks began.
        self._turn = asyncio.Lock()

    def around(self, last: Next) -> Next:
        """What carries out a call with `last`, and the hooks around it."""
        return partial(self._in_turn if self._on_block == "stop" else self._carry, last)

    async def _in_turn(self, last: Next, invocation: Invocation) -> ToolResult:
        """Carry out a call once the hooks have let those before it through, so that it is known if one is blocked."""
        async with AsyncExitStack() as turn:
            with invocation.waiting():
                await turn.enter_async_context(self._turn)
            if self._blocked is not None:
                text = f"Not started: the call to '{self._blocked}' before it was blocked"
                return failure(text, asyncio.CancelledError(text), "cancelled")

            async def let_through(invocation: Invocation) -> ToolResult:
                await turn.aclose()
                return await last(invocation)

            return await self._carry(let_through, invocation)

    def _carry(self, last: Next, invocation: Invocation) -> Awaitable[ToolResult]:
        results: list[ToolResult] = []

        async def noting(invocation: Invocation) -> ToolResult:
            results.append(result := await last(invocation))
            return result

        return self._pass(self._hooks, 0, noting, invocation, results)

    async def _pass(
        self,
        hooks: Sequence[AnyHook],
        place: int,
        last: Next,
        invocation: Invocation,
        results: list[ToolResult],
    ) -> ToolResult:
        """Carry out a call with hooks around it.

        Args:
            hooks: those that are asked about the call's tool.
            place: the first of them that has not been asked.
            last: carries out the call inside of all hooks, and notes the result.
            invocation: the call.
            results: those that hooks have got from `next`, to which what this hook makes of them is added.
        """
        hook = hooks[place]
        has_begun = False

        def next(handed: Invocation) -> Awaitable[ToolResult]:
            nonlocal has_begun
            handed = self._host.known(handed)
            has_begun = True
            asked, following = hooks, place + 1
            if handed.tool is not invocation.tool:
                # Those outside of this one decided about the other tool. The one that changed it is not asked again,
                # so that there is an end.
                asked, following = [each for each in hooks if each is not hook], 0
            if following == len(asked):
                return last(handed)
            return self._pass(asked, following, last, handed, results)

        try:
            if not isinstance(hook, Hooks):
                answer = await hook(invocation, next)
            elif matches(hook, invocation.resolved):
                answer = await hook.around_call(invocation, next)
            else:
                return await next(invocation)
            result = answer if type(answer) is ToolResult else _checked(hook, answer)
            if results and result is results[-1]:
                return result
            is_new = result is answer and not any(result is each for each in results)
            if is_new and has_begun and results:
                self._tell_of_change(hook, invocation, results[-1])
        except Exception as error:
            result = self._instead(hook, invocation, error, has_begun)
        results.append(result)
        return result

    def _instead(
        self, hook: AnyHook, invocation: Invocation, error: Exception, has_begun: bool
    ) -> ToolResult:
        """The result of a call that a hook blocks, skips or breaks. A call that has begun can only be broken."""
        match error:
            case BlockTool() if not has_begun:
                call, name = invocation.call, _name(hook)
                text = f"Tool '{call.name}' was blocked: {error}"
                if self._on_block is not None:
                    self._emit("tool_blocked", str(error), invocation, call, name)
                if self._on_block == "stop":
                    self._blocked = call.name
                    self._host.end_run(invocation.index, StopRun(text), name)
                return failure(text, error, "blocked")
            case SkipTool() if not has_begun:
                return as_result(error.value)
            case _:
                return _failed(hook, self._host, invocation, error)

    def _tell_of_change(self, hook: AnyHook, invocation: Invocation, before: ToolResult) -> None:
        """Emit an event with the outcome of a call before a hook changed it."""
        was = invocation.execution(before)
        content = was.value if was.error is None else was.error
        self._emit("tool_changed", content, invocation, was.call, _name(hook), status=was.status)

    def _emit(
        self,
        type: str,
        content: object,
        invocation: Invocation,
        call: ToolCall,
        hook: str,
        **more: object,
    ) -> None:
        """Tell the reader of the turn what a hook did to a call."""
        event = {
            "type": type,
            "content": content,
            "timestamp": time(),
            "execution_id": invocation.context.execution_id,
            "name": call.name,
            "args": call.args,
            **more,
            "hook": hook,
        }
        self._host.emit(invocation.index, event)


async def _enter(
    layer: AroundCall, inner: Next, host: CallHost, invocation: Invocation
) -> ToolResult:
    invocation = host.known(invocation)
    try:
        return _checked(layer, await layer(invocation, inner))
    except Exception as error:
        return _failed(layer, host, invocation, error)


def _checked(layer: Any, result: Any) -> ToolResult:
    if is_result(result):
        return cast("ToolResult", result)
    kind = type(result).__name__
    return failure(f"Hook {_name(layer)} failed: it must return a ToolResult, but returned {kind}")


def _failed(layer: Any, host: CallHost, invocation: Invocation, error: Exception) -> ToolResult:
    name = _name(layer)
    if isinstance(error, StopRun):
        return host.end_run(invocation.index, error, name)
    logger.exception("Hook %s failed around a call to %r", name, invocation.call.name)
    # With a `BlockTool`, the result would say that the call did not run.
    cause = None if isinstance(error, BlockTool) else error
    return failure(f"Hook {name} failed: {reason(error)}", cause)


def _name(layer: Any) -> str:
    return getattr(layer, "__qualname__", None) or type(layer).__name__
