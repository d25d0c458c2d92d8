"""An empty reply is not an answer: the model is asked once more, and then the run stops and says so."""

from __future__ import annotations

from typing import Any

import pytest

from cogency_rs import Agent, Memory, ToolCall, tool
from cogency_rs.errors import NoAnswerError
from cogency_rs.models import Finish, ReasoningDelta, ToolCallDelta
from cogency_rs.testing import ScriptedModel
from support.tools import block


@tool
async def look() -> str:
    """Look."""
    return "nothing"


EMPTY = {
    "nothing": ("text", [""]),
    "white space": ("text", [" \n\t "]),
    "an open mark of reasoning": ("text", ["<think>I wonder"]),
    "an open mark of reasoning, and a finish": ("text", ["<think>I wonder", Finish("stop")]),
    "reasoning": ("text", ["<think>I wonder</think>\n\n"]),
    "reasoning apart from the text": ("text", [ReasoningDelta("I wonder"), Finish("stop")]),
    "nothing, natively": ("native", [Finish("stop")]),
    "white space, natively": ("native", [" \n", Finish("end_turn")]),
    "reasoning, natively": ("native", [ReasoningDelta("I wonder"), Finish("stop")]),
}

empty = pytest.mark.parametrize(("driver", "reply"), EMPTY.values(), ids=EMPTY)


def agent_of(driver: Any, *answers: Any, **options: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel(answers)
    return Agent(model, tools=[look], driver=driver, **options), model


def calling(driver: str) -> Any:
    return (
        block(ToolCall("look", {})) if driver == "text" else [ToolCallDelta(0, "1", "look", "{}")]
    )


@empty
async def test_a_reply_without_an_answer_is_asked_for_once_more(driver, reply):
    agent, model = agent_of(driver, reply, "It is 3.", "Bye.")
    result = await agent.run("?", conversation_id="c")
    assert (result.status, result.output) == ("completed", "It is 3.")
    assert [step.kind for step in result.steps] == ["error", "final_response"]
    told = model.requests[1].messages[-1]
    assert told["role"] == "user"
    assert "wrote no answer" in told["content"]
    await agent.run("And?", conversation_id="c")
    assert "wrote no answer" not in str(model.requests[2].messages), "the question is ephemeral"


@empty
@pytest.mark.parametrize("output_type", [None, int])
async def test_after_the_second_the_run_stops_and_says_so(driver, reply, output_type):
    agent, model = agent_of(driver, reply, reply, output_type=output_type)
    result = await agent.run("?", conversation_id="c")
    assert (result.status, str(result.stop.reason)) == ("stopped", "empty_answer")
    assert result.text == ""
    with pytest.raises(NoAnswerError, match="wrote no answer, even when asked"):
        result.output  # noqa: B018
    model.assert_complete()


@empty
async def test_after_calls_a_reply_without_an_answer_is_none_either(driver, reply):
    agent, _ = agent_of(driver, calling(driver), reply, reply)
    result = await agent.run("?")
    assert (result.status, str(result.stop.reason)) == ("stopped", "empty_answer")
    agent, _ = agent_of(driver, calling(driver), reply, calling(driver), reply, "It is 3.")
    assert (await agent.run("?")).output == "It is 3.", "a call between both begins a new count"


async def test_a_run_that_stopped_for_it_asks_again_when_it_is_resumed():
    storage = Memory()
    agent, _ = agent_of("text", "", "", storage=storage)
    await agent.run("?", conversation_id="c")
    again, _ = agent_of("text", "It is 3.", storage=storage)
    result = await again.resume("c")
    assert (result.status, result.output) == ("completed", "It is 3.")


async def test_a_model_that_only_says_that_it_is_done_completes_the_run_without_an_output():
    agent, _ = agent_of("text", "<end>")
    result = await agent.run("?", conversation_id="c")
    assert (result.status, result.has_output, result.text) == ("completed", False, "")
    again = await agent.resume("c")
    assert (again.status, again.has_output) == ("completed", False)
    agent, _ = agent_of("text", "<end>", "7", output_type=int)
    assert (await agent.run("?")).output == 7, "a value is asked for all the same"
