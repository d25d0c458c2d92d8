"""Faults of calls: what is done after a crash, what is told of them, and their keys."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from cogency_rs.agent import resumption, resumption as settling, stored_state
from cogency_rs.agent.stored_state import RunLog
from cogency_rs.calls import record as records, tool_result
from cogency_rs.execution import batch as _batch
from cogency_rs.tools import options as tool_options
from cogency_rs.turn import turn_log

from .mutation import fault, patched


@fault("a call that may have begun is run again")
def _run_again() -> Any:
    def new(old: Any) -> Any:
        def not_twice(calls: Any, found: Any) -> Any:
            return list(found)

        return not_twice

    with patched(resumption, "not_twice", new):
        yield


@fault("the start of a call that waited is not noted")
def _start_not_noted() -> Any:
    async def begin(self: Any, index: int, attempts: int, first: float) -> None: ...

    with patched(turn_log.TurnLog, "begin", lambda old: begin):
        yield


@fault("a call counts as not begun from its row on")
def _born_saved() -> Any:
    def new(old: Any) -> Any:
        def _new(self: Any, calls: Any, status: Any) -> Any:
            return old(self, calls, "saved" if status == "open" else status)

        return _new

    async def begin(self: Any, index: int, attempts: int, first: float) -> None: ...

    with (
        patched(turn_log.TurnLog, "_new", new),
        patched(turn_log.TurnLog, "begin", lambda old: begin),
    ):
        yield


@fault("calls are given up without results")
def _not_given_up() -> Any:
    def new(old: Any) -> Any:
        async def before(*args: Any, **given: Any) -> Any:
            return replace(await old(*args, **given), batch=None)

        return staticmethod(before)

    with patched(stored_state.StoredState, "before_question", new):
        yield


@fault("a call that may have happened is told as not run")
def _told_not_run() -> Any:
    def new(old: Any) -> Any:
        def unknown(name: str, why: str = "") -> Any:
            return tool_result.failure(f"Tool '{name}' was not run", None, "cancelled")

        return unknown

    with ExitStack() as stack:
        for place in (records, resumption):
            stack.enter_context(patched(place, "unknown", new))
        yield


@fault("a result that was noted is forgotten, and the call is told as failed")
def _end_forgotten() -> Any:
    def new(old: Any) -> Any:
        def of(record: Any) -> Any:
            return records.KnownEnd(tool_result.failure("it failed", None, "failure"))

        return of

    with patched(records.KnownEnd, "of", lambda old: staticmethod(new(old))):
        yield


@fault("reconcile says that it did not happen, and it counts as happened")
def _not_happened_ignored() -> Any:
    def new(old: Any) -> Any:
        def settled(record: Any, outcome: Any, by: Any, *, tries: int = 1) -> Any:
            if isinstance(outcome, settling.NotHappened):
                outcome = settling.Happened({"done": True})
            return old(record, outcome, by, tries=tries)

        return settled

    with patched(settling, "settled", new):
        yield


@fault("reconcile says that it happened, and the call is run")
def _happened_ignored() -> Any:
    def new(old: Any) -> Any:
        def settled(record: Any, outcome: Any, by: Any, *, tries: int = 1) -> Any:
            if isinstance(outcome, settling.Happened):
                outcome = settling.NotHappened()
            return old(record, outcome, by, tries=tries)

        return settled

    with patched(settling, "settled", new):
        yield


@fault("what a person found out is told the other way round")
def _told_wrong() -> Any:
    def new(old: Any) -> Any:
        def told(record: Any, call: Any, outcome: Any) -> Any:
            is_happened = isinstance(outcome, settling.Happened)
            turned = settling.NotHappened() if is_happened else settling.Happened("yes")
            return old(record, call, turned)

        return told

    with patched(settling, "told_later", new):
        yield


@fault("the results of a batch come in another order")
def _turned_results() -> Any:
    def new(old: Any) -> Any:
        def results(self: Any, first: int = 0) -> Any:
            return list(reversed(old(self, first)))

        return results

    kind = next(
        each for each in vars(_batch).values() if isinstance(each, type) and "results" in vars(each)
    )
    with patched(kind, "results", new):
        yield


@fault("the idempotency key is the place in the batch")
def _key_is_place() -> Any:
    with patch.object(
        records.CallRecord, "execution_id", property(lambda self: f"{self.name}-{self.position}")
    ):
        yield


@fault("the idempotency key changes with each attempt")
def _key_of_attempt() -> Any:
    with patch.object(
        records.CallRecord, "execution_id", property(lambda self: f"{self.id}-{self.attempt}")
    ):
        yield


@fault("every tool may be run twice")
def _all_idempotent() -> Any:
    with patch.object(tool_options.ToolOptions, "may_run_twice", property(lambda self: True)):
        yield


@fault("a question is saved twice")
def _question_twice() -> Any:
    def new(old: Any) -> Any:
        async def append(self: Any, rows: Any, calls: Any = ()) -> Any:
            await old(self, rows, calls)
            if any(row[0] == "user" for row in rows):
                await old(self, [row for row in rows if row[0] == "user"])

        return append

    with patched(RunLog, "append", new):
        yield


@fault("a fork takes calls without results along")
def _fork_open() -> Any:
    from cogency_rs.agent import stored_state as place

    with patched(place, "rows_before_open_calls", lambda old: len):
        yield
