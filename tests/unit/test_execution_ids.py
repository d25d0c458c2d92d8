"""`ToolContext.execution_id`: what identifies a call to other services, in every attempt and in every process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Accumulator, Agent, Execution, Memory, ToolCall, ToolContext, tool
from cogency_rs.execution import NotHappened
from cogency_rs.outside import is_uuid7, uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Retries
from support.agents import calls
from support.mcp_servers import program
from support.turns import Log, event

pytestmark = pytest.mark.timeout(60)


class Teller:
    """A tool that tells its id, and fails as often as it is told to."""

    def __init__(self, *, fails: int = 0, **options: Any) -> None:
        self.told: list[str] = []
        self._fails = fails
        self.tell = tool(self._tell, name="tell", description="Tell.", **options)

    async def _tell(self, context: ToolContext[Any]) -> str:
        self.told.append(context.execution_id)
        context.emit({"type": "told"})
        if len(self.told) <= self._fails:
            raise OSError("no")
        return "told"


async def carry_out(teller: Teller, storage: Any, *ids: str | None) -> list[Any]:
    """Carry out calls with these ids of a provider."""

    async def events() -> Any:
        for id in ids:
            call = {"name": "tell", "args": {}} | ({"id": id} if id else {})
            yield event("call", json.dumps(call))
        yield event("execute")

    turn = Accumulator("u", "c", execution=Execution(storage=storage, tools=[teller.tell]))
    return [each async for each in turn.process(events())]


@pytest.mark.parametrize("storage", [Memory, Log], ids=["with records", "without records"])
@pytest.mark.parametrize("id", ["1", "call_0", "x" * 300, None])
async def test_a_provider_s_id_does_not_decide_which_calls_are_the_same(storage, id):
    teller, log = Teller(), storage()
    for _ in range(2):
        await carry_out(teller, log, id, id)
    assert len({*teller.told}) == 4
    for told in teller.told:
        assert len(told) <= 255
        assert is_uuid7(told[:36])
        assert told != id


async def test_the_record_and_the_events_of_a_call_have_the_same_id_as_its_tool():
    teller, log = Teller(), Memory()
    events = await carry_out(teller, log, "1", None)
    assert [record.id for record in await log.calls("c")] == teller.told
    assert [each["execution_id"] for each in events if each["type"] == "told"] == teller.told


async def test_it_is_the_same_in_every_attempt():
    teller, log = Teller(fails=2, idempotent=Retries(2)), Memory()
    agent = Agent(
        ScriptedModel([calls(ToolCall("tell", {})), "done"]), tools=[teller.tell], storage=log
    )
    await agent.run("?", conversation_id="c")
    [record] = await log.calls("c")
    assert teller.told == [record.id] * 3


@pytest.mark.parametrize("id", ["call_0", None])
async def test_it_is_the_same_in_the_program_that_goes_on(id):
    log, batch = Memory(), uuid7()
    teller = Teller(reconcile=lambda call: asked.append(call.execution_id) or NotHappened())
    asked: list[str] = []
    record = CallRecord(id or uuid7(), batch, 3, "tell", attempt=1, started_at=1.0, worker="far:1")
    rows = [("user", "Go.", 1.0), ("call", '{"name": "tell", "args": {}}', 2.0)]
    await log.append("c", rows=rows, calls=[record])
    await Agent(ScriptedModel(["done"]), tools=[teller.tell], storage=log).resume("c")
    assert teller.told == asked == [f"{batch}-3" if id else record.id]


async def test_a_decision_holds_for_a_call_of_an_earlier_version():
    log, teller, batch = Memory(), Teller(requires_approval=True), uuid7()
    record = CallRecord("call_0", batch, 0, "tell", status="waiting")
    rows = [("user", "Go.", 1.0), ("call", '{"name": "tell", "args": {}}', 2.0)]
    await log.append("c", rows=rows, calls=[record])
    agent = Agent(ScriptedModel(["done"]), tools=[teller.tell], storage=log)
    assert (await agent.resume("c", {"call_0": True})).output == "done"
    assert teller.told == [f"{batch}-0"]


@pytest.mark.parametrize("id", ["call_1", "01890a5d-ac96-774b-bcce-b302099a8057", None])
async def test_no_form_of_a_provider_s_id_is_taken_for_ours(id):
    teller, log = Teller(), Memory()
    for _ in range(2):
        await carry_out(teller, log, id, id)
    records = await log.calls("c")
    assert len({record.id for record in records} - {id}) == 4
    assert [record.provider_id for record in records] == [id] * 4
    assert teller.told == [record.id for record in records]


async def test_an_mcp_server_is_told_it():
    log = Memory()
    async with program(name="little") as server:
        agent = Agent(
            ScriptedModel([calls(ToolCall("key", {})), "done"]),
            tools=await server.tools(),
            storage=log,
        )
        result = await agent.run("?", conversation_id="c")
    [record] = await log.calls("c")
    assert result.steps[0].executions[0].value == record.id
