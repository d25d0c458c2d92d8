"""The prompt of an agent: where its tools are, what a program writes itself, and what it must not leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from cogency_rs import Agent, Dialect, History, Memory, assemble, parse_tokens, tool
from cogency_rs.agent import Driver, TextDriver
from cogency_rs.context import PromptParts
from cogency_rs.errors import ConfigError
from cogency_rs.testing import ScriptedModel


@tool
def weather(city: str) -> str:
    """Get the weather in a city."""
    return f"Sunny in {city}."


def agent_of(driver: Driver, answers: Any = ("Sunny.",), **options: Any) -> Agent[Any, str]:
    return Agent(ScriptedModel(answers), tools=[weather], driver=driver, **options)


def prompt_of(dialect: Any, message: str | None = "Rain?", **options: Any) -> list[tuple[str, str]]:
    agent = agent_of(TextDriver(dialect, **options), instructions="Be brief.")
    return [(each["role"], each["content"]) for each in agent.prompt(message)]


# Where the tools are


def test_most_templates_have_their_tools_after_the_text_of_the_system_message():
    (role, text), question = prompt_of("hermes")
    assert (role, question) == ("system", ("user", "Rain?"))
    before, _, declared = text.partition("\n\n# Tools\n\n")
    assert before.startswith("Be brief.\n\nCalls in a message start together")
    assert declared.startswith("You may call one or more functions")
    assert declared.endswith("</tool_call>")


def test_tools_may_be_before_the_text_of_the_system_message():
    (_, text), _ = prompt_of("cohere")
    assert text.startswith("## Tool Use\n")
    assert text.endswith("never write them.")
    assert "Be brief." in text


def test_tools_may_be_in_a_system_message_of_their_own():
    (first, tools), (second, text), _ = prompt_of("glm45")
    assert first == second == "system"
    assert tools.startswith("# Tools\n")
    assert tools.endswith("</tool_call>")
    assert text.startswith("Be brief.\n\n")


def test_tools_may_be_in_the_first_message_of_the_user():
    (_, text), (role, question) = prompt_of("llama3-json")
    assert "weather" not in text
    assert role == "user"
    assert question.startswith("Given the following functions, please respond")
    assert question.endswith("\n}\n\nRain?")


async def test_tools_stay_in_the_first_message_of_the_user_in_a_longer_conversation():
    agent = agent_of(
        TextDriver("llama3-json"), ["One.", "Two."], history=History(merge_roles=False)
    )
    first = await agent.run("1?")
    await agent.run("2?", conversation_id=first.conversation_id)
    messages = [each["content"] for each in agent_model(agent).requests[1].messages]
    assert [("Given the following" in each) for each in messages] == [False, True, False, False]


def agent_model(agent: Agent[Any, str]) -> ScriptedModel:
    model: ScriptedModel = agent._settings.model
    return model


async def test_assemble_puts_tools_where_the_template_does():
    storage = Memory()
    await storage.append("c", user_id="u", rows=[("user", "Rain?", 1.0)])
    for dialect, roles in (("hermes", "su"), ("glm45", "ssu"), ("llama3-json", "su")):
        messages = await assemble("u", "c", tools=[weather], storage=storage, dialect=dialect)
        assert "".join(each["role"][0] for each in messages) == roles
        [holder] = [each for each in messages if '"name": "weather"' in each["content"]]
        assert holder is messages[-1 if dialect == "llama3-json" else 0]


# Written by the program


def test_a_program_writes_the_prompt_from_its_parts():
    def terse(parts: PromptParts) -> str:
        assert parts.place == "after_system"
        assert parts.text.startswith(parts.identity)
        return f"You are Ada.\n\n{parts.calls}{parts.instructions}{parts.tools}"

    (_, text), _ = prompt_of("hermes", prompt=terse)
    (_, ours), _ = prompt_of("hermes")
    assert text == ours.replace("Be brief.", "You are Ada.")


def test_parts_may_be_replaced_in_the_whole_text():
    (_, text), _ = prompt_of("cogency", prompt=lambda parts: parts.text.replace("Be brief.", "!"))
    assert text.startswith("!\n\n# Calls")


def test_a_prompt_of_one_s_own_is_one_message():
    messages = prompt_of("llama3-json", prompt=lambda parts: parts.text)
    assert "Given the following functions" in messages[0][1]
    assert messages[1:] == [("user", "Rain?")]


@pytest.mark.parametrize("dialect", Dialect.presets())
def test_the_whole_text_has_all_that_a_prompt_needs(dialect: str):
    assert "weather" in prompt_of(dialect, prompt=lambda parts: parts.text)[0][1]


def test_a_prompt_without_a_tool_is_refused():
    with pytest.raises(
        ConfigError, match=r"lacks weather: .* parts.tools into it, .*visible=False"
    ):
        prompt_of("hermes", prompt=lambda parts: "Write <tool_call>…</tool_call>.")


@pytest.mark.parametrize(
    ("dialect", "mark"),
    [
        ("hermes", "<tool_call>"),
        ("cogency", "<execute>"),
        ("glm47", "<tool_call>"),
        ("json-plain", '"name"'),
        ("llama3-json", '"name"'),
        ("react-json", '"thought"'),
    ],
)
def test_a_prompt_without_the_mark_of_a_call_is_refused(dialect: str, mark: str):
    with pytest.raises(ConfigError, match=rf"lacks {mark}, which is part of a call"):
        prompt_of(dialect, prompt=lambda parts: "There is a tool: weather.")


def test_a_prompt_without_the_mark_that_closes_a_call_is_refused():
    with pytest.raises(ConfigError, match="lacks </tool_call>, which is part of a call"):
        prompt_of("hermes", prompt=lambda parts: parts.text.replace("</tool_call>", ""))


def test_a_prompt_without_the_schema_of_the_answer_is_refused():
    def prompt(**prompt: Any) -> str:
        agent = agent_of(TextDriver("hermes", **prompt), output_type=dict[str, int])
        return agent.prompt("Rain?")[0]["content"]

    with pytest.raises(ConfigError, match=r"lacks the schema of the answer: .*output_type"):
        prompt(prompt=lambda parts: f"{parts.calls}{parts.tools}")
    written = prompt(prompt=lambda parts: f"{parts.calls}{parts.tools}{parts.instructions}")
    assert '"additionalProperties": {"type": "integer"}' in written


async def test_a_run_is_refused_as_the_prompt_is():
    agent = agent_of(TextDriver("hermes", prompt=lambda parts: "Hello."))
    with pytest.raises(ConfigError, match="lacks <tool_call>"):
        await agent.run("Rain?")


def test_a_prompt_has_to_be_text():
    with pytest.raises(
        ConfigError, match="prompt must return the system prompt, a str, not NoneType"
    ):
        prompt_of("hermes", prompt=lambda parts: None)
    with pytest.raises(ConfigError, match="prompt must be a function"):
        TextDriver("hermes", prompt="You are Ada.")  # type: ignore[arg-type]


async def test_a_prompt_is_written_once_for_its_tools():
    written: list[str] = []

    def counted(parts: PromptParts) -> str:
        written.append(parts.text)
        return parts.text

    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    result = await agent_of(TextDriver("hermes", prompt=counted), [call, "Sunny."]).run("Rain?")
    assert (result.output, len(result.steps), len(written)) == ("Sunny.", 2, 1)


@dataclass  # it compares its fields, so it has no hash
class Numbered:
    number: int

    def __call__(self, parts: PromptParts) -> str:
        return f"{parts.text}\nPrompt {self.number}"


def numbered(number: int) -> Any:
    return lambda parts: f"{parts.text}\nPrompt {number}"


@pytest.mark.parametrize("function", [numbered, Numbered])
async def test_a_driver_may_make_another_function_for_each_prompt(function):
    class Mine:
        def step(self, run: Any, runtime: Any) -> Any:
            async def text() -> Any:
                for number in range(20):  # each may be where the one before was in memory
                    [system, *_] = await runtime.kept_messages("hermes", prompt=function(number))
                    yield system["content"].rpartition("\n")[2] + "\n"

            return parse_tokens(text(), dialect="hermes")

    result = await agent_of(Mine()).run("Rain?")
    assert result.text.splitlines() == [f"Prompt {number}" for number in range(20)]


# Written by the server


async def test_a_server_that_applies_the_template_gets_the_tools_in_the_request():
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    agent = agent_of(
        TextDriver("hermes", tools_in="request"), [call, "Sunny."], instructions="Brief."
    )
    result = await agent.run("Rain?")
    assert result.output == "Sunny."
    for request in agent_model(agent).requests:
        assert [each.name for each in request.tools] == ["weather"]
        assert request.grammar is None
        assert request.messages[0]["content"] == "Brief."
    assert "Sunny in Paris." in agent_model(agent).requests[1].messages[-1]["content"]


@pytest.mark.parametrize(
    "option", [{"prompt": str}, {"constrain": True}], ids=["prompt", "constrain"]
)
def test_what_the_server_writes_cannot_be_written_here_too(option: dict[str, Any]):
    with pytest.raises(ConfigError, match="leave prompt and constrain out"):
        TextDriver("hermes", tools_in="request", **option)
    with pytest.raises(ConfigError, match="tools_in must be"):
        TextDriver("hermes", tools_in="server")  # type: ignore[arg-type]
