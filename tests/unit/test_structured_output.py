"""An answer of a certain type, asked for by its schema if the provider supports that, and otherwise in the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from cogency_rs import Agent, AnthropicModel, OpenAIModel, RunLimits
from cogency_rs.errors import ConfigError
from cogency_rs.testing import Reply, ScriptedModel
from support import anthropic_served, openai_served
from support.anthropic_served import end, start, text
from support.native_calls import add
from support.openai_served import DONE, STOP, delta, reply

pytest.importorskip("openai")
pytest.importorskip("anthropic")

anthropic_environment = anthropic_served.plain_environment
openai_environment = openai_served.plain_environment


@dataclass
class City:
    name: str
    people: int


@dataclass
class Place:
    name: str


class Bounded(BaseModel):
    name: str
    people: Annotated[int, Field(ge=0, lt=10**9)]


OSLO_AS_CITY = City("Oslo", 700_000)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
    "additionalProperties": False,
}
OSLO = '{"name": "Oslo", "people": 700000}'


def refusal(message: str, status: int = 400) -> Reply:
    return Reply({"error": {"message": message, "type": "invalid_request_error"}}, status)


def answer_of_openai(text: str = OSLO) -> Reply:
    return reply(delta(content=text), STOP, DONE)


def answer_of_anthropic(answer: str = OSLO) -> Reply:
    return Reply([start(), *text(0, answer), *end()])


async def runs(
    served: Any,
    *replies: Reply,
    count: int = 1,
    expected: Any = OSLO_AS_CITY,
    **options: Any,
) -> list[Any]:
    """Ask for a city once for each reply; returns the bodies of all requests."""
    asked = {"output_type": City, "driver": "native", **options.pop("agent", {})}
    async with served(*replies, **options) as (server, model):
        agent: Any = Agent(model, **asked)
        for _ in range(count):
            assert (await agent.run("?")).output == expected
    return [request.body for request in server.requests]


async def test_openai_is_sent_the_schema_as_a_response_format_and_in_words():
    [sent] = await runs(openai_served.served, answer_of_openai(), structured_output=True)
    form = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}
    assert "JSON Schema" in sent["messages"][0]["content"]


async def test_anthropic_is_sent_the_schema_beside_the_effort():
    [sent] = await runs(
        anthropic_served.served,
        answer_of_anthropic(),
        structured_output=True,
        output_config={"effort": "low"},
    )
    form = {"type": "json_schema", "schema": SCHEMA}
    assert sent["output_config"] == {"effort": "low", "format": form}


@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "Cannot use custom grammar constraints with tools.",
        "Unknown field: response_format",
    ],
)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_refuses_the_schema_is_asked_in_words_from_then_on(message, status):
    sent = await runs(
        openai_served.served,
        refusal(message, status),
        answer_of_openai(),
        answer_of_openai(),
        count=2,
        structured_output=True,
        agent={"tools": [add]},
    )
    assert ["response_format" in each for each in sent] == [True, False, False]
    assert all("stream_options" in each for each in sent)


async def test_anthropic_that_refuses_the_schema_is_asked_in_words_and_keeps_the_effort():
    sent = await runs(
        anthropic_served.served,
        refusal("output_config.format: this model does not support structured outputs"),
        answer_of_anthropic(),
        answer_of_anthropic(),
        count=2,
        structured_output=True,
        output_config={"effort": "low"},
    )
    expected = [{"effort", "format"}, {"effort"}, {"effort"}]
    assert [each["output_config"].keys() for each in sent] == expected


async def test_a_form_that_anthropic_refuses_keeps_no_other_from_being_sent():
    refused, city, place = (
        refusal("output_config.format.schema: too complex"),
        OSLO,
        '{"name": "Oslo"}',
    )
    replies = [refused, *(answer_of_anthropic(each) for each in (city, place, city))]
    async with anthropic_served.served(*replies, structured_output=True) as (server, model):
        for kind in (City, Place, City):
            await Agent(model, output_type=kind).run("?")
    assert ["output_config" in each.body for each in server.requests] == [True, False, True, False]


async def test_anthropic_is_sent_closed_objects_without_bounds():
    [sent] = await runs(
        anthropic_served.served,
        answer_of_anthropic(),
        structured_output=True,
        agent={"output_type": Bounded},
        expected=Bounded(name="Oslo", people=700_000),
    )
    schema = sent["output_config"]["format"]["schema"]
    assert schema["additionalProperties"] is False
    assert not schema["properties"]["people"].keys() & {"minimum", "exclusiveMinimum", "maximum"}
    assert "minimum" in sent["system"][0]["text"]


async def test_a_server_that_refuses_the_usage_and_the_schema_is_asked_without_either():
    sent = await runs(
        openai_served.served,
        refusal("unknown: stream_options"),
        refusal("unknown: stream_options"),
        refusal("unknown: response_format"),
        answer_of_openai(),
        structured_output=True,
    )
    assert [each.keys() & {"stream_options", "response_format"} for each in sent] == [
        {"stream_options", "response_format"},
        {"stream_options", "response_format"},
        {"response_format"},
        set(),
    ]


@pytest.mark.parametrize(
    ("options", "agent"),
    [
        ({}, {}),
        ({"structured_output": False}, {}),
        ({"structured_output": True}, {"driver": "text"}),
        ({"structured_output": True}, {"driver": "react"}),
    ],
    ids=["another server", "turned off", "text", "react"],
)
async def test_the_schema_is_not_sent(options, agent):
    """An answer that holds calls, or a decision, is not a value of the schema."""
    answer = OSLO
    if agent.get("driver") == "react":
        answer = f'{{"thought": "", "type": "final_answer", "answer": {OSLO}}}'
    [sent] = await runs(openai_served.served, answer_of_openai(answer), **options, agent=agent)
    assert "response_format" not in sent


@pytest.mark.parametrize("options", [{}, {"output_type": list[int]}], ids=["text", "an array"])
async def test_an_answer_that_is_not_an_object_has_no_schema(options):
    async with openai_served.served(answer_of_openai("[1]"), structured_output=True) as (
        server,
        model,
    ):
        await Agent(model, driver="native", **options).run("?")
    assert "response_format" not in server.requests[0].body


async def test_an_answer_that_must_call_a_tool_has_no_schema():
    model = ScriptedModel(["no"] * 2)
    model.structured_output = True  # type: ignore[attr-defined]
    agent = Agent(
        model, driver="native", output_type=City, limits=RunLimits(require_tool=True), tools=[add]
    )
    run = agent.run("?")
    async with run as events:
        async for event in events:
            if event["type"] == "error":
                break
    assert model.requests[0].output_schema is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda: OpenAIModel("m", api_key="k"), True),
        (lambda: OpenAIModel("m", api_key="k", structured_output=False), False),
        (lambda: OpenAIModel("m", base_url="http://localhost:8000/v1"), False),
        (lambda: OpenAIModel("m", base_url="http://localhost/v1", structured_output=True), True),
        (lambda: AnthropicModel("m", api_key="k"), True),
        (lambda: AnthropicModel("m", base_url="http://localhost:8000"), False),
        (lambda: AnthropicModel("m", base_url="http://localhost", structured_output=True), True),
    ],
)
def test_only_the_providers_themselves_are_sent_a_schema_unless_it_is_asked_for(model, expected):
    assert model().structured_output is expected


def test_plain_completions_have_no_schema():
    options: dict[str, Any] = {"endpoint": "completions", "template": str}
    with pytest.raises(ConfigError, match="structured_output goes with"):
        OpenAIModel("m", base_url="http://localhost/v1", structured_output=True, **options)
    assert OpenAIModel("m", base_url="http://localhost/v1", **options).structured_output is False
