"""A call never runs if what decides about it fails, or decided about another tool."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Execution, Hooks, Memory, ToolCall, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.cli.chat.approvals import Approvals
from cogency_rs.errors import BlockTool, ConfigError
from cogency_rs.execution import execute_calls
from cogency_rs.hooks import Invocation, ToolApproved, ToolDenied
from cogency_rs.hooks.approval import Undecided
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Retries
from cogency_rs.tools.toolbox import Toolbox
from support.served_tools import served

pytestmark = pytest.mark.timeout(60)


def raising(call: Any) -> bool:
    raise LookupError("no such table")


def failing_once() -> Callable[[ToolCall], bool]:
    """A predicate that raises when it is asked first, and then says that nobody need agree."""
    asked: list[ToolCall] = []

    def requires(call: ToolCall) -> bool:
        asked.append(call)
        if len(asked) == 1:
            raise LookupError("busy")
        return False

    return requires


BROKEN = {
    "it raises": (raising, "its requires_approval failed: LookupError: no such table"),
    "None": (
        lambda call: None,
        "its requires_approval must return a bool, but returned NoneType",
    ),
    "a text": (lambda call: "no", "its requires_approval must return a bool, but returned str"),
    "0": (lambda call: 0, "its requires_approval must return a bool, but returned int"),
}


def agent(*steps: Any, tools: Any, **options: Any) -> Agent[Any, str]:
    driver = ScriptedDriver(steps, repeat_last=False)
    return Agent(ScriptedModel([]), tools=tools, driver=driver, **options)


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("approve", [None, lambda ctx, call: True], ids=["nobody", "approved"])
async def test_a_predicate_that_cannot_say_is_a_refusal(case, approve):
    predicate, why = BROKEN[case]
    wipe = served("wipe", requires_approval=predicate)
    execution = Execution(tools=[wipe])
    [made] = await execute_calls([ToolCall("wipe", {})], execution=execution, approve=approve)
    assert (made.status, made.error) == ("denied", f"Tool 'wipe' was not run: {why}")
    assert wipe.ran == []


@pytest.mark.parametrize("case", BROKEN)
async def test_a_run_does_not_wait_for_a_predicate_that_cannot_say(case):
    predicate, why = BROKEN[case]
    wipe = served("wipe", requires_approval=predicate)
    mine = agent([ToolCall("wipe", {})], "done", tools=[wipe])
    result = await mine.run("?", conversation_id="c")
    [made] = result.steps[0].executions
    assert (result.output, made.status, wipe.ran) == ("done", "denied", [])
    assert why in str(made.error)
    [record] = await mine.storage.calls("c")
    assert record.status == "denied"


async def test_a_predicate_that_fails_once_is_not_asked_again_in_the_same_batch():
    wipe = served("wipe", requires_approval=failing_once())
    result = await agent([ToolCall("wipe", {})], "done", tools=[wipe]).run("?")
    assert [each.status for each in result.steps[0].executions] == ["denied"]
    assert wipe.ran == []


async def test_a_refusal_stays_while_the_batch_waits_for_another_call():
    wipe, send = (
        served("wipe", requires_approval=failing_once()),
        served("send", requires_approval=True),
    )
    mine = agent([ToolCall("wipe", {}), ToolCall("send", {})], "done", tools=[wipe, send])
    result = await mine.run("?", conversation_id="c")
    assert [each.name for each in result.waiting] == ["send"]
    result = await mine.resume("c", {str(result.waiting[0].id): True})
    refused, _ = executions = result.steps[0].executions
    assert [each.status for each in executions] == ["denied", "success"]
    assert (
        str(refused.error)
        == "Tool 'wipe' was not run: its requires_approval failed: LookupError: busy"
    )
    assert (wipe.ran, len(send.ran)) == ([], 1)


@pytest.mark.parametrize("matcher", [5, ["a", 5], b"a*"])
async def test_a_matcher_that_is_no_pattern_is_refused_or_refuses_the_call(matcher):
    with pytest.raises(ConfigError, match="the matcher of Hooks must be a pattern"):
        Hooks(matcher=matcher)

    class Changing(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> Any:
            return await next(invocation)

    hooks, wipe = Changing(), served("wipe")
    [made] = await execute_calls(
        [ToolCall("wipe", {})],
        execution=Execution(tools=[wipe]),
        hooks=[hooks, Breaking(hooks, matcher)],
    )
    assert (made.status, wipe.ran) == ("failure", [])
    assert str(made.error).startswith(
        "Hook Changing failed: ArgumentError: the matcher of Changing "
    )


class Breaking(Hooks):
    """Gives another hook something that is not a matcher, before it is asked."""

    priority = 1

    def __init__(self, other: Hooks, matcher: Any) -> None:
        super().__init__()
        self.other, self.broken = other, matcher

    async def around_call(self, invocation: Invocation, next: Any) -> Any:
        self.other.matcher = self.broken
        return await next(invocation)


class Redirect(Hooks):
    """Makes of calls of one tool calls of another."""

    def __init__(self, tool: str, other: str, **options: Any) -> None:
        super().__init__(matcher=tool, **options)
        self.other = other

    async def around_call(self, invocation: Invocation, next: Any) -> Any:
        call = ToolCall(self.other, invocation.call.args)
        return await next(replace(invocation, call=call))


@pytest.mark.parametrize("other", ["wipe", "fs__wipe"])
async def test_a_call_of_another_tool_is_asked_about_as_such(other):
    look, wipe = served("look"), served("wipe", requires_approval=True)
    asked: list[str] = []

    def approve(ctx: Any, call: ToolCall) -> bool:
        asked.append(call.name)
        return False

    [made] = await execute_calls(
        [ToolCall("look", {})],
        execution=Execution(tools=[look, wipe]),
        hooks=[Redirect("look", other)],
        approve=approve,
    )
    assert (asked, made.name, made.status) == (["wipe"], "wipe", "denied")
    assert (look.ran, wipe.ran) == ([], [])


@pytest.mark.parametrize("other", ["wipe", "fs__wipe"])
@pytest.mark.parametrize("matcher", [None, "wipe", "fs__*"])
async def test_hooks_that_were_asked_before_are_asked_about_the_other_tool(other, matcher):
    seen: list[str] = []

    class Guard(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> Any:
            seen.append(invocation.call.name)
            if invocation.call.name == "wipe":
                raise BlockTool("no")
            return await next(invocation)

    wipe = served("wipe")
    [made] = await execute_calls(
        [ToolCall("look", {})],
        execution=Execution(tools=[served("look"), wipe]),
        hooks=[Guard(matcher=matcher, priority=1), Redirect("look", other)],
    )
    assert (made.status, wipe.ran) == ("blocked", [])
    assert seen[-1] == "wipe"


@pytest.mark.parametrize("on_block", ["continue", "stop"])
async def test_a_function_that_saw_the_call_before_sees_the_call_of_the_other_tool(on_block):
    async def guard(invocation: Invocation, next: Any) -> Any:
        if invocation.call.name == "wipe":
            raise BlockTool("no")
        return await next(invocation)

    wipe = served("wipe")
    [made] = await execute_calls(
        [ToolCall("look", {})],
        execution=Execution(tools=[served("look"), wipe]),
        hooks=[guard, Redirect("look", "wipe")],
        calls=CallOptions(on_block=on_block),
    )
    assert (made.status, made.record.attempt, wipe.ran) == ("blocked", 0, [])


async def test_hooks_that_turn_a_call_back_and_forth_come_to_an_end():
    hooks = [Redirect("look", "wipe"), Redirect("wipe", "look")]
    look = served("look")
    [made] = await execute_calls(
        [ToolCall("look", {})], execution=Execution(tools=[look, served("wipe")]), hooks=hooks
    )
    assert (made.name, len(look.ran)) == ("look", 1)


async def test_what_somebody_agreed_to_does_not_hold_for_another_tool():
    send, wipe = served("send", requires_approval=True), served("wipe", requires_approval=True)
    redirect = Redirect("send", "wipe")
    mine = agent([ToolCall("send", {})], "done", tools=[send, wipe], hooks=[redirect])
    result = await mine.run("?", conversation_id="c")
    result = await mine.resume("c", {str(result.waiting[0].id): True})
    [made] = result.steps[0].executions
    assert (made.name, made.status, wipe.ran, send.ran) == ("wipe", "denied", [], [])
    assert "what was approved was another call" in str(made.error)


@pytest.mark.parametrize("place", ["local", "db"], ids=["the agent's own", "of another server"])
async def test_what_somebody_agreed_to_means_the_same_tool_in_another_process(place):
    """Another process may have other tools of that name, and then does not run them."""
    log = Memory()
    first = agent(
        [ToolCall("wipe", {})], tools=[served("wipe", requires_approval=True)], storage=log
    )
    result = await first.run("?", conversation_id="c")
    decisions = {str(result.waiting[0].id): True}
    other = served("wipe", place, requires_approval=True)
    same = served("wipe", requires_approval=True)
    second = agent("done", tools=[other, same], storage=log)
    result = await second.resume("c", decisions)
    assert (len(same.ran), other.ran, result.output) == (1, [], "done")


async def test_a_call_whose_tool_is_gone_in_another_process_does_not_run():
    log = Memory()
    first = agent(
        [ToolCall("wipe", {})], tools=[served("wipe", requires_approval=True)], storage=log
    )
    result = await first.run("?", conversation_id="c")
    other = served("wipe", "local")
    second = agent("done", tools=[other], storage=log)
    result = await second.resume("c", {str(result.waiting[0].id): True})
    [made] = result.steps[0].executions
    assert (made.status, other.ran) == ("failure", [])
    assert "Server 'fs' of tool 'wipe' is not known" in str(made.error)


async def test_a_hook_around_a_call_cannot_give_a_call_a_tool_that_it_does_not_mean():
    look, wipe = served("look"), served("wipe", requires_approval=True)

    async def swap(invocation: Invocation, next: Any) -> Any:
        return await next(replace(invocation, tool=look))

    [made] = await execute_calls(
        [ToolCall("wipe", {})], execution=Execution(tools=[look, wipe]), hooks=[swap]
    )
    assert (made.status, wipe.ran, look.ran) == ("denied", [], [])


async def test_a_call_that_began_early_and_became_another_s_waits_for_its_batch():
    began = asyncio.Event()
    ran_at: list[bool] = []
    is_written = False

    @tool
    async def wipe() -> None:
        """Wipe."""
        ran_at.append(is_written)

    async def turn(invocation: Invocation, next: Any) -> Any:
        began.set()
        if invocation.call.name == "look":
            invocation = replace(invocation, call=ToolCall("wipe", {}, invocation.call.id))
        return await next(invocation)

    async def answer(request: Any) -> Any:
        nonlocal is_written
        if len(request.messages) > 2:
            yield "Done."
            return
        yield '<execute>[{"name": "look", "args": {}}, '
        async with asyncio.timeout(10):
            await began.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        is_written = True
        yield '{"name": "other", "args": {}}]</execute>'

    tools = [served("look", read_only=True), wipe, served("other")]
    result = await Agent(ScriptedModel(answer), tools=tools, hooks=[turn]).run("?")
    assert (result.output, ran_at) == ("Done.", [True])


# In the chat


class Typed:
    """A keyboard that answers, and the view and the loop of a chat."""

    def __init__(self, *answers: str) -> None:
        self.answers = [*answers]
        self.shown: list[str] = []

    def answer(self, prompt: str, text: str = "") -> str | None:
        return self.answers.pop(0) if self.answers else None

    def call(self, call: ToolCall, preview: str | None) -> tuple[int, ...]:
        self.shown.append(call.name)
        return ()  # all of it is shown at once

    def error(self, text: str) -> None:
        self.shown.append(text)

    def run(self, work: Any) -> Any:
        return asyncio.run(work)


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("wipe", {}, "1"),
        ToolCall("fs__wipe", {}, "1"),
        ToolCall("wipe", {}, "1", server="fs"),
    ],
    ids=["short", "long", "server"],
)
def test_the_chat_asks_about_every_spelling_and_always_counts_for_the_tool(call):
    typed: Any = Typed("n", "always")
    tools = Toolbox.of([served("wipe", requires_approval=True), served("other")])
    approvals = Approvals(typed, typed, typed)
    asked = [tools.resolve(call)]
    assert approvals.decide(asked) == {"1": ToolDenied()}
    assert approvals.decide(asked) == {"1": ToolApproved()}
    again = [tools.resolve(ToolCall("fs__wipe", {}, "2"))]
    assert approvals.decide(again) == {"2": ToolApproved()}
    assert typed.shown == ["wipe", "wipe"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nope", "there is no such tool"),
        ("broken", "its requires_approval failed: LookupError: no such table"),
    ],
)
def test_the_chat_denies_what_nobody_can_be_asked_about(name, why):
    typed: Any = Typed()
    tools = Toolbox.of([served("broken", requires_approval=raising)])
    decided = Approvals(typed, typed, typed).decide([tools.resolve(ToolCall(name, {}, "1"))])
    assert decided == {"1": Undecided(why)}


# What else a call's record says


@pytest.mark.parametrize("is_failure", [False, True])
async def test_retries_take_results_that_hold_no_exception(is_failure, monkeypatch):
    class Theirs(SimpleNamespace):
        """A result of cogency's."""

    cogency = SimpleNamespace(ToolResult=Theirs)
    monkeypatch.setitem(sys.modules, "cogency.core.protocols", cogency)

    class Own:
        name, description = "own", ""
        schema = None
        options = served("own", idempotent=Retries(2)).options
        count = 0

        async def execute(self, **_: Any) -> Any:
            self.count += 1
            return Theirs(outcome="it is so", content="x", error=is_failure)

    own = Own()
    [made] = await execute_calls([ToolCall("own", {})], execution=Execution(tools=[own]))
    assert made.status == ("failure" if is_failure else "success")
    assert (made.result.outcome, own.count) == ("it is so", 1)


async def test_the_starts_of_a_call_that_began_early_and_then_waits_are_counted():
    began = asyncio.Event()

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        began.set()
        return "seen"

    async def answer(request: Any) -> Any:
        if len(request.messages) > 2:
            yield "Done."
            return
        yield '<execute>[{"name": "look", "args": {}}, '
        async with asyncio.timeout(10):
            await began.wait()
        yield '{"name": "send", "args": {}}]</execute>'

    mine = Agent(ScriptedModel(answer), tools=[look, served("send", requires_approval=True)])
    result = await mine.run("?", conversation_id="c")
    assert [each.attempt for each in await mine.storage.calls("c")] == [1, 0]
    result = await mine.resume("c", {str(result.waiting[0].id): True})
    assert result.output == "Done."
    assert [each.attempt for each in await mine.storage.calls("c")] == [2, 1]
