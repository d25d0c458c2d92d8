"""Runs the hooks of a run, and checks that each changes only what it may."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ..calls.tool_result import reason
from ..errors import HookError, StopRun
from ..hooks.hooks import Hooks
from ..models import ModelRequest
from ..runs.context import RunContext
from ..runs.response import ModelResponse
from ..runs.run_result import RunResult, Step
from ..storage.claims import Claim, part_of

__all__ = ["Triggers"]

T = TypeVar("T")


class _Rule(NamedTuple):
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


_RULES = {
    "before_run": _Rule(),
    "after_run": _Rule(
        RunResult,
        ("run_id", "conversation_id", "status", "steps", "usage"),
        may_return_nothing=True,
    ),
    "before_step": _Rule(),
    "after_step": _Rule(Step, ("index", "executions", "usage"), may_return_nothing=True),
    "on_stop": _Rule(),
    "on_error": _Rule(),
    "before_model_request": _Rule(ModelRequest, ("id",)),
    "after_model_response": _Rule(ModelResponse, ("request_id", "usage")),
}


_NO_HOOKS: dict[str, list[Hooks]] = {name: [] for name in _RULES}


class Triggers:
    """The hooks of one run, in the order in which they are asked.

    Each trigger calls only the hooks that override it. An exception of a hook, except `StopRun` and a cancellation, is
    raised as a `HookError`.

    Attributes:
        claim: the claim of the run on its conversation, if it has one; what hooks do is part of it.
    """

    __slots__ = ("_ctx", "_hooks", "claim")

    def __init__(self, hooks: Sequence[Hooks], ctx: RunContext[Any]) -> None:
        self.claim: Claim | None = None
        self._ctx = ctx
        self._hooks = (
            {name: [each for each in hooks if _has(each, name)] for name in _RULES}
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
            if answer is None and _RULES[trigger].may_return_nothing:
                continue
            if answer is not value:
                self._check(hooks, trigger, value, answer)
                value = answer
        changed: T = value
        return changed

    async def _ask(self, hooks: Hooks, trigger: str, *given: Any) -> Any:
        try:
            with part_of(self.claim):
                answer = getattr(hooks, trigger)(self._ctx, *given)
                return await answer if inspect.isawaitable(answer) else answer
        except StopRun as stop:
            self._ctx.add(stop.told_by(type(hooks).__name__))
            return given[0] if _RULES[trigger].kind is not None else None
        except Exception as error:
            raise HookError(
                f"Hook {type(hooks).__name__}.{trigger} failed: {reason(error)}",
                hook=type(hooks).__name__,
                trigger=trigger,
                cause=error,
            ) from error

    def _check(self, hooks: Hooks, trigger: str, given: Any, answer: Any) -> None:
        rule, name = _RULES[trigger], type(hooks).__name__
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


def _has(hooks: Hooks, trigger: str) -> bool:
    """Whether a class of hooks overrides a trigger."""
    own: Any = getattr(type(hooks), trigger, None)
    return own is not getattr(Hooks, trigger)
