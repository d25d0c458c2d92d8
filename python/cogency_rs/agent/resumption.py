"""Going on with calls that an earlier run left, and settling those whose outcome is unknown.

What is found out changes the record of the call, and everything else follows from it: a call that happened is `ended`
with its result, and one that did not is `saved` and may run. The answer stays in the record.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Literal, cast

from ..calls.record import ENDS, CallRecord, utc, write_new_result
from ..calls.tool_result import (
    Happened,
    NotHappened,
    Outcome,
    Reconcile,
    Unknown,
    UnsettledCall,
    as_result,
    reason,
    status_of,
    unknown,
)
from ..errors import CallChangedError, ConfigError, DecisionError
from ..guards.json import read_json
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
from ..hooks.chain import pause
from ..hooks.hooks import Hooks, NextReconcile, has, matches
from ..outside import time
from ..protocol import format_call_agent
from ..runs.context import RunContext
from ..storage.log import Row
from ..tools.context import ToolContext
from ..tools.registry import is_coroutine_function
from ..tools.toolbox import ResolvedCall, Toolbox, server_of
from ..tools.workers import in_thread
from ..types import ToolCall, ToolResult
from .stored_state import OpenBatch, RunLog, StoredState

logger: logging.Logger = logging.getLogger(__name__)

By = Literal["reconcile", "person"]


async def reconciled(
    batch: OpenBatch, calls: Sequence[ResolvedCall], ctx: RunContext[Any], hooks: Sequence[Hooks]
) -> OpenBatch:
    """Ask the tools of calls that may have begun whether these happened, all at once.

    Args:
        batch: the calls that an earlier run left.
        calls: the same calls, with their tools.
        ctx: the run that asks.
        hooks: what may be around a reconcile, the outermost first.

    Returns:
        The batch with what was found out.
    """
    asking = [
        _reconciled(record, each, reconcile, ctx, hooks)
        if record.status == "open" and (reconcile := each.options.reconciling) is not None
        else _unchanged(record)
        for record, each in zip(batch.records, calls, strict=True)
    ]
    return batch._replace(records=tuple(await asyncio.gather(*asking)))


async def _unchanged(record: CallRecord) -> CallRecord:
    return record


async def _reconciled(
    record: CallRecord,
    resolved: ResolvedCall,
    reconcile: Reconcile,
    ctx: RunContext[Any],
    hooks: Sequence[Hooks],
) -> CallRecord:
    async def ask(call: UnsettledCall) -> Any:
        asking: NextReconcile = partial(_answer, reconcile)
        for each in reversed(hooks):
            if has(each, "around_reconcile") and matches(each, resolved):
                asking = partial(each.around_reconcile, next=asking)
        return await asking(call)

    outcome, tries = await _ask(
        ask,
        _told(record, resolved.call, ctx),
        reconcile,
        tries=_tries_of(record),
        why=why_unknown(record),
        seconds=ctx.account.seconds_left,
    )
    if isinstance(outcome, Unknown):
        logger.warning(
            "It is still not known whether the call %r of %r happened: %s",
            record.id,
            record.name,
            outcome.why,
        )
    return settled(record, outcome, "reconcile", tries=tries)


def _told(record: CallRecord, call: ToolCall, ctx: RunContext[Any]) -> UnsettledCall:
    return UnsettledCall(
        id=record.id,
        execution_id=record.execution_id,
        name=call.name,
        args=copy.deepcopy(call.args),
        conversation_id=ctx.conversation_id,
        user_id=ctx.user_id,
        attempt=max(record.attempt, 1),
        started_at=None if record.started_at is None else utc(record.started_at),
        worker=record.worker,
        deps=ctx.deps,
    )


async def _ask(
    ask: NextReconcile,
    call: UnsettledCall,
    limits: Reconcile,
    *,
    tries: int,
    why: str,
    seconds: float | None,
) -> tuple[Outcome, int]:
    """What a tool says of a call, and how often it has answered by now; an answer that is not known yet does not count.

    Args:
        ask: asks once.
        call: the call.
        limits: how often and how long to ask.
        tries: how often it was asked before.
        why: what it said then.
        seconds: how long the run may still last; `None` for no limit.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    end = began + min(limits.within, inf if seconds is None else seconds)
    while tries < limits.tries:
        tries += 1
        rest: float | None = None
        limit = asyncio.timeout(limits.timeout)
        try:
            async with limit:
                answer: object = await ask(call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            why = "its reconcile cancelled itself"
        except (Exception, SystemExit) as error:
            why = f"its reconcile failed: {reason(error)}"
            if limit.expired():
                why = f"its reconcile did not answer within {limits.timeout:g} s"
        else:
            outcome = _checked(answer)
            if not isinstance(outcome, Unknown) or outcome.again_in is None or clock() >= end:
                return outcome, tries
            tries -= 1
            why, rest = (
                outcome.why,
                min(outcome.again_in, end - clock()),
            )  # asked once more at the end
        if tries < limits.tries:
            await asyncio.sleep(pause(tries) if rest is None else rest)
            call = replace(call, waited=clock() - began)
    return Unknown(why), tries


async def _answer(reconcile: Reconcile, call: UnsettledCall) -> Any:
    if is_coroutine_function(reconcile.ask):
        answer: Any = reconcile.ask(call)
    else:  # it may block, and must not outlast its time
        answer = await in_thread(partial(reconcile.ask, call))
    return await answer if inspect.isawaitable(answer) else answer


def _checked(answer: object) -> Outcome:
    if isinstance(answer, Happened):
        result = as_result(answer.result)
        if result.error and not getattr(answer.result, "error", False):
            return Unknown(f"its reconcile gave a result that cannot be used: {result.outcome}")
        return answer
    if isinstance(answer, NotHappened | Unknown):
        return answer
    kind = type(answer).__name__
    return Unknown(
        f"its reconcile must return Happened, NotHappened or Unknown, but returned {kind}"
    )


def settled(record: CallRecord, outcome: Outcome, by: By, *, tries: int = 1) -> CallRecord:
    """The record of a call of which something was found out."""
    now = time()
    answer: dict[str, Any] = {"by": by, "at": now}
    match outcome:
        case Happened():
            answer["answer"] = "happened"
            result = write_new_result(as_result(outcome.result))
            record = record.to("ended", by, completed_at=now, result=result)
        case NotHappened():
            answer["answer"] = "not_happened"
            record = record.to("saved", by)
        case Unknown():
            answer |= {"answer": "unknown", "why": outcome.why}
    if by == "reconcile":
        answer["tries"] = tries
    return record._replace(settling=json.dumps(answer))


def settled_late(record: CallRecord, outcome: Happened | NotHappened) -> CallRecord:
    """The record of a call of which a person has found something out after the model had read that it is unknown."""
    answer = "happened" if isinstance(outcome, Happened) else "not_happened"
    end = status_of(as_result(outcome.result)) if isinstance(outcome, Happened) else "cancelled"
    settling = json.dumps({"by": "person", "at": time(), "answer": answer})
    return record.to(end, "person", settling=settling)


def told_later(record: CallRecord, call: ToolCall | None, outcome: Happened | NotHappened) -> Row:
    """The row that tells a model what a person found out about a call that it knows as unknown.

    The results that it has read stay as they are. The row comes last; where calls have no results yet, a prompt shows
    it after these.

    Args:
        record: the call, as the model knows it.
        call: the call, if the log tells which row is the call's.
        outcome: what was found out.
    """
    asked = "" if call is None else f" with the arguments {json.dumps(call.args)}"
    match outcome:
        case Happened():
            result = as_result(outcome.result)
            content = result.outcome if result.content is None else json.dumps(result.content)
            found = f"it failed: {result.outcome}" if result.error else f"it happened: {content}"
        case _:
            found = "it did not happen"
    text = f"It was not known whether your call to '{record.name}'{asked} happened. Now it is known: {found}"
    return "settled", text, time()


def why_unknown(record: CallRecord) -> str:
    """Why it could not be found out whether a call happened; "" if nobody tried."""
    return str(_settling(record).get("why", ""))


def _tries_of(record: CallRecord) -> int:
    tries: object = _settling(record).get("tries", 0)
    return tries if isinstance(tries, int) else 0


def _settling(record: CallRecord) -> dict[str, Any]:
    """How the outcome of a call was settled, or was tried to be; another program may have written anything."""
    try:
        found: Any = read_json(record.settling or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


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
