"""Asks the program, and through it a person, whether a call may run; it then runs only as it was approved."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, cast

from .._core import check_json
from ..calls.record import digest_of
from ..calls.tool_result import failure
from ..errors import DeniedError, StorageError
from ..guards.arguments import check_seconds, check_text, refused
from ..guards.json import read_json
from ..tools.context import ToolContext
from ..tools.toolbox import ResolvedCall
from ..tools.workers import in_thread
from ..types import ToolCall, ToolResult
from .hooks import Invocation, Next

logger: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToolApproved:
    """The call may run.

    Attributes:
        args: arguments that replace those of the call; `None` to keep them.
        preview: what the tool's `preview` said of the call, with those arguments, when it was approved. The call is
            refused if it says something else when the call is about to run. `None` to run it in any case.
        digest: of what was shown, from `PendingCall.digest` or `CallRecord.digest`. If the call has changed since, the
            decision is refused. `None` stands for the digest in the log.

    Raises:
        ConfigError: `args` are not a dict of JSON values by name, or another value is not text.
    """

    args: dict[str, Any] | None = None
    preview: str | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        check_text("preview", self.preview, or_none=True)
        check_text("digest", self.digest, or_none=True)
        if self.args is None:
            return
        given: object = self.args
        if not isinstance(given, dict):
            raise refused("args", given, "a dict of JSON values by name, or None")
        try:
            check_json(self.args)
        except (TypeError, ValueError) as error:
            raise refused("args", given, f"JSON values ({error})") from error
        # The log has the decision as it was made.
        object.__setattr__(self, "args", copy.deepcopy(self.args))


@dataclass(frozen=True)
class ToolDenied:
    """The call must not run.

    Attributes:
        message: why not; the model reads it.

    Raises:
        ConfigError: `message` is not text.
    """

    message: str = ""

    def __post_init__(self) -> None:
        check_text("message", self.message)


class Undecided(ToolDenied):
    """The call must not run, though nobody decided so: nobody could be asked, or it is not known about what."""


_NOBODY = Undecided("nobody can be asked")

Decision = ToolApproved | ToolDenied
Answer = Decision | bool

Approve: TypeAlias = Callable[
    [ToolContext[Any], ToolCall], Decision | bool | Awaitable[Decision | bool]
]
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
        required: object = await _awaited(predicate(own_copy(call)))
    except Exception as error:
        logger.exception("requires_approval of %r failed, so its call is denied", call.name)
        return Undecided(f"its requires_approval failed: {reason(error)}")
    if isinstance(required, bool):
        return required
    kind = type(required).__name__
    return Undecided(f"its requires_approval must return a bool, but returned {kind}")


@dataclass(frozen=True)
class Approval:
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


async def preview_of(resolved: ResolvedCall) -> str | None:
    """What a tool says that a call would do; `None` if it says nothing. Raises what its `preview` raises."""
    preview = resolved.options.preview
    if preview is None:
        return None
    # A thread of a tool: a preview that hangs must not keep the program from ending either.
    shown: str = await _awaited(await in_thread(partial(preview, own_copy(resolved.call))))
    return shown


def own_copy(call: ToolCall) -> ToolCall:
    """A copy of a call for code that may change its arguments in place, so that what it does to them has no effect."""
    return replace(call, args=copy.deepcopy(call.args))


def call_digest(resolved: tuple[ToolCall, Any], preview: str | None = None) -> str:
    """The `digest_of` a call with its tool, under the name that the tool has whatever other tools there are."""
    from ..tools.toolbox import remote_name_of, said_of, server_of

    call, tool = resolved
    server = server_of(tool)
    name = call.name if server is None else remote_name_of(tool)
    return digest_of(name, server, call.args, preview, tool="" if tool is None else said_of(tool))


async def shown_digest(resolved: ResolvedCall) -> str | Undecided:
    """A digest of the call and its preview, as they are shown for a decision; or why they cannot be shown."""
    from ..calls.tool_result import reason

    try:
        return call_digest(resolved, await preview_of(resolved))
    except Exception as error:
        logger.exception("The preview of a call to %r failed, so it is denied", resolved.call.name)
        return Undecided(f"its preview failed: {reason(error)}")


_QUESTIONS = 3
"""How often somebody is asked about a call that changes while they are asked."""


class AskFirst:
    """Runs a call that requires approval only if it was approved.

    A call is denied if there is no answer in time, and if anything goes wrong while the question is asked.

    Args:
        approval: decides; with `None`, every call that requires approval is denied.
        needs: what calls need, as far as it was found before, each with a digest of its call; by their places in the
            batch.

    Attributes:
        decisions: what was decided of the calls that somebody was asked about, by their place in the batch.
    """

    def __init__(
        self,
        approval: Approval | None,
        needs: Mapping[int, tuple[str, Need]],
    ) -> None:
        self._approval = approval
        self._needs = needs
        self.decisions: dict[int, Decision] = {}

    async def __call__(self, invocation: Invocation, next: Next) -> ToolResult:
        """Ask, then carry out the call or refuse it."""
        from ..calls.tool_result import reason

        if invocation.tool is None:
            return await next(invocation)  # which refuses it, and says which tools there are
        for _ in range(_QUESTIONS):
            asked = call_digest(invocation.resolved)
            with invocation.waiting():
                need = await self._need(invocation, asked)
            if call_digest(invocation.resolved) != asked:
                continue  # it was changed in place
            # Nothing that has the call can change what was agreed to, or needs no agreement, and then runs.
            call = own_copy(invocation.call)
            if need is False:
                return await next(replace(invocation, call=call))
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
                call = replace(call, args=copy.deepcopy(answer.args))
            elif call_digest(invocation.resolved) != asked:
                continue  # nobody has seen what it is now
            agreed = answer.digest
            if agreed is None:
                agreed = call_digest((call, invocation.tool), answer.preview)
            return await next(replace(invocation, call=call, agreed=agreed))
        return denied(
            invocation.call, Undecided("it was changed each time that it was asked about")
        )

    async def _need(self, invocation: Invocation, digest: str) -> Need:
        known, need = self._needs.get(invocation.index, ("", None))
        if need is not None and known == digest:
            return need
        return await need_of(invocation.resolved)

    async def _answer(self, invocation: Invocation) -> Decision:
        approval = self._approval
        if approval is None:
            return _NOBODY
        limit = asyncio.timeout(approval.timeout)
        try:
            async with limit:
                call = own_copy(invocation.call)
                answer: object = await _awaited(approval.ask(invocation.context, call))
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
    return failure(text, DeniedError(text), "denied")


def write_decision(decision: Decision) -> str:
    """A decision as the table of calls holds it."""
    if isinstance(decision, ToolDenied):
        asked = {"asked": False} if isinstance(decision, Undecided) else {}
        return json.dumps({"approved": False, "message": decision.message, **asked})
    edited = {} if decision.args is None else {"args": decision.args}
    return json.dumps({"approved": True, **edited})


def read_decision(stored: str) -> Decision:
    """What `write_decision` wrote.

    Raises:
        StorageError: it is something else, so that nobody knows whether the call was approved.
    """
    try:
        read = read_json(stored)
        is_approved, args = read["approved"], read.get("args")
        if type(is_approved) is not bool or not (args is None or isinstance(args, dict)):
            raise ValueError("it is not a decision")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageError(
            "the decision about a call cannot be read: the column decision of the table calls is not what this version "
            f"writes, but {stored:.100}; another program has changed it. Correct it, or settle the call",
            cause=error,
        ) from error
    if not is_approved:
        kind = ToolDenied if read.get("asked", True) else Undecided
        return kind(read.get("message", ""))
    return ToolApproved(cast("dict[str, Any] | None", args), read.get("preview"))


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def refused_as_changed(invocation: Invocation) -> ToolResult | None:
    """A refusal of a call that would do something other than what was approved; `None` if it may run."""
    call, agreed = invocation.call, invocation.agreed or ""
    preview: str | None = None
    try:
        if ":" in agreed:
            waits_no_longer = replace(call, id=None)
            preview = await preview_of(ResolvedCall(waits_no_longer, invocation.tool))
        if call_digest(invocation.resolved, preview) == agreed:
            return None
    except Exception:
        logger.exception("The preview of a call to %r failed, so it is denied", call.name)
    text = (
        f"Tool '{call.name}' was not run: what it would do has changed since it was approved. "
        "Look again, and call it again if it is still needed"
    )
    return failure(text, DeniedError(text), "denied")
