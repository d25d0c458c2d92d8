"""Going on with calls that an earlier run left: those that somebody agreed to, and those that may be run twice."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..calls.record import ENDS, CallRecord, write_new_result
from ..calls.tool_result import unknown
from ..errors import CallChangedError, ConfigError, DecisionError
from ..hooks import AroundCall, Invocation, Next, ToolApproved, ToolDenied
from ..hooks.approval import (
    Approval,
    Decision,
    Undecided,
    call_digest,
    denied,
    need_of,
    read_decision,
    shown_digest,
    write_decision,
)
from ..protocol.codec import format_call_agent
from ..runs.context import RunContext
from ..tools.context import ToolContext
from ..tools.toolbox import ResolvedCall, Toolbox, server_of
from ..types import ToolCall, ToolResult
from .run_log import RunLog
from .settling import why_unknown
from .stored_state import OpenBatch, StoredState

__all__ = [
    "approved_by",
    "calls_again",
    "denied_before",
    "not_twice",
    "recalled",
    "undecided",
    "with_decisions",
]

logger: logging.Logger = logging.getLogger(__name__)


async def with_decisions(
    state: StoredState,
    decisions: Mapping[str, Decision],
    tools: Toolbox,
    ctx: RunContext[Any],
    log: RunLog,
) -> OpenBatch | None:
    """The calls that a conversation waits for, with decisions about them.

    A decision is about the call that was shown, as the log has the digest of that. One that was made before is ignored
    if it comes again, as a click may that is delivered twice.

    Args:
        state: the conversation.
        decisions: by the ids of calls.
        tools: what the calls mean.
        ctx: the run.
        log: takes a call that is no longer what was shown, for the next time that it is shown.

    Raises:
        ConfigError: the log has no such conversation.
        DecisionError: one of the decisions is about another call, about one that was decided otherwise or has begun, or
            about one that is no longer what was shown (`CallChangedError`). No decision counts then.
    """
    if state.last is None:
        raise ConfigError(
            f"the log has no conversation {ctx.conversation_id!r}, so there is nothing to resume: ask with run(), or "
            "check the id and the storage"
        )
    batch, records = state.batch, {record.id: record for record in state.records}
    new = {id: each for id, each in decisions.items() if _is_new(ctx, id, each, records.get(id))}
    if batch is None or not new:
        return batch
    decided: list[CallRecord] = []
    changed: list[CallRecord] = []
    for each, record in zip(recalled(batch, tools), batch.records, strict=True):
        if (decision := new.pop(record.id, None)) is None:
            decided.append(record)
            continue
        waiting = record.put_off()
        if isinstance(decision, ToolDenied):
            decided.append(waiting.decided(write_decision(decision), record.digest))
            continue
        # A call whose tool is gone is not run, and its failure says so.
        digest = await shown_digest(each) if each.tool or not record.digest else record.digest
        if isinstance(digest, Undecided):
            raise CallChangedError(
                f"the decision about {_named(record)} is refused, since {digest.message}: look at it again",
                call_id=record.id,
            )
        shown = decision.digest or record.digest or digest
        if decision.preview is not None and decision.args is None:
            shown = call_digest(each, decision.preview)
        if shown != digest:
            changed.append(waiting._replace(digest=digest))
        if decision.args is not None:
            edited = replace(each.call, args=decision.args)
            digest = call_digest((edited, each.tool), decision.preview)
        decided.append(waiting.decided(write_decision(decision), digest))
    if changed:
        await log.append((), changed)
        raise CallChangedError(
            f"the decision about {_named(changed[0])} is refused, since the call, or what it would do, has changed "
            "since it was shown: look at it again, and decide again",
            call_id=changed[0].id,
        )
    for id in new:
        raise DecisionError(
            f"the decision about {_named(records[id])} is refused, since the conversation went on without it",
            call_id=id,
        )
    return batch._replace(records=tuple(decided))


def _is_new(ctx: RunContext[Any], id: str, decision: Decision, record: CallRecord | None) -> bool:
    """Whether a decision is one that a call waits for; false if it is the same that was made before.

    Raises:
        DecisionError: it is neither.
    """
    if record is None:
        raise DecisionError(
            f"the decision about {id!r} is refused, since conversation {ctx.conversation_id!r} has no such call: take "
            "the ids from RunResult.waiting or Agent.pending()",
            call_id=id,
        )
    if record.decision is None and record.status in ("saved", "waiting"):
        return True
    if record.decision is not None and record.decision == write_decision(decision):
        logger.warning("The decision about %s was made before, so it is ignored", _named(record))
        return False
    how = f"is over ({record.status})" if record.status in ENDS else "has begun"
    if record.decision is not None:
        how = "was decided before"
    raise DecisionError(
        f"the decision about {_named(record)} is refused, since the call {how}", call_id=id
    )


def _named(record: CallRecord) -> str:
    return f"the call {record.id!r} of '{record.name}'"


def recalled(batch: OpenBatch, tools: Toolbox) -> list[ResolvedCall]:
    """The calls of a batch, with the tools that they mean."""
    pairs = zip(batch.calls, batch.records, strict=True)
    return [tools.recall(call, record.name, record.server) for call, record in pairs]


async def undecided(batch: OpenBatch, calls: Sequence[ResolvedCall]) -> list[ToolCall]:
    """Those calls of a batch that somebody must still decide about."""
    open_ids = batch.not_begun - batch.decided().keys()
    return [each.call for each in calls if each.call.id in open_ids and await need_of(each) is True]


async def put_off(
    batch: OpenBatch, calls: Sequence[ResolvedCall], asking: Sequence[ToolCall]
) -> OpenBatch:
    """The batch while somebody must decide about some of its calls, each with the digest of what they are shown.

    One that has no digest was never shown: its program ended before anybody was asked, or could not keep one.
    """
    asked = {call.id for call in asking}
    records: list[CallRecord] = []
    for record, each in zip(batch.put_off().records, calls, strict=True):
        if record.id in asked and record.digest is None:
            digest = await shown_digest(each)
            # Of what cannot be shown, the call alone: what is shown later is another thing then.
            record = record._replace(
                digest=digest if isinstance(digest, str) else call_digest(each)
            )
        records.append(record)
    return batch._replace(records=tuple(records))


def approved_by(
    batch: OpenBatch, calls: Sequence[ResolvedCall], otherwise: Approval | None
) -> Approval:
    """Answer with the decisions made before; `otherwise` decides about other calls.

    A decision holds for the call that somebody was asked about. It does not hold if a hook makes another one of it, of
    another tool or with other arguments, or if the tool has come to be on another server.
    """
    decided: dict[str, tuple[Decision, ResolvedCall, str]] = {}  # by execution_id
    for record, each in zip(batch.records, calls, strict=True):
        if record.decision is not None and record.server == server_of(each.tool):
            decision = read_decision(record.decision)
            of_call, _, _ = (record.digest or call_digest(each)).partition(":")
            if isinstance(decision, ToolApproved):
                decision = replace(decision, digest=record.digest)
            decided[record.execution_id] = decision, each, of_call

    async def approve(ctx: ToolContext[Any], call: ToolCall) -> ToolApproved | ToolDenied | bool:
        decision, asked, of_call = decided.get(ctx.execution_id, (None, None, ""))
        if decision and asked and asked.identity == (call.name, call.server):
            is_edited = isinstance(decision, ToolApproved) and decision.args is not None
            if (
                isinstance(decision, ToolDenied)
                or is_edited
                or call_digest((call, asked.tool)) == of_call
            ):
                return decision
        if otherwise is not None:
            answer = otherwise.ask(ctx, call)
            return await answer if inspect.isawaitable(answer) else answer
        return Undecided(
            "nobody approved it" if decision is None else "what was approved was another call"
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
        record.to(
            "ended",
            "successor",
            result=write_new_result(unknown(each.call.name, why_unknown(record))),
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
