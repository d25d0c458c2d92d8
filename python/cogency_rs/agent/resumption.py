"""Going on with calls that an earlier run left: those that somebody agreed to, and those that may be run twice."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from ..calls.records import CallRecord, write_new_result
from ..calls.tool_result import unknown
from ..errors import ConfigError
from ..hooks import AroundCall, Invocation, Next, ToolApproved, ToolDenied
from ..hooks.approval import Approval, Decision, Undecided, denied, need_of, read_decision
from ..loading.dataclass import replace
from ..protocol.codec import format_call_agent
from ..tools.context import ToolContext
from ..tools.toolbox import ResolvedCall, Toolbox, server_of
from ..types import ToolCall, ToolResult
from .settling import why_unknown
from .stored_state import OpenBatch, StoredState

__all__ = [
    "approved_by",
    "calls_again",
    "check_decisions",
    "denied_before",
    "not_twice",
    "recalled",
    "undecided",
]

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
        logger.warning("Nothing waits for a decision about %r, so it is ignored", id)


def recalled(batch: OpenBatch, tools: Toolbox) -> list[ResolvedCall]:
    """The calls of a batch, with the tools that they mean."""
    pairs = zip(batch.calls, batch.records, strict=True)
    return [tools.recall(call, record.name, record.server) for call, record in pairs]


async def undecided(batch: OpenBatch, calls: Sequence[ResolvedCall]) -> list[ToolCall]:
    """Those calls of a batch that somebody must still decide about."""
    open_ids = batch.not_begun - batch.decided().keys()
    return [each.call for each in calls if each.call.id in open_ids and await need_of(each) is True]


def approved_by(
    batch: OpenBatch, calls: Sequence[ResolvedCall], otherwise: Approval | None
) -> Approval:
    """Answer with the decisions made before; `otherwise` decides about other calls.

    A decision holds for the tool that somebody was asked about. It does not hold if a hook makes of the call
    one of another tool, or if the tool has come to be on another server.
    """
    decided = {
        record.execution_id: read_decision(record.decision)
        for record in batch.records
        if record.decision is not None
    }
    asked = {
        record.execution_id: each.identity
        for record, each in zip(batch.records, calls, strict=True)
        if record.server == server_of(each.tool)
    }

    async def approve(ctx: ToolContext[Any], call: ToolCall) -> ToolApproved | ToolDenied | bool:
        decision = decided.get(ctx.execution_id)
        if decision is not None and asked.get(ctx.execution_id) == (call.name, call.server):
            return decision
        if otherwise is not None:
            answer = otherwise.ask(ctx, call)
            return await answer if inspect.isawaitable(answer) else answer
        return Undecided(
            "nobody approved it"
            if decision is None
            else "what was approved was a call to another tool"
        )

    return Approval(approve) if otherwise is None else replace(otherwise, ask=approve)


def denied_before(decided: Mapping[str, Decision]) -> AroundCall:
    """Refuse the calls that were denied before, whatever their tools require now."""

    async def layer(invocation: Invocation, next: Next) -> ToolResult:
        decision = decided.get(invocation.id)
        if isinstance(decision, ToolDenied):
            return denied(invocation.call, decision)
        return await next(invocation)

    return layer


def not_twice(calls: Sequence[ResolvedCall], records: Sequence[CallRecord]) -> list[CallRecord]:
    """The records for calls that are carried out again: that of a call which may have begun says that it is unknown.

    So it does not run, and nothing can refuse it. That of a call which may run twice stays, and so does the log.
    """
    return [
        record._replace(
            status="ended", result=write_new_result(unknown(each.call.name, why_unknown(record)))
        )
        if record.status == "open" and not each.options.may_run_twice
        else record
        for each, record in zip(calls, records, strict=True)
    ]


async def calls_again(calls: Sequence[ToolCall]) -> AsyncGenerator[dict[str, Any], None]:
    """Calls of the log, as events."""
    for call in calls:
        yield {"type": "call", "content": format_call_agent(call)}
    yield {"type": "execute"}
