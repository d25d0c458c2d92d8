"""`Dialect.grammar`: the texts of grammars are tested in the core; here is how Python asks for one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cogency_rs import Dialect, tool
from cogency_rs.errors import ConfigError
from cogency_rs.protocol import CallGrammar
from support.call_examples import in_block

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "tags": {"type": "array", "uniqueItems": True}},
    "required": ["city"],
}
TOOL = {"name": "weather", "parameters": SCHEMA}
OTHER = {"name": "ping", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("name", Dialect.presets())
def test_each_dialect_has_a_grammar_for_each_kind_of_answer(name):
    dialect = Dialect(name)
    made = {
        dialect.grammar([TOOL, OTHER], calls=calls, parallel=parallel, reasoning=reasoning).text
        for calls in ("auto", "required", "none", "weather")
        for parallel in (True, False)
        for reasoning in ("auto", "none")
    }
    assert all(text.startswith("root ::= ") for text in made)
    assert len(made) >= 5


@pytest.mark.parametrize(
    "tool",
    [
        TOOL,
        {"type": "function", "function": TOOL},
        {"name": "weather", "input_schema": SCHEMA},
        SimpleNamespace(name="weather", schema=SCHEMA),
    ],
    ids=["declared", "as a function", "by another key", "an object"],
)
def test_a_tool_may_be_declared_in_each_of_the_usual_ways(tool):
    grammar = Dialect("hermes").grammar([tool])
    assert isinstance(grammar, CallGrammar)
    assert grammar.text == str(grammar) == Dialect("hermes").grammar([TOOL]).text
    assert grammar.widened == ["weather.tags: uniqueItems"]


def test_a_function_is_held_to_the_schema_that_a_provider_would_get():
    @tool
    def weather(city: str, days: list[int] | None = None) -> str:
        return f"{city} {days}"

    declared = {"name": "weather", "parameters": weather.json_schema}
    for name in ("hermes", "qwen3-coder"):
        dialect = Dialect(name)
        assert dialect.grammar([weather]).text == dialect.grammar([declared]).text
    assert "value-" not in Dialect("hermes").grammar([weather]).text, "no argument is any value"


def test_a_dialect_of_ones_own_has_a_grammar():
    mine = in_block(Dialect("hermes"), "«\n{call}\n»", name="mine")
    text = mine.grammar([TOOL]).text
    assert '"«' in text
    assert '»"' in text
    assert "<tool_call>" not in text


def test_without_tools_an_answer_is_text():
    dialect = Dialect("hermes")
    assert dialect.grammar([]).text == dialect.grammar([TOOL], calls="none").text


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"form": "lark"}, "form must be \"gbnf\", got 'lark'"),
        ({"reasoning": "loud"}, 'reasoning must be "auto", "open" or "none"'),
        ({"calls": "wether"}, 'there is no tool "wether"; there are weather, ping'),
        ({"reasoning": "open"}, "llama3-json: it has no marks of reasoning"),
    ],
)
def test_what_cannot_be_made_says_why(wanted, error):
    with pytest.raises(ConfigError) as raised:
        Dialect("llama3-json").grammar([TOOL, OTHER], **wanted)
    assert error in str(raised.value)


@pytest.mark.parametrize("levels", [130, 300, 1000])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: {"type": "array", "items": inner},
        lambda inner: {"type": "object", "properties": {"x": inner}},
        lambda inner: {"anyOf": [inner]},
    ],
    ids=["arrays", "objects", "alternatives"],
)
def test_a_schema_that_is_too_deep_is_refused(levels, wrap):
    deep: dict[str, object] = {"type": "string"}
    for _ in range(levels):
        deep = wrap(deep)
    with pytest.raises(ConfigError, match='the schema of tool "deep": it is nested deeper than'):
        Dialect("hermes").grammar([{"name": "deep", "parameters": {"properties": {"x": deep}}}])


def test_what_is_not_a_tool_is_refused():
    with pytest.raises(TypeError, match="tools must be tools"):
        Dialect("hermes").grammar([3])
