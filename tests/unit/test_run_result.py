"""What a run gives: an output of the type it promises or one error that says why there is none, and always its text."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, RunLimits, RunResult, tool
from cogency_rs.errors import NoAnswerError, StopRun
from cogency_rs.testing import ScriptedModel
from support.tools import block, call


@dataclass
class City:
    name: str
    people: int


OSLO = '{"name": "Oslo", "people": 700000}'


@tool(requires_approval=True)
async def pay() -> str:
    """Pay a bill."""
    return "paid"


@tool
async def halt() -> str:
    """Stop the run."""
    raise StopRun("out of paper")


@tool
async def finish() -> str:
    """End the run as completed, with no output."""
    raise StopRun("all is done", reason="completed")


@tool(ends_run=True)
async def measure() -> dict[str, int]:
    """Measure."""
    return {"n": 3}


def ran(*answers: Any, **options: Any) -> RunResult[Any]:
    tools = [pay, halt, finish, measure]
    return Agent(ScriptedModel(answers), tools=tools, **options).run_sync("?", conversation_id="c")


@pytest.mark.parametrize(
    ("answers", "options", "output", "text"),
    [
        (["Oslo."], {}, "Oslo.", "Oslo."),
        ([OSLO], {"output_type": City}, City("Oslo", 700000), OSLO),
        (["null"], {"output_type": int | None}, None, "null"),
        ([block("measure")], {}, {"n": 3}, '{"n": 3}'),
    ],
)
def test_an_answer_is_an_output_and_a_text(answers, options, output, text):
    result = ran(*answers, **options)
    assert (result.status, result.has_output) == ("completed", True)
    assert (result.output, result.text) == (output, text)


@tool(ends_run=True)
async def capital(people: int) -> City:
    """The capital of Norway."""
    return City("Oslo", people)


async def test_the_result_of_a_tool_that_ends_the_run_has_the_type_that_was_asked_for():
    model = ScriptedModel([block(call("capital", people=700000))])
    agent = Agent(model, tools=[capital], output_type=City)
    result = await agent.run("?", conversation_id="c")
    assert (result.output, result.text) == (City("Oslo", 700000), OSLO)
    assert (await agent.resume("c")).output == City("Oslo", 700000)
    other = Agent(model, storage=agent.storage, output_type=list[int])
    with pytest.raises(NoAnswerError):
        _ = (await other.resume("c")).output


async def test_a_result_of_another_type_does_not_end_the_run():
    model = ScriptedModel([block("measure"), OSLO])
    result = await Agent(model, tools=[measure], output_type=City).run("?")
    assert (len(result.steps), result.output) == (2, City("Oslo", 700000))


@pytest.mark.parametrize(("output_type", "output"), [(int, 7), (int | str, 7), (list[str], ["a"])])
async def test_text_that_a_tool_returns_is_read_as_the_type(output_type, output):
    @tool(ends_run=True)
    async def answer(text: str) -> str:
        """Answer."""
        return text

    model = ScriptedModel([block(call("answer", text=json.dumps(output)))])
    result = await Agent(model, tools=[answer], output_type=output_type).run("?")
    assert result.output == (json.dumps(output) if output_type == int | str else output)


ONE_STEP = RunLimits(steps=1)


@pytest.mark.parametrize("output_type", [None, City])
@pytest.mark.parametrize(
    ("answer", "limits", "status", "reason", "says"),
    [
        (
            f"Let me see. {block('measure2')}",
            ONE_STEP,
            "stopped",
            "steps_limit",
            "it stopped (steps_limit): Step limit reached: 1/1. RunResult.text has what the model wrote last",
        ),
        (block("halt"), None, "stopped", "stop_requested", "(stop_requested): out of paper"),
        (block("finish"), None, "completed", "completed", "it was completed (completed): all is"),
        (
            block("pay"),
            None,
            "waiting",
            None,
            "1 call waits for approval: pay; go on with agent.resume(",
        ),
    ],
)
def test_without_an_answer_the_output_is_an_error_that_says_why(
    output_type, answer, limits, status, reason, says
):
    result = ran(answer, output_type=output_type, limits=limits)
    assert (result.status, result.has_output) == (status, False)
    assert isinstance(result.text, str)
    with pytest.raises(NoAnswerError) as caught:
        result.output  # noqa: B018  # it raises
    error = caught.value
    assert str(error).startswith("the run has no answer: ")
    assert says in str(error)
    assert (error.status, error.reason) == (status, reason)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.status, copy.reason) == (str(error), status, reason)


async def test_a_run_that_a_tool_completed_without_an_output_has_none_when_it_is_resumed_either():
    agent = Agent(ScriptedModel([block("finish")]), tools=[finish])
    await agent.run("?", conversation_id="c")
    again = await agent.resume("c")
    assert (again.status, again.has_output, again.text) == ("completed", False, "")


def test_a_hook_may_give_a_run_another_output():
    class Doubles(Hooks):
        def after_run(self, ctx: Any, result: RunResult[Any]) -> RunResult[Any]:
            return result.with_output(result.output * 2)

    assert ran("21", output_type=int, hooks=[Doubles()]).output == 42


def test_a_result_is_told_apart_by_its_output():
    result = ran("21", output_type=int)
    assert result == result.with_output(21)
    assert result != result.with_output(22)
