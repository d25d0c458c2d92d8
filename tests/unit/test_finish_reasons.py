"""What each provider's word for the end of an answer means: one table, the same for every driver and every model."""

from __future__ import annotations

from typing import Any

import pytest

from cogency_rs import Agent, Memory, RunLimits, parse_tokens, tool
from cogency_rs.errors import NoAnswerError
from cogency_rs.models import Finish, TextDelta, ToolCallDelta
from cogency_rs.testing import ScriptedModel
from cogency_rs.types import TurnOutcome
from support.tools import OK, with_tools
from support.turns import MODES, Chunks, Log, accumulator, carry_out

WORDS = {
    "whole": [
        *("stop", "end_turn", "stop_sequence", "eos", "eos_token", "word", "STOP", "COMPLETE"),
        "completed",
    ],
    "calls": ["tool_calls", "tool_call", "tool_use", "function_call", "TOOL_CALL"],
    "length": [
        *("length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_length", "limit"),
        *("model_context_window_exceeded", "max_new_tokens", "ERROR_LIMIT"),
    ],
    "refused": [
        *("content_filter", "content_filtered", "refusal", "SAFETY", "RECITATION", "BLOCKLIST"),
        *("PROHIBITED_CONTENT", "SPII", "guardrail_intervened", "ERROR_TOXIC", "sensitive"),
    ],
    "broken": [
        *("abort", "error", "pause_turn", "load", "MALFORMED_FUNCTION_CALL", "network_error"),
        *("insufficient_system_resource", "timeout", "TOO_MANY_TOOL_CALLS", "user_cancel"),
    ],
    "unknown": ["", "a word of its own", None],
}
EACH = [(kind, word) for kind, words in WORDS.items() for word in words]
DRIVERS = ["text", "native", "react"]

each = pytest.mark.parametrize(("kind", "word"), EACH)

ran: list[tuple[int, int]] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    ran.append((a, b))
    return a + b


@each
def test_a_finish_says_what_its_word_means(kind, word):
    assert Finish(word).kind == kind


def agent_of(driver: str, *answers: Any, **options: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(answers), tools=[add], driver=driver, **options)


def answering(driver: str, word: str | None) -> list[Any]:
    said = '{"thought": "t", "type": "final_answer", "answer": "It is 3."}'
    return [said if driver == "react" else "It is 3.", Finish(word)]


@pytest.mark.parametrize("driver", ["text", "native"])
@each
async def test_a_text_is_an_answer_unless_it_was_cut_refused_or_broken_off(driver, kind, word):
    storage = Memory()
    agent = agent_of(driver, answering(driver, word), storage=storage, limits=RunLimits(steps=1))
    result = await agent.run("?", conversation_id="c")
    assert result.text == "It is 3."
    assert result.has_output is (kind in ("whole", "calls", "unknown"))
    reason = {"length": "steps_limit", "broken": "steps_limit", "refused": "refused"}.get(kind)
    assert (result.stop and str(result.stop.reason)) == reason
    assert result.status == ("stopped" if reason else "completed")
    assert (result.steps[0].outcome == "refused") is (kind == "refused")


@each
async def test_a_decision_is_an_answer_unless_it_was_refused(kind, word):
    """The object is closed, so its answer is whole wherever the text ended."""
    result = await agent_of("react", answering("react", word)).run("?")
    assert result.text == "It is 3."
    assert result.has_output is (kind != "refused")


CUT_CALL = {
    "text": '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]',  # a server takes the mark away
    "hermes": '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}',
    "native": ToolCallDelta(0, "1", "add", '{"a": 1, "b": 2'),
    "react": '{"thought": "t", "type": "call_tool", "tool": "add", "args": {"a": 1, "b": 2',
}


@pytest.mark.parametrize("driver", CUT_CALL)
@each
async def test_a_call_of_an_answer_that_did_not_end_by_itself_runs_only_if_it_is_whole(
    driver, kind, word
):
    options = {"dialect": "hermes"} if driver == "hermes" else {}
    name = "text" if driver == "hermes" else driver
    agent = agent_of(name, [CUT_CALL[driver], Finish(word)], limits=RunLimits(steps=1), **options)
    await agent.run("?")
    may_run = driver in ("text", "hermes") and kind in ("whole", "calls", "unknown")
    assert ran == ([(1, 2)] if may_run else [])


WHOLE_CALL = {
    "hermes": '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
    "native": ToolCallDelta(0, "1", "add", '{"a": 1, "b": 2}'),
    "react": '{"thought": "t", "type": "call_tool", "tool": "add", "args": {"a": 1, "b": 2}}',
}


@pytest.mark.parametrize("driver", WHOLE_CALL)
@each
async def test_a_whole_call_runs_unless_its_answer_was_refused_or_broken_off(driver, kind, word):
    options = {"dialect": "hermes"} if driver == "hermes" else {}
    name = "text" if driver == "hermes" else driver
    agent = agent_of(name, [WHOLE_CALL[driver], Finish(word)], limits=RunLimits(steps=1), **options)
    result = await agent.run("?", conversation_id="c")
    assert ran == ([] if kind in ("refused", "broken") else [(1, 2)])
    assert (result.steps[0].outcome == "refused") is (kind == "refused")


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_refusal_says_why_and_asks_no_further(driver):
    agent = agent_of(driver, ["I", Finish("refusal", details="cyber: not this")], "never asked")
    async with agent.run("?", conversation_id="c") as stream:
        events = [event async for event in stream]
    result = stream.result
    assert (result.status, str(result.stop.reason)) == ("stopped", "refused")
    assert "(refusal: cyber: not this)" in result.stop.message
    with pytest.raises(NoAnswerError, match=r"stopped \(refused\): .*cyber: not this"):
        result.output  # noqa: B018
    [error] = [event for event in events if event["type"] == "error"]
    assert error["kind"] == "refused"


async def test_a_run_that_was_refused_goes_on_where_it_is_resumed():
    storage = Memory()
    agent = agent_of("text", ["The first half, ", Finish("content_filter")], storage=storage)
    assert (await agent.run("?", conversation_id="c")).text == "The first half,"
    again = agent_of("text", "and the second half.", storage=storage)
    result = await again.resume("c")
    assert result.output == "The first half, and the second half."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("errors", ["event", "respond"])
@pytest.mark.parametrize("text", ["hi", "", "<think>hm", "<execute>[7]", "<execute>["])
async def test_a_turn_that_was_refused_says_so_whatever_it_wrote(mode, errors, text):
    turns = accumulator(with_tools(OK, storage=Log()), stream=mode)
    source = Chunks(text, Finish("content_filter"))
    await carry_out(turns, parse_tokens(source, errors=errors))
    assert turns.last.outcome is TurnOutcome.REFUSED


async def test_calls_of_a_dialect_that_runs_them_at_the_end_are_settled_when_it_is_refused():
    storage = Memory()
    agent = agent_of(
        "text",
        ["So.", WHOLE_CALL["hermes"], TextDelta("And"), Finish("content_filter")],
        storage=storage,
        dialect="hermes",
    )
    result = await agent.run("?", conversation_id="c")
    assert (ran, str(result.stop.reason)) == ([], "refused")
    assert [record.status for record in await storage.calls("c")] in ([], ["cancelled"])
