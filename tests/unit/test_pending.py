"""What waits for a person, across conversations, and what a person says about calls whose outcome is unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Agent, Memory, RunLimits, ToolResult, tool
from cogency_rs.agent import PendingCall
from cogency_rs.errors import BusyError, ConfigError, OwnerError
from cogency_rs.execution import Happened, NotHappened
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.agents import calls
from support.storages import every_log

__all__ = ["every_log"]

pytestmark = pytest.mark.timeout(60)

STARTED = 1_000.5
CALL = '{"name": "pay", "args": {"n": 1}}'
ENDED = {
    "status": "success",
    "outcome": "Success",
    "content": 1,
    "error": False,
    "exception": ["", ""],
}


async def leave(
    log: Any, conversation: str, user: str, *states: str, **fields: Any
) -> list[CallRecord]:
    """Leave a conversation as a killed program does: with a batch of calls in these states."""
    batch = uuid7()
    records = [
        CallRecord(uuid7(), batch, place, "pay", None, "open", 1, STARTED, None, "far:1")._replace(
            **fields
        )
        for place in range(len(states))
    ]
    rows = [("user", "Go.", 1.0)]
    rows += [
        ("call", json.dumps({"name": "pay", "args": {"n": n}}), 2.0) for n in range(len(states))
    ]
    await log.append(conversation, user_id=user, rows=rows, calls=records)
    now = [record._replace(status=status) for record, status in zip(records, states, strict=True)]
    await log.append(conversation, user_id=user, rows=(), calls=now)
    return now


class Payer:
    """An agent that can pay.

    Attributes:
        paid: what it has paid.
    """

    def __init__(self, log: Any, **options: Any) -> None:
        self.paid: list[int] = []

        async def pay(n: int) -> str:
            self.paid.append(n)
            return f"paid {n}"

        made = tool(
            pay, description="Pay.", requires_approval=options.pop("requires_approval", False)
        )
        self.agent = Agent(ScriptedModel(["done"] * 3), tools=[made], storage=log, **options)


async def test_calls_that_wait_are_listed_across_conversations(every_log):
    [waiting] = await leave(
        every_log, "a", "ada", "waiting", attempt=0, started_at=None, worker=None
    )
    _, unknown, opened, _ = await leave(
        every_log, "b", "bob", "success", "unknown", "open", "ended"
    )
    await leave(every_log, "c", "ada", "saved", "denied", "cancelled")
    agent = Payer(every_log, requires_approval=True).agent
    listed = await agent.pending()
    assert [(call.conversation_id, call.user_id, call.id, call.needs) for call in listed] == [
        ("a", "ada", waiting.id, "approval"),
        ("b", "bob", unknown.id, "settling"),
        ("b", "bob", opened.id, "settling"),
    ]
    assert [call.args for call in listed] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [call.worker for call in listed] == [None, "far:1", "far:1"]
    assert listed[1].started_at.timestamp() == STARTED
    assert [call.id for call in await agent.pending("ada")] == [waiting.id]
    assert await agent.pending("nobody") == []


async def test_a_call_that_only_waits_for_another_or_is_decided_is_not_listed(every_log):
    await leave(every_log, "a", "", "waiting")
    assert await Payer(every_log).agent.pending() == []  # its tool needs no approval
    await leave(every_log, "b", "", "waiting", decision='{"approved": true}')
    [listed] = await Payer(every_log, requires_approval=True).agent.pending()
    assert listed.conversation_id == "a"


async def test_what_a_run_that_waits_says_is_what_is_listed(every_log):
    agent = Payer(every_log, requires_approval=True).agent
    agent = Agent(ScriptedModel([calls("pay"), "done"]), tools=agent.tools, storage=every_log)
    result = await agent.run("?", conversation_id="c", user_id="ada")
    [listed] = await agent.pending()
    assert [listed.id] == [call.id for call in result.waiting]
    assert (listed.name, listed.args, listed.needs) == ("pay", {}, "approval")


async def test_a_conversation_that_a_run_has_is_left_out(every_log):
    await leave(every_log, "a", "", "open")
    agent = Payer(every_log).agent
    async with every_log.claim("a"):
        assert await agent.pending() == []
    assert len(await agent.pending()) == 1


async def test_calls_without_a_row_do_not_mix_up_the_arguments_of_others(every_log):
    batch = uuid7()
    early = CallRecord(uuid7(), batch, 0, "pay", status="cancelled", decision='{"dropped": "why"}')
    await every_log.append("a", rows=[("call", '{"name": "old", "args": {}}', 0.5)])
    await every_log.append("a", rows=(), calls=[early])
    await leave(every_log, "a", "", "success", "unknown")
    [listed] = await Payer(every_log).agent.pending()
    assert listed.args == {"n": 1}


# Settling


async def test_a_result_that_a_person_gives_is_what_the_model_reads_after_a_resume(every_log):
    [left] = await leave(every_log, "a", "ada", "open")
    payer = Payer(every_log)
    settled = await payer.agent.settle("a", left.id, {"receipt": 7}, user_id="ada")
    assert settled.status == "ended"
    assert [settled] == await every_log.calls("a")
    assert await payer.agent.pending() == []
    result = await payer.agent.resume("a", user_id="ada")
    assert (result.output, payer.paid) == ("done", [])
    assert result.steps[0].executions[0].value == {"receipt": 7}
    [record] = await every_log.calls("a")
    assert (record.status, record.attempt, record.worker) == ("success", 1, "far:1")
    assert json.loads(record.settling)["by"] == "person"


async def test_a_call_that_did_not_happen_runs_with_the_next_resume(every_log):
    [left] = await leave(every_log, "a", "", "open")
    payer = Payer(every_log)
    await payer.agent.settle("a", left.id, NotHappened())
    assert payer.paid == []
    assert (await payer.agent.resume("a")).output == "done"
    [record] = await every_log.calls("a")
    assert (payer.paid, record.status, record.attempt) == ([0], "success", 2)


TOLD = {
    "a result": ("receipt 7", "success", 'it happened: "receipt 7"'),
    "Happened": (Happened({"receipt": 7}), "success", 'it happened: {"receipt": 7}'),
    "None": (None, "success", "it happened: Success"),
    "a failure": (ToolResult("closed", error=True), "failure", "it failed: closed"),
    "NotHappened": (NotHappened(), "cancelled", "it did not happen"),
}


class Listening:
    """A model that keeps what it was asked.

    Attributes:
        read: what it read last.
    """

    def __init__(self) -> None:
        self.read: list[Any] = []

    async def __call__(self, messages: Any) -> Any:
        self.read = [each["content"] for each in messages]
        yield "I see."


async def told(log: Any) -> CallRecord:
    """Leave a conversation whose model was told that the outcome of its call is unknown."""
    [left] = await leave(log, "a", "", "unknown", completed_at=STARTED)
    await log.append("a", rows=[("result", "[]", 3.0), ("respond", "I do not know.", 4.0)])
    return left


@pytest.mark.parametrize(("result", "status", "words"), TOLD.values(), ids=TOLD)
async def test_a_model_that_was_told_that_a_call_is_unknown_reads_what_was_found_out(
    every_log, result, status, words
):
    left = await told(every_log)
    before = (await every_log.read("a")).rows
    agent = Agent(model := Listening(), storage=every_log)
    assert len(await agent.pending()) == 1
    settled = await agent.settle("a", left.id, result)
    assert (settled.status, settled.completed_at, settled.result) == (status, STARTED, None)
    assert await every_log.calls("a") == [settled]
    *rows, news = (await every_log.read("a")).rows
    assert (rows, news["type"]) == (before, "settled")  # what it has read stays as it is
    assert await agent.pending() == []
    text = (
        "It was not known whether your call to 'pay' with the arguments {\"n\": 0} happened. "
        f"Now it is known: {words}"
    )
    assert (await agent.run("So?", conversation_id="a")).output == "I see."
    assert model.read[-1] == f"{text}\n\nSo?"
    await agent.run("And?", conversation_id="a")
    assert [each for each in model.read if text in each]


async def test_a_resume_lets_the_model_answer_to_what_was_found_out(every_log):
    left = await told(every_log)
    agent = Agent(model := Listening(), storage=every_log)
    assert (await agent.resume("a")).output == "I do not know."
    await agent.settle("a", left.id, "receipt 7")
    assert (await agent.resume("a")).output == "I see."
    assert "receipt 7" in model.read[-1]


@pytest.mark.parametrize("status", ["open", "waiting", "ended"])
async def test_what_was_found_out_is_shown_after_calls_that_had_no_results(every_log, status):
    left = await told(every_log)
    later = CallRecord(uuid7(), uuid7(), 0, "pay")
    rows = [("user", "Once more.", 5.0), ("respond", "Again.", 6.0), ("call", CALL, 7.0)]
    await every_log.append("a", rows=rows, calls=[later])
    fields = {"result": json.dumps(ENDED)} if status == "ended" else {}
    later = later._replace(status=status, **fields)
    await every_log.append("a", rows=(), calls=[later])
    agent = Agent(model := Listening(), storage=every_log)
    await agent.settle("a", left.id, "receipt 7")
    assert (await every_log.calls("a"))[1] == later
    rows = (await every_log.read("a")).rows
    assert [row["type"] for row in rows[-4:]] == ["user", "respond", "call", "settled"]
    await agent.run("So?", conversation_id="a")
    told_last = model.read[-1]
    places = [told_last.index(each) for each in ("<results>", "receipt 7", "So?")]
    assert places == sorted(places)
    assert "It was not known" not in "".join(model.read[:-1])
    assert (await every_log.calls("a"))[1].status in ("unknown", "denied", "success")


REFUSED = {
    "a call that ended": (
        "success",
        {"completed_at": 2.0},
        "is over (success), so there is nothing",
    ),
    "one whose result is known": ("ended", {"completed_at": 2.0}, "is over (ended)"),
    "one that has not begun": ("saved", {}, "has not begun (saved)"),
    "one that waits": ("waiting", {}, "has not begun (waiting)"),
}


@pytest.mark.parametrize(("status", "fields", "words"), REFUSED.values(), ids=REFUSED)
async def test_a_call_whose_outcome_is_not_unknown_is_not_settled(every_log, status, fields, words):
    left = await leave(every_log, "a", "", status, **fields)
    with pytest.raises(ConfigError) as caught:
        await Payer(every_log).agent.settle("a", left[0].id, "paid")
    assert words in str(caught.value)
    assert await every_log.calls("a") == left


async def test_what_cannot_be_settled_is_one_clear_error_and_changes_nothing(every_log):
    left = await leave(every_log, "a", "ada", "open")
    agent = Payer(every_log, limits=RunLimits(on_busy="error")).agent
    with pytest.raises(ConfigError, match=r"conversation 'a' has no call 'x'"):
        await agent.settle("a", "x", 1, user_id="ada")
    with pytest.raises(OwnerError):
        await agent.settle("a", left[0].id, 1, user_id="bob")
    with pytest.raises(ConfigError, match="must be a JSON value"):
        await agent.settle("a", left[0].id, {1, 2}, user_id="ada")
    with pytest.raises(ConfigError, match="call_id must be"):
        await agent.settle("a", 5, 1, user_id="ada")
    assert await every_log.calls("a") == left


async def test_a_conversation_that_runs_is_not_settled():
    log = Memory()
    [left] = await leave(log, "a", "", "open")
    busy: list[Any] = []

    @tool
    async def settle() -> str:
        """Settle a call of the conversation in which this runs."""
        try:
            await agent.settle("a", left.id, "paid")
        except BusyError as error:
            busy.append(error)
        return "tried"

    agent = Agent(
        ScriptedModel([calls("settle"), "done"]),
        tools=[settle],
        storage=log,
        limits=RunLimits(on_busy="error"),
    )
    await agent.run("?", conversation_id="a")
    assert len(busy) == 1


async def test_calls_to_which_a_provider_gave_one_id_are_told_apart():
    log, agent = Memory(), Payer(Memory()).agent
    agent = Agent(ScriptedModel([]), storage=log)
    for number, status in enumerate(["unknown", "unknown", "success"]):
        record = CallRecord("call_0", f"b{number}", 0, "pay", status=status, completed_at=2.0)
        await log.append(
            "a",
            rows=[("call", '{"name": "pay", "args": {}}', 1.0)],
            calls=[record._replace(status="open")],
        )
        await log.append("a", rows=(), calls=[record])
    assert [each.id for each in await agent.pending()] == ["b0-0", "b1-0"]
    with pytest.raises(ConfigError, match="no call 'call_0'"):
        await agent.settle("a", "call_0", "paid")
    await agent.settle("a", "b1-0", "paid")
    await agent.settle("a", "b0-0", NotHappened())
    assert [each.status for each in await log.calls("a")] == ["cancelled", "success", "success"]


async def test_a_storage_that_keeps_no_calls_says_so():
    class Rows:
        """A storage that keeps nothing but rows."""

        async def save_message(self, *row: Any) -> None: ...

        async def load_messages(self, *which: Any, **options: Any) -> list[Any]:
            return []

    agent = Agent(ScriptedModel([]), storage=Rows())
    with pytest.raises(ConfigError, match="is not a Log"):
        await agent.settle("a", "x", 1)
    with pytest.raises(ConfigError, match="has no method unsettled_calls"):
        await agent.pending()


def test_a_pending_call_is_a_value():
    assert PendingCall.__dataclass_params__.frozen
