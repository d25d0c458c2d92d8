"""Hooks around calls, approval, and the records of calls."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import inspect
import json
from time import time
from typing import Any

import pytest

from cogency_rs import Approval, CallOptions, Hooks, ToolCall, ToolResult
from cogency_rs.errors import BlockTool, SkipTool
from cogency_rs.execution import ToolExecution
from cogency_rs.hooks import Invocation, Next, ToolApproved, ToolDenied
from cogency_rs.outside import worker
from cogency_rs.tools import ToolOptions
from support.batches import executions
from support.clock import in_exact_time
from support.tools import OK, SOON, FunctionTool, Waiting, call, raises, returns, rounds

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(20)]

variable = contextvars.ContextVar("variable", default="unset")


def statuses(found: list[ToolExecution]) -> list[str]:
    return [made.status for made in found]


class Journal(Hooks):
    """Hooks that note their calls."""

    def __init__(self, journal: list[str], name: str = "hook", **options: Any) -> None:
        super().__init__(**options)
        self.journal, self.name = journal, name

    async def around_call(self, invocation: Invocation, next: Next) -> ToolResult:
        call = invocation.call
        self.journal.append(f"{self.name} before {call.name}{call.args.get('n', '')}")
        await rounds(3 - call.args.get("n", 0))
        result = await next(invocation)
        execution = invocation.execution(result)
        self.journal.append(f"{self.name} after {execution.name}: {execution.status}")
        return result


class Before(Hooks):
    """Hooks that do something before every call; what it returns is carried out."""

    def __init__(self, does: Any, **options: Any) -> None:
        super().__init__(**options)
        self.does = does

    async def around_call(self, invocation: Invocation, next: Next) -> ToolResult:
        given = self.does(invocation)
        if inspect.isawaitable(given):
            given = await given
        return await next(dataclasses.replace(invocation, call=given))


class After(Hooks):
    """Hooks that make another result of every result."""

    def __init__(self, does: Any, **options: Any) -> None:
        super().__init__(**options)
        self.does = does

    async def around_call(self, invocation: Invocation, next: Next) -> ToolResult:
        result = self.does(invocation, await next(invocation))
        assert isinstance(result, ToolResult)
        return result


async def test_calls_reach_hooks_in_call_order_and_none_waits_for_another():
    journal: list[str] = []

    async def work(n: int, **_: Any) -> None:
        journal.append(f"work {n}")

    calls = [call("work", n=n) for n in range(3)]
    await executions(calls, FunctionTool("work", work), hooks=[Journal(journal)])
    assert [line for line in journal if "before" in line] == [
        *("hook before work0", "hook before work1", "hook before work2"),
    ]
    assert [line for line in journal if line.startswith("work")] == ["work 2", "work 1", "work 0"]
    assert journal.count("hook after work: success") == 3


@pytest.mark.parametrize("limit", [None, 1])
async def test_if_a_block_stops_the_batch_hooks_are_asked_about_one_call_after_the_other(limit):
    journal: list[str] = []

    async def work(n: int, **_: Any) -> None:
        journal.append(f"work {n}")

    calls = [call("work", n=n) for n in range(3)]
    options = CallOptions(on_block="stop", max_concurrency=limit, timeout=20)
    await executions(calls, FunctionTool("work", work), hooks=[Journal(journal)], calls=options)
    assert [line for line in journal if "after" not in line] == [
        *("hook before work0", "work 0", "hook before work1", "work 1"),
        *("hook before work2", "work 2"),
    ]


@pytest.mark.parametrize("on_block", ["continue", "stop"])
async def test_a_hook_may_hold_a_lock_around_each_call(on_block):
    lock, journal = asyncio.Lock(), list[str]()

    async def one_at_a_time(invocation: Invocation, next: Next) -> ToolResult:
        with invocation.waiting():
            await lock.acquire()
        try:
            return await next(invocation)
        finally:
            lock.release()

    async def work(n: int, **_: Any) -> None:
        journal.append(f"begins {n}")
        await rounds(2)
        journal.append(f"ends {n}")

    calls = [call("work", n=n) for n in range(3)]
    tool, options = FunctionTool("work", work), CallOptions(on_block=on_block)
    await executions(calls, tool, hooks=[one_at_a_time], calls=options)
    assert journal == [f"{word} {n}" for n in range(3) for word in ("begins", "ends")]


async def test_a_call_is_not_started_after_one_that_is_blocked_later_than_its_own_hooks_are_done():
    async def block(invocation: Invocation) -> ToolCall:
        if invocation.index == 1:
            await rounds(5)
            raise BlockTool("not that one")
        return invocation.call

    calls, options = [call("ok", n=n) for n in range(4)], CallOptions(on_block="stop")
    found = await executions(calls, OK, hooks=[Before(block)], calls=options)
    assert statuses(found) == ["success", "blocked", "cancelled", "cancelled"]
    assert found[3].error == "Not started: the call to 'ok' before it was blocked"


async def test_hooks_of_a_higher_priority_come_first_and_equal_ones_in_order():
    journal: list[str] = []
    hooks = [
        Journal(journal, "a"),
        Journal(journal, "b", priority=10),
        Journal(journal, "c"),
        Journal(journal, "d", priority=-1),
    ]
    await executions([call("ok")], OK, hooks=hooks)
    names = [line.partition(" ")[0] for line in journal]
    assert names == ["b", "a", "c", "d", "d", "c", "a", "b"]


async def test_a_hook_may_change_the_call_and_the_record_holds_it():
    def rename(invocation: Invocation) -> ToolCall:
        return dataclasses.replace(invocation.call, name="ok", args={"x": 2})

    [made] = await executions([call("t", x=1)], returns("t"), OK, hooks=[Before(rename)])
    assert (made.name, made.args, made.value) == ("ok", {"x": 2}, {"x": 2})
    assert made.record.name == "t"


async def test_a_call_that_is_blocked_does_not_run_and_the_others_do():
    def block(invocation: Invocation) -> ToolCall:
        if invocation.index == 1:
            raise BlockTool("not that one")
        return invocation.call

    found = await executions([call("ok", n=n) for n in range(3)], OK, hooks=[Before(block)])
    assert statuses(found) == ["success", "blocked", "success"]
    assert [made.blocked for made in found] == [False, True, False]
    assert found[1].error == "Tool 'ok' was blocked: not that one"
    assert found[1].record.attempt == 0


async def test_a_call_that_is_skipped_has_the_value_as_its_result():
    def skip(invocation: Invocation) -> ToolCall:
        raise SkipTool({"cached": True})

    [made] = await executions([call("t")], raises(OSError("no")), hooks=[Before(skip)])
    assert (made.status, made.value, made.record.attempt) == ("success", {"cached": True}, 0)


@pytest.mark.parametrize("instead", [BlockTool("too late"), SkipTool("too late")], ids=repr)
async def test_a_call_that_has_run_is_neither_blocked_nor_skipped(instead):
    async def late(invocation: Invocation, next: Next) -> ToolResult:
        await next(invocation)
        raise instead

    [made] = await executions([call("ok")], OK, hooks=[late])
    assert (made.status, made.record.attempt) == ("failure", 1)
    assert "late failed: " in made.error


async def test_a_hook_may_turn_a_failure_into_a_success():
    seen: list[str] = []

    def mend(invocation: Invocation, result: ToolResult) -> ToolResult:
        execution = invocation.execution(result)
        seen.append(f"{execution.status}: {execution.error}")
        return ToolResult("mended", content="x")

    [made] = await executions([call("t")], raises(OSError("no")), hooks=[After(mend)])
    assert seen == ["failure: Tool execution failed: OSError: no"]
    assert (made.status, made.value, made.error) == ("success", "x", None)


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        (None, ["fs_read", "fs_write", "web"]),
        ("fs_*", ["fs_read", "fs_write"]),
        (["web", "*_read"], ["fs_read", "web"]),
        ("FS_*", []),
    ],
    ids=repr,
)
async def test_a_matcher_limits_hooks_to_some_tools(matcher, expected):
    seen: list[str] = []

    def look(invocation: Invocation) -> ToolCall:
        seen.append(invocation.call.name)
        return invocation.call

    names = ["fs_read", "fs_write", "web"]
    tools = [returns(name, name) for name in names]
    await executions([call(name) for name in names], *tools, hooks=[Before(look, matcher=matcher)])
    assert seen == expected


async def test_state_that_hooks_write_is_seen_by_later_hooks_and_tools():
    state: dict[str, Any] = {"before": 0}

    def count(invocation: Invocation) -> ToolCall:
        invocation.state["before"] += 1
        return invocation.call

    def look(invocation: Invocation, result: ToolResult) -> ToolResult:
        invocation.state.setdefault("seen", []).append(invocation.state["before"])
        return result

    async def watch(invocation: Any, next: Any) -> ToolResult:
        assert invocation.context.state["before"] == invocation.index + 1
        with pytest.raises(TypeError):
            invocation.context.state["before"] = 0
        return await next(invocation)

    calls = [call("ok"), call("ok")]
    hooks = [Before(count), After(look)]
    await executions(calls, OK, hooks=[*hooks, watch], state=state)
    assert state == {"before": 2, "seen": [1, 2]}


async def test_a_variable_that_a_hook_sets_is_seen_by_the_tool():
    async def look(**_: Any) -> str:
        return variable.get()

    def note(invocation: Invocation) -> ToolCall:
        variable.set(f"hook of {invocation.context.execution_id}")
        return invocation.call

    [made] = await executions([call("look")], FunctionTool("look", look), hooks=[Before(note)])
    assert made.value == f"hook of {made.id}"


@pytest.mark.parametrize("on_block", ["continue", "stop"])
async def test_a_hook_that_never_answers_runs_out_of_time_and_other_calls_run(on_block):
    async def hang(invocation: Invocation) -> ToolCall:
        if invocation.index == 0:
            await asyncio.Event().wait()
        return invocation.call

    calls, options = [call("ok")] * 3, CallOptions(timeout=SOON, on_block=on_block)
    found = await executions(calls, OK, hooks=[Before(hang)], calls=options)
    assert statuses(found) == ["timeout", "success", "success"]


async def test_a_batch_that_is_cancelled_while_hooks_are_asked_starts_nothing():
    waiting, ran = Waiting(), []

    async def hang(invocation: Invocation) -> ToolCall:
        await waiting.execute()
        return invocation.call

    async def work(**_: Any) -> None:
        ran.append(True)

    tool, options = FunctionTool("work", work), CallOptions(on_block="stop")
    batch = asyncio.ensure_future(
        executions([call("work")] * 3, tool, hooks=[Before(hang)], calls=options)
    )
    await waiting.started.wait()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert (waiting.journal, ran) == (["started", "stopped"], [])


# Approval


def guarded(name: str = "guarded", **options: Any) -> Any:
    tool = FunctionTool(name, OK.execute)
    tool.options = ToolOptions(**{"requires_approval": True, **options})
    return tool


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (True, "success", None),
        (ToolApproved(), "success", None),
        (False, "denied", "Tool 'guarded' execution was rejected by user."),
        (ToolDenied(), "denied", "Tool 'guarded' execution was rejected by user."),
        (ToolDenied("too dear"), "denied", "rejected by user. Reason: too dear"),
        (None, "denied", "approve must return ToolApproved, ToolDenied or a bool, not NoneType"),
        ("yes", "denied", "not str"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_call_that_requires_approval_runs_only_if_it_was_approved(
    answer, status, message, kind
):
    asked: list[Any] = []

    def approve(ctx: Any, given: ToolCall) -> Any:
        asked.append((ctx.call, given))
        return answer

    async def approve_later(ctx: Any, given: ToolCall) -> Any:
        await asyncio.sleep(0)
        return approve(ctx, given)

    given = call("guarded", x=1)
    found = await executions(
        [given, call("ok")],
        *(guarded(), OK),
        approve=approve if kind == "sync" else approve_later,
    )
    assert statuses(found) == [status, "success"]
    assert message is None or message in found[0].error
    assert asked == [(given, given)]


async def test_an_approval_may_give_other_arguments():
    [made] = await executions(
        [call("guarded", x=1)], guarded(), approve=lambda ctx, given: ToolApproved(args={"x": 2})
    )
    assert (made.args, made.value) == ({"x": 2}, {"x": 2})


async def test_a_predicate_decides_which_calls_require_approval():
    asked: list[Any] = []

    def approve(ctx: Any, given: ToolCall) -> bool:
        asked.append(given.args)
        return True

    tool = guarded(requires_approval=lambda given: given.args["x"] > 1)
    await executions([call("guarded", x=1), call("guarded", x=2)], tool, approve=approve)
    assert asked == [{"x": 2}]


@pytest.mark.parametrize("where", ["predicate", "approve"])
async def test_an_error_while_the_question_is_asked_is_a_denial(where):
    def fails(*_: Any) -> bool:
        raise OSError("no preview")

    options = {"requires_approval": fails} if where == "predicate" else {}
    approve = fails if where == "approve" else lambda ctx, given: True
    [made] = await executions([call("guarded")], guarded(**options), approve=approve)
    assert made.status == "denied"
    assert "OSError: no preview" in made.error


@in_exact_time
async def test_a_late_approval_is_a_denial_and_waiting_for_it_does_not_use_up_the_tool_timeout():
    async def approve(ctx: Any, given: ToolCall) -> bool:
        if given.args:
            await asyncio.Event().wait()
        await asyncio.sleep(15)
        return True

    [late, in_time] = await executions(
        [call("guarded", x=1), call("guarded")],
        guarded(),
        approve=Approval(approve, timeout=30),
        calls=CallOptions(timeout=10),
    )
    assert (late.status, in_time.status) == ("denied", "success")
    assert "there was no answer within 30 s" in late.error


async def test_a_timeout_error_of_approve_is_reported_in_its_own_words():
    async def approve(ctx: Any, given: ToolCall) -> bool:
        raise TimeoutError("the form was closed")

    [made] = await executions([call("guarded")], guarded(), approve=approve)
    assert made.error == (
        "Tool 'guarded' was not run: the question could not be asked: TimeoutError: the form was closed"
    )


async def test_without_approve_a_call_that_requires_approval_is_denied():
    [made] = await executions([call("guarded")], guarded())
    assert (made.status, made.record.attempt) == ("denied", 0)
    assert made.error == "Tool 'guarded' was not run: nobody can be asked"


async def test_a_call_renamed_to_a_tool_that_requires_approval_requires_it_too():
    async def rename(invocation: Any, next: Any) -> ToolResult:
        changed = dataclasses.replace(invocation.call, name="guarded")
        return await next(dataclasses.replace(invocation, call=changed))

    [made] = await executions([call("ok")], OK, guarded(), hooks=[rename])
    assert made.status == "denied"


async def test_other_calls_run_while_an_approval_is_awaited():
    release = asyncio.Event()

    async def approve(ctx: Any, given: ToolCall) -> bool:
        await release.wait()
        return True

    async def work(**_: Any) -> None:
        release.set()

    found = await executions(
        [call("guarded"), call("work")],
        *(guarded(), FunctionTool("work", work)),
        approve=approve,
        calls=CallOptions(max_concurrency=1),
    )
    assert statuses(found) == ["success", "success"]


# Records


async def test_a_record_has_the_outcome_of_a_call():
    inside: list[float] = []

    async def slow(**_: Any) -> str:
        inside.append(time())
        await rounds(20)
        inside.append(time())
        return "done"

    given = ToolCall("slow", {"x": 1}, id="call_1")
    [made] = await executions([given], FunctionTool("slow", slow))
    record = made.record
    assert (made.id, made.call, made.status) == (record.id, given, "success")
    assert (record.provider_id, record.name, record.status, record.attempt) == (
        "call_1",
        "slow",
        "success",
        1,
    )
    assert (record.batch, record.position, record.worker) == ("", 0, worker())
    assert record.started_at <= inside[0] < inside[1] <= record.completed_at
    assert record.seconds == record.completed_at - record.started_at


@in_exact_time
async def test_every_status_has_its_record():
    async def hang(**_: Any) -> None:
        await asyncio.Event().wait()

    async def cancels_itself(**_: Any) -> None:
        raise asyncio.CancelledError

    def block(invocation: Invocation) -> ToolCall:
        raise BlockTool("no")

    tools = [
        OK,
        raises(OSError("no"), "fails"),
        returns("x", "blocked"),
        guarded("denied"),
        FunctionTool("timeout", hang),
        FunctionTool("cancelled", cancels_itself),
    ]
    found = await executions(
        [call(tool.name) for tool in tools],
        *tools,
        hooks=[Before(block, matcher="blocked")],
        calls=CallOptions(timeout=0.05),
    )
    assert statuses(found) == ["success", "failure", "blocked", "denied", "timeout", "cancelled"]
    for made in found:
        as_json = json.loads(json.dumps(made.to_dict()))
        again = ToolExecution.from_dict(as_json)
        assert again == made
        assert again.to_dict() == made.to_dict()
        assert (again.result.exception is None) == (made.result.exception is None)


@pytest.mark.parametrize("value", [5, "5", 5.0, True, None, [1, "1"], {"a": {"b": []}}], ids=repr)
async def test_a_record_read_again_has_values_of_the_same_types(value):
    [made] = await executions([call("t", x=value)], returns(value))
    again = ToolExecution.from_dict(json.loads(json.dumps(made.to_dict())))
    assert (again.args, repr(again.value)) == ({"x": value}, repr(value))


async def test_concurrent_calls_of_one_tool_have_a_context_each():
    seen: list[Any] = []

    async def look(invocation: Any, next: Any) -> ToolResult:
        await rounds(2)
        seen.append((invocation.context.call.args["n"], invocation.context.execution_id))
        return await next(invocation)

    found = await executions([call("ok", n=n) for n in range(5)], OK, hooks=[look])
    assert sorted(seen) == [(n, made.id) for n, made in enumerate(found)]
