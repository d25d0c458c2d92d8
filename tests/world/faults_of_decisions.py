"""Faults in who may do what: owners, approvals, and what a decision is about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from cogency_rs.agent import resumption, stored_state
from cogency_rs.calls import record as records
from cogency_rs.execution import batch as _batch
from cogency_rs.hooks import ToolApproved, approval, approval as agreed_preview
from cogency_rs.storage import log

from .mutation import fault, patched


@fault("whose conversation it is is not checked")
def _no_owner() -> Any:
    async def check(*_: Any) -> None: ...

    with (
        patched(log, "check_user", lambda old: check),
        patched(log, "check_owner", lambda old: lambda *_: None),
    ):
        yield


@fault("no call needs approval")
def _no_need() -> Any:
    async def need(resolved: Any) -> bool:
        return False

    with ExitStack() as stack:
        for place in (approval, resumption):
            stack.enter_context(patched(place, "need_of", lambda old: need))
        yield


@fault("a denial counts as an approval")
def _denial_ignored() -> Any:
    def new(old: Any) -> Any:
        def read(stored: str) -> Any:
            return ToolApproved()

        return read

    with ExitStack() as stack:
        for place in (approval, resumption, stored_state):
            stack.enter_context(patched(place, "read_decision", new))
        yield


def _deciding(change: Callable[[Any, dict[str, Any]], tuple[Any, dict[str, Any]]]) -> Any:
    """Decisions that are taken as others, or for another state of the conversation."""

    def new(old: Any) -> Any:
        async def with_decisions(state: Any, decisions: Any, *others: Any) -> Any:
            state, decisions = change(state, dict(decisions))
            return await old(state, decisions, *others)

        return with_decisions

    return patched(resumption, "with_decisions", new)


def _waiting(state: Any) -> list[str]:
    found = () if state.batch is None else state.batch.records
    return [each.id for each in found if each.decision is None and each.status == "waiting"]


@fault("a decision counts for every call that waits")
def _every_call() -> Any:
    def change(state: Any, decisions: dict[str, Any]) -> Any:
        given = next(iter(decisions.values()), None)
        return state, decisions if given is None else dict.fromkeys(_waiting(state), given)

    with _deciding(change):
        yield


@fault("a decision counts for whatever call waits when it comes")
def _any_call() -> Any:
    def change(state: Any, decisions: dict[str, Any]) -> Any:
        waiting = _waiting(state)
        for id in [id for id in decisions if id not in waiting]:
            decisions = {**dict.fromkeys(waiting, decisions.pop(id)), **decisions}
        return state, decisions

    with _deciding(change):
        yield


@fault("a decision counts for all calls of one tool, as by a provider's id that repeats")
def _by_name() -> Any:
    def change(state: Any, decisions: dict[str, Any]) -> Any:
        known = {each.id: each for each in state.records}
        waiting = _waiting(state)
        for id in list(decisions):
            same = [each for each in waiting if id in known and known[each].name == known[id].name]
            decisions |= dict.fromkeys(same, decisions[id])
        return state, decisions

    with _deciding(change):
        yield


@fault("a later decision replaces an earlier one")
def _later_wins() -> Any:
    def change(state: Any, decisions: dict[str, Any]) -> Any:
        if state.batch is None:
            return state, decisions

        def open_again(each: Any) -> Any:
            is_named = each.id in decisions and each.status in ("saved", "waiting")
            return each._replace(decision=None) if is_named else each

        batch = state.batch._replace(records=tuple(map(open_again, state.batch.records)))
        return replace(state, batch=batch, records=tuple(map(open_again, state.records))), decisions

    with _deciding(change):
        yield


@fault("a digest is not checked when somebody decides, nor before the call runs")
def _no_digest() -> Any:
    with (
        patched(resumption, "shown_digest", lambda old: _same_digest),
        patched(resumption, "call_digest", lambda old: lambda *_: ""),
        patched(approval, "call_digest", lambda old: lambda *_: ""),
        patched(agreed_preview, "refused_as_changed", lambda old: _nothing),
        patched(_batch, "refused_as_changed", lambda old: _nothing),
    ):
        yield


async def _same_digest(resolved: Any) -> str:
    return ""


async def _nothing(invocation: Any) -> None: ...


@fault("an edited call runs as it was written, without a look at the digest")
def _edit_ignored() -> Any:
    def new(old: Any) -> Any:
        def read(stored: str) -> Any:
            found = old(stored)
            return ToolApproved() if isinstance(found, ToolApproved) else found

        return read

    with ExitStack() as stack:
        # The digest of the edited call would stop it, too.
        stack.enter_context(patched(_batch, "refused_as_changed", lambda old: _nothing))
        for place in (approval, resumption, stored_state):
            stack.enter_context(patched(place, "read_decision", new))
        yield


@fault("a decision is not kept while others are missing")
def _decision_lost() -> Any:
    def new(old: Any) -> Any:
        return lambda self: old(self)._replace(decision=None)

    with patched(records.CallRecord, "put_off", new):
        yield
