"""The final answer as a value: the model is asked for it, and is asked again if the answer does not fit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pydantic
import pytest
from typing_extensions import TypedDict  # before Python 3.12, pydantic accepts only this one

from cogency_rs import Agent, Hooks, Step, tool
from cogency_rs.agent.settings import Fault, output_of
from cogency_rs.errors import ConfigError
from cogency_rs.runs import RunContext
from cogency_rs.testing import ScriptedModel


@dataclass
class City:
    """A city.

    Args:
        name: what it is called.
        people: how many live there.
    """

    name: str
    people: int


class Place(TypedDict):
    name: str
    kind: Literal["city", "village"]


class Model(pydantic.BaseModel):
    name: str
    people: int = pydantic.Field(ge=0)


@dataclass
class Tree:
    value: int
    children: list[Tree]


OSLO = '{"name": "Oslo", "people": 700000}'


@pytest.mark.parametrize(
    ("output_type", "text", "value"),
    [
        (None, "any text", "any text"),
        (str, "any text", "any text"),
        (City, OSLO, City("Oslo", 700000)),
        (City, f"```json\n{OSLO}\n```", City("Oslo", 700000)),
        (City, f"```JSON \n{OSLO}\n``` ", City("Oslo", 700000)),
        (City, f"````json\n{OSLO}\n````", City("Oslo", 700000)),
        (City, f"Here it is:\n```\n{OSLO}\n```\n", City("Oslo", 700000)),
        (Place, '{"name": "Oslo", "kind": "city"}', {"name": "Oslo", "kind": "city"}),
        (Model, OSLO, Model(name="Oslo", people=700000)),
        (Tree, '{"value": 1, "children": []}', Tree(1, [])),
        (list[int], "[1, 2]", [1, 2]),
        (int, " 42 ", 42),
        (bool, "true", True),
        (Literal["yes", "no"], '"yes"', "yes"),
    ],
)
def test_an_answer_is_read_as_the_type_says(output_type: Any, text: str, value: Any) -> None:
    read = output_of(output_type).read(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("output_type", "text", "problem"),
    [
        (City, "Oslo", "it is not JSON"),
        (City, "", "it is not JSON"),
        (City, OSLO[:-1], "it is not JSON"),
        (City, '{"name": "Oslo"}', "people"),
        (City, '{"name": "Oslo", "people": "x"}', "must be an integer"),
        (City, '{"name": 1, "people": "x"}', "name"),
        (City, '{"name": "Oslo", "people": 1, "more": 2}', "more"),
        (Model, '{"name": "Oslo", "people": -1}', "people"),
        (Place, '{"name": "Oslo", "kind": "town"}', "city"),
        (list[int], "1", "array"),
        (list[float], "[1, Infinity]", "it is not JSON: JSON has no Infinity"),
        (dict[str, float], '{"a": NaN}', "it is not JSON: JSON has no NaN"),
        (int, "[" * 100_000, "it is no"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_that_says_why(
    output_type: Any, text: str, problem: str
) -> None:
    read = output_of(output_type).read(text)
    assert isinstance(read, Fault)
    assert problem in read.message
    assert len(read.message) < 500


def test_every_fault_is_named() -> None:
    read = output_of(City).read('{"people": "x"}')
    assert isinstance(read, Fault)
    assert "name" in read.message
    assert "people" in read.message


def test_a_type_that_json_cannot_hold_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="output_type"):
        Agent(ScriptedModel([]), output_type=type(lambda: None))


@tool
async def people_of(city: str) -> int:
    """Count the people of a city."""
    return 700000


async def test_a_run_asks_until_the_answer_fits() -> None:
    calls = '<execute>[{"name": "people_of", "args": {"city": "Oslo"}}]</execute>'
    model = ScriptedModel([calls, "Oslo", '{"name": "Oslo", "people": "many"}', OSLO])
    result = await Agent(model, tools=[people_of], output_type=City).run("Which city?")
    model.assert_complete()
    assert (result.output, result.status) == (City("Oslo", 700000), "completed")
    assert [step.kind for step in result.steps] == [
        "tool_execution",
        "error",
        "error",
        "final_response",
    ]
    first, _, second, third = (request.messages for request in model.requests)
    assert '"people": {"description"' in first[0]["content"]
    assert "it is not JSON" in second[-1]["content"]
    assert "must be an integer" in third[-1]["content"]
    assert second[-2] == {"role": "assistant", "content": "Oslo"}


async def test_a_run_stops_if_the_answers_never_fit() -> None:
    model = ScriptedModel(lambda _: "Oslo")
    result = await Agent(model, output_type=City).run("Which city?")
    assert (result.status, result.stop and result.stop.reason) == ("stopped", "retry_limit")
    assert len(result.steps) == 5
    assert (result.text, result.has_output) == ("Oslo", False)


@pytest.mark.parametrize(("text", "value"), [("null", None), ("0", 0)])
async def test_a_value_that_is_nothing_is_an_output_too(text: str, value: int | None) -> None:
    agent = Agent(ScriptedModel([text]), output_type=int | None)
    result = await agent.run("How many?", conversation_id="c")
    assert (result.output, result.status) == (value, "completed")
    assert (await agent.resume("c")).output == value


async def test_a_stopped_run_keeps_the_value_that_it_had_though_it_is_nothing() -> None:
    class Stopping(Hooks):
        def after_step(self, ctx: RunContext[Any], step: Step) -> Step:
            ctx.stop("enough")
            return step

    agent = Agent(ScriptedModel(["0"]), output_type=int, hooks=[Stopping()])
    result = await agent.run("How many?")
    assert (result.output, result.status) == (0, "stopped")


def test_the_schema_for_a_provider_is_an_object_with_its_definitions() -> None:
    city, tree, number = output_of(City).schema, output_of(Tree).schema, output_of(int).schema
    assert city is not None
    assert city["properties"].keys() == {"name", "people"}
    assert city["description"] == "A city."
    assert tree is not None
    assert "#/$defs/Tree" in json.dumps(tree["properties"])
    assert "Tree" in tree["$defs"]
    assert number is None
