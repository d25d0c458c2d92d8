"""A program that goes on with what an earlier one left, and whose tools are not the same any longer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Agent, tool
from cogency_rs.execution import Happened, NotHappened
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.storages import every_log

__all__ = ["every_log"]

pytestmark = pytest.mark.timeout(60)

YES = json.dumps({"approved": True})

LEFT: dict[str, dict[str, Any]] = {
    "a call that had not begun": {"status": "saved", "attempt": 0},
    "a call that somebody has agreed to": {"status": "waiting", "attempt": 0, "decision": YES},
    "a call that may have begun": {"status": "open"},
    "a call that ended": {
        "status": "ended",
        "completed_at": 3.0,
        "result": json.dumps(
            {
                "status": "success",
                "outcome": "Success",
                "content": "paid 5",
                "error": False,
                "exception": ["", ""],
            }
        ),
    },
}


async def leave(log: Any, *, status: str, **fields: Any) -> CallRecord:
    """Leave a conversation as a killed program does: with a call of `pay` in this state."""
    record = CallRecord(
        uuid7(), uuid7(), 0, "pay", attempt=fields.pop("attempt", 1), worker="far:1"
    )
    rows = [("user", "Go.", 1.0), ("call", json.dumps({"name": "pay", "args": {"n": 5}}), 2.0)]
    await log.append("c", user_id="", rows=rows, calls=[record])
    record = record._replace(status=status, **fields)
    await log.append("c", user_id="", rows=(), calls=[record])
    return record


def pay_of(ran: list[Any], **options: Any) -> Any:
    """The same tool, with another schema."""

    async def pay(amount: float) -> str:
        ran.append(amount)
        return "paid"

    return tool(pay, description="Pay.", **options)


GONE: dict[str, tuple[str, str]] = {
    "a call that had not begun": ("failure", "pay"),
    "a call that somebody has agreed to": ("failure", "pay"),
    "a call that may have begun": ("unknown", "It is not known whether the call to 'pay' happened"),
    "a call that ended": ("success", "paid 5"),
}


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "another schema"])
@pytest.mark.parametrize("left", LEFT)
async def test_a_tool_that_is_gone_or_has_another_schema_fails_what_has_not_begun_and_no_more(
    every_log, left, is_gone
):
    record, ran = await leave(every_log, **LEFT[left]), list[Any]()
    tools = [] if is_gone else [pay_of(ran, requires_approval="decision" in LEFT[left])]
    mine = Agent(ScriptedModel(["done"]), tools=tools, storage=every_log)
    result = await mine.resume("c")
    assert (result.output, ran) == ("done", [])
    [execution] = result.steps[0].executions
    status, words = GONE[left]
    assert execution.status == status
    assert words in (execution.error or execution.value)
    await whole(every_log, record, status)


async def whole(log: Any, left: CallRecord, status: str) -> None:
    """Check that the log is whole: each call has its result, and is settled."""
    [record] = await log.calls("c")
    assert (record.id, record.status) == (left.id, status)
    assert await log.open_calls("c") == []
    kinds = [row["type"] for row in (await log.read("c")).rows]
    assert kinds == ["user", "call", "result", "respond"]


async def test_a_schema_that_no_longer_fits_is_named(every_log):
    await leave(every_log, status="saved", attempt=0)
    mine = Agent(ScriptedModel(["done"]), tools=[pay_of([])], storage=every_log)
    result = await mine.resume("c")
    assert "amount" in str(result.steps[0].executions[0].error)


@pytest.mark.parametrize(
    ("answer", "status"),
    [(Happened("paid 5"), "success"), (NotHappened(), "failure")],
    ids=["happened", "not happened"],
)
async def test_a_reconcile_counts_although_the_schema_is_another_one(every_log, answer, status):
    record, ran = await leave(every_log, status="open"), list[Any]()
    tools = [pay_of(ran, reconcile=lambda call: answer)]
    mine = Agent(ScriptedModel(["done"]), tools=tools, storage=every_log)
    assert (await mine.resume("c")).output == "done"
    assert ran == []
    await whole(every_log, record, status)


async def test_a_call_that_waits_for_a_tool_that_is_gone_can_be_decided_and_is_not_run(every_log):
    record = await leave(every_log, status="waiting", attempt=0)
    mine = Agent(ScriptedModel(["done"]), storage=every_log)
    [pending] = await mine.pending()
    assert (pending.id, pending.needs) == (record.id, "approval")
    assert (await mine.resume("c", {record.id: True})).output == "done"
    await whole(every_log, record, "failure")
