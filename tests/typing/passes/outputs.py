"""Answers of a type: `output` has it, whatever it is."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict, assert_type

from cogency_rs import Agent, OpenAIModel


@dataclass
class City:
    name: str
    people: int


class Row(TypedDict):
    name: str


model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")


async def main() -> None:
    assert_type((await Agent(model).run("?")).output, str)
    assert_type((await Agent(model, output_type=str).run("?")).output, str)
    assert_type((await Agent(model, output_type=City).run("?")).output.people, int)
    assert_type((await Agent(model, output_type=Row).run("?")).output, Row)
    assert_type((await Agent(model, output_type=int | str).run("?")).output, int | str)
    assert_type((await Agent(model, output_type=City | None).run("?")).output, City | None)
    assert_type((await Agent(model, output_type=list[City]).run("?")).output, list[City])
    answer = (await Agent(model, output_type=Literal["yes", "no"]).run("?")).output
    assert_type(answer, Literal["yes", "no"])
    assert_type((await Agent(model, output_type=Annotated[int, "years"]).run("?")).output, int)
    assert_type(Agent(model, output_type=City).run_sync("?").output, City)
    assert_type((await Agent(model, output_type=City).resume("c")).output, City)
    assert_type((await Agent(model, output_type=City).run("?")).text, str)
