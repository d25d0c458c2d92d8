"""Asks the program, and through it a person, whether a call may run."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import DeniedError
from ..guards.arguments import check_seconds, refused
from ..guards.json_text import read_json
from ..loading.dataclass import Later, dataclass, replace
from ..types import ToolCall

if TYPE_CHECKING:
    from ..tools.context import ToolContext
    from ..tools.toolbox import ResolvedCall
    from ..types import ToolResult
    from .invocation import Invocation, Next

__all__ = [
    "Approval",
    "Approve",
    "AskFirst",
    "Decision",
    "Need",
    "ToolApproved",
    "ToolDenied",
    "Undecided",
    "denied",
    "need_of",
    "read_decision",
    "write_decision",
]

logger: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToolApproved(Later):
    """The call may run.

    Attributes:
        args: arguments that replace those of the call; `None` to keep them.
        preview: what the tool's `preview` said of the call, with those arguments, when it was approved. The call is
            refused if it says something else when the call is about to run. `None` to run it in any case.
    """

    args: dict[str, Any] | None = None
    preview: str | None = None


@dataclass(frozen=True)
class ToolDenied(Later):
    """The call must not run.

    Attributes:
        message: why not; the model reads it.
    """

    message: str = ""


class Undecided(ToolDenied):
    """The call must not run, though nobody decided so: nobody could be asked, or it is not known about what."""


_NOBODY = Undecided("nobody can be asked")

Decision = ToolApproved | ToolDenied
Answer = Decision | bool

Approve: TypeAlias = (
    "Callable[[ToolContext[Any], ToolCall], Decision | bool | Awaitable[Decision | bool]]"
)
"""Decides about a call whose tool requires approval; sync or async. `True` stands for `ToolApproved()`, `False` for
`ToolDenied()`."""


Need = bool | Undecided
"""Whether somebody must approve a call: yes, no, or it must not run at all, since that cannot be told."""


async def need_of(resolved: ResolvedCall) -> Need:
    """Whether somebody must approve a call.

    A call must not run if it means no tool, or if the tool's `requires_approval` raises or returns anything but a bool.
    """
    from ..calls.tool_result import reason

    call, tool = resolved
    if tool is None:
        return Undecided("there is no such tool")
    predicate = resolved.options.asks_when
    if isinstance(predicate, bool):
        return predicate
    try:
        required: object = await _awaited(predicate(call))
    except Exception as error:
        logger.exception("requires_approval of %r failed, so its call is denied", call.name)
        return Undecided(f"its requires_approval failed: {reason(error)}")
    if isinstance(required, bool):
        return required
    kind = type(required).__name__
    return Undecided(f"its requires_approval must return a bool, but returned {kind}")


@dataclass(frozen=True)
class Approval(Later):
    """What `approve=` takes: a function, and how long to wait for it. The function alone waits as long as the default.

    Attributes:
        ask: decides about calls of tools that require approval.
        timeout: seconds to wait for its answer; then the call is denied. `None` to wait for ever.

    Raises:
        ConfigError: `ask` is not a function, or `timeout` is not a time.
    """

    ask: Approve
    timeout: float | None = 300.0

    def __post_init__(self) -> None:
        if not callable(self.ask):
            raise refused("ask", self.ask, "a function of a call")
        check_seconds("timeout", self.timeout)

    @classmethod
    def of(cls, approve: Approve | Approval | None) -> Approval | None:
        """Read an argument `approve`.

        Raises:
            ConfigError: it is something else.
        """
        if approve is None or isinstance(approve, Approval):
            return approve
        if not callable(approve):
            raise refused("approve", approve, "a function of a call, an Approval, or None")
        return cls(approve)


class AskFirst:
    """Runs a call that requires approval only if it was approved.

    A call is denied if there is no answer in time, and if anything goes wrong while the question is asked.

    Args:
        approval: decides; with `None`, every call that requires approval is denied.
        needs: what calls need, as far as it was found before, each with its call; by their places in the batch.

    Attributes:
        decisions: what was decided of the calls that somebody was asked about, by their place in the batch.
    """

    def __init__(
        self,
        approval: Approval | None,
        needs: Mapping[int, tuple[ToolCall, Need]],
    ) -> None:
        self._approval = approval
        self._needs = needs
        self.decisions: dict[int, Decision] = {}

    async def __call__(self, invocation: Invocation, next: Next) -> ToolResult:
        """Ask, then carry out the call or refuse it."""
        from ..calls.tool_result import reason

        if invocation.tool is None:
            return await next(invocation)  # which refuses it, and says which tools there are
        with invocation.waiting():
            need = await self._need(invocation)
        if need is False:
            return await next(invocation)
        if isinstance(need, Undecided):
            return denied(invocation.call, need)
        try:
            with invocation.waiting():
                answer = await self._answer(invocation)
        except Exception as error:
            logger.exception(
                "Approval of a call to %r failed, so it is denied", invocation.call.name
            )
            answer = Undecided(f"the question could not be asked: {reason(error)}")
        if answer is not _NOBODY:
            self.decisions[invocation.index] = answer
        if isinstance(answer, ToolDenied):
            return denied(invocation.call, answer)
        if answer.args is not None:
            invocation = replace(invocation, call=replace(invocation.call, args=answer.args))
        if answer.preview is not None:
            invocation = replace(invocation, agreed=answer.preview)
        return await next(invocation)

    async def _need(self, invocation: Invocation) -> Need:
        resolved = invocation.resolved
        known, need = self._needs.get(invocation.index, (None, None))
        if need is not None and known is resolved.call:
            return need
        return await need_of(resolved)

    async def _answer(self, invocation: Invocation) -> Decision:
        approval = self._approval
        if approval is None:
            return _NOBODY
        limit = asyncio.timeout(approval.timeout)
        try:
            async with limit:
                answer: object = await _awaited(approval.ask(invocation.context, invocation.call))
        except TimeoutError:
            if not limit.expired():
                raise
            return ToolDenied(f"there was no answer within {approval.timeout:g} s")
        match answer:
            case ToolApproved() | ToolDenied():
                return answer
            case bool():
                return ToolApproved() if answer else ToolDenied()
            case _:
                raise TypeError(
                    f"approve must return ToolApproved, ToolDenied or a bool, not {type(answer).__name__}"
                )


def denied(call: ToolCall, decision: ToolDenied) -> ToolResult:
    """The result of a call that somebody denied, or that nobody has approved."""
    from ..calls.tool_result import failure

    if isinstance(decision, Undecided):
        text = f"Tool '{call.name}' was not run: {decision.message}"
    else:
        why = f" Reason: {decision.message}" if decision.message else ""
        text = f"Tool '{call.name}' execution was rejected by user.{why}"
    return failure(text, DeniedError(text))


def write_decision(decision: Decision) -> str:
    """A decision as the table of calls holds it."""
    if isinstance(decision, ToolDenied):
        asked = {"asked": False} if isinstance(decision, Undecided) else {}
        return json.dumps({"approved": False, "message": decision.message, **asked})
    given = {"args": decision.args, "preview": decision.preview}
    told = {name: value for name, value in given.items() if value is not None}
    return json.dumps({"approved": True, **told}, default=repr)


def read_decision(stored: str) -> Decision:
    """What `write_decision` wrote."""
    read = read_json(stored)
    if not read["approved"]:
        kind = ToolDenied if read.get("asked", True) else Undecided
        return kind(read.get("message", ""))
    return ToolApproved(read.get("args"), read.get("preview"))


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
