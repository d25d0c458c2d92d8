"""Settling calls whose outcome is unknown, since the program that ran them ended: by asking the world, or a person.

What is found out changes the record of the call, and everything else follows from it: a call that happened is `ended`
with its result, and one that did not is `saved` and may run. The answer stays in the record.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Literal, cast

from ..calls.reconcile import Happened, NotHappened, Outcome, Reconcile, Unknown, UnsettledCall
from ..calls.record import CallRecord, utc, write_new_result
from ..calls.tool_result import as_result, reason, status_of
from ..guards.json_text import read_json
from ..hooks.hooks import Hooks, NextReconcile, has, matches
from ..hooks.retries import pause
from ..outside import time
from ..runs.context import RunContext
from ..storage.log import Row
from ..tools.registry import is_coroutine_function
from ..tools.toolbox import ResolvedCall
from ..tools.workers import in_thread
from ..types import ToolCall
from .stored_state import OpenBatch

__all__ = ["By", "reconciled", "settled", "settled_late", "told_later", "why_unknown"]

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
