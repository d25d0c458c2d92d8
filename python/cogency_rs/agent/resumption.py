"""Going on with calls that an earlier run left: those that somebody agreed to, and those that may be run twice."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from ..codec import format_call_agent
from ..errors import ConfigError
from ..middleware import Invocation, Middleware, Next, ToolApproved, ToolDenied
from ..middleware.approval import Approve, Decision, needs_approval
from ..toolbox import Toolbox
from ..tools import ToolContext, options_of
from ..types import ToolCall, ToolResult
from .stored import OpenBatch, StoredState, unknown

__all__ = ["approved_by", "calls_again", "check_decisions", "not_twice", "undecided"]

logger: logging.Logger = logging.getLogger(__name__)


def check_decisions(
    conversation_id: str, state: StoredState, decisions: Mapping[str, Decision]
) -> None:
    """Check that there is something to resume that waits for these decisions; decisions that come too late are logged.

    Raises:
        ConfigError: the log has no such conversation, or no call in it ever waited for one of the decisions.
    """
    if state.last is None:
        raise ConfigError(
            f"the log has no conversation {conversation_id!r}, so there is nothing to resume: ask with run(), or check "
            "the id and the storage"
        )
    waiting = frozenset[str]() if state.batch is None else state.batch.not_begun
    for id in decisions.keys() - waiting:
        if not waiting and id not in state.ids:
            raise ConfigError(
                f"nothing in conversation {conversation_id!r} waits for a decision, and it has no call {id!r}: take "
                "the ids from RunResult.waiting, or leave the decisions out"
            )
        logger.warning("Nothing waits for the decision of %r: it is ignored", id)


async def undecided(batch: OpenBatch, tools: Toolbox) -> list[ToolCall]:
    """The calls of a batch that somebody must still decide about."""
    open_ids = batch.not_begun - batch.decided().keys()
    return [
        call
        for call in batch.calls
        if call.id in open_ids and await needs_approval(tools.find(call), call)
    ]


def approved_by(decided: Mapping[str, Decision], otherwise: Approve | None) -> Approve:
    """Answer with the decisions made before; `otherwise` decides about other calls."""

    async def approve(ctx: ToolContext[Any], call: ToolCall) -> ToolApproved | ToolDenied | bool:
        if ctx.execution_id in decided:
            return decided[ctx.execution_id]
        if otherwise is None:
            return ToolDenied("nobody agreed to it")
        answer = otherwise(ctx, call)
        return await answer if inspect.isawaitable(answer) else answer

    return approve


def not_twice(not_begun: frozenset[str]) -> Middleware:
    """Run a call that may have begun only if its tool may run twice."""

    async def layer(invocation: Invocation, next: Next) -> ToolResult:
        if invocation.id in not_begun or options_of(invocation.tool).may_run_twice:
            return await next(invocation)
        return unknown(invocation.call)

    return layer


async def calls_again(calls: Sequence[ToolCall]) -> AsyncGenerator[dict[str, Any], None]:
    """Calls of the log, as events."""
    for call in calls:
        yield {"type": "call", "content": format_call_agent(call)}
    yield {"type": "execute"}
