"""Runs the hooks of a run, and checks that each changes only what it may."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import HookError, StopRun
from ..models import ModelRequest
from ..runs.context import ModelResponse, RunContext
from ..runs.result import RunResult, Step
from ..storage.claims import Claim, part_of

if TYPE_CHECKING:
    from ..hooks.hooks import Hooks


class Rule(NamedTuple):
    """What a trigger may return.

    Attributes:
        kind: the class of the value; `None` if the trigger returns nothing.
        fixed: the fields that must not change.
        may_return_nothing: whether `None` leaves the value as it is. It does where the value exists already and an
            error would only hide it, not where the value decides what is sent or run.
    """

    kind: type[Any] | None = None
    fixed: tuple[str, ...] = ()
    may_return_nothing: bool = False


RULES = {
    "before_run": Rule(),
    "after_run": Rule(
        RunResult,
        ("run_id", "conversation_id", "status", "steps", "usage"),
        may_return_nothing=True,
    ),
    "before_step": Rule(),
    "after_step": Rule(Step, ("index", "executions", "usage"), may_return_nothing=True),
    "on_stop": Rule(),
    "on_error": Rule(),
    "before_model_request": Rule(ModelRequest, ("id",)),
    "after_model_response": Rule(ModelResponse, ("request_id", "usage")),
}


logger: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")


_TRIGGERS = (
    "before_run",
    "after_run",
    "before_step",
    "after_step",
    "on_stop",
    "on_error",
    "before_model_request",
    "after_model_response",
)

_AT_AN_END = frozenset(("after_run", "after_step", "on_stop", "on_error"))
"""Triggers for what has ended. A run that is out of time still calls these, but no others."""

LAST_SECONDS = 1.0
"""Seconds for one of these in a run that has a limit and less time left."""

_NO_HOOKS: dict[str, list[Hooks]] = {name: [] for name in _TRIGGERS}


class Triggers:
    """The hooks of one run, in the order in which they are asked.

    Each trigger calls only the hooks that override it. An exception of a hook, except `StopRun` and a cancellation, is
    raised as a `HookError`.

    A hook that is told of what is over has a second for it even if the time of the run is over; then the run ends
    without it.

    Attributes:
        claim: the claim of the run on its conversation, if it has one; what hooks do is part of it.
    """

    __slots__ = ("_ctx", "_hooks", "claim")

    def __init__(self, hooks: Sequence[Hooks], ctx: RunContext[Any]) -> None:
        self.claim: Claim | None = None
        self._ctx = ctx
        self._hooks = (
            {name: [each for each in hooks if _has(each, name)] for name in _TRIGGERS}
            if hooks
            else _NO_HOOKS
        )

    def has(self, trigger: str) -> bool:
        """Whether a hook has this trigger."""
        return bool(self._hooks[trigger])

    async def tell(self, trigger: str, *given: Any) -> None:
        """Call the hooks of a trigger that returns nothing."""
        for hooks in self._hooks[trigger]:
            answer = await self._ask(hooks, trigger, *given)
            if answer is not None:
                raise HookError(
                    f"Hook {type(hooks).__name__}.{trigger} must return nothing, but returned "
                    f"{type(answer).__name__}",
                    hook=type(hooks).__name__,
                    trigger=trigger,
                )

    async def change(self, trigger: str, given: T) -> T:
        """Let the hooks change a value, one after the other."""
        value: Any = given
        for hooks in self._hooks[trigger]:
            answer = await self._ask(hooks, trigger, value)
            if answer is None and _rule_of(trigger).may_return_nothing:
                continue
            if answer is not value:
                self._check(hooks, trigger, value, answer)
                value = answer
        changed: T = value
        return changed

    async def _ask(self, hooks: Hooks, trigger: str, *given: Any) -> Any:
        from ..calls.tool_result import reason

        try:
            with part_of(self.claim):
                answer = getattr(hooks, trigger)(self._ctx, *given)
                if not inspect.isawaitable(answer):
                    return answer
                if trigger in _AT_AN_END and (left := self._ctx.account.seconds_left) is not None:
                    return await _within(max(left, LAST_SECONDS), answer)
                return await answer
        except _StoppedError:
            name = type(hooks).__name__
            logger.warning("Hook %s.%s was stopped: the run's time is over", name, trigger)
            return given[0] if _rule_of(trigger).kind is not None else None
        except StopRun as stop:
            self._ctx.add(stop.told_by(type(hooks).__name__))
            return given[0] if _rule_of(trigger).kind is not None else None
        except Exception as error:
            raise HookError(
                f"Hook {type(hooks).__name__}.{trigger} failed: {reason(error)}",
                hook=type(hooks).__name__,
                trigger=trigger,
                cause=error,
            ) from error

    def _check(self, hooks: Hooks, trigger: str, given: Any, answer: Any) -> None:
        rule, name = _rule_of(trigger), type(hooks).__name__
        if rule.kind is not None and not isinstance(answer, rule.kind):
            raise HookError(
                f"Hook {name}.{trigger} must return a {rule.kind.__name__}, but returned "
                f"{type(answer).__name__}: is its `return` missing?",
                hook=name,
                trigger=trigger,
            )
        for field in rule.fixed:
            if getattr(answer, field) != getattr(given, field):
                raise HookError(
                    f"Hook {name}.{trigger} may not change {field!r} of the {type(given).__name__}",
                    hook=name,
                    trigger=trigger,
                )


class _StoppedError(Exception):
    """A hook has taken longer than it may."""


async def _within(seconds: float, answer: Awaitable[Any]) -> Any:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await answer
    except TimeoutError:
        if not limit.expired():
            raise
    raise _StoppedError


def _has(hooks: Hooks, trigger: str) -> bool:
    """Whether a class of hooks overrides a trigger."""
    from ..hooks.hooks import Hooks

    own: Any = getattr(type(hooks), trigger, None)
    return own is not getattr(Hooks, trigger)


def _rule_of(trigger: str) -> Rule:

    return RULES[trigger]
