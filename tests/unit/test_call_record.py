"""The record of a call: its states, who may change them, and that nothing is derived from an exception and back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from cogency_rs import Agent, Memory, ToolCall, ToolResult, tool
from cogency_rs.calls.record import (
    BEGUN,
    ENDS,
    IN_DOUBT,
    STATES,
    TRANSITIONS,
    Actor,
    CallRecord,
    KnownEnd,
    digest_of,
    write_result,
)
from cogency_rs.calls.tool_result import failure, failure_of, status_of
from cogency_rs.errors import BlockTool, DeniedError, StorageError, ToolError, UnknownOutcome
from cogency_rs.outside import uuid7
from cogency_rs.storage import rows as stored_rows
from cogency_rs.testing import ScriptedModel
from support.agents import calls
from support.storages import every_log

__all__ = ["every_log"]

TABLE = Path(__file__).parent.parent / "calls" / "transitions.jsonl"
ACTORS = get_args(Actor)


def record(status: Any, **fields: Any) -> CallRecord:
    return CallRecord(uuid7(), uuid7(), 0, "pay", status=status, **fields)


def test_the_table_is_the_one_that_the_core_is_held_to() -> None:
    rows = [json.loads(line) for line in TABLE.read_text().splitlines()]
    listed = {(row["from"], row["to"]): set(row["by"]) for row in rows}
    assert len(listed) == len(rows)
    assert listed == {
        (before or "new", after): {*by} for (before, after), by in TRANSITIONS.items()
    }


def test_every_change_is_made_by_those_whom_the_table_names_and_by_nobody_else() -> None:
    for before in STATES:
        for after in STATES:
            for by in ACTORS:
                if by in TRANSITIONS.get((before, after), ()):
                    assert record(before).to(after, by).status == after
                else:
                    with pytest.raises(ValueError, match=f"is {before}, and {by} may not"):
                        record(before).to(after, by)


def test_what_may_have_begun_becomes_what_has_not_only_by_somebody_who_found_out() -> None:
    """A run of its own batch knows that it began none of its calls; that is the only exception."""
    for (before, after), by in TRANSITIONS.items():
        if before in BEGUN and after in ("saved", "waiting"):
            assert by <= {"person", "reconcile"} or (before, after, by) == (
                "open",
                "waiting",
                {"run"},
            )


def test_every_state_in_doubt_can_be_settled_by_the_run_that_takes_over() -> None:
    for state in IN_DOUBT:
        assert any(
            "successor" in by and after in ENDS
            for (before, after), by in TRANSITIONS.items()
            if before == state
        ), state


def test_a_state_that_no_table_has_is_an_error_that_says_so() -> None:
    odd = record("suspended")
    for use in (lambda: odd.to("open", "run"), odd.check_state):
        with pytest.raises(StorageError, match=r"in the state 'suspended', which .* pip install"):
            use()


async def test_a_resume_and_a_question_say_so_too_and_write_nothing(every_log, monkeypatch) -> None:
    log = every_log
    monkeypatch.setattr(stored_rows, "STATES", {"suspended"})  # as in a later version
    rows = [("user", "Pay.", 1.0), ("call", '{"name": "pay", "args": {}}', 2.0)]
    await log.append("c", rows=rows, calls=[record("suspended")])
    agent = Agent(ScriptedModel(["Done."]), storage=log)
    for go_on in (agent.resume("c"), agent.run("And?", conversation_id="c")):
        with pytest.raises(StorageError, match="'suspended'"):
            await go_on
    page = await log.read("c")
    assert [row["type"] for row in page.rows] == ["user", "call"]


async def test_calls_come_in_the_order_of_their_rows_whatever_clocks_made_of_their_batches(
    every_log,
) -> None:
    """A later worker's clock is an hour slow, so the id of its batch is smaller."""
    batches = [uuid7(), "00000000-0000-7000-8000-000000000000"]
    for number, batch in enumerate(batches):
        made = CallRecord(uuid7(), batch, 0, f"tool{number}")
        call = ("call", json.dumps({"name": made.name, "args": {"n": number}}), 2.0)
        await every_log.append("c", user_id="", rows=[("user", "?", 1.0), call], calls=[made])
    assert [each.batch for each in await every_log.calls("c")] == batches
    pending = await Agent(ScriptedModel([]), storage=every_log).pending()
    assert [(each.name, each.args) for each in pending] == [
        ("tool0", {"n": 0}),
        ("tool1", {"n": 1}),
    ]
    async with every_log.claim("c"):
        assert [each.batch for each in await every_log.open_calls("c")] == batches


@pytest.mark.parametrize("status", sorted(ENDS - {"success"}))
def test_how_a_call_ended_comes_back_from_its_record_as_it_was_stored(status) -> None:
    ended = record("ended", result=write_result(failure("no", OSError("gone"), status)))
    result = KnownEnd.of(ended).result
    assert (status_of(result), result.outcome, str(result.exception)) == (status, "no", "gone")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BlockTool("no"), "blocked"),
        (DeniedError("no"), "denied"),
        (UnknownOutcome("no"), "unknown"),
        (ToolError("no", timeout=True), "timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (ToolError("no"), "failure"),
        (KeyError("no"), "failure"),
    ],
)
def test_what_a_tool_raised_says_once_how_the_call_ended(error, status) -> None:
    result = failure_of(error)
    result.exception = None
    assert status_of(result) == status


def test_a_hook_that_makes_a_success_of_a_failure_makes_one() -> None:
    result = failure("no", None, "timeout")
    result.error = False
    assert status_of(result) == "success"
    assert status_of(ToolResult("no", error=True)) == "failure"


def test_a_digest_tells_apart_all_that_a_person_is_shown() -> None:
    shown = [
        ("pay", None, {"a": 1}, None),
        ("pay", None, {"a": 1.0}, None),
        ("pay", None, {"a": True}, None),
        ("pay", None, {"a": "1"}, None),
        ("pay", None, {"a": float("nan")}, None),
        ("pay", None, {"a": None}, None),
        ("pay", "s", {"a": 1}, None),
        ("payout", None, {"a": 1}, None),
        ("pay", None, {"a": 1}, ""),
        ("pay", None, {"a": 1}, "pays"),
        ("pay", None, {"\ud800": 1}, "\udfff"),
    ]
    assert len({digest_of(*each) for each in shown}) == len(shown)
    assert digest_of("pay", None, {"a": 1, "b": 2}) == digest_of("pay", None, {"b": 2, "a": 1})


@tool
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def test_the_records_of_a_run_are_settled_by_the_table() -> None:
    log = Memory()
    model = ScriptedModel([calls(ToolCall("add", {"a": 1, "b": 2}), ToolCall("no", {})), "3"])
    result = await Agent(model, tools=[add], storage=log).run("?", conversation_id="c")
    assert [each.record for each in result.steps[0].executions] == await log.calls("c")
    assert [each.status for each in await log.calls("c")] == ["success", "failure"]
