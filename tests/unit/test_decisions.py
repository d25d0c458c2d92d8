"""A decision is about the call that was shown: its name, its arguments and its preview. For any other it is refused."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import PurePosixPath
from typing import Any

import pytest

from cogency_rs import Agent, Memory, ToolCall, tool
from cogency_rs.errors import ConfigError
from cogency_rs.hooks import ToolApproved, ToolDenied
from cogency_rs.models import Finish, ToolCallDelta
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Preview
from support.agents import calls
from support.storages import every_log

__all__ = ["every_log"]

pytestmark = pytest.mark.timeout(60)


class Desk:
    """Pays; what a payment would do depends on the price."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []
        self.price = 1

        @tool(requires_approval=Preview(self.preview), **options)
        async def pay(euros: int) -> str:
            """Pay."""
            self.paid.append(euros)
            return "paid"

        self.pay = pay

    def preview(self, call: ToolCall) -> str:
        if self.price < 0:
            raise OSError("no price")
        return f"pays {call.args['euros']} at {self.price}"

    def agent(self, *answers: Any, storage: Any = None, **options: Any) -> Agent:
        model = ScriptedModel([*answers, "Done.", "Done."])
        return Agent(model, tools=[self.pay], storage=storage or Memory(), **options)


def paying(*euros: int) -> str:
    return calls(*(ToolCall("pay", {"euros": each}) for each in euros))


async def waiting(desk: Desk, *euros: int, **options: Any) -> tuple[Agent, list[str]]:
    agent = desk.agent(paying(*euros), **options)
    result = await agent.run("Pay.", conversation_id="c")
    assert result.status == "waiting"
    return agent, [str(call.id) for call in result.waiting]


async def test_what_is_shown_and_its_digest_are_in_the_list_of_what_waits(every_log):
    desk = Desk()
    agent, [id] = await waiting(desk, 5, storage=every_log)
    [pending] = await agent.pending()
    [record] = await every_log.calls("c")
    assert (pending.id, pending.preview, pending.digest) == (id, "pays 5 at 1", record.digest)
    assert record.digest is not None


async def test_a_call_that_would_do_something_else_by_now_is_shown_again(every_log):
    desk = Desk()
    agent, [id] = await waiting(desk, 5, storage=every_log)
    desk.price = 2
    with pytest.raises(ConfigError, match=r"has changed since it was shown: look at it again"):
        await agent.resume("c", {id: True})
    assert desk.paid == []
    [pending] = await agent.pending()
    assert pending.preview == "pays 5 at 2"
    assert (await agent.resume("c", {id: True})).status == "completed"
    assert desk.paid == [5]


@pytest.mark.parametrize("has_price", [True, False])
async def test_a_call_that_a_killed_program_showed_nobody_is_decided_as_it_is_shown_now(
    every_log, has_price
):
    """It was killed after the calls were in the log, and before anybody was asked."""
    row = ("call", json.dumps({"name": "pay", "args": {"euros": 5}}), 2.0)
    record = CallRecord(uuid7(), uuid7(), 0, "pay", None, "saved")
    await every_log.append("c", user_id="", rows=[("user", "Pay.", 1.0), row], calls=[record])
    desk = Desk()
    desk.price = 1 if has_price else -1
    agent = desk.agent(storage=every_log)
    assert (await agent.resume("c")).status == "waiting"
    desk.price = 2
    with pytest.raises(ConfigError, match=r"has changed since it was shown: look at it again"):
        await agent.resume("c", {record.id: True})
    assert desk.paid == []
    assert (await agent.resume("c", {record.id: True})).status == "completed"
    assert desk.paid == [5]


async def test_a_page_can_name_what_it_showed():
    desk = Desk()
    agent, [id] = await waiting(desk, 5)
    [shown] = await agent.pending()
    desk.price = 2
    with pytest.raises(ConfigError, match="changed"):
        await agent.resume("c", {id: True})
    with pytest.raises(ConfigError, match="changed"):  # a second person, who still sees the first
        await agent.resume("c", {id: ToolApproved(digest=shown.digest)})
    with pytest.raises(ConfigError, match="changed"):
        await agent.resume("c", {id: ToolApproved(preview="pays 5 at 1")})
    assert desk.paid == []
    await agent.resume("c", {id: ToolApproved(preview="pays 5 at 2")})
    assert desk.paid == [5]


async def test_a_denial_holds_whatever_has_changed():
    desk = Desk()
    agent, [id] = await waiting(desk, 5)
    desk.price = 2
    result = await agent.resume("c", {id: False})
    assert (result.status, desk.paid) == ("completed", [])


async def test_a_preview_that_fails_refuses():
    desk = Desk()
    agent, [id] = await waiting(desk, 5)
    desk.price = -1
    with pytest.raises(
        ConfigError, match=r"is refused, since its preview failed: OSError: no price"
    ):
        await agent.resume("c", {id: True})
    assert desk.paid == []


@pytest.mark.parametrize("second", [False, ToolDenied("no"), ToolApproved({"euros": 7})])
async def test_of_two_people_who_decide_otherwise_at_once_the_second_is_refused(every_log, second):
    desk = Desk()
    agent, [id] = await waiting(desk, 5, storage=every_log)
    both = await asyncio.gather(
        agent.resume("c", {id: True}),
        agent.resume("c", {id: second}),
        return_exceptions=True,
    )
    assert desk.paid == [5]
    assert getattr(both[0], "status", None) == "completed"
    assert isinstance(both[1], ConfigError)
    assert "was decided before" in str(both[1])


async def test_of_several_decisions_none_counts_if_one_is_refused():
    desk = Desk()
    agent, [one, two] = await waiting(desk, 5, 6)
    with pytest.raises(ConfigError, match="no such call"):
        await agent.resume("c", {one: True, two: True, "three": True})
    assert desk.paid == []
    assert [each.decision for each in await agent.storage.calls("c")] == [None, None]


async def test_an_edited_call_is_decided_as_edited():
    desk = Desk()
    agent, [id] = await waiting(desk, 5)
    edited = {"euros": 7}
    result = await agent.resume("c", {id: ToolApproved(edited)})
    assert (result.status, desk.paid) == ("completed", [7])
    assert edited == {"euros": 7}


@pytest.mark.parametrize(
    "args", [{"euros": PurePosixPath("/")}, {"euros": {1}}, [("euros", 1)], "{}"]
)
async def test_arguments_that_are_no_json_are_refused_wherever_they_come_from(args):
    with pytest.raises(ConfigError, match="args must be"):
        ToolApproved(args)

    desk = Desk()
    agent = desk.agent(paying(5), approve=lambda context, call: ToolApproved(args))
    await agent.run("Pay.", conversation_id="c")
    [record] = await agent.storage.calls("c")
    assert (record.status, desk.paid) == ("denied", [])
    assert "args must be" in json.loads(record.decision)["message"]


def test_a_reason_that_is_not_text_is_refused():
    reason: Any = OSError("too dear")
    with pytest.raises(ConfigError, match="message must be text"):
        ToolDenied(reason)


async def test_a_decision_stays_as_it_was_made():
    desk, edited = Desk(), {"euros": 7}
    decision = ToolApproved(edited)
    edited["euros"] = 5000
    agent, [id] = await waiting(desk, 5)
    await agent.resume("c", {id: decision})
    assert desk.paid == [7]


async def in_place(invocation: Any, next: Any) -> Any:
    invocation.call.args["euros"] = 5000
    return await next(invocation)


async def replaced(invocation: Any, next: Any) -> Any:
    call = dataclasses.replace(invocation.call, args={"euros": 5000})
    return await next(dataclasses.replace(invocation, call=call))


@pytest.mark.parametrize("hook", [in_place, replaced])
async def test_a_call_that_a_hook_changes_after_the_decision_does_not_run_as_decided(hook):
    desk = Desk()
    agent, [id] = await waiting(desk, 5, hooks=[hook])
    result = await agent.resume("c", {id: True})
    assert (result.status, desk.paid) == ("completed", [])
    [execution] = result.steps[0].executions
    assert execution.status == "denied"
    assert "what was approved was another call" in str(execution.error)


@pytest.mark.parametrize("hook", [in_place, replaced])
async def test_an_approve_is_asked_about_what_a_hook_made_of_the_call(hook):
    desk, asked = Desk(), list[int]()

    def approve(ctx: Any, call: ToolCall) -> bool:
        asked.append(call.args["euros"])
        return True

    await desk.agent(paying(5), hooks=[hook], approve=approve).run("Pay.")
    assert (asked, desk.paid) == ([5000], [5000])


async def test_an_approve_is_asked_again_about_a_call_that_changes_while_it_thinks():
    desk, asked, held = Desk(), list[int](), list[Any]()

    async def hold(invocation: Any, next: Any) -> Any:
        held.append(invocation.call)
        return await next(invocation)

    async def approve(ctx: Any, call: ToolCall) -> bool:
        asked.append(call.args["euros"])
        if len(asked) == 1:
            held[0].args["euros"] = 5000
        return True

    await desk.agent(paying(5), hooks=[hold], approve=approve).run("Pay.")
    assert (asked, desk.paid) == ([5, 5000], [5000])


async def test_a_call_that_changes_each_time_it_is_asked_about_does_not_run():
    desk, asked, held = Desk(), list[int](), list[Any]()

    async def hold(invocation: Any, next: Any) -> Any:
        held.append(invocation.call)
        return await next(invocation)

    async def approve(ctx: Any, call: ToolCall) -> bool:
        asked.append(call.args["euros"])
        held[0].args["euros"] += 1
        return True

    result = await desk.agent(paying(5), hooks=[hold], approve=approve).run("Pay.")
    assert (asked, desk.paid) == ([5, 6, 7], [])
    assert result.steps[0].executions[0].status == "denied"


async def test_what_was_agreed_to_is_what_runs_even_if_the_call_changes_before_its_turn():
    desk, held = Desk(sequential=True), list[Any]()

    async def hold(invocation: Any, next: Any) -> Any:
        held.append(invocation.call)
        return await next(invocation)

    async def approve(ctx: Any, call: ToolCall) -> bool:
        asyncio.get_running_loop().call_soon(held[0].args.update, {"euros": 5000})
        return True

    await desk.agent(paying(5), hooks=[hold], approve=approve).run("Pay.")
    assert desk.paid == [5]


async def test_a_need_that_was_told_of_other_arguments_is_asked_anew():
    ran: list[int] = []

    @tool(requires_approval=lambda call: call.args["euros"] > 100)
    async def pay(euros: int) -> str:
        """Pay."""
        ran.append(euros)
        return "paid"

    for hook in (in_place, replaced):
        model = ScriptedModel([paying(5), "Done."])
        result = await Agent(model, tools=[pay], hooks=[hook]).run("Pay.")
        assert (result.steps[0].executions[0].status, ran) == ("denied", [])


@pytest.mark.parametrize("decisions", [(False, True), (True, False), (True, True), (False, False)])
async def test_ids_that_a_provider_repeats_decide_about_nothing(every_log, decisions):
    desk = Desk()
    deltas = [
        ToolCallDelta(number, "call_1", "pay", json.dumps({"euros": euros}))
        for number, euros in enumerate((999, 5))
    ]
    agent = desk.agent([*deltas, Finish("tool_calls")], storage=every_log, driver="native")
    result = await agent.run("Pay.", conversation_id="c")
    with pytest.raises(ConfigError, match="no such call"):
        await agent.resume("c", {"call_1": True})
    ids = [str(call.id) for call in result.waiting]
    await agent.resume("c", dict(zip(ids, decisions, strict=True)))
    assert desk.paid == [euros for euros, yes in zip((999, 5), decisions, strict=True) if yes]
