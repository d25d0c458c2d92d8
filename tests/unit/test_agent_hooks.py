"""Hooks of a run: what each may change, how the log and the model see the change, and errors of wrong hooks."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Hooks, RunLimits, ToolCall, ToolContext, ToolResult, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import BlockTool, HookError, SkipTool, StopReason
from cogency_rs.runs import ModelResponse
from support.agents import (
    Journal,
    add,
    adding,
    agent,
    calls,
    fail,
    model_of,
    prompts,
    results,
    types,
)

pytestmark = pytest.mark.timeout(30)


def hook(name: str = "Guard", **triggers: Any) -> Hooks:
    """Hooks of a class of this name, with these triggers."""
    return type(name, (Hooks,), triggers)()


async def test_c24_a_before_hook_renames_the_call_and_the_record_holds_it():
    async def rename(self: Any, invocation: Any, next: Any) -> Any:
        call = ToolCall("add", {"a": 40, "b": 2})
        return await next(dataclasses.replace(invocation, call=call))

    mine = agent(calls("sum"), "done", hooks=[hook(around_call=rename)])
    [execution] = (await mine.run("?", conversation_id="c")).steps[0].executions
    assert (execution.name, execution.args, execution.value) == ("add", {"a": 40, "b": 2}, 42)
    assert results(mine) == [[{"tool": "sum", "status": "success", "content": 42}]], "as asked"


async def block_adding(self: Any, invocation: Any, next: Any) -> Any:
    if invocation.call.args.get("a") == 2:
        raise BlockTool("two is taboo")
    return await next(invocation)


THREE = calls(*(ToolCall("add", {"a": n, "b": 0}) for n in (1, 2, 3)))


async def test_c25_a_blocked_call_did_not_run_the_others_did_and_the_model_reads_the_reason():
    mine = agent(THREE, "done", hooks=[hook(around_call=block_adding)])
    result = await mine.run("?", conversation_id="c")
    assert [each.status for each in result.steps[0].executions] == ["success", "blocked", "success"]
    assert [each.blocked for each in result.steps[0].executions] == [False, True, False], "C34"
    assert "Tool 'add' was blocked: two is taboo" in prompts(mine)[1][-1]["content"]
    assert result.status == "completed"


async def test_c26_a_skipped_call_has_the_value_as_its_result():
    async def skip(self: Any, invocation: Any, next: Any) -> Any:
        raise SkipTool({"cached": 3})

    mine = agent(calls("fail"), "done", hooks=[hook(around_call=skip)])
    [execution] = (await mine.run("?")).steps[0].executions
    assert (execution.status, execution.value, execution.record.attempt) == (
        "success",
        {"cached": 3},
        0,
    )


async def test_c27_an_after_hook_turns_a_failure_into_a_success_and_an_event_shows_the_original():
    async def mend(self: Any, invocation: Any, next: Any) -> Any:
        await next(invocation)
        return ToolResult("mended", content="fine")

    hooks = [hook("Mender", around_call=mend)]
    mine = agent(calls("fail"), "done", hooks=hooks, calls=CallOptions(on_failure="raise"))
    async with mine.run("?", conversation_id="c") as stream:
        events = [event async for event in stream]
    assert stream.result.status == "completed", "nothing is raised"
    [event] = [event for event in events if event["type"] == "tool_changed"]
    assert (event["name"], event["args"], event["hook"]) == ("fail", {}, "Mender")
    assert event["status"] == "failure"
    assert event["content"] == "Tool execution failed: ValueError: no"
    assert stream.result.steps[0].executions[0].status == "success"
    assert results(mine)[0][0]["content"] == "fine"


async def test_no_event_tells_of_a_result_that_a_hook_chose_among_those_it_got():
    async def first_of_two(invocation: Any, next: Any) -> Any:
        result = await next(invocation)
        await next(dataclasses.replace(invocation, attempt=2))
        return result

    async with agent(calls("fail"), "done", hooks=[first_of_two]).run("?") as stream:
        events = [event["type"] async for event in stream]
    assert "tool_changed" not in events


async def test_c32_on_block_stop_starts_nothing_after_the_blocked_call_and_each_has_a_result():
    ran: list[int] = []

    @tool
    async def add(a: int, b: int) -> int:
        """Add."""
        ran.append(a)
        return a + b

    hooks = [hook(around_call=block_adding)]
    mine = agent(
        THREE, tools=[add], hooks=hooks, calls=CallOptions(on_block="stop", on_failure="raise")
    )
    result = await mine.run("?", conversation_id="c")
    assert ran == [1]
    assert [each.status for each in result.steps[0].executions] == [
        *("success", "blocked", "cancelled")
    ]
    assert len(results(mine)[0]) == 3
    assert result.status == "stopped"
    assert result.stop is not None
    assert (result.stop.reason, result.stop.source) == (StopReason.STOP_REQUESTED, "Guard")
    assert result.stop.message == "Tool 'add' was blocked: two is taboo"


async def test_c35_an_event_tells_of_every_block():
    mine = agent(THREE, "done", hooks=[hook(around_call=block_adding)])
    async with mine.run("?") as stream:
        events = [event async for event in stream]
    [event] = [event for event in events if event["type"] == "tool_blocked"]
    assert event["name"] == "add"
    assert event["args"] == {"a": 2, "b": 0}
    assert event["content"] == "two is taboo"
    assert event["hook"] == "Guard"


async def test_c36_state_that_tool_hooks_write_is_there_in_the_next_step():
    seen: list[Any] = []

    @tool
    async def look(context: ToolContext[Any]) -> Any:
        """Look at the state."""
        return dict(context.state)

    async def count(self: Any, invocation: Any, next: Any) -> Any:
        result = await next(invocation)
        invocation.state["calls"] = invocation.state.get("calls", 0) + 1
        return result

    def watch(self: Any, ctx: Any) -> None:
        seen.append(dict(ctx.state))

    hooks = [hook(around_call=count, before_step=watch)]
    mine = agent(calls("look"), calls("look"), "done", tools=[look], hooks=hooks)
    result = await mine.run("?")
    assert seen == [{}, {"calls": 1}, {"calls": 2}]
    assert [step.executions[0].value for step in result.steps[:2]] == [{}, {"calls": 1}]


async def test_state_that_any_trigger_writes_lasts_to_the_end_of_the_run():
    """Each trigger adds its name to the state. `seen` keeps the names that the state had then."""
    seen: dict[str, list[str]] = {}

    def noting(trigger: str) -> Any:
        def note(self: Any, ctx: Any, *given: Any) -> Any:
            ctx.state.setdefault("seen", []).append(trigger)
            seen[trigger] = list(ctx.state["seen"])
            return given[0] if given and trigger not in ("on_stop", "on_error") else None

        async def note_call(self: Any, invocation: Any, next: Any) -> Any:
            note(self, invocation)
            return await next(invocation)

        return note_call if trigger == "around_call" else note

    prefixes = ("before_", "after_", "on_", "around_call")
    triggers = [name for name in vars(Hooks) if name.startswith(prefixes)]
    assert len(triggers) == 9
    hooks = [hook(**{name: noting(name) for name in triggers})]
    await agent(calls("fail"), "done", hooks=hooks, limits=RunLimits(steps=1)).run("?")
    in_order = ["before_run", "before_step", "before_model_request", "after_model_response"]
    in_order += ["around_call", "after_step", "on_stop", "after_run"]
    assert seen["after_run"] == in_order

    def breaks(request: Any) -> Any:
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="the network is gone"):
        await agent(breaks, hooks=hooks).run("?")
    assert seen["on_error"] == ["before_run", "before_step", "before_model_request", "on_error"]
    assert set(in_order) | {"on_error"} == set(triggers)


async def test_c41_hooks_of_a_higher_priority_come_first_and_equal_ones_in_order():
    journal: list[str] = []
    hooks = [
        Journal(journal, "a "),
        Journal(journal, "b ", priority=10),
        Journal(journal, "c "),
    ]
    await agent(adding(1, 2), "3", hooks=hooks).run("?")
    names = [entry[0] for entry in journal if entry[2:] != "after add success"]
    assert names == ["b", "a", "c"] * (len(names) // 3)
    assert [entry[0] for entry in journal if entry[2:] == "after add success"] == ["c", "a", "b"]


async def test_c42_the_request_and_the_response_that_hooks_give_are_sent_and_kept():
    ids: list[str] = []

    def replace_request(self: Any, ctx: Any, request: Any) -> Any:
        ids.append(request.id)
        system, *rest = request.messages
        return dataclasses.replace(
            request, messages=[system, *rest, {"role": "user", "content": "!"}]
        )

    def replace_response(self: Any, ctx: Any, response: Any) -> Any:
        ids.append(response.request_id)
        return dataclasses.replace(response, deltas=(response.text.upper(),))

    hooks = [hook(before_model_request=replace_request, after_model_response=replace_response)]
    mine = agent("hello", "more", hooks=hooks)
    result = await mine.run("?", conversation_id="c")
    assert result.output == "HELLO"
    assert prompts(mine)[0][-1]["content"] == "!"
    assert ids[0] == ids[1] == model_of(mine).requests[0].id
    await mine.run("again", conversation_id="c")
    assert [each["content"] for each in prompts(mine)[1]] == ["?", "HELLO", "again", "!"]


def changes(field: str, value: Any) -> Any:
    def trigger(self: Any, ctx: Any, given: Any) -> Any:
        return dataclasses.replace(given, **{field: value})

    return trigger


def gives(value: Any) -> Any:
    def trigger(self: Any, ctx: Any, *given: Any) -> Any:
        return value

    return trigger


FIXED = [
    ("before_model_request", "id", "x", "ModelRequest"),
    ("after_model_response", "request_id", "x", "ModelResponse"),
    ("after_model_response", "usage", None, "ModelResponse"),
    ("after_step", "index", 7, "Step"),
    ("after_step", "executions", (1,), "Step"),
    ("after_step", "usage", None, "Step"),
    ("after_run", "run_id", "x", "RunResult"),
    ("after_run", "conversation_id", "x", "RunResult"),
    ("after_run", "status", "failed", "RunResult"),
    ("after_run", "steps", (), "RunResult"),
    ("after_run", "usage", None, "RunResult"),
]


@pytest.mark.parametrize(
    ("trigger", "field", "value", "kind"), FIXED, ids=[f"C43 {t} {f}" for t, f, *_ in FIXED]
)
async def test_c43_a_change_of_a_fixed_field_is_an_error_that_names_hook_trigger_and_field(
    trigger, field, value, kind
):
    mine = agent(adding(1, 2), "3", hooks=[hook(**{trigger: changes(field, value)})])
    with pytest.raises(HookError) as raised:
        await mine.run("?", conversation_id="c")
    assert str(raised.value) == f"Hook Guard.{trigger} may not change '{field}' of the {kind}"
    assert (raised.value.hook, raised.value.trigger) == ("Guard", trigger)
    assert [len(batch) for batch in results(mine)] == (
        [1] if trigger != "before_model_request" and "response" not in trigger else []
    )


MUST_RETURN = {
    "before_run": "nothing",
    "after_run": "a RunResult",
    "before_step": "nothing",
    "after_step": "a Step",
    "before_model_request": "a ModelRequest",
    "after_model_response": "a ModelResponse",
}


@pytest.mark.parametrize("trigger", MUST_RETURN)
async def test_c43_a_wrong_return_value_of_a_trigger_is_named(trigger):
    mine = agent(adding(1, 2), "3", hooks=[hook(**{trigger: gives("text")})])
    with pytest.raises(
        HookError, match=rf"Guard\.{trigger} must return {MUST_RETURN[trigger]}, .*str"
    ):
        await mine.run("?")


@pytest.mark.parametrize("id", [None, "call_8"])
async def test_a_call_that_a_hook_replaces_keeps_its_id(id):
    async def replace(invocation: Any, next: Any) -> Any:
        call = ToolCall(invocation.call.name, {"a": 1, "b": 1}, id=id)
        return await next(dataclasses.replace(invocation, call=call))

    driver = ScriptedDriver([ToolCall("add", {"a": 0, "b": 0}, id="call_7"), "done"])
    mine = Agent(lambda _: "", tools=[add], driver=driver, hooks=[replace])
    [execution] = (await mine.run("?")).steps[0].executions
    assert (execution.call.id, execution.value) == (execution.id, 2)
    assert execution.record.provider_id == "call_7"


async def test_c45_a_before_step_hook_that_raises_fails_the_run_and_there_is_no_after_step():
    journal: list[str] = []

    class Fails(Journal):
        def before_step(self, ctx: Any) -> None:
            raise OSError("the disk is full")

    with pytest.raises(HookError, match=r"Fails\.before_step failed: OSError: the disk is full"):
        await agent("hi", hooks=[Fails(journal)]).run("?")
    assert journal == ["before_run", "on_error HookError", "after_run failed"]


@pytest.mark.parametrize("trigger", sorted(MUST_RETURN))
async def test_an_exception_of_a_hook_is_the_error_of_the_run_and_every_call_has_its_result(
    trigger,
):
    def raises(self: Any, ctx: Any, *given: Any) -> Any:
        raise OSError("no")

    mine = agent(adding(1, 2), "3", hooks=[hook(**{trigger: raises})])
    with pytest.raises(HookError) as raised:
        await mine.run("?", conversation_id="c")
    assert str(raised.value) == f"Hook Guard.{trigger} failed: OSError: no"
    assert isinstance(raised.value.cause, OSError)
    assert types(mine).count("call") == sum(len(batch) for batch in results(mine))


async def test_an_on_error_hook_that_fails_does_not_hide_the_error(caplog):
    def raises(self: Any, ctx: Any, *given: Any) -> Any:
        raise OSError("no")

    mine = agent(ConnectionError("dead"), hooks=[hook(on_error=raises)])
    with pytest.raises(ConnectionError, match="dead"):
        await mine.run("?")
    assert "A hook failed on" in caplog.text


async def test_a_matcher_skips_other_tools_and_does_not_affect_other_triggers():
    journal: list[str] = []
    hooks = [Journal(journal, matcher="ad*")]
    batch = calls(ToolCall("add", {"a": 1, "b": 2}), "fail")
    await agent(batch, "done", tools=[add, fail], hooks=hooks).run("?")
    assert [entry for entry in journal if "add" in entry or "fail" in entry] == [
        *("before add", "after add success")
    ]
    assert "before_step 0" in journal


async def test_an_answer_is_given_to_after_model_response_with_all_its_pieces():
    seen: list[ModelResponse] = []

    def look(self: Any, ctx: Any, response: Any) -> Any:
        seen.append(response)
        return response

    await agent("hello world", hooks=[hook(after_model_response=look)]).run("?")
    assert seen[0].text == "hello world"
    assert len(seen[0].deltas) == 3
    assert seen[0].usage.is_estimate


async def test_hooks_see_the_run_they_are_in():
    seen: dict[str, Any] = {}

    def look(self: Any, ctx: Any) -> None:
        seen.update(
            deps=ctx.deps,
            question=ctx.question,
            user=ctx.user_id,
            steps=len(ctx.steps),
            depth=ctx.depth,
        )

    await agent("hi", hooks=[hook(before_step=look)]).run("why?", deps=7, user_id="ada")
    assert seen == {"deps": 7, "question": "why?", "user": "ada", "steps": 0, "depth": 0}


async def test_after_run_is_called_even_if_the_last_event_is_not_read():
    journal: list[str] = []
    async with agent("hi", hooks=[Journal(journal)]).run("?") as stream:
        async for event in stream:
            if event["type"] == "metric":
                break
    assert journal[-1] == "after_run completed"
    assert stream.result.output == "hi"
