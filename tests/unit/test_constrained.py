"""A model that is held to a grammar of calls: by llama.cpp itself, or by a server that may refuse it."""

from __future__ import annotations

import logging
from typing import Annotated, Any, ClassVar

import pytest

from cogency_rs import Agent, Dialect, LocalModel, RunLimits, tool
from cogency_rs.agent import TextDriver
from cogency_rs.errors import ConfigError
from cogency_rs.testing import ScriptedModel, sse
from cogency_rs.tools import Param
from support import openai_served
from support.agents import add
from support.llama_server import needs_llama
from support.openai_served import Reply, delta, reply
from support.tiny_model import tiny_model

openai_environment = openai_served.plain_environment


class Holding(ScriptedModel):
    """A script that says it holds its answers to a grammar."""

    takes_grammar = True


async def grammars(driver: Any, model: ScriptedModel, **options: Any) -> list[str | None]:
    agent = Agent(model, driver=driver, **{"tools": [add], **options})
    await agent.run("?")
    return [request.grammar for request in model.requests]


CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
ADD = {"name": "add", "parameters": add.json_schema}
AUTO = Dialect("hermes").grammar([ADD]).text
REQUIRED = Dialect("hermes").grammar([ADD], calls="required").text
OPEN = Dialect("hermes").grammar([ADD], reasoning="open").text
ONE = Dialect("hermes").grammar([ADD], parallel=False).text
ONE_REQUIRED = Dialect("hermes").grammar([ADD], calls="required", parallel=False).text


@pytest.mark.parametrize(
    ("model", "options", "sent"),
    [
        (Holding, {}, AUTO),
        (Holding, {"constrain": True}, AUTO),
        (Holding, {"constrain": "required"}, REQUIRED),
        (Holding, {"constrain": False}, None),
        (Holding, {"begins_in_think": True}, OPEN),
        (Holding, {"constrain": "required", "parallel": False}, ONE_REQUIRED),
        (ScriptedModel, {}, None),
        (ScriptedModel, {"constrain": True}, AUTO),
        (ScriptedModel, {"parallel": False}, ONE),
    ],
    ids=[
        *("by default", "asked for", "only calls", "turned off", "in reasoning", "only one call"),
        *("a model that takes none", "asked for of any model", "one call asked for of any model"),
    ],
)
async def test_each_request_has_the_grammar_of_the_tools(model, options, sent):
    thought = "hm</think>" if options.get("begins_in_think") else ""
    answers = [thought + CALL, thought + "3."]
    assert await grammars(TextDriver("hermes", **options), model(answers)) == [sent, sent]


async def test_the_first_answer_of_each_run_must_call():
    model = Holding([CALL, "3.", CALL, "3."])
    agent = Agent(model, tools=[add], driver=TextDriver("hermes", constrain="first"))
    for question in ("?", "again?"):
        await agent.run(question, conversation_id="c")
    assert [request.grammar for request in model.requests] == [REQUIRED, AUTO] * 2


async def test_no_answer_must_call_once_no_call_would_be_carried_out():
    model = Holding([CALL, "3."])
    driver = TextDriver("hermes", constrain="required")
    agent = Agent(model, tools=[add], driver=driver, limits=RunLimits(tool_calls=1))
    assert (await agent.run("?")).output == "3."
    assert [request.grammar for request in model.requests] == [REQUIRED, AUTO]


async def test_without_tools_there_is_nothing_to_be_held_to():
    assert await grammars(TextDriver("hermes", constrain=True), Holding(["Hi."]), tools=[]) == [
        None
    ]


async def test_arguments_are_held_to_the_schema_that_the_provider_would_get():
    @tool
    def weather(city: str) -> str:
        return city

    [sent] = await grammars(TextDriver("hermes"), Holding(["Hi."]), tools=[weather])
    declared = {"name": "weather", "parameters": weather.json_schema}
    assert sent == Dialect("hermes").grammar([declared]).text
    assert "value-" not in sent, "a city is a text, and not any value"


async def test_a_tool_that_no_grammar_can_hold_is_an_error_only_where_one_was_asked_for():
    class Impossible:
        name, description = "impossible", "Do nothing."
        schema: ClassVar[dict[str, Any]] = {
            "type": "object",
            "properties": {"x": {"type": "string", "enum": []}},
            "required": ["x"],
        }

        async def execute(self, **_: Any) -> str:
            return ""

    tools = [Impossible()]
    assert await grammars(TextDriver("hermes"), Holding(["Hi."]), tools=tools) == [None]
    with pytest.raises(ConfigError, match="impossible"):
        await grammars(TextDriver("hermes", constrain=True), Holding(["Hi."]), tools=tools)


@pytest.mark.parametrize("constrain", ["auto", 1, "yes"])
def test_what_constrain_cannot_be(constrain):
    with pytest.raises(ConfigError, match='constrain must be True, False, "first" or "required"'):
        TextDriver("hermes", constrain=constrain)


@pytest.mark.parametrize("options", [{"constrain": False}, {"tools_in": "request"}], ids=str)
def test_one_call_an_answer_needs_our_grammar(options):
    with pytest.raises(ConfigError, match="parallel=False is held by our grammar"):
        TextDriver("hermes", parallel=False, **options)


# A server


def refusal(message: str, status: int = 400) -> Reply:
    return Reply({"error": {"message": message}}, status)


HELD = {"grammar": AUTO, "structured_outputs": {"grammar": AUTO}, "ebnf": AUTO}
"""The grammar where llama.cpp's server, vLLM and SGLang look for it."""


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
async def test_each_kind_of_server_gets_the_grammar_where_it_looks_for_it(endpoint):
    template = {"template": str} if endpoint == "completions" else {}
    replies = [text_of(endpoint)] * 2
    async with openai_served.served(*replies, endpoint=endpoint, **template) as (server, model):
        agent = Agent(model, tools=[add], driver=TextDriver("hermes", constrain=True))
        assert [(await agent.run("?")).output for _ in range(2)] == ["Hello.", "Hello."]
    assert [held(each.body) for each in server.requests] == [HELD, HELD]


@pytest.mark.parametrize(
    "message",
    [
        "Unrecognized request argument supplied: grammar",
        "failed to parse grammar",
        "Invalid grammar specification.",
        "Failed to compile ebnf grammar: unexpected token",
        "structured_outputs: Extra inputs are not permitted",
    ],
    ids=["OpenAI", "llama.cpp", "vLLM", "SGLang", "one that takes no other fields"],
)
async def test_a_server_that_refuses_the_grammar_is_asked_without_it_and_that_is_said_once(
    message, caplog
):
    replies = [refusal(message), answer(), answer()]
    with caplog.at_level(logging.WARNING, "cogency_rs"):
        async with openai_served.served(*replies) as (server, model):
            agent = Agent(model, tools=[add], driver=TextDriver("hermes", constrain=True))
            assert [(await agent.run("?")).output for _ in range(2)] == ["Hello.", "Hello."]
    assert [held(each.body) for each in server.requests] == [HELD, {}, {}]
    assert [record.getMessage()[:28] for record in caplog.records] == [
        "The server refused a grammar"
    ]


def held(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request that hold its answer to a grammar."""
    return {name: value for name, value in body.items() if name in HELD}


def text_of(endpoint: str) -> Reply:
    if endpoint == "chat":
        return answer()
    choice = {"index": 0, "text": "Hello.", "finish_reason": "stop"}
    return reply(sse({"choices": [choice]}), openai_served.DONE)


def answer() -> Reply:
    return reply(delta(content="Hello."), openai_served.STOP, openai_served.DONE)


@needs_llama
async def test_llama_cpp_holds_the_model_to_calls(tmp_path):
    """The model would write other things: the grammar leaves it no choice but to name a tool that is there."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(tiny_model({"sum": "I would rather talk.", "": "Hello."}))
    async with LocalModel(path, threads=1, max_tokens=400, seed=1, temperature=0) as model:
        free = await Agent(model, tools=[add]).run("What is the sum?")
        assert free.output == "I would rather talk."
        held = Agent(model, tools=[add], driver=TextDriver("hermes", constrain="required"))
        step = await anext(held.run("What is the sum?").steps())
    assert {call.name for call in step.calls} == {"add"}
    assert {type(value) for call in step.calls for value in call.args.values()} == {int}


@needs_llama
async def test_llama_cpp_takes_the_grammar_of_a_tool_that_bounds_its_texts(tmp_path, caplog):
    """It counts what is in brackets once for each repetition, and refuses a grammar with 2,000 of these."""

    @tool
    def note(text: Annotated[str, Param(min_length=3, max_length=1000)]) -> str:
        return text

    path = tmp_path / "tiny.gguf"
    path.write_bytes(tiny_model({"": "Hello."}))
    async with LocalModel(path, threads=1, max_tokens=40, seed=1, temperature=0) as model:
        for dialect in ("hermes", "qwen3-coder", "kimi-k2"):
            driver = TextDriver(dialect, constrain="required")
            await anext(Agent(model, tools=[note], driver=driver).run("?").steps())
    assert not caplog.records
