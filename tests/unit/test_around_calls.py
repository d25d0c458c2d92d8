"""Hooks around calls run in the tool's own task and context."""

from __future__ import annotations

import asyncio
import contextvars
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Hooks, ToolCall, ToolContext, ToolResult, execute_tools
from cogency_rs.errors import ConfigError, StopRun, ToolError
from cogency_rs.hooks import Invocation
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Preview, Retries, ToolOptions
from support.batches import execute, executions
from support.clock import in_exact_time
from support.tools import (
    OK,
    SOON,
    FunctionTool,
    call,
    outcomes,
    raises,
    returns,
    rounds,
    with_tools,
)

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(20)]

variable = contextvars.ContextVar("variable", default="unset")


def tool_with(name: str, execute: Any, **options: Any) -> Any:
    made = FunctionTool(name, execute)
    made.options = ToolOptions(**options)
    return made


async def test_the_first_hook_around_a_call_is_the_outermost():
    journal: list[str] = []

    def layer(name: str) -> Any:
        async def around(invocation: Invocation, next: Any) -> ToolResult:
            journal.append(f"{name} in")
            result = await next(invocation)
            journal.append(f"{name} out")
            return result

        return around

    async def tool(**_: Any) -> None:
        journal.append("tool")

    await execute([call("t")], FunctionTool("t", tool), hooks=[layer("a"), layer("b")])
    assert journal == ["a in", "b in", "tool", "b out", "a out"]


async def test_a_higher_priority_is_further_outside_and_equal_ones_are_in_the_order_of_the_list():
    journal: list[str] = []

    class Layer(Hooks):
        def __init__(self, name: str, priority: int) -> None:
            super().__init__(priority=priority)
            self.name = name

        async def around_call(self, invocation: Invocation, next: Any) -> ToolResult:
            journal.append(self.name)
            return await next(invocation)

    async def function(invocation: Invocation, next: Any) -> ToolResult:
        journal.append("function")
        return await next(invocation)

    hooks = [Layer("low", -1), Layer("first", 0), function, Layer("last", 0), Layer("high", 1)]
    await execute([call("ok")], OK, hooks=hooks)
    assert journal == ["high", "first", "function", "last", "low"]


async def test_a_matcher_limits_what_is_around_calls():
    class Answers(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> ToolResult:
            return ToolResult("answered")

    hooks = [Answers(matcher="fs_*")]
    results = await execute([call("fs_read"), call("ok")], returns("x", "fs_read"), OK, hooks=hooks)
    assert [result.outcome for result in results] == ["answered", "ok"]


async def test_a_matcher_that_is_broken_later_refuses_the_call():
    class Passes(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> ToolResult:
            return await next(invocation)

    async def breaks(invocation: Invocation, next: Any) -> ToolResult:
        passes.matcher = 5
        return await next(invocation)

    passes: Any = Passes()
    [made] = await executions([call("ok")], OK, hooks=[breaks, passes])
    assert (made.status, made.record.attempt) == ("failure", 0)
    assert made.error.startswith("Hook Passes failed: ArgumentError: the matcher of Passes must")


async def test_a_hook_around_a_call_may_end_the_run():
    class Ends(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> ToolResult:
            await next(invocation)
            raise StopRun("enough")

    outer: list[ToolResult] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        outer.append(await next(invocation))
        return outer[-1]

    model = ScriptedModel(['<execute>[{"name": "ok", "args": {}}]</execute>', "Done."])
    result = await Agent(model, tools=[OK], hooks=[look, Ends()]).run("?")
    assert (result.status, result.stop.message, result.stop.source) == ("stopped", "enough", "Ends")
    assert [each.error for each in outer] == [False]


async def test_a_hook_sees_the_call_its_tool_and_its_context():
    seen: list[Invocation] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        seen.append(invocation)
        return await next(invocation)

    execution = with_tools(OK, storage="log", deps={"db": 1}, sandbox_dir="box", access="system")
    calls = [ToolCall("ok", {"x": 1}, id="given"), call("missing")]
    await execute_tools(calls, execution=execution, user_id="u", conversation_id="c", hooks=[look])
    first, second = seen
    assert (first.id, first.call, first.tool, first.attempt, first.index) == (
        *(first.context.execution_id, calls[0], OK, 1, 0),
    )
    assert first.context == ToolContext(
        calls[0], first.id, "c", "u", {"db": 1}, "log", "box", "system"
    )
    assert (second.tool, second.index) == (None, 1)
    assert len(second.id) == 36
    assert second.context.execution_id == second.id
    with pytest.raises(FrozenInstanceError):
        first.attempt = 2


async def test_ids_of_calls_are_ordered_by_time():
    seen = [made.id for made in await executions([call("ok")] * 5, OK)]
    assert seen == sorted(seen)
    assert len(set(seen)) == 5


async def test_an_invocation_can_be_made_by_hand_for_a_test_of_a_hook():
    context = ToolContext(call("t"), "1")
    made = Invocation(id="1", call=call("t"), tool=None, context=context, attempt=1)
    with made.waiting():
        assert replace(made, attempt=2).attempt == 2
    made.state["seen"] = True
    assert made.execution(ToolResult("no", error=True)).status == "failure"


async def test_a_hook_may_change_the_call():
    async def rename(invocation: Invocation, next: Any) -> ToolResult:
        changed = replace(invocation.call, name="ok", args={"y": 2})
        return await next(replace(invocation, call=changed))

    seen: list[Any] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        seen.append((invocation.tool, invocation.context.call.name))
        return await next(invocation)

    calls = [call("t", x=1)]
    [made] = await executions(calls, returns("t"), OK, hooks=[rename, look])
    assert made.call == ToolCall("ok", {"y": 2})
    assert made.value == {"y": 2}
    assert seen == [(OK, "ok")]
    assert calls == [call("t", x=1)]


async def test_a_hook_may_answer_without_running_the_call():
    async def answer(invocation: Invocation, next: Any) -> ToolResult:
        return ToolResult("from memory")

    [made] = await executions([call("t")], raises(OSError("no")), hooks=[answer])
    assert (made.result, made.record.attempt) == (ToolResult("from memory"), 0)


async def test_a_hook_may_run_the_call_again_and_the_record_counts_the_attempts():
    async def twice(invocation: Invocation, next: Any) -> ToolResult:
        await next(invocation)
        return await next(replace(invocation, attempt=2))

    [made] = await executions([call("ok")], OK, hooks=[twice])
    assert (made.record.attempt, made.status) == (2, "success")


async def test_a_variable_that_a_hook_sets_is_seen_by_the_tool_and_nowhere_else():
    async def set_it(invocation: Invocation, next: Any) -> ToolResult:
        variable.set(f"{variable.get()}, {invocation.index}")
        return await next(invocation)

    async def look(**_: Any) -> str:
        return variable.get()

    def look_in_a_thread(**_: Any) -> str:
        return variable.get()

    variable.set("caller")
    tools = FunctionTool("a", look), FunctionTool("b", look_in_a_thread)
    results = await execute([call("a"), call("b")], *tools, hooks=[set_it])
    assert [result.content for result in results] == ["caller, 0", "caller, 1"]
    assert variable.get() == "caller"


async def test_a_hook_runs_in_the_tool_s_own_task():
    seen: list[Any] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        seen.append(asyncio.current_task())
        return await next(invocation)

    async def tool(**_: Any) -> None:
        seen.append(asyncio.current_task())

    await execute([call("t")], FunctionTool("t", tool), hooks=[look])
    assert seen[0] is seen[1]
    assert seen[0].get_name() == "t"


async def test_refused_calls_pass_through_hooks_too():
    seen: list[tuple[str, bool]] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        result = await next(invocation)
        seen.append((invocation.call.name, result.error))
        return result

    strict = FunctionTool("strict", OK.execute, schema={"x": {"type": "integer", "required": True}})
    calls = [call("missing"), call("strict"), call("strict", x=1), ToolCall("ok", None)]
    await execute(calls, OK, strict, hooks=[look])
    assert sorted(seen) == [("missing", True), ("ok", True), ("strict", False), ("strict", True)]


# Hooks that fail


async def _raises(invocation: Invocation, next: Any) -> ToolResult:
    raise KeyError("mine")


async def _raises_afterwards(invocation: Invocation, next: Any) -> ToolResult:
    await next(invocation)
    raise OSError("too late")


async def _returns_nothing(invocation: Invocation, next: Any) -> Any:
    await next(invocation)


async def _returns_text(invocation: Invocation, next: Any) -> Any:
    return "text"


def _is_not_a_coroutine_function(invocation: Invocation, next: Any) -> Any:
    return ToolResult("at once")


async def _hands_on_nonsense(invocation: Invocation, next: Any) -> ToolResult:
    return await next(invocation.call)


async def _cancels_itself(invocation: Invocation, next: Any) -> ToolResult:
    raise asyncio.CancelledError("gave up")


async def _exits(invocation: Invocation, next: Any) -> ToolResult:
    raise SystemExit(2)


FAULTS = [
    (_raises, "Hook _raises failed: KeyError: 'mine'"),
    (_raises_afterwards, "Hook _raises_afterwards failed: OSError: too late"),
    (_returns_nothing, "it must return a ToolResult, but returned NoneType"),
    (_returns_text, "it must return a ToolResult, but returned str"),
    (_is_not_a_coroutine_function, "Hook _is_not_a_coroutine_function failed: TypeError"),
    (_hands_on_nonsense, "next takes an Invocation, got ToolCall"),
    (_cancels_itself, "the tool cancelled itself: gave up"),
    (_exits, "the tool asked the program to exit with 2"),
]


async def through(invocation: Invocation, next: Any) -> ToolResult:
    return await next(invocation)


@pytest.mark.parametrize(
    ("fault", "message"), FAULTS, ids=lambda value: getattr(value, "__name__", "")
)
@pytest.mark.parametrize("others", [[], [through]], ids=["alone", "among others"])
async def test_a_hook_that_fails_fails_only_that_call(fault, message, others):
    def at_times(invocation: Invocation, next: Any) -> Any:
        return (fault if invocation.call.args else through)(invocation, next)

    at_times.__qualname__ = fault.__qualname__
    calls = [call("ok"), call("ok", bad=True), call("ok")]
    before, result, after = await execute(calls, OK, hooks=[*others, at_times, *others])
    assert result.error
    assert message in result.outcome
    assert [before.error, after.error] == [False, False]


async def test_an_outer_hook_sees_the_failure_of_an_inner_one():
    seen: list[str] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        result = await next(invocation)
        seen.append(result.outcome)
        return ToolResult("mended")

    [result] = await execute([call("ok")], OK, hooks=[look, _raises])
    assert (seen, result) == (
        ["Hook _raises failed: KeyError: 'mine'"],
        ToolResult("mended"),
    )


async def test_a_hook_that_never_answers_runs_out_of_time():
    async def hang(invocation: Invocation, next: Any) -> ToolResult:
        if invocation.index == 1:
            await asyncio.Event().wait()
        return await next(invocation)

    calls = [call("ok"), call("ok"), call("ok")]
    found = await executions(calls, OK, hooks=[hang], calls=CallOptions(timeout=SOON))
    assert [made.status for made in found] == ["success", "timeout", "success"]
    assert found[1].result.outcome == f"Tool 'ok' timed out after {SOON:g} s"


async def test_a_hook_that_never_answers_after_the_call_runs_out_of_time():
    async def hang(invocation: Invocation, next: Any) -> ToolResult:
        await next(invocation)
        await asyncio.Event().wait()
        raise AssertionError

    [made] = await executions([call("ok")], OK, hooks=[hang], calls=CallOptions(timeout=SOON))
    assert (made.status, made.record.attempt) == ("timeout", 1)


@in_exact_time
async def test_every_attempt_has_the_whole_timeout():
    attempts: list[ToolResult] = []

    async def thrice(invocation: Invocation, next: Any) -> ToolResult:
        attempts.extend([await next(invocation) for _ in range(3)])
        return attempts[-1]

    async def slow(**_: Any) -> str:
        await asyncio.sleep(6)
        return "done"

    tool = FunctionTool("slow", slow)
    await executions([call("slow")], tool, hooks=[thrice], calls=CallOptions(timeout=10))
    assert [result.content for result in attempts] == ["done"] * 3


@in_exact_time
async def test_time_that_a_hook_marks_as_waiting_does_not_count_towards_the_timeout():
    async def ask(invocation: Invocation, next: Any) -> ToolResult:
        with invocation.waiting():
            await asyncio.sleep(3 * SOON)
        return await next(invocation)

    [made] = await executions([call("ok")], OK, hooks=[ask], calls=CallOptions(timeout=SOON))
    assert made.status == "success"


async def test_a_timeout_is_a_result_that_a_hook_can_see():
    seen: list[Any] = []

    async def look(invocation: Invocation, next: Any) -> ToolResult:
        seen.append(await next(invocation))
        await asyncio.sleep(0)  # works, since the task is no longer cancelled
        return seen[0]

    async def hang(**_: Any) -> None:
        await asyncio.Event().wait()

    tool = FunctionTool("hang", hang)
    [result] = await execute([call("hang")], tool, hooks=[look], calls=CallOptions(timeout=SOON))
    assert result is seen[0]
    assert isinstance(result.exception, ToolError)
    assert result.exception.timeout


async def test_a_hook_of_a_cancelled_batch_can_clean_up_but_cannot_run_the_call_again():
    journal: list[str] = []

    async def resist(invocation: Invocation, next: Any) -> ToolResult:
        try:
            return await next(invocation)
        except asyncio.CancelledError:
            journal.append("cancelled")
            return await next(invocation)

    async def hang(**_: Any) -> None:
        journal.append("began")
        await asyncio.Event().wait()

    tool = FunctionTool("hang", hang)
    for options in (CallOptions(timeout=20), CallOptions(timeout=20, max_concurrency=1)):
        journal.clear()
        batch = asyncio.ensure_future(execute([call("hang")], tool, hooks=[resist], calls=options))
        await rounds(5)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        assert journal == ["began", "cancelled"]


# Options of tools


@in_exact_time
async def test_a_tool_s_own_timeout_replaces_the_batch_s():
    async def hang(**_: Any) -> None:
        await asyncio.sleep(15)

    tools = tool_with("short", hang, timeout=5), tool_with("long", hang, timeout=20)
    found = await executions([call("short"), call("long")], *tools, calls=CallOptions(timeout=10))
    assert [made.status for made in found] == ["timeout", "success"]
    assert found[0].error == "Tool 'short' timed out after 5 s"


@pytest.mark.parametrize("hooks", [[], [through]], ids=["alone", "in a hook"])
@in_exact_time
async def test_waiting_for_a_free_slot_does_not_count_towards_the_timeout(hooks):
    async def slow(**_: Any) -> None:
        await asyncio.sleep(6)

    tool = tool_with("slow", slow, timeout=10)
    found = await executions(
        [call("slow")] * 4, tool, hooks=hooks, calls=CallOptions(max_concurrency=1)
    )
    assert [made.status for made in found] == ["success"] * 4


async def test_a_sequential_call_is_a_barrier():
    journal: list[str] = []

    async def work(name: str, **_: Any) -> None:
        journal.append(f"{name} begins")
        await rounds(3)
        journal.append(f"{name} ends")

    tools = FunctionTool("free", work), tool_with("alone", work, sequential=True)
    calls = [
        ToolCall(tool, {"name": name})
        for tool, name in [
            ("free", "a"),
            ("free", "b"),
            ("alone", "c"),
            ("free", "d"),
            ("free", "e"),
        ]
    ]
    await execute(calls, *tools)
    assert journal == [
        *("a begins", "b begins", "a ends", "b ends"),
        *("c begins", "c ends"),
        *("d begins", "e begins", "d ends", "e ends"),
    ]


@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("order", ["alone free free", "free alone free", "free free alone"])
@pytest.mark.parametrize("slow", ["alone", "free"])
async def test_a_hook_may_hold_a_lock_around_calls_of_which_one_is_a_barrier(slow, order, most):
    journal: list[str] = []
    lock = asyncio.Lock()

    async def work(**_: Any) -> None:
        await rounds(2)

    async def later(invocation: Invocation, next: Any) -> ToolResult:
        if invocation.call.name == slow:
            await rounds(5)
        return await next(invocation)

    async def one_at_a_time(invocation: Invocation, next: Any) -> ToolResult:
        async with lock:
            journal.append(f"{invocation.call.name} begins")
            result = await next(invocation)
            journal.append(f"{invocation.call.name} ends")
            return result

    tools = FunctionTool("free", work), tool_with("alone", work, sequential=True)
    async with asyncio.timeout(20):
        results = await execute(
            [call(name) for name in order.split()],
            *tools,
            hooks=[later, one_at_a_time],
            calls=CallOptions(max_concurrency=most),
        )
    assert [result.error for result in results] == [False] * 3
    assert journal == [f"{name} {what}" for name in order.split() for what in ("begins", "ends")]


@pytest.mark.parametrize("before", ["missing", "refused", "raises"])
async def test_a_barrier_does_not_wait_for_calls_that_failed(before):
    tools = (
        tool_with("alone", OK.execute, sequential=True),
        raises(OSError("no"), "raises"),
        FunctionTool("refused", OK.execute, schema={"x": {"required": True}}),
    )
    results = await execute([call(before), call("alone"), call("alone")], *tools)
    assert [result.error for result in results] == [True, False, False]


async def test_a_barrier_does_not_wait_for_a_call_whose_task_was_cancelled_before_it_began():
    async def cancel(**_: Any) -> None:
        for task in asyncio.all_tasks():
            if task.get_name() == "late":
                task.cancel()

    tools = (
        FunctionTool("cancel", cancel),
        FunctionTool("late", OK.execute),
        tool_with("alone", OK.execute, sequential=True),
    )
    results = await execute([call("cancel"), call("late"), call("alone")], *tools)
    assert [result.error for result in results] == [False, True, False]


# Options that no tool and no hook can have


@pytest.mark.parametrize(
    "options",
    [
        {"idempotent": "sometimes"},
        {"read_only": 1},
        {"timeout": 0},
        {"timeout": "1"},
        {"requires_approval": 5},
    ],
    ids=repr,
)
def test_options_with_impossible_values_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        ToolOptions(**options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Retries(0), "times must be"),
        (lambda: Retries(1.5), "times must be"),  # type: ignore[arg-type]
        (lambda: ToolOptions(idempotent=2), "idempotent must be"),  # type: ignore[arg-type]
        (lambda: Preview("what it would do"), "show must be"),  # type: ignore[arg-type]
        (lambda: Preview(str, when="yes"), "when must be"),  # type: ignore[arg-type]
    ],
)
def test_values_of_options_refuse_what_they_cannot_have(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


def test_a_preview_says_when_a_call_is_asked_about():
    def is_large(call: ToolCall) -> bool:
        return True

    options = ToolOptions(requires_approval=Preview(str, when=is_large))
    assert (options.asks_when, options.preview) == (is_large, str)
    assert ToolOptions(requires_approval=Preview(str)).asks_when is True
    assert ToolOptions(requires_approval=is_large).preview is None


@pytest.mark.parametrize("option", [{"hooks": [5]}, {"hooks": 5}, {"approve": 5}], ids=repr)
async def test_a_hook_of_another_type_is_refused(option):
    with pytest.raises(ConfigError):
        await execute([call("ok")], OK, **option)


async def test_calls_through_hooks_keep_their_order_and_number():
    async def jumble(invocation: Invocation, next: Any) -> ToolResult:
        await rounds(7 * invocation.index % 5)
        return await next(invocation)

    calls = [call("ok", n=n) for n in range(50)]
    results = await execute(calls, OK, hooks=[jumble] * 2, calls=CallOptions(max_concurrency=3))
    assert [result.content for result in results] == [{"n": n} for n in range(50)]
    assert outcomes(results) == [(False, "ok")] * 50
