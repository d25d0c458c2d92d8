"""A call whose outcome is unknown is settled by asking its tool what the world says: `@tool(reconcile=…)`."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, Memory, RunLimits, ToolContext, ToolResult, tool
from cogency_rs.agent import resumption as settling
from cogency_rs.errors import BlockTool, ConfigError
from cogency_rs.execution import Happened, NotHappened, Reconcile, Unknown, UnsettledCall
from cogency_rs.hooks import ToolDenied
from cogency_rs.outside import worker
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Preview
from support.bank import STARTED, Bank, hang, leave, told
from support.clock import in_exact_time
from support.storages import every_log
from support.waiting import until

__all__ = ["every_log"]

pytestmark = pytest.mark.timeout(60)


async def test_a_reconcile_is_told_what_the_log_knows_of_the_call(every_log):
    bank = Bank(Happened("paid"))
    record = await leave(every_log)
    await bank.agent(every_log).resume("c", user_id="ada", deps="the deps")
    assert bank.asked == [
        UnsettledCall(
            id=record.id,
            execution_id=record.id,
            name="pay",
            args={"n": 5},
            conversation_id="c",
            user_id="ada",
            attempt=1,
            started_at=datetime.fromtimestamp(STARTED, UTC),
            worker="far:1",
            deps="the deps",
        )
    ]


async def test_a_call_that_happened_has_the_result_that_was_found_and_is_not_run(every_log):
    bank = Bank(Happened({"receipt": 7}))
    await leave(every_log)
    result = await bank.agent(every_log).resume("c", user_id="ada")
    assert (result.output, bank.paid) == ("done", [])
    [execution] = result.steps[0].executions
    assert (execution.status, execution.value) == ("success", {"receipt": 7})
    assert await told(every_log) == {"receipt": 7}
    [record] = await every_log.calls("c")
    assert (record.status, record.attempt, record.worker) == ("success", 1, "far:1")
    assert (record.started_at, record.result) == (STARTED, None)
    found = json.loads(record.settling)
    assert (found["by"], found["answer"], found["tries"]) == ("reconcile", "happened", 1)


async def test_a_call_that_happened_may_have_failed(every_log):
    bank = Bank(Happened(ToolResult("the account is closed", error=True)))
    await leave(every_log)
    await bank.agent(every_log).resume("c", user_id="ada")
    assert await told(every_log) == "the account is closed"
    [record] = await every_log.calls("c")
    assert record.status == "failure"


async def test_a_call_that_did_not_happen_runs_with_the_same_id_and_its_start_is_noted(every_log):
    bank = Bank(NotHappened())
    left = await leave(every_log)
    result = await bank.agent(every_log).resume("c", user_id="ada")
    assert (result.output, bank.paid) == ("done", [left.id])
    assert await told(every_log) == "paid 5"
    [record] = await every_log.calls("c")
    assert (record.status, record.attempt, record.worker) == ("success", 2, worker())
    assert record.started_at > STARTED
    assert json.loads(record.settling)["answer"] == "not_happened"


DOUBTS: dict[str, tuple[Any, str]] = {
    "an answer that it cannot be told": (Unknown("the bank is closed"), "the bank is closed"),
    "an exception": (OSError("no route"), "its reconcile failed: OSError: no route"),
    "an exit": (SystemExit(3), "its reconcile failed: the tool asked the program to exit with 3"),
    "its own cancellation": (asyncio.CancelledError(), "its reconcile cancelled itself"),
    "its own time limit": (TimeoutError("mine"), "its reconcile failed: TimeoutError: mine"),
    "no answer": (hang, "its reconcile did not answer within 5 s"),
    "True": (True, "must return Happened, NotHappened or Unknown, but returned bool"),
    "None": (None, "must return Happened, NotHappened or Unknown, but returned NoneType"),
    "the class": (NotHappened, "its reconcile must return"),
    "a result that is not JSON": (Happened({1, 2}), "its reconcile gave a result that cannot be"),
}


@pytest.mark.parametrize(("answer", "why"), DOUBTS.values(), ids=DOUBTS)
@in_exact_time
async def test_whatever_else_it_does_the_outcome_stays_unknown(answer, why):
    log = Memory()
    bank = Bank(answer, timeout=5.0, tries=1)
    await leave(log)
    result = await bank.agent(log).resume("c", user_id="ada")
    assert (result.output, bank.paid) == ("done", [])
    text = await told(log)
    assert "It is not known whether the call to 'pay' happened" in text
    assert why in text
    [record] = await log.calls("c")
    assert (record.status, record.attempt, record.worker) == ("unknown", 1, "far:1")
    assert json.loads(record.settling)["answer"] == "unknown"


async def test_it_is_asked_again_if_it_fails_and_only_so_often(monkeypatch):
    monkeypatch.setattr(settling, "pause", lambda tries: 0.0)
    log, answers = Memory(), iter([OSError("no"), OSError("no"), OSError("no"), Happened("paid")])

    async def look(call: UnsettledCall) -> Any:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    @tool(reconcile=look)
    async def pay(n: int) -> None:
        """Pay."""

    await leave(log)
    await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume("c", user_id="ada")
    [record] = await log.calls("c")
    assert (record.status, json.loads(record.settling)["tries"]) == ("unknown", 3)
    assert next(answers).result == "paid"


def not_yet(answers: list[Any], **limits: Any) -> tuple[Any, list[float]]:
    """A tool whose reconcile gives these answers, the last one for ever; and when it was asked."""
    waited: list[float] = []

    async def look(call: UnsettledCall) -> Any:
        waited.append(round(call.waited, 1))
        answer = answers[min(len(waited), len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @tool(reconcile=Reconcile(look, **limits))
    async def pay(n: int) -> str:
        """Pay."""
        return "paid now"

    return pay, waited


YET = Unknown("on its way", again_in=7.0)


@pytest.mark.parametrize(
    ("last", "value"), [(Happened("paid"), "paid"), (NotHappened(), "paid now")]
)
@in_exact_time
async def test_what_is_not_known_yet_is_asked_again_after_a_while(last, value):
    log = Memory()
    pay, waited = not_yet([YET, YET, YET, YET, last], tries=1)
    await leave(log)
    result = await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume(
        "c", user_id="ada"
    )
    assert waited == [0.0, 7.0, 14.0, 21.0, 28.0]
    assert result.steps[0].executions[0].value == value
    [record] = await log.calls("c")
    assert json.loads(record.settling)["tries"] == 1


@pytest.mark.parametrize(
    ("within", "run", "asked"),
    [
        (20.0, None, [0.0, 7.0, 14.0, 20.0]),
        (20.0, 9.0, [0.0, 7.0, 9.0]),
        (3.0, 9.0, [0.0, 3.0]),
    ],
)
@in_exact_time
async def test_it_is_asked_again_only_for_so_long(within, run, asked):
    log = Memory()
    pay, waited = not_yet([YET], within=within)
    await leave(log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=log, limits=RunLimits(seconds=run))
    await agent.resume("c", user_id="ada")
    assert waited == asked
    [record] = await log.calls("c")
    assert (record.status, json.loads(record.settling)["why"]) == ("unknown", "on its way")


@in_exact_time
async def test_what_is_not_known_yet_is_not_a_try_that_failed():
    log = Memory()
    pay, waited = not_yet([OSError("no"), YET, YET, OSError("no"), Happened("paid")], tries=3)
    await leave(log)
    await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume("c", user_id="ada")
    assert len(waited) == 5
    assert await told(log) == "paid"


async def test_a_run_that_waits_to_ask_again_can_be_cancelled(every_log):
    pay, waited = not_yet([YET])
    await leave(every_log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)
    task = asyncio.create_task(agent.resume("c", user_id="ada"))
    await until(lambda: bool(waited), "nobody asked")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [record] = await every_log.calls("c")
    assert record.status == "open"


@pytest.mark.parametrize("seconds", [0, -1, "5", True, float("nan")])
def test_a_time_to_ask_again_is_a_time(seconds):
    with pytest.raises(ConfigError, match="again_in"):
        Unknown(again_in=seconds)
    with pytest.raises(ConfigError, match="within"):
        Reconcile(print, within=seconds)


async def test_tries_count_from_one_run_to_the_next(every_log):
    bank = Bank(Happened("paid"))
    tried = json.dumps({"by": "reconcile", "answer": "unknown", "why": "closed", "tries": 3})
    await leave(every_log, settling=tried)
    await bank.agent(every_log).resume("c", user_id="ada")
    assert bank.asked == []
    assert "closed" in await told(every_log)


async def test_a_reconcile_may_be_a_plain_function():
    log = Memory()

    @tool(reconcile=lambda call: Happened(call.args["n"]))
    async def pay(n: int) -> None:
        """Pay."""

    await leave(log)
    await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume("c", user_id="ada")
    assert await told(log) == 5


async def test_a_plain_function_that_blocks_is_given_up_in_time_and_the_loop_goes_on():
    log, release, threads = Memory(), threading.Event(), list[threading.Thread]()

    def look(call: UnsettledCall) -> Any:
        threads.append(threading.current_thread())
        release.wait()

    @tool(reconcile=Reconcile(look, timeout=0.01, tries=2))
    async def pay(n: int) -> None:
        """Pay."""

    await leave(log)
    try:
        await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume("c", user_id="ada")
    finally:
        release.set()
    assert "its reconcile did not answer within 0.01 s" in await told(log)
    assert threading.current_thread() not in threads


async def test_only_a_call_that_may_have_begun_is_asked_about(every_log):
    bank = Bank(Happened("paid"))
    await leave(every_log, status="saved", attempt=0, started_at=None)
    await bank.agent(every_log).resume("c", user_id="ada")
    assert (len(bank.asked), len(bank.paid)) == (0, 1)


async def test_an_idempotent_tool_is_asked_first_and_runs_again_if_it_cannot_tell():
    log, ran = Memory(), []

    @tool(reconcile=lambda call: Unknown("closed"), idempotent=True)
    async def pay(n: int, context: ToolContext[Any]) -> str:
        """Pay."""
        ran.append(context.execution_id)
        return "paid"

    left = await leave(log)
    await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume("c", user_id="ada")
    [record] = await log.calls("c")
    assert (ran, record.status, record.attempt) == ([left.id], "success", 2)


@pytest.mark.parametrize("tools", [[], ["pay"]], ids=["the tool is gone", "its reconcile is gone"])
async def test_an_upgraded_program_that_cannot_ask_any_more_leaves_the_outcome_unknown(tools):
    log, ran = Memory(), []

    @tool(name="pay")
    async def pay(n: int) -> None:
        """Pay."""
        ran.append(n)

    await leave(log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay] if tools else [], storage=log)
    assert (await agent.resume("c", user_id="ada")).output == "done"
    assert ran == []
    assert "It is not known whether" in await told(log)


async def test_a_call_whose_arguments_no_longer_fit_is_told_as_it_was_written():
    log, asked = Memory(), []

    def look(call: UnsettledCall) -> NotHappened:
        asked.append(call.args)
        return NotHappened()

    @tool(reconcile=look)
    async def pay(amount: float) -> None:
        """Pay."""

    await leave(log)
    await Agent(ScriptedModel(["done"]), tools=[pay], storage=log).resume("c", user_id="ada")
    assert asked == [{"n": 5}]
    [record] = await log.calls("c")
    assert record.status == "failure"


# What is around a call


class Masking(Hooks):
    """Changes results, and notes what it is asked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[str] = []

    async def around_call(self, invocation: Any, next: Any) -> Any:
        found = await next(invocation)
        self.asked.append(invocation.execution(found).status)
        return ToolResult("Success", "masked")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Happened("secret"), ["success"]),
        (Unknown("secret"), ["unknown"]),
        (NotHappened(), ["success"]),
    ],
    ids=["happened", "unknown", "not happened"],
)
async def test_hooks_see_a_result_that_was_found_before_the_model_does(answer, expected):
    log, hooks = Memory(), Masking()
    await leave(log)
    await Bank(answer).agent(log, hooks=[hooks]).resume("c", user_id="ada")
    assert await told(log) == "masked"
    assert hooks.asked == expected


async def mask(invocation: Any, next: Any) -> ToolResult:
    found = await next(invocation)
    return replace(found, content=f"masked {found.content}")


async def refuse(invocation: Any, next: Any) -> ToolResult:
    return ToolResult("not allowed", error=True)


async def fail(invocation: Any, next: Any) -> ToolResult:
    raise OSError("no")


class Blocking(Hooks):
    """Blocks every call."""

    async def around_call(self, invocation: Any, next: Any) -> Any:
        raise BlockTool("closed")


AROUND = {
    "a function that changes the result": (mask, "masked receipt 7"),
    "one that refuses the call": (refuse, "receipt 7"),
    "one that fails before it": (fail, "receipt 7"),
    "hooks that block the call": (Blocking(), "receipt 7"),
}


@pytest.mark.parametrize(("hook", "expected"), AROUND.values(), ids=AROUND)
async def test_functions_around_calls_see_a_result_that_was_found_and_cannot_refuse_it(
    hook, expected
):
    log, bank = Memory(), Bank(Happened("receipt 7"))
    await leave(log)
    await bank.agent(log, hooks=[hook]).resume("c", user_id="ada")
    assert (await told(log), bank.paid) == (expected, [])
    [record] = await log.calls("c")
    assert record.status == "success"


@pytest.mark.parametrize("hook", [refuse, fail, Blocking()], ids=["refuse", "fail", "block"])
async def test_nothing_can_say_of_a_call_that_may_have_happened_that_it_was_not_run(hook):
    log, bank = Memory(), Bank(Unknown("the bank is closed"))
    await leave(log)
    await bank.agent(log, hooks=[hook]).resume("c", user_id="ada")
    assert "It is not known whether the call to 'pay' happened" in await told(log)
    [record] = await log.calls("c")
    assert record.status == "unknown"


async def test_a_hook_that_runs_a_call_again_cannot_have_what_was_found_blocked():
    async def again(invocation: Any, next: Any) -> Any:
        await next(invocation)
        return await next(replace(invocation, attempt=2))

    async def once(invocation: Any, next: Any) -> Any:
        if invocation.attempt > 1:
            raise BlockTool("once is enough")
        return await next(invocation)

    log, bank = Memory(), Bank(Happened("receipt 7"))
    await leave(log)
    run = bank.agent(log, hooks=[again, once]).resume("c", user_id="ada")
    assert "tool_blocked" not in [event["type"] async for event in run]
    assert await told(log) == "receipt 7"


async def test_a_run_that_is_cancelled_while_hooks_see_a_result_keeps_it(every_log):
    seen = asyncio.Event()

    async def wait(invocation: Any, next: Any) -> ToolResult:
        await next(invocation)
        seen.set()
        return await hang()

    bank = Bank(Happened("receipt 7"))
    await leave(every_log)
    run = bank.agent(every_log, hooks=[wait]).resume("c", user_id="ada")

    async def resume() -> None:
        await run

    task = asyncio.create_task(resume())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await told(every_log) == "receipt 7"
    [record] = await every_log.calls("c")
    assert record.status == "success"


class Asking(Hooks):
    """Is around a reconcile, and notes in which order."""

    def __init__(self, name: str, notes: list[str], answer: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self._name, self._notes, self._answer = name, notes, answer

    async def around_reconcile(self, call: UnsettledCall, next: Any) -> Any:
        self._notes.append(f"{self._name} asks about {call.name}")
        if self._answer is not None:
            return self._answer() if callable(self._answer) else self._answer
        answer = await next(replace(call, args={"n": 6}))
        self._notes.append(f"{self._name} reads {type(answer).__name__}")
        return answer


async def test_hooks_are_around_a_reconcile_as_they_are_around_calls(every_log):
    bank, notes = Bank(Happened("paid")), list[str]()
    await leave(every_log)
    hooks = [
        Asking("inner", notes),
        Asking("outer", notes, priority=1),
        Asking("other", notes, matcher="get_*"),
    ]
    await bank.agent(every_log, hooks=hooks).resume("c", user_id="ada")
    assert notes == [
        "outer asks about pay",
        "inner asks about pay",
        "inner reads Happened",
        "outer reads Happened",
    ]
    assert [call.args for call in bank.asked] == [{"n": 6}]
    assert await told(every_log) == "paid"


def broken() -> None:
    raise OSError("no line")


ANSWERS = {
    "an answer": (Happened("known here"), "known here", "success"),
    "no leave to ask": (Unknown("nobody agreed to ask"), "nobody agreed to ask", "unknown"),
    "an exception": (broken, "its reconcile failed: OSError: no line", "unknown"),
    "something else": ("yes", "must return Happened, NotHappened or Unknown", "unknown"),
}


@pytest.mark.parametrize(("answer", "words", "status"), ANSWERS.values(), ids=ANSWERS)
async def test_a_hook_may_answer_for_a_reconcile(answer, words, status):
    log, bank = Memory(), Bank(NotHappened(), tries=1)
    await leave(log)
    hooks = [Asking("mine", [], answer)]
    await bank.agent(log, hooks=hooks).resume("c", user_id="ada")
    assert (bank.asked, bank.paid) == ([], [])
    assert words in await told(log)
    [record] = await log.calls("c")
    assert record.status == status


@in_exact_time
async def test_the_time_of_a_try_holds_for_the_hooks_around_it_too():
    log, bank = Memory(), Bank(NotHappened(), tries=1, timeout=5.0)

    class Slow(Hooks):
        async def around_reconcile(self, call: UnsettledCall, next: Any) -> Any:
            await hang()

    await leave(log)
    await bank.agent(log, hooks=[Slow()]).resume("c", user_id="ada")
    assert "did not answer within 5 s" in await told(log)


YES = json.dumps({"approved": True})


async def test_a_yes_of_before_the_kill_holds_for_a_call_that_did_not_happen(every_log):
    ran: list[int] = []

    @tool(requires_approval=True, reconcile=lambda call: NotHappened())
    async def pay(n: int) -> str:
        """Pay."""
        ran.append(n)
        return "paid"

    await leave(every_log, decision=YES)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)
    assert (await agent.resume("c", user_id="ada")).output == "done"
    assert ran == [5]


async def test_a_yes_does_not_hold_if_the_call_would_do_something_else_by_now(every_log):
    @tool(
        requires_approval=Preview(lambda call: "pays 9"),
        reconcile=lambda call: NotHappened(),
    )
    async def pay(n: int) -> str:
        """Pay."""
        raise AssertionError

    yes = json.dumps({"approved": True, "preview": "pays 5"})
    await leave(every_log, decision=yes)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)
    await agent.resume("c", user_id="ada")
    assert "has changed since it was approved" in await told(every_log)


async def test_a_person_who_is_asked_at_once_is_asked_anew_about_a_call_that_did_not_happen():
    asked: list[Any] = []
    log = Memory()

    @tool(requires_approval=True, reconcile=lambda call: NotHappened())
    async def pay(n: int) -> str:
        """Pay."""
        raise AssertionError

    def approve(ctx: Any, call: Any) -> bool:
        asked.append(call.args)
        return False

    await leave(log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=log, approve=approve)
    await agent.resume("c", user_id="ada")
    assert asked == [{"n": 5}]
    [record] = await log.calls("c")
    assert (record.status, record.attempt) == ("denied", 1)


@pytest.mark.parametrize(
    "answer", [Happened("paid"), Unknown("closed")], ids=["happened", "unknown"]
)
async def test_nobody_is_asked_to_approve_a_call_that_is_not_run(every_log, answer):
    @tool(requires_approval=True, reconcile=lambda call: answer)
    async def pay(n: int) -> str:
        """Pay."""
        raise AssertionError

    await leave(every_log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)
    assert (await agent.resume("c", user_id="ada")).status == "completed"


async def test_a_call_that_did_not_happen_is_approved_before_it_runs(every_log):
    ran: list[int] = []

    @tool(requires_approval=True, reconcile=lambda call: NotHappened())
    async def pay(n: int) -> str:
        """Pay."""
        ran.append(n)
        return "paid"

    left = await leave(every_log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)
    waits = await agent.resume("c", user_id="ada")
    assert (waits.status, [call.id for call in waits.waiting], ran) == ("waiting", [left.id], [])
    [record] = await every_log.calls("c")
    assert (record.status, record.attempt) == ("waiting", 1)
    denied = await agent.resume("c", {left.id: ToolDenied("not now")}, user_id="ada")
    assert (denied.output, ran) == ("done", [])
    [record] = await every_log.calls("c")
    assert (record.status, record.attempt) == ("denied", 1)


async def test_a_run_that_is_cancelled_while_it_asks_leaves_the_log_as_it_was(every_log):
    asked = asyncio.Event()

    async def look(call: UnsettledCall) -> Any:
        asked.set()
        await hang()

    @tool(reconcile=look)
    async def pay(n: int) -> None:
        """Pay."""

    left = await leave(every_log)
    agent = Agent(ScriptedModel(["done"]), tools=[pay], storage=every_log)

    async def resume() -> None:
        await agent.resume("c", user_id="ada")

    run = asyncio.create_task(resume())
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await every_log.calls("c") == [left]


@pytest.mark.parametrize("given", [3, "look", Happened()])
def test_what_is_not_a_function_is_refused(given):
    with pytest.raises(ConfigError, match="reconcile must be a function of a call"):
        tool(reconcile=given)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": "5"}, {"tries": 0}, {"ask": None}])
def test_a_reconcile_with_a_wrong_value_is_refused(options):
    with pytest.raises(ConfigError):
        Reconcile(**{"ask": lambda call: NotHappened(), **options})
